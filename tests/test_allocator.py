"""Memory that is kept, and what is not"""

import os
import subprocess
import sys

import pytest
import torch

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallinfo2 is of glibc")

GROWTH = """
import ctypes
from chronolink.allocator import keep_buffers

keep_buffers()

import torch

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefgioj"]  # the eighth is what is in use

used = ctypes.CDLL(None).mallinfo2
used.restype = Info
torch.set_num_threads(1)
left, right = torch.ones(300, 64, dtype=torch.bfloat16), torch.ones(64, 64, dtype=torch.bfloat16)
left[:99] @ right
before = used().i
for rows in range(100, 300):
    left[:rows] @ right
print((used().i - before) // 200)
"""


def growth(**environment: str) -> int:
    """Bytes that stay in use for each shape multiplied in half precision."""
    plain = {name: value for name, value in os.environ.items() if not name.endswith("CACHE_CAPACITY")}
    command = [sys.executable, "-c", GROWTH]
    ran = subprocess.run(command, env=plain | environment, capture_output=True, text=True, check=True)
    return int(ran.stdout)


def test_a_shape_that_was_multiplied_once_leaves_nothing_behind() -> None:
    assert growth() < 4096


def test_the_environment_decides_how_many_plans_are_kept() -> None:
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        pytest.skip("no plans are made on a CPU without half precision")
    assert growth(ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024", LRU_CACHE_CAPACITY="1024") > 4096
