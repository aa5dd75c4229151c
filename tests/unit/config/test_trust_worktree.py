"""A worktree made from a trusted folder is trusted if its executable parts are the same."""

from pathlib import Path

import pytest

from bobstay.config.paths import Paths
from bobstay.config.trust import check_trust, trust_worktree
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from tests.kit.repositories import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text('{"hooks": {}}')
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.read({"HOME": str(tmp_path / "home"), "BOBSTAY_HOME": str(tmp_path / "home" / "bobstay")})


def worktree_of(project: Path) -> Path:
    made = project.parent / "worktrees" / "one"
    git(project, "worktree", "add", "-q", "-b", "one", str(made))
    return made


def test_a_worktree_of_a_trusted_folder_is_trusted(project: Path, paths: Paths) -> None:
    TrustStore(paths.bobstay).put(str(project), executable_parts(str(project)))
    made = worktree_of(project)
    assert trust_worktree(str(made), str(project), paths)
    assert check_trust(str(made), paths).trusted
    (made / ".claude" / "settings.json").write_text('{"hooks": {"Stop": []}}')
    assert check_trust(str(made), paths).changed == (".claude/settings.json (changed)",)


def test_a_worktree_of_a_folder_nobody_trusts_is_not(project: Path, paths: Paths) -> None:
    made = worktree_of(project)
    assert not trust_worktree(str(made), str(project), paths)
    assert not check_trust(str(made), paths).trusted


def test_a_commit_with_other_hooks_is_not_trusted_by_its_name(project: Path, paths: Paths) -> None:
    (project / ".claude" / "settings.json").write_text('{"hooks": {"Stop": []}}')
    TrustStore(paths.bobstay).put(str(project), executable_parts(str(project)))
    made = worktree_of(project)
    assert not trust_worktree(str(made), str(project), paths)


def test_a_folder_that_changed_since_it_was_trusted_passes_no_trust_on(project: Path, paths: Paths) -> None:
    TrustStore(paths.bobstay).put(str(project), executable_parts(str(project)))
    (project / ".mcp.json").write_text("{}")
    assert not trust_worktree(str(worktree_of(project)), str(project), paths)
