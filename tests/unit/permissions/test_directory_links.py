"""Symbolic links on a real disk that a pattern may match or a recursive command may follow."""

from pathlib import Path

import pytest

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.shell import analyze, directory_links


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


def is_read_only(command: str, root: Path) -> bool:
    found = analyze(command, str(root), FileSystemView(str(root), "/nonexistent"))
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
def test_a_pattern_or_walk_that_may_meet_a_link_leading_out_is_not_read_only(command: str, root: Path) -> None:
    assert not is_read_only(command, root)


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
    assert is_read_only(command, root)


def test_a_directory_too_large_to_search_is_not_read_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_read_only("cat src/*", root)
    (root / "src/another.py").write_text("")
    monkeypatch.setattr(directory_links, "MOST", 1)
    assert not is_read_only("cat src/*", root)


def test_a_view_without_a_disk_has_the_links_its_reader_knows() -> None:
    known = {"/srv/proj/docs/out.txt": "/home/dev/notes.txt", "/srv/proj/a/b/c": "/"}

    class Reader:
        def __call__(self, path: str) -> str | None:
            return known.get(path)

        def links(self, directory: str, *, deep: bool) -> list[str] | None:
            return directory_links.links_of(known, directory, deep=deep)

    def is_read_only_here(command: str) -> bool:
        return analyze(command, "/srv/proj", FileSystemView("/srv/proj", "/home/dev", readlink=Reader())).read_only

    assert not is_read_only_here("cat docs/*.txt")
    assert is_read_only_here("cat docs/*.md")
    assert not is_read_only_here("diff -r a src")
    assert is_read_only_here("cat a/*")
    bare = FileSystemView("/srv/proj", "/home/dev", readlink=known.get)
    assert analyze("cat docs/*.md", "/srv/proj", bare).read_only


@pytest.mark.parametrize("name", ["-R", "-rR.py", "--dereference-recursive"])
def test_a_pattern_that_may_find_an_option_is_asked_about(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    assert is_read_only("grep foo *", tmp_path)
    (tmp_path / name).write_text("")
    assert not is_read_only("grep foo *", tmp_path)
    assert is_read_only("grep foo ./*", tmp_path)
    assert is_read_only("echo *", tmp_path)
