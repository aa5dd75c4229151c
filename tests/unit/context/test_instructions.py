"""Instruction files are found from the top down, imports are followed within bounds (H4-4)."""

import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.context.instructions import LONGEST, NestedInstructions, project_instructions, render, user_instructions


def texts(folder: Path) -> list[str]:
    return [
        found.text for found in project_instructions(str(folder)) if found.path.startswith(str(folder.parent.parent))
    ]


def test_what_is_nearer_comes_later(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "AGENTS.md").write_text("outer")
    (inner / "AGENTS.md").write_text("inner agents")
    (inner / "CLAUDE.md").write_text("inner claude")
    (inner / "CLAUDE.local.md").write_text("inner local")
    assert texts(inner) == ["outer", "inner agents", "inner claude", "inner local"]


def test_the_same_text_under_two_names_is_taken_once(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_text("same")
    os.symlink("AGENTS.md", folder / "CLAUDE.md")
    assert texts(folder) == ["same"]


def test_imports_are_followed_five_deep_and_circles_are_cut(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_text("start @part1.md and @AGENTS.md")
    for number in range(1, 9):
        (folder / f"part{number}.md").write_text(f"part {number} @part{number + 1}.md")
    assert [text.split(" @")[0] for text in texts(folder)] == ["start", *(f"part {n}" for n in range(1, 6))]


def test_an_import_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / "secret.md").write_text("SECRET")
    os.symlink(tmp_path / "secret.md", folder / "link.md")
    (folder / "AGENTS.md").write_text(f"@../../secret.md @{tmp_path}/secret.md @link.md @~/secret.md")
    assert "SECRET" not in str(project_instructions(str(folder)))


def test_a_link_that_leads_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_text("SECRET")
    (tmp_path / "a" / "shared.md").write_text("shared")
    os.symlink("../../secret", folder / "AGENTS.md")
    os.symlink("../shared.md", folder / "CLAUDE.md")
    assert "SECRET" not in str(project_instructions(str(folder), str(tmp_path / "a")))
    assert "shared" in str(project_instructions(str(folder), str(tmp_path / "a")))
    assert "shared" not in str([found.text for found in project_instructions(str(folder))])
    assert NestedInstructions(str(tmp_path / "a")).enter(str(folder / "x")).count("SECRET") == 0


def test_what_looks_like_an_import_in_code_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "x.md").write_text("imported")
    (folder / "AGENTS.md").write_text("mail me@x.md `@x.md`\n```\n@x.md\n```\n")
    assert "imported" not in texts(folder)


def test_a_long_file_is_cut_and_odd_ones_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_bytes(b"\xff" + b"x" * (2 * LONGEST))
    (folder / "CLAUDE.md").mkdir()
    os.mkfifo(folder / "AGENTS.local.md")
    found = project_instructions(str(folder))
    assert found[-1].text.endswith("(cut at 32 KiB)")
    assert len(found[-1].text) < LONGEST + 100


def test_the_users_own_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")
    assert [found.text for found in user_instructions(str(tmp_path), str(tmp_path / "missing"))] == ["mine"]


def test_a_nested_folder_gives_its_instructions_once_when_it_is_entered(tmp_path: Path) -> None:
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("root's, known already")
    (tmp_path / "src" / "AGENTS.md").write_text("of src")
    (deep / "CLAUDE.md").write_text("of deep")
    nested = NestedInstructions(str(tmp_path))
    first = nested.enter(str(deep / "file.py"))
    assert "of src" in first
    assert "of deep" in first
    assert "root's" not in first
    assert nested.enter(str(deep / "other.py")) == ""
    assert nested.enter(str(tmp_path.parent / "elsewhere.py")) == ""


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_search_for_imports(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "AGENTS.md").write_text(text, errors="replace")
        assert isinstance(render(user_instructions(name)), str)


def test_a_persons_own_file_may_import_from_their_home(tmp_path: Path) -> None:
    own = tmp_path / ".claude"
    own.mkdir()
    (tmp_path / "style.md").write_text("two blanks")
    (own / "CLAUDE.md").write_text("See @~/style.md")
    assert [found.text for found in user_instructions(str(own), home=str(tmp_path))] == [
        "See @~/style.md",
        "two blanks",
    ]


def test_a_project_does_not_import_from_the_home_and_that_is_reported(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    (home / "private.md").write_text("SECRET")
    (project / "CLAUDE.md").write_text("See @~/private.md and @~/nothing.md and somebody@~/x")
    outside: list[str] = []
    assert "SECRET" not in str(project_instructions(str(project), home=str(home), outside=outside))
    assert outside == [str(home / "private.md")]
