"""A user's own list in a file: what others could have written or what is broken is refused and kept as it is (H4-3)."""

import os
import stat
from pathlib import Path

import pytest
from msgspec import Struct

from bobstay.system.record_file import RecordFile


class Numbers(Struct):
    values: dict[str, int] = {}


class NumbersUnusable(Exception):  # noqa: N818 - a test
    pass


@pytest.fixture
def file(tmp_path: Path) -> RecordFile[Numbers]:
    path = f"{tmp_path}/own/numbers.json"
    return RecordFile(path, Numbers, NumbersUnusable, without="nothing counts", remedy="count again")


def put(file: RecordFile[Numbers], name: str, value: int) -> bool:
    return file.change(lambda numbers: Numbers({**numbers.values, name: value}))


def test_without_a_file_there_are_no_records(file: RecordFile[Numbers]) -> None:
    assert file.read() == Numbers()
    assert file.change(lambda _: None) is False
    assert not os.path.exists(file.path)


def test_what_is_written_is_read_and_is_the_users_alone(file: RecordFile[Numbers]) -> None:
    assert put(file, "a", 1)
    assert put(file, "b", 2)
    assert file.read() == Numbers({"a": 1, "b": 2})
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(file.path)).st_mode) == 0o700


def test_what_somebody_else_could_have_written_is_refused(file: RecordFile[Numbers]) -> None:
    put(file, "a", 1)
    os.chmod(file.path, 0o620)
    with pytest.raises(NumbersUnusable, match=r"numbers.json could have .* somebody else, so nothing counts"):
        file.read()
    with pytest.raises(NumbersUnusable, match="somebody else"):
        put(file, "b", 2)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"values": 3}', b"\xff"])
def test_a_broken_file_is_named_and_kept(file: RecordFile[Numbers], content: bytes) -> None:
    put(file, "a", 1)
    Path(file.path).write_bytes(content)
    for attempt in (file.read, lambda: put(file, "b", 2)):
        with pytest.raises(NumbersUnusable, match=r"numbers.json is broken .* delete it and count again"):
            attempt()
    assert Path(file.path).read_bytes() == content


def test_a_folder_that_cannot_be_made_is_told(file: RecordFile[Numbers]) -> None:
    Path(os.path.dirname(file.path)).write_text("in the way")
    with pytest.raises(NumbersUnusable, match="cannot be written"):
        put(file, "a", 1)
