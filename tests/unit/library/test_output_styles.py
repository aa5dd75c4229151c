"""Output styles: those of bobstay, the user, the project and plugins (H9-3)."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bobstay.library.definition import LibraryNotice, OutputStyle
from bobstay.library.definition_body import read_body
from bobstay.library.discovery import LibrarySources
from bobstay.library.library import PluginDefinitions
from bobstay.library.output_styles import choose_style, find_styles
from tests.kit.user_folders import UserFolders


@pytest.fixture
def folders(tmp_path: Path) -> UserFolders:
    folders = UserFolders(tmp_path)
    subprocess.run(["git", "init", "-q", str(folders.work)], check=True)
    return folders


def styles(folders: UserFolders, notices: list[LibraryNotice] | None = None, **more: Any) -> dict[str, OutputStyle]:
    sources = LibrarySources(**{"cwd": str(folders.work), "paths": folders.paths, "trusted": True, **more})
    return {style.name: style for style in find_styles(sources, [], [] if notices is None else notices)}


def test_the_styles_of_bobstay_are_always_there_and_come_first(folders: UserFolders) -> None:
    folders.write("home/.claude/output-styles/a.md", "BODY")
    found = styles(folders)
    assert list(found) == ["default", "Explanatory", "Learning", "a"]
    own = [style for style in found.values() if style.origin.source == "bundled"]
    assert all(style.keep_coding_instructions and style.description for style in own)
    assert [bool(read_body(style).text) for style in own] == [False, True, True]


def test_a_file_gives_its_name_and_says_what_it_keeps(folders: UserFolders) -> None:
    folders.write("work/.claude/output-styles/mine.md", "---\nname: My  Style\ndescription: d\n---\nBe terse.")
    folders.write("work/.claude/output-styles/keep.md", "---\nkeep-coding-instructions: true\n---\nBe kind.")
    folders.write("home/.claude/output-styles/plain.md", "No header.")
    folders.write("work/.claude/output-styles/notes.txt", "no style")
    found = styles(folders)
    assert set(found) == {"default", "Explanatory", "Learning", "My Style", "keep", "plain"}
    mine = found["My Style"]
    assert (read_body(mine).text, mine.description, mine.keep_coding_instructions) == ("Be terse.", "d", False)
    assert found["keep"].keep_coding_instructions
    assert read_body(found["plain"]).text == "No header."


def test_a_project_comes_before_the_user_and_the_nearest_folder_first(folders: UserFolders) -> None:
    for level in ("home", "work", "work/sub"):
        folders.write(f"{level}/.claude/output-styles/a.md", f"of {level}")
    assert read_body(styles(folders)["a"]).text == "of work"
    assert read_body(styles(folders, cwd=f"{folders.work}/sub")["a"]).text == "of work/sub"
    assert read_body(styles(folders, setting_sources=("user",))["a"]).text == "of home"


def test_a_style_of_a_folder_that_nobody_trusts_does_not_count(folders: UserFolders) -> None:
    folders.write("home/.claude/output-styles/a.md", "of home")
    for name in ("a", "b", "default"):
        folders.write(f"work/.claude/output-styles/{name}.md", "of work")
    found = styles(folders, trusted=False)
    assert set(found) == {"default", "Explanatory", "Learning", "a"}
    assert read_body(found["a"]).text == "of home"


def test_a_plugin_brings_styles_under_its_name(folders: UserFolders) -> None:
    folders.write("home/.claude/output-styles/a.md", "of home")
    source = styles(folders)["a"].origin
    brought = OutputStyle(name="plug:a", origin=source)
    sources = LibrarySources(cwd=str(folders.work), paths=folders.paths)
    found = find_styles(sources, [PluginDefinitions(styles=(brought,))], [])
    assert [style.name for style in found[3:]] == ["a", "plug:a"]


def test_a_link_out_of_the_project_is_no_style(folders: UserFolders) -> None:
    folders.write("home/secret.md", "SECRET")
    for level in ("work", "home"):
        folders.write(f"{level}/.claude/output-styles/folder.md/x", "x")
        os.symlink(folders.folder / "home/secret.md", folders.folder / level / f".claude/output-styles/{level}.md")
    notices: list[LibraryNotice] = []
    assert set(styles(folders, notices)) == {"default", "Explanatory", "Learning", "home"}
    assert "links out" in str(notices[0])


def test_a_name_can_be_shown(folders: UserFolders) -> None:
    folder = folders.folder / "home/.claude/output-styles"
    folder.mkdir(parents=True)
    for name in (b"\xff.md", b"a\x1b[2J.md"):
        (folder / os.fsdecode(name)).write_text("BODY")
    assert list(styles(folders))[3:] == ["a[2J"]


def test_the_case_of_a_name_does_not_matter(folders: UserFolders) -> None:
    found = find_styles(LibrarySources(cwd=str(folders.work), paths=folders.paths), [], [])
    chosen = choose_style("explanatory", found)
    assert chosen is not None
    assert chosen.name == "Explanatory"
    assert choose_style("nothing", found) is None
