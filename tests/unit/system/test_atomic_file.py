"""A file is replaced as a whole or stays as it was, and nothing is left beside it."""

import errno
import os
import stat
from pathlib import Path

import pytest

from bobstay.system.atomic_file import AtomicFile, move, replace_content


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400])
def test_a_replaced_file_has_exactly_the_given_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    umask = os.umask(0o077)
    try:
        replace_content(str(file), b"new", mode=mode)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_is_replaced_and_its_target_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    replace_content(str(tmp_path / "link"), b"new", durable=False)
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "old"


def test_a_failure_leaves_the_old_file_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_content(str(tmp_path / "folder"), b"new")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_draft_that_is_not_published_is_removed(tmp_path: Path) -> None:
    with AtomicFile(str(tmp_path / "file")) as draft:
        draft.file.write(b"x")
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_publishing_does_not_replace_a_file(tmp_path: Path) -> None:
    with AtomicFile(str(tmp_path / "file")) as draft:
        draft.file.write(b"new")
        draft.finish()
        (tmp_path / "file").write_text("old")
        with pytest.raises(FileExistsError):
            draft.publish()
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("taken", [False, True])
def test_publishing_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links")

    monkeypatch.setattr(os, "link", refuse)
    if taken:
        (tmp_path / "file").write_text("old")
    with AtomicFile(str(tmp_path / "file")) as draft:
        draft.file.write(b"new")
        draft.finish()
        if taken:
            with pytest.raises(FileExistsError):
                draft.publish()
        else:
            draft.publish()
    assert (tmp_path / "file").read_text() == ("old" if taken else "new")
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_replaced_in_a_folder_that_was_opened_before(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    folder = os.open(tmp_path / "before", os.O_RDONLY | os.O_DIRECTORY)
    try:
        (tmp_path / "before").rename(tmp_path / "after")
        with AtomicFile("file", dir_fd=folder) as draft:
            draft.file.write(b"new")
            draft.finish()
            draft.replace()
    finally:
        os.close(folder)
    assert os.listdir(tmp_path / "after") == ["file"]


def test_a_link_in_the_place_of_the_draft_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "victim").write_text("mine")
    monkeypatch.setattr(os, "urandom", bytes)  # as if somebody had guessed the name
    (tmp_path / f".file.{'00' * 6}.tmp").symlink_to("victim")
    with pytest.raises(FileExistsError):
        replace_content(str(tmp_path / "file"), b"new")
    assert (tmp_path / "victim").read_text() == "mine"


def test_the_longest_name_can_be_replaced(tmp_path: Path) -> None:
    name = "ü" * 127
    replace_content(str(tmp_path / name), b"new")
    assert os.listdir(tmp_path) == [name]


def test_a_file_is_moved_to_another_file_system_by_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def refuse_elsewhere(source: str, target: str, **options: int | None) -> None:
        if os.path.dirname(source) != os.path.dirname(target):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        replace(source, target, **options)

    monkeypatch.setattr(os, "replace", refuse_elsewhere)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/file").write_text("x")
    move(str(tmp_path / "a/file"), str(tmp_path / "b/file"))
    assert os.listdir(tmp_path / "a") == []
    assert os.listdir(tmp_path / "b") == ["file"]
