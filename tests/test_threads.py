"""Work is done on so many threads at once, whoever's they are"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chronolink.layers import threads as module
from chronolink.layers.threads import together


@pytest.fixture(params=["torch's", "a pool's"])
def whose(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "a pool's":
        monkeypatch.setattr(module, "_openmp", lambda: None)
    elif module._openmp() is None:
        pytest.skip("torch's threads are not those of GNU's OpenMP")
    return str(request.param)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_thread_works_at_the_same_time(whose: str, count: int) -> None:
    meeting, seen = threading.Barrier(count, timeout=20), set()

    def work() -> None:
        meeting.wait()
        seen.add(threading.get_ident())

    for _ in range(3):
        seen.clear()
        together(work, count)
        assert len(seen) == count, whose


def test_what_fails_on_any_thread_is_raised(whose: str) -> None:
    caller, meeting = threading.get_ident(), threading.Barrier(2, timeout=20)

    def fails_elsewhere() -> None:
        meeting.wait()
        if threading.get_ident() != caller:
            raise ValueError(whose)

    with pytest.raises(ValueError, match=whose):
        together(fails_elsewhere, 2)


THREADS = """
import os
import torch
from chronolink.layers import threads

torch.set_num_threads(2)
torch.ones(1 << 20).neg_()
before = len(os.listdir("/proc/self/task"))
threads.together(lambda: None, 2)
print(len(os.listdir("/proc/self/task")) - before, threads._openmp() is not None)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a pool works")
def test_torch_s_threads_work_where_they_are_gnu_s() -> None:
    ran = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    more, by_torch = ran.stdout.split()
    assert by_torch == str("libgomp" in Path("/proc/self/maps").read_text())
    assert more == ("0" if by_torch == "True" else "1")
