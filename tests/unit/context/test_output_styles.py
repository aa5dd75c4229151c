"""Output styles: built in, and from the files of a user and a project."""

import os
from pathlib import Path

from bobstay.context.output_styles import StyleFolder, choose_style, find_styles, style_reminder


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_the_built_in_styles_are_always_there(tmp_path: Path) -> None:
    styles = find_styles([StyleFolder(str(tmp_path / "missing"))])
    assert list(styles) == ["default", "Explanatory", "Learning"]
    assert all(style.keeps_coding for style in styles.values())
    assert style_reminder(styles["default"]) == ""


def test_a_file_gives_its_name_and_what_it_keeps(tmp_path: Path) -> None:
    put(tmp_path, "mine.md", "---\nname: My  Style\ndescription: d\n---\nBe terse.")
    put(tmp_path, "keep.md", "---\nkeep-coding-instructions: true\n---\nBe kind.")
    put(tmp_path, "plain.md", "No header.")
    put(tmp_path, "notes.txt", "no style")
    styles = find_styles([StyleFolder(str(tmp_path))])
    assert set(styles) == {"default", "Explanatory", "Learning", "My Style", "keep", "plain"}
    assert (styles["My Style"].text, styles["My Style"].keeps_coding) == ("Be terse.", False)
    assert styles["keep"].keeps_coding
    assert "Be terse." in style_reminder(styles["My Style"])


def test_a_later_folder_wins_and_a_prefix_keeps_names_apart(tmp_path: Path) -> None:
    put(tmp_path / "user", "a.md", "of the user")
    put(tmp_path / "project", "a.md", "of the project")
    put(tmp_path / "plugin", "a.md", "of the plugin")
    folders = [StyleFolder(str(tmp_path / name)) for name in ("user", "project")]
    styles = find_styles([*folders, StyleFolder(str(tmp_path / "plugin"), prefix="plug:")])
    assert styles["a"].text == "of the project"
    assert styles["plug:a"].text == "of the plugin"


def test_a_link_out_of_the_project_is_no_style(tmp_path: Path) -> None:
    put(tmp_path / "outside", "secret.md", "SECRET")
    (tmp_path / "work").mkdir()
    os.symlink(tmp_path / "outside" / "secret.md", tmp_path / "work" / "s.md")
    (tmp_path / "work" / "folder.md").mkdir()
    inside = str(tmp_path / "work")
    assert len(find_styles([StyleFolder(inside, (inside,))])) == 3
    assert "s" in find_styles([StyleFolder(inside)])


def test_the_case_of_a_name_matters_only_where_two_differ_in_nothing_else() -> None:
    styles = find_styles([])
    chosen = choose_style("explanatory", styles)
    assert chosen is not None
    assert chosen.name == "Explanatory"
    assert choose_style("nothing", styles) is None
