"""The same work, here, in processes and on Ray"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from chronolink import ChronolinkError, Report, Training, build, fit
from chronolink.catalogue import find, members
from chronolink.executor import Executor, Outcome, Work
from chronolink.executors.here import Here
from chronolink.executors.processes import Processes
from chronolink.executors.ray_cluster import RayCluster
from chronolink.training.watch import Watch
from tests.streams import random_graph

SEVERAL = ["processes", "ray_cluster"]

pytestmark = pytest.mark.xdist_group("executors")  # they share one cluster


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[RayCluster]:
    ray = pytest.importorskip("ray")
    os.environ.update(RAY_worker_niceness="0")  # else other tests starve its workers
    yield RayCluster("local", threads=1, workers=2)
    ray.shutdown()


@pytest.fixture
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "ray_cluster":
        found: Executor = request.getfixturevalue("ray_cluster")
        return found
    return Here() if request.param == "here" else Processes(2, threads=1)


over_all = pytest.mark.parametrize("executor", ["here", *SEVERAL], indirect=True)
over_several = pytest.mark.parametrize("executor", SEVERAL, indirect=True)


def outcomes(executor: Executor, *work: Work) -> dict[str, Outcome]:
    ended = list(executor.run(work))
    assert sorted(outcome.name for outcome in ended) == sorted(piece.name for piece in work)
    return {outcome.name: outcome for outcome in ended}


def double(number: int) -> int:
    return 2 * number


def fail(error: Exception) -> None:
    raise error


class Place(NamedTuple):
    met: bool
    process: int
    threads: int
    said: str | None


def meet(mine: Path, other: Path) -> Place:
    """Succeeds only if both are at work at the same time."""
    mine.touch()
    until = time.monotonic() + 60
    while not other.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return Place(other.exists(), os.getpid(), torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS"))


def killed_at_first(mark: Path, times: int = 1) -> int:
    """Kills its own process so many times, then gives the number of tries it took."""
    tries = len(list(mark.glob("*")))
    mark.mkdir(exist_ok=True)
    (mark / str(tries)).touch()
    if tries < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return tries + 1


class KillAfter(Watch):
    """Kills the process after an epoch, once."""

    def __init__(self, epoch: int, mark: Path) -> None:
        self.last, self.mark = epoch, mark

    def epoch(self, record: dict[str, Any]) -> None:
        if record["epoch"] == self.last and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def trained(out: Path, mark: Path | None = None) -> Report:
    graph = random_graph(300)
    model = build("tgat", graph, time_encoder={"name": "linear", "width": 4}, width=8, neighbours=3, dropout=0.3)
    watch = Watch() if mark is None else KillAfter(2, mark)
    return fit(model, graph, Training(epochs=4), out=out, watch=watch, resume=(out / "config.yaml").exists())


def kept(report: Report) -> str:
    return json.dumps({**asdict(report), "cost": 0}, sort_keys=True)


def test_every_file_of_the_folder_is_an_executor() -> None:
    assert members("executors") == ["here", "processes", "ray_cluster"]
    assert find("executors", "Here", Executor) is Here
    assert find("executors", "processes", Executor) is Processes
    assert find("executors", "ray-cluster", Executor) is RayCluster


@over_all
def test_values_come_back_under_their_names(executor: Executor) -> None:
    found = outcomes(executor, *(Work(f"twice {number}", partial(double, number)) for number in range(2)))
    assert {name: outcome.value for name, outcome in found.items()} == {"twice 0": 0, "twice 1": 2}
    assert all(outcome.error is None for outcome in found.values())
    assert list(executor.run([])) == []


@over_all
def test_an_error_ends_its_own_piece_alone_and_is_one_line(executor: Executor) -> None:
    found = outcomes(
        executor,
        Work("ours", partial(fail, ChronolinkError("row 3: time is missing"))),
        Work("theirs", partial(fail, ValueError("two\nlines"))),
        Work("good", partial(double, 4)),
    )
    assert found["ours"].error == "row 3: time is missing"
    assert found["theirs"].error == "ValueError: two lines"
    assert (found["good"].value, found["good"].error) == (8, None)


@over_several
def test_pieces_are_done_at_the_same_time_each_in_a_fresh_process_with_its_share_of_threads(
    executor: Executor, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    meeting = [Work("one", partial(meet, one, other)), Work("other", partial(meet, other, one))]
    found = outcomes(executor, *meeting, Work("later", partial(meet, one, other)))
    assert all(outcome.value.met for outcome in found.values())
    assert len({outcome.value.process for outcome in found.values()} | {os.getpid()}) == 4
    assert {(outcome.value.threads, outcome.value.said) for outcome in found.values()} == {(1, "1")}


@over_several
def test_a_killed_worker_is_replaced_and_nothing_is_lost(executor: Executor, tmp_path: Path) -> None:
    killed = Work("killed", partial(killed_at_first, tmp_path / "mark"))
    found = outcomes(executor, killed, Work("good", partial(double, 1)))
    assert (found["killed"].value, found["killed"].error) == (2, None)
    assert (found["good"].value, found["good"].error) == (2, None)


@over_several
def test_a_worker_that_is_lost_again_and_again_is_given_up(executor: Executor, tmp_path: Path) -> None:
    found = outcomes(executor, Work("lost", partial(killed_at_first, tmp_path / "mark", times=9)))
    assert found["lost"].error is not None
    assert found["lost"].error.startswith("its process was lost 3 times")
    assert len(list((tmp_path / "mark").iterdir())) == 3


@over_several
def test_a_run_killed_in_the_middle_ends_with_the_same_report(executor: Executor, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    found = outcomes(executor, Work("killed", partial(trained, tmp_path / "killed", mark)))
    assert mark.exists()
    assert found["killed"].error is None
    assert kept(found["killed"].value) == kept(trained(tmp_path / "here"))


def test_the_cores_are_shared_out_fairly() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert Processes(1).threads == cores
    assert Processes(2 * cores).threads == 1
    with pytest.raises(ChronolinkError, match="workers is 0; it must be 1 or more"):
        Processes(0)


def test_what_cannot_be_sent_to_a_process_or_back_is_an_error_of_its_own_piece() -> None:
    found = outcomes(
        Processes(2), Work("there", lambda: 1), Work("back", make_lambda), Work("exit", partial(sys.exit, 3))
    )
    assert "pickle" in str(found["there"].error).lower()
    assert "pickle" in str(found["back"].error).lower()
    assert found["exit"].error == "its process ended with exit code 3 and no result"


def make_lambda() -> Any:
    return lambda: 1


def test_an_error_without_words_is_its_type() -> None:
    assert outcomes(Here(), Work("wordless", partial(fail, RuntimeError())))["wordless"].error == "RuntimeError"


def test_ctrl_c_passes_through() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Here().run([Work("interrupted", interrupted)]))


PARENT = """
import sys
from functools import partial
from pathlib import Path
from chronolink.executor import Work
from chronolink.executors.processes import Processes
from tests.test_executors import meet, sleep_long

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    work = [Work(str(number), partial(sleep_long, folder / str(number))) for number in range(2)]
    if sys.argv[2] == "raise":
        work[1] = Work("quick", partial(meet, folder / "quick", folder / "0"))
    for outcome in Processes(2).run(work):
        raise ValueError("in the parent")
"""


def sleep_long(mark: Path) -> None:
    part = mark.with_suffix(".part")
    part.write_text(str(os.getpid()))
    part.replace(mark)
    time.sleep(120)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("how", ["raise", "interrupt", "kill"])
def test_the_processes_end_with_the_one_that_began_them(how: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), how], env=environment, stderr=subprocess.PIPE
    )
    wanted = 1 if how == "raise" else 2
    while len(marks := list(tmp_path.glob("[01]"))) < wanted:
        assert parent.poll() is None
        time.sleep(0.02)
    children = [int(mark.read_text()) for mark in marks]
    if how != "raise":
        parent.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
    assert parent.wait(60) != 0
    until = time.monotonic() + 20
    while any(map(alive, children)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(alive, children))
    said = parent.stderr.read().decode() if parent.stderr else ""
    assert said.count("Traceback") == (0 if how == "kill" else 1)


def test_ray_that_is_not_installed_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ChronolinkError) as raised:
        RayCluster("local")
    assert str(raised.value) == "Ray is not installed; pip install 'chronolink[ray]'"
