"""Memory that was freed goes back to the system."""

import platform
import resource

import pytest

from bobstay.system import heap

BLOCK, COUNT = 16_384, 4_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc_trim is glibc's own")
def test_room_between_blocks_in_use_is_given_back() -> None:
    blocks = [bytes(BLOCK) for _ in range(COUNT)]
    for number in range(COUNT):
        if number % 4:  # the others stay and keep the C library from giving back what lies between them
            blocks[number] = b""
    before = _resident()
    heap.trim()
    given_back = before - _resident()
    assert given_back > COUNT * BLOCK // 3


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
