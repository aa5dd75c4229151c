"""The directories of a repository are those that git itself finds."""

import os
import subprocess
from pathlib import Path

import pytest

from bobstay.git_files.git_directory import find_repository, git_entries, open_repository, worktree_of
from tests.kit.repositories import git
from tests.security.repos.bait import commit_all, put


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    put(repo, "README.md", "hello\n")
    commit_all(repo)
    return repo


def directories(folder: Path) -> tuple[str, str]:
    """What git says."""
    command = ["git", "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    own, common = os.fsdecode(done.stdout).split("\n")[:2]
    return os.path.realpath(own), os.path.realpath(common)


def test_a_repository_is_its_own_common_directory(repo: Path) -> None:
    found = open_repository(f"{repo}/.git")
    assert (found.directory, found.common) == directories(repo) == (f"{repo}/.git", f"{repo}/.git")
    assert not found.is_linked()


def test_a_linked_worktree_points_back(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../tree")
    tree = repo.parent / "tree"
    found = open_repository(f"{tree}/.git")
    assert (found.directory, found.common) == directories(tree)
    assert found.is_linked()
    assert worktree_of(found.directory) == str(tree)


def test_a_git_file_that_borrows_a_worktree_is_not_linked(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../tree")
    thief = repo.parent / "thief"
    thief.mkdir()
    (thief / ".git").write_text((repo.parent / "tree/.git").read_text())
    assert not open_repository(f"{thief}/.git").is_linked()


@pytest.mark.parametrize("name", ["data", "data ", " data", "da\nta", "d\tata"])
@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n", "\0rest\n"])
def test_a_git_file_names_what_git_reads_in_it(repo: Path, name: str, ending: str) -> None:
    (repo / ".git").rename(repo.parent / name)
    (repo / ".git").write_bytes(f"gitdir: ../{name}{ending}".encode())
    found = open_repository(f"{repo}/.git")
    assert (found.directory, found.common) == (f"{repo.parent}/{name}",) * 2
    if "\n" not in name:
        assert directories(repo) == (found.directory, found.common)
    assert found.ambiguous is name.endswith(" ")


@pytest.mark.parametrize("ending", ["", "\n", " ", " \n"])
def test_a_common_directory_is_what_git_reads(repo: Path, ending: str) -> None:
    other = repo.parent / f"other{ending.rstrip(chr(10))}"
    (repo / ".git").rename(other)
    git(repo, "init", "-q")
    (repo / ".git/commondir").write_text(f"../../other{ending}")
    found = open_repository(f"{repo}/.git")
    assert (found.directory, found.common) == directories(repo) == (f"{repo}/.git", str(other))
    assert found.ambiguous is (" " in ending)


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir", "gitdir:", "gitdir: \n"])
def test_a_git_file_that_names_nothing_leads_nowhere(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    found = open_repository(f"{tmp_path}/.git")
    assert found.directory == found.common == f"{tmp_path}/.git"


def test_entries_are_found_from_the_innermost_outwards(repo: Path) -> None:
    inner = repo / "a/b"
    inner.mkdir(parents=True)
    (repo / "a/.git").write_text("")
    assert find_repository(str(inner)) == f"{repo}/a/.git"
    assert list(git_entries(str(inner)))[:2] == [f"{repo}/a/.git", f"{repo}/.git"]
