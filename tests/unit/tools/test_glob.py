"""Glob: files by path pattern."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.builtin.glob import Glob, GlobArgs
from tests.kit.tool_context import make_context


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    names = (
        "a.py",
        "src/b.py",
        "src/deep/c.py",
        "src/d.ts",
        "src/e.tsx",
        ".hidden/f.py",
        "weird [x]\n.py",
        "build/g.py",
    )
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (root / ".git").mkdir()
    (root / ".git" / "config.py").touch()
    (root / ".gitignore").write_text("build/\n*.log\n")
    (root / "ignored.log").touch()
    return root


@pytest.fixture
def context(root: Path) -> Context:
    return make_context(root)


async def glob(context: Context, pattern: str, path: str = "") -> Outcome:
    return await Glob().run(GlobArgs(pattern, path), context)


async def names(context: Context, pattern: str, path: str = "") -> list[str]:
    found: list[str] = (await glob(context, pattern, path)).display["filenames"]
    return [os.path.relpath(name, context.root) for name in found]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py", ".hidden/f.py", "weird [x]\n.py"]),
        ("*.py", ["a.py", "weird [x]\n.py"]),
        ("./a.py", ["a.py"]),
        ("src/*.ts", ["src/d.ts"]),
        ("src/**/*.{ts,tsx}", ["src/d.ts", "src/e.tsx"]),
        ("**/{b,c}.py", ["src/b.py", "src/deep/c.py"]),
        ("src/", ["src/b.py", "src/deep/c.py", "src/d.ts", "src/e.tsx"]),
        ("s*/*/?.py", ["src/deep/c.py"]),
        ("src/[b-c].py", ["src/b.py"]),
        ("no/such/*.py", []),
        ("*.log", []),
        ("**/ignored.log", []),
        ("build/*.py", ["build/g.py"]),
        ("**/g.py", []),
        (".git/*", [".git/config.py"]),
        ("!a.py", []),
        ("--pre=x", []),
    ],
)
async def test_patterns_find_what_they_mean_newest_first(context: Context, pattern: str, expected: list[str]) -> None:
    """H1-11: .gitignore is honoured, unless the pattern names the very directory; hidden files count."""
    assert await names(context, pattern) == expected


async def test_a_place_to_look_in_may_be_given(context: Context, root: Path) -> None:
    assert await names(context, "*.py", "src") == ["src/b.py"]
    assert await names(context, "*.py", str(root / "src")) == ["src/b.py"]
    assert await names(context, f"{root}/src/**/*.py") == ["src/b.py", "src/deep/c.py"]
    context.cwd = root / "src"
    assert await names(context, "../*.py") == ["a.py", "weird [x]\n.py"]


async def test_results_are_absolute_and_shaped_for_hosts(context: Context, root: Path) -> None:
    outcome = await glob(context, "a.py")
    assert outcome.content == str(root / "a.py")
    shown: dict[str, Any] = outcome.display
    assert shown.pop("durationMs") >= 0
    assert shown == {"filenames": [str(root / "a.py")], "numFiles": 1, "truncated": False}


async def test_a_hundred_are_shown_and_more_is_said(context: Context, root: Path) -> None:
    """H1-11."""
    for number in range(105):
        (root / f"many{number}.txt").touch()
    outcome = await glob(context, "*.txt")
    assert len(outcome.display["filenames"]) == 100
    assert outcome.display["truncated"] is True
    assert "100 of 105" in str(outcome.content)


async def test_gitignore_counts_without_a_repository(tmp_path: Path) -> None:
    """H1-11."""
    root = tmp_path / "plain"
    root.mkdir()
    (root / ".gitignore").write_text("*.tmp\n")
    (root / "a.tmp").touch()
    (root / "a.txt").touch()
    assert sorted(await names(make_context(root), "**/*")) == [".gitignore", "a.txt"]


async def test_names_that_are_no_text_can_still_be_stored(context: Context, root: Path) -> None:
    (root / os.fsdecode(b"na\xffme.rb")).touch()
    outcome = await glob(context, "*.rb")
    assert str(outcome.content).endswith("na\N{REPLACEMENT CHARACTER}me.rb")
    msgspec.json.encode(outcome.display)


async def test_nothing_found_is_no_error(context: Context) -> None:
    outcome = await glob(context, "**/*.rs")
    assert (outcome.content, outcome.is_error) == ("No files found", False)


async def test_a_missing_directory_is_answered_with_near_names(context: Context) -> None:
    with pytest.raises(ToolError, match=r"does not exist.*Did you mean .*/src"):
        await glob(context, "*", "srcc")
    with pytest.raises(ToolError, match="is a file"):
        await glob(context, "*", "a.py")


@pytest.mark.parametrize("pattern", ["[", "{a,b", "a\0b"])
async def test_a_malformed_pattern_is_explained(context: Context, pattern: str) -> None:
    with pytest.raises(ToolError):
        await glob(context, pattern)


async def test_the_users_settings_for_ripgrep_do_not_count(context: Context, root: Path) -> None:
    (root / "rc").write_text("--glob=!*.py\n")
    context.environment = context.environment | {"RIPGREP_CONFIG_PATH": str(root / "rc")}
    assert "a.py" in await names(context, "*.py")


def test_what_a_call_states(context: Context, root: Path) -> None:
    tool = Glob()
    assert tool.access(GlobArgs("**/*.py"), context) == (Access("read", str(root)),)
    assert tool.access(GlobArgs("/etc/*.conf"), context) == (Access("read", "/etc"),)
    assert tool.access(GlobArgs("../../x/*"), context) == (Access("read", str(root.parent.parent / "x")),)
    assert tool.access(GlobArgs("/*"), context) == (Access("read", "/"),)
    assert tool.read_only(GlobArgs("*"), context)
    assert all(claim.shared for claim in tool.claims(GlobArgs("*"), context))
