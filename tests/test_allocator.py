"""Memory that is kept, and what is not"""

import os
import subprocess
import sys

import pytest
import torch

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallinfo2 is of glibc")

FEW = 20_000

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
left, right = torch.ones(400, 64, dtype=torch.bfloat16), torch.ones(64, 64, dtype=torch.bfloat16)
for rows in range(100, 400):
    if rows == 200:
        before = used().i
    left[:rows] @ right
print((used().i - before) // 200)
"""


def growth(**environment: str) -> int:
    """Bytes that stay in use for each shape multiplied in half precision, after the first hundred."""
    plain = {name: value for name, value in os.environ.items() if not name.endswith("CACHE_CAPACITY")}
    command = [sys.executable, "-c", GROWTH]
    ran = subprocess.run(command, env=plain | environment, capture_output=True, text=True, check=True)
    return int(ran.stdout)


def test_plans_of_old_shapes_give_way_to_those_of_new_ones() -> None:
    assert growth() < FEW


def test_the_environment_decides_how_many_plans_are_kept() -> None:
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        pytest.skip("no plans are made on a CPU without half precision")
    assert growth(ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024", LRU_CACHE_CAPACITY="1024") > FEW
