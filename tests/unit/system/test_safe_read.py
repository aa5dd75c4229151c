"""Only regular files are read, up to a limit, without waiting."""

import errno
import os
from pathlib import Path

import pytest

from bobstay.system.safe_read import NotRegularFile, open_regular, read_regular


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 3_000_000)
    assert read_regular(str(tmp_path / "file"), 5) == b"xxxxx"
    assert len(read_regular(str(tmp_path / "file"), 4_000_000) or b"") == 3_000_000


@pytest.mark.parametrize("path", ["missing", "missing/file", "nul\0"])
def test_what_does_not_exist_is_none(tmp_path: Path, path: str) -> None:
    assert read_regular(f"{tmp_path}/{path}", 10) is None


@pytest.mark.parametrize(("kind", "number"), [("pipe", errno.EINVAL), ("folder", errno.EISDIR)])
def test_another_kind_of_file_is_refused(tmp_path: Path, kind: str, number: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert read_regular(f"{tmp_path}/{kind}", 10) is None
    with pytest.raises(NotRegularFile) as caught:
        open_regular(f"{tmp_path}/{kind}")
    assert caught.value.errno == number


def test_a_link_is_followed_unless_it_must_not_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(f"{tmp_path}/link", 10) == b"x"
    assert read_regular(f"{tmp_path}/link", 10, follow=False) is None
