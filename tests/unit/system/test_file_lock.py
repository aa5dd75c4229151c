"""Locks between processes: a descriptor of its own stands for another process."""

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bobstay.system.file_lock import hold_lock, is_locked, lock, lock_shared


@pytest.fixture
def opened(tmp_path: Path) -> Generator[Callable[[], int], None, None]:
    with ExitStack() as stack:

        def open_again() -> int:
            descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
            stack.callback(_close, descriptor)
            return descriptor

        yield open_again


def test_a_locked_file_is_not_locked_again(opened: Callable[[], int]) -> None:
    lock(opened())
    with pytest.raises(BlockingIOError):
        lock(opened(), 0)
    assert is_locked(opened())


def test_a_shared_lock_is_no_owner(opened: Callable[[], int]) -> None:
    lock_shared(opened())
    lock_shared(opened())
    assert not is_locked(opened())
    with pytest.raises(BlockingIOError):
        lock(opened(), 0)


def test_a_held_lock_is_released_at_the_end(opened: Callable[[], int]) -> None:
    with hold_lock(opened(), 0):
        assert is_locked(opened())
    lock(opened(), 0)


def test_a_descriptor_is_closed_if_the_lock_is_taken(opened: Callable[[], int]) -> None:
    lock(opened())
    other = opened()
    with pytest.raises(BlockingIOError), hold_lock(other, 0):
        pass
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(other)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return  # the test closed it
