"""The system prompt: ordered sections with stable bytes, and git state learned without running what git says (H4-5)."""

from pathlib import Path

from bobstay.context.git_status import GitStatus, current_branch, find_repository
from bobstay.context.system_prompt import CAUTION, CODING, GUIDE, PromptFacts, build_sections
from tests.kit.repositories import git

FACTS = PromptFacts("/w", ("/other",), "linux", "2026-01-02", "some-model", branch="main", git_status="(clean)")
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent"}


def test_the_sections_stand_in_order_and_the_most_lasting_comes_first() -> None:
    found = build_sections(FACTS, appended="Be kind.")
    assert found[0] == GUIDE
    assert found[1] == "Be kind."
    for fact in ("/w", "/other", "linux", "2026-01-02", "some-model", "main", "(clean)"):
        assert fact in found[2]
    assert found == build_sections(FACTS, appended="Be kind.")


def test_the_guide_can_be_replaced_or_left_out() -> None:
    assert build_sections(FACTS, replaced="Mine.")[0] == "Mine."
    assert len(build_sections(FACTS, replaced="")) == 1


def test_an_output_style_may_replace_how_to_work_but_not_what_always_holds() -> None:
    guide = build_sections(FACTS, with_coding=False)[0]
    assert CODING not in guide
    assert CAUTION in guide
    assert CODING in GUIDE
    assert CAUTION in GUIDE
    assert build_sections(FACTS, replaced="Mine.", with_coding=False)[0] == "Mine."


def test_the_branch_is_read_without_git(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "feature/x")
    (tmp_path / "sub").mkdir()
    repository = find_repository(str(tmp_path / "sub"))
    assert repository == str(tmp_path / ".git")
    assert current_branch(repository) == "feature/x"
    assert find_repository("/") is None


def test_a_linked_work_tree_and_a_detached_head_are_understood(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-b", "trunk")
    git(main, "commit", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", str(tmp_path / "tree"), "-b", "side")
    assert current_branch(str(tmp_path / "tree" / ".git")) == "side"
    git(main, "checkout", "--detach")
    assert len(current_branch(str(main / ".git"))) == 12
    (tmp_path / "broken").write_text("gitdir: /nowhere")
    assert current_branch(str(tmp_path / "broken")) == ""


def test_the_status_runs_no_program_of_the_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "main")
    (tmp_path / "new.txt").write_text("x")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path}/FIRED; false")
    assert "new.txt" in GitStatus(str(tmp_path), PATH).read()
    assert not (tmp_path / "FIRED").exists()


def test_without_git_or_repository_there_is_no_status(tmp_path: Path) -> None:
    assert GitStatus(str(tmp_path), {"PATH": "/nonexistent"}).read() == ""
    assert GitStatus(str(tmp_path), PATH).read() == ""
