"""Symbolic links on a real disk: what a pattern may find, and what a walk may go through."""

from pathlib import Path

import pytest

from bobstay.permissions.path_resolution import PathWorld
from bobstay.permissions.shell import directory_links, read


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    for name in ("docs/guide.md", "docs/a.txt", "src/app.py", "src2/app.py", "deep/er/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    (tmp_path / "key.txt").write_text("key\n")
    (root / "docs/key.txt").symlink_to(tmp_path / "key.txt")
    (root / "docs/inside.md").symlink_to("guide.md")
    (root / "deep/er/out").symlink_to("/")
    return root


def looks(command: str, root: Path) -> bool:
    found = read(command, str(root), PathWorld(str(root), "/nonexistent"))
    return bool(found.commands) and found.read_only


@pytest.mark.parametrize(
    "command",
    [
        "cat docs/*.txt",
        "cat docs/*",
        "wc -l docs/k?y.txt",
        "ls docs/[k]*",
        "cd docs && cat *",
        "diff -r docs src",
        "diff -ruN deep src",
        "diff --recursive deep src",
        "grep -m docs/* x",
        "ls -I docs/*",
        "grep x docs/*/",
    ],
)
def test_a_pattern_or_walk_that_may_meet_a_link_leading_out_is_not_only_looking(command: str, root: Path) -> None:
    assert not looks(command, root)


@pytest.mark.parametrize(
    "command",
    [
        "cat docs/*.md",
        "cat src/*",
        "ls *",
        "ls -d */",
        "diff -r src src2",
        "echo docs/*",
        "grep -rn x deep",
        "cat none/*",
    ],
)
def test_links_that_stay_inside_or_are_not_found_do_not_matter(command: str, root: Path) -> None:
    assert looks(command, root)


def test_a_directory_too_large_to_look_through_cannot_be_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks("cat src/*", root)
    (root / "src/another.py").write_text("")
    monkeypatch.setattr(directory_links, "MOST", 1)
    assert not looks("cat src/*", root)


def test_a_world_without_a_disk_has_the_links_its_reader_knows() -> None:
    known = {"/srv/proj/docs/out.txt": "/home/dev/notes.txt", "/srv/proj/a/b/c": "/"}

    class Reader:
        def __call__(self, path: str) -> str | None:
            return known.get(path)

        def links(self, directory: str, *, deep: bool) -> list[str] | None:
            return directory_links.links_of(known, directory, deep=deep)

    def only_looks(command: str) -> bool:
        return read(command, "/srv/proj", PathWorld("/srv/proj", "/home/dev", readlink=Reader())).read_only

    assert not only_looks("cat docs/*.txt")
    assert only_looks("cat docs/*.md")
    assert not only_looks("diff -r a src")
    assert only_looks("cat a/*")
    bare = PathWorld("/srv/proj", "/home/dev", readlink=known.get)
    assert read("cat docs/*.md", "/srv/proj", bare).read_only


@pytest.mark.parametrize("name", ["-R", "-rR.py", "--dereference-recursive"])
def test_a_pattern_that_may_find_an_option_is_asked_about(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    assert looks("grep foo *", tmp_path)
    (tmp_path / name).write_text("")
    assert not looks("grep foo *", tmp_path)
    assert looks("grep foo ./*", tmp_path)
    assert looks("echo *", tmp_path)
