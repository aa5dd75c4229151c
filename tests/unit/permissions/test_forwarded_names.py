"""Names that `xargs` and `find -exec` forward on a real disk: which may be other than files inside."""

from pathlib import Path

import pytest

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.shell import analyze, directory_links, tracked_names
from tests.kit.repositories import git

NAMES = ("src/app.py", "src/lib/x.py", "docs/guide.md", "README.md")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text("key\n")
    return filled(tmp_path / "proj", *NAMES)


def filled(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    return root


def repository(root: Path, *settings: str) -> Path:
    git(root, "init", "--initial-branch=main")
    for setting in settings:
        git(root, "config", *setting.split("="))
    git(root, "add", "-A")
    git(root, "commit", "-m", "x")
    return root


def is_read_only(command: str, root: Path) -> bool:
    found = analyze(command, str(root), FileSystemView(str(root), "/nonexistent"))
    return bool(found.commands) and found.read_only


@pytest.mark.parametrize(
    ("name", "misled", "not_misled"),
    [
        ("docs/a b.md", ["find . -name '*.md' | xargs cat"], ["find . -name '*.py' | xargs cat"]),
        (
            "docs/it's.md",
            ["ls docs | xargs cat", "ls | xargs -I{} cat {}; ls docs | xargs -I% cat docs/%"],
            ["ls | xargs cat"],
        ),
        ("a b/x.py", ["find . -name '*.py' | xargs cat"], ["find src -name '*.py' | xargs cat"]),
        (
            "docs/a\nb.md",
            ["find . | xargs -d '\\n' cat", "find . | tr '\\n' '\\0' | xargs -0 cat"],
            ["find . -print0 | xargs -0 cat", "find . -exec cat {} +"],
        ),
        ("docs/a b.md", ["grep -rl x . | xargs cat"], ["grep -rlZ x . | xargs -0 cat", "ls docs | xargs -I{} cat {}"]),
        (
            "-f",
            ["ls | xargs cat", "rg --files | xargs -d '\\n' cat"],
            ["find . | xargs cat", "rg --files . | xargs cat"],
        ),
        ("src/-f", ["ls src | xargs cat"], ["rg --files | xargs cat", "ls | xargs cat"]),
    ],
)
def test_a_name_that_would_be_read_as_others_is_seen(
    name: str, misled: list[str], not_misled: list[str], root: Path
) -> None:
    assert all(is_read_only(command, root) for command in (*misled, *not_misled))
    filled(root, name)
    assert [command for command in misled if is_read_only(command, root)] == []
    assert [command for command in not_misled if not is_read_only(command, root)] == []


@pytest.mark.parametrize(
    ("command", "finds_it"),
    [
        ("find . -name '*.py' | xargs cat", True),
        ("find . -name '*.py' -exec cat {} +", True),
        ("ls src | xargs -I{} cat src/{}", True),
        ("ls -d src/*.py | xargs cat", True),
        ("find . -maxdepth 1 | xargs cat", False),
        ("find . -type f -name '*.py' | xargs cat", False),
        ("find . -name '*.md' | xargs cat", False),
        ("find docs | xargs cat", False),
        ("grep -rl x src | xargs cat", False),
        ("ls src | xargs cat", False),
    ],
)
def test_a_link_that_leads_out_matters_where_it_may_be_forwarded(command: str, finds_it: bool, root: Path) -> None:
    assert is_read_only(command, root)
    (root / "src/key.py").symlink_to(root.parent / "key")
    (root / "src/same.py").symlink_to("app.py")
    assert is_read_only(command, root) is not finds_it


@pytest.mark.parametrize("version", ["2", "4"])
def test_what_git_knows_is_read_from_its_index(version: str, root: Path) -> None:
    repository(filled(root, "docs/a b.md", "a/very/long/name/of/a/file.txt"), f"index.version={version}")
    (root / "-untracked").write_text("")
    (root / "src/key.py").symlink_to(root.parent / "key")
    assert list(tracked_names._names(str(root), whole=False)) == sorted(
        [*NAMES, "docs/a b.md", "a/very/long/name/of/a/file.txt"]
    )
    assert is_read_only("git ls-files '*.py' | xargs cat", root)
    assert is_read_only("git ls-files -z | xargs -0 cat", root)
    assert is_read_only("git ls-files src a | xargs sed -n 1p", root)
    assert not is_read_only("git ls-files | xargs cat", root)
    assert not is_read_only("git ls-files docs | xargs cat", root)
    assert not is_read_only("git ls-files -zo | xargs -0 cat", root)
    assert not is_read_only("git ls-files -z -o | xargs -0 cat", root)


@pytest.mark.parametrize("name", ["a b", "-f", "docs/a\tb", "it's"])
def test_a_file_that_git_knows_counts_though_it_is_gone(name: str, root: Path) -> None:
    repository(filled(root, name))
    (root / name).unlink()
    assert not is_read_only("git ls-files | xargs cat", root)
    assert not is_read_only("git diff --name-only | xargs cat", root)


@pytest.mark.parametrize("name", ["README.md", "src"])
def test_a_tracked_file_or_directory_that_became_a_link_leads_out(name: str, root: Path) -> None:
    repository(root)
    assert is_read_only("git ls-files | xargs cat", root)
    (root / name).rename(root.parent / name)
    (root / name).symlink_to(root.parent / name)
    assert not is_read_only("git ls-files | xargs cat", root)
    assert is_read_only("git ls-files docs | xargs cat", root)


def test_names_from_the_top_of_a_repository_count_below_it(root: Path) -> None:
    repository(filled(root, "other/a b"))
    assert is_read_only("git ls-files | xargs cat", root / "src")
    assert not is_read_only("git diff --name-only | xargs cat", root / "src")


def test_the_index_of_a_worktree_is_found(root: Path) -> None:
    repository(root)
    git(root, "worktree", "add", "../tree")
    assert is_read_only("git ls-files | xargs cat", root.parent / "tree")


@pytest.mark.parametrize("damage", ["gone", "short", "shifted", "version", "split"])
def test_an_index_that_cannot_be_read_says_nothing(damage: str, root: Path) -> None:
    repository(root)
    index = root / ".git/index"
    content = index.read_bytes()
    if damage == "gone":
        index.unlink()
    elif damage == "split":
        git(root, "update-index", "--split-index")
    else:
        changed = {"short": content[:-40], "shifted": content[:90] + b"\0" + content[90:], "version": b"DIRC\0\0\0\5"}
        index.write_bytes(changed[damage] + (content[8:] if damage == "version" else b""))
    assert not is_read_only("git ls-files | xargs cat", root)


def test_more_entries_than_are_checked_are_not_read_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(root)
    commands = ("find . -name '*.py' | xargs cat", "git ls-files | xargs cat")
    assert all(is_read_only(command, root) for command in commands)
    monkeypatch.setattr(directory_links, "MOST", 3)
    monkeypatch.setattr(tracked_names, "MOST", 3)
    assert not any(is_read_only(command, root) for command in commands)


def test_names_do_not_take_the_place_of_what_the_shell_puts_there(root: Path) -> None:
    """`xargs` searches for its placeholder in the expanded word, not in its source."""
    home = str(root.parent)

    def allowed(command: str) -> bool:
        return analyze(command, str(root), FileSystemView(str(root), home)).read_only

    assert allowed(f"echo README.md | xargs -I{{}} cat {root}/{{}}")
    assert allowed("cat ~/proj/README.md")
    assert not allowed(f"echo /etc/passwd | xargs -I{root}/README.md cat ~/proj/README.md")
    assert not allowed("echo ../../key | xargs -Iapp.py cat src/*")
    assert not allowed("echo ../../key | xargs -I'?' cat src/?")


@pytest.mark.parametrize("spec", ["src", "src/.", "src//", "./src", "././src", "src/./", "./", ".", "src/./lib"])
def test_every_spelling_of_a_directory_selects_what_is_in_it(spec: str, root: Path) -> None:
    repository(root)
    command = f"git ls-files {spec} | xargs cat"
    assert is_read_only(command, root)
    (root / "src/lib/x.py").unlink()
    (root / "src/lib/x.py").symlink_to(root.parent / "key")
    assert not is_read_only(command, root)


def test_a_name_that_goes_up_is_not_looked_for_in_another_directory(root: Path) -> None:
    """If a component is a link, `..` behind it leads elsewhere than the text suggests."""
    (root / "src/top").symlink_to("..")
    assert is_read_only("echo lib/x.py | xargs -I{} cat src/{}", root)
    assert not is_read_only("echo top/../key | xargs -I{} cat src/{}", root)
    assert not is_read_only("printf '%s\\n' top/../key | xargs -I{} cat src/{}", root)


@pytest.mark.parametrize("command", ["ls src/lib docs | xargs cat", "ls src/l* | xargs cat", "ls src/lib | xargs cat"])
def test_the_heading_of_a_listed_directory_is_a_name_as_well(command: str, root: Path) -> None:
    assert is_read_only(command, root)
    (root / "src/lib:").symlink_to(root.parent / "key")
    assert not is_read_only(command, root)


@pytest.mark.parametrize("command", ["find README.md | xargs -0 cat", "grep -l x README.md | xargs --null cat"])
def test_lines_that_are_separated_by_nul_are_no_names(command: str, root: Path) -> None:
    """All of them are one name with newlines in it: that of another file than the one found."""
    (root / "README.md\n").symlink_to(root.parent / "key")
    assert not is_read_only(command, root)


@pytest.mark.parametrize(
    "command", ["LC_ALL=C find . -name '??' -exec cat {} +", "find . -name '??' | xargs cat", "cat ??"]
)
def test_a_question_mark_may_stand_for_one_byte_of_a_character(command: str, root: Path) -> None:
    assert is_read_only(command, root)
    (root / "é").symlink_to(root.parent / "key")
    assert not is_read_only(command, root)
    assert is_read_only("cat *.md", root)


def test_a_name_that_git_puts_in_quotes_is_another(root: Path) -> None:
    repository(filled(root, "src/é.txt", "docs/a b.md"))
    assert not is_read_only("git ls-files src | xargs -d '\\n' cat", root)
    assert not is_read_only("git ls-files src | tr '\\n' '\\0' | xargs -0 cat", root)
    assert is_read_only("git ls-files docs | xargs -d '\\n' cat", root)
    assert is_read_only("git ls-files -z src | xargs -0 cat", root)
