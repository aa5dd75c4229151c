"""H5-7: path resolution in every spelling."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.access import Effect
from bobstay.permissions.path_resolution import (
    PROTECTED_DIRECTORIES,
    PROTECTED_FILES,
    FileSystemView,
    locate,
    normalise,
    protected_part,
    resolve,
    within,
)
from bobstay.permissions.policy import Policy
from tests.unit.permissions.policy_kit import ALLOW, ASK, DENY, HOME, ROOT, decide, effect, policy

NOWHERE: dict[str, str] = {}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/srv/proj/src/app.py", ALLOW),
        ("src/", ALLOW),
        (".", ALLOW),
        ("a/../../proj/src/x", ALLOW),
        ("%2e%2e/x", ALLOW),
        ("\u2026/x", ALLOW),
        ("weird;name&&x.txt", ALLOW),
        ("src/[id]/page.tsx", ALLOW),
        ("../other/x", ASK),
        ("src/../../other/x", ASK),
        ("/srv/proj-evil/x", ASK),
        ("/dev/zero", ASK),
        ("//evil.com/share/x", ASK),
        ("\\\\evil\\share\\x", ASK),
        ("file:///etc/passwd", ASK),
        ("src/a\nb", ASK),
        ("src/\x85b", ASK),
        ("src/\x7fb", ASK),
        ("", ASK),
        ("~root/x", ASK),
        ("x" * 5000, ASK),
        ("src/a.py\0.png", DENY),
    ],
)
def test_reading_is_free_inside_and_asked_about_outside(path: str, expected: Effect) -> None:
    assert effect("Read", path) is expected


@pytest.mark.parametrize(
    ("link", "target", "path", "expected"),
    [
        ("/srv/proj/l", "/srv/proj/src", "l/x", ALLOW),
        ("/srv/proj/l", "src", "l/x", ALLOW),
        ("/srv/proj/l", "/etc", "l/x", ASK),
        ("/srv/proj/l", "..", "l/x", ASK),
        ("/srv/proj/l", "/srv/proj/l", "l/x", ASK),
        ("/srv/proj/l", "/etc", "l/../src/x", ASK),
        ("/srv/proj/x", "/etc/passwd", "gone/../x", ASK),
        ("/srv", "/data", "/srv/proj/x", ALLOW),
        ("/srv", "/data", "/data/proj/x", ALLOW),
    ],
)
def test_symbolic_links_are_followed_and_both_spellings_must_be_inside(
    link: str, target: str, path: str, expected: Effect
) -> None:
    assert effect("Read", path, links={link: target}) is expected


def test_an_allow_rule_must_match_both_spellings_and_a_deny_rule_either() -> None:
    links = {"/srv/proj/key": "/home/dev/.ssh/id_rsa"}
    assert effect("Edit", "key", allow=("Edit(**)",), links=links) is ASK
    assert effect("Read", "key", allow=("Read(./**)",), deny=("Read(~/.ssh/**)",), links=links) is DENY


def test_names_are_folded_where_the_file_system_folds_them() -> None:
    assert effect("Read", "Secrets/key", deny=("Read(./secrets/**)",), fold_case=True) is DENY
    assert effect("Read", "Secrets/key", deny=("Read(./secrets/**)",), fold_case=False) is ALLOW


def test_an_allow_rule_does_not_take_one_encoding_of_a_name_for_another() -> None:
    assert effect("Edit", "se\u0301c/x", allow=("Edit(s\u00e9c/**)",)) is ASK


@pytest.mark.parametrize("name", sorted(PROTECTED_DIRECTORIES))
@pytest.mark.parametrize("above", ["", "a/b/"])
def test_protected_directories_are_never_written_unasked(name: str, above: str) -> None:
    for path in (f"{above}{name}/x/y", f"{above}{name}", f"{above}{name.upper()}/x"):
        decision = decide(policy("acceptEdits", allow=("Edit", "Edit(**)")), "Edit", path)
        assert (decision.effect, decision.reason_type) == (ASK, "safety")
        assert decision.blocked_path == f"{ROOT}/{path}"


@pytest.mark.parametrize("name", sorted(PROTECTED_FILES))
def test_protected_files_are_never_written_unasked(name: str) -> None:
    assert effect("Write", f"a/{name}", "acceptEdits", allow=("Edit(**)",)) is ASK
    assert effect("Write", f"a/{name}", deny=("Edit(**)",)) is DENY


def test_a_protected_place_behind_a_link_is_protected() -> None:
    links = {"/srv/proj/hooks": "/srv/proj/.git/hooks"}
    assert effect("Write", "hooks/pre-commit", "acceptEdits", links=links) is ASK


@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/ci.yml", "gitconfig.md", "x.git/y", "git/config"])
def test_similar_names_are_not_protected(path: str) -> None:
    assert effect("Edit", path, "acceptEdits") is ALLOW


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_whatever_is_located_is_absolute_and_normal(path: str) -> None:
    found = locate(path, ROOT, FileSystemView(ROOT, HOME, readlink=NOWHERE.get))
    assert found.spellings or found.trouble
    for spelling in found.spellings:
        assert spelling.startswith("/")
        assert spelling == normalise(spelling)
        assert protected_part(found) is not None


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=10))
def test_the_lexical_reading_agrees_with_the_operating_system(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert normalise(path) == os.path.normpath(path).replace("//", "/")
    assert resolve(path, NOWHERE.get) == normalise(path)


@given(st.lists(st.sampled_from(["a", "ab", "b"]), max_size=4), st.lists(st.sampled_from(["a", "ab", "b"]), max_size=4))
def test_containment_is_by_components(path: list[str], directory: list[str]) -> None:
    assert within("/" + "/".join(path), "/" + "/".join(directory)) is (path[: len(directory)] == directory)


def test_real_links_on_a_real_disk_are_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "in").symlink_to("src")
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    judge = Policy(root=str(root), home=str(tmp_path))
    assert decide(judge, "Read", str(root / "in" / "x")).effect is ALLOW
    for name in ("out", "loop"):
        assert decide(judge, "Read", str(root / name / "x")).effect is ASK
    assert resolve(str(root / "in"), lambda path: os.readlink(path) if Path(path).is_symlink() else None) == str(
        (root / "src").resolve()
    )
