"""Grep: search in file contents."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.builtin.grep import Grep, GrepArgs
from tests.kit.tool_context import make_context

FILES = {
    "a.py": "import os\nneedle = 1\nx = 2\ny = 3\nz = 4\nneedle = 5\n",
    "src/b.ts": "one\nNeedle\nneedle {\n",
    ".hidden/c.py": "needle\n",
    "secret.log": "needle\n",
    "src/d.log": "needle\n",
    "other.txt": "nothing 5-x\n",
    "windows.txt": "first\r\nneedle\r\n",
    "dash.md": "--pre=sh\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for age, (name, content) in enumerate(FILES.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (root / ".gitignore").write_text("*.log\n")
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("needle\n")
    return root


@pytest.fixture
def context(root: Path) -> Context:
    return make_context(root)


async def grep(context: Context, pattern: str, **more: Any) -> Outcome:
    return await Grep().run(msgspec.convert({"pattern": pattern, **more}, GrepArgs), context)


async def lines(context: Context, pattern: str, **more: Any) -> list[str]:
    return str((await grep(context, pattern, **more)).content).splitlines()


async def content(context: Context, pattern: str, **more: Any) -> list[str]:
    return await lines(context, pattern, output_mode="content", **more)


async def test_files_come_newest_first_and_ignored_ones_not_at_all(context: Context) -> None:
    """H1-11."""
    outcome = await grep(context, "needle")
    expected = ["a.py", "src/b.ts", ".hidden/c.py", "windows.txt"]
    assert str(outcome.content).splitlines() == ["Found 4 files", *expected]
    assert outcome.display == {"mode": "files_with_matches", "numFiles": 4, "filenames": expected}


async def test_content_has_path_and_number(context: Context) -> None:
    assert await content(context, "needle", path="a.py") == ["a.py:2:needle = 1", "a.py:6:needle = 5"]
    assert await content(context, "needle", path="a.py", **{"-n": False}) == ["a.py:needle = 1", "a.py:needle = 5"]


async def test_content_is_in_order_of_path_each_time(context: Context) -> None:
    expected = [".hidden/c.py:1:needle", "a.py:2:needle = 1", "a.py:6:needle = 5", "src/b.ts:3:needle {"]
    expected.append("windows.txt:2:needle")
    for _ in range(3):
        assert await content(context, "needle") == expected


async def test_lines_around_a_match_are_marked(context: Context) -> None:
    expected = ["a.py-1-import os", "a.py:2:needle = 1", "a.py-3-x = 2", "--", "a.py-5-z = 4", "a.py:6:needle = 5"]
    assert await content(context, "needle", path="a.py", **{"-C": 1}) == expected
    assert await content(context, "y = ", path="a.py", **{"-B": 1}) == ["a.py-3-x = 2", "a.py:4:y = 3"]
    assert await content(context, "y = ", path="a.py", **{"-A": 1}) == ["a.py:4:y = 3", "a.py-5-z = 4"]
    assert await content(context, "y = ", path="a.py", **{"-A": 1, "-n": False}) == ["a.py:y = 3", "a.py-z = 4"]
    assert await content(context, "5-x", **{"-n": False}) == ["other.txt:nothing 5-x"]


async def test_counts(context: Context) -> None:
    outcome = await grep(context, "needle", output_mode="count", **{"-i": True})
    assert str(outcome.content).splitlines() == [
        ".hidden/c.py:1",
        "a.py:2",
        "src/b.ts:2",
        "windows.txt:1",
        "Found 6 matches in 4 files.",
    ]
    assert outcome.display["numMatches"] == 6
    assert outcome.display["mode"] == "count"


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({"glob": "*.py"}, ["a.py", ".hidden/c.py"]),
        ({"glob": "*.{ts,txt}"}, ["src/b.ts", "windows.txt"]),
        ({"glob": "src/**"}, ["src/b.ts"]),
        ({"glob": "*.ts, *.txt"}, ["src/b.ts", "windows.txt"]),
        ({"glob": "!*.py"}, ["src/b.ts", "windows.txt"]),
        ({"glob": "*.log"}, []),
        ({"type": "py"}, ["a.py", ".hidden/c.py"]),
        ({"type": "py", "glob": ".hidden/*"}, [".hidden/c.py"]),
        ({"path": "src"}, ["src/b.ts"]),
        ({"path": "secret.log"}, ["secret.log"]),
    ],
)
async def test_a_search_can_be_narrowed(context: Context, narrowed: dict[str, str], expected: list[str]) -> None:
    """H1-11: a glob does not include ignored files; a file that is named is searched."""
    assert (await grep(context, "needle", **narrowed)).display["filenames"] == expected


async def test_a_glob_that_fits_ignored_files_only_is_explained(context: Context, root: Path) -> None:
    (root / ".gitignore").write_text("*.log\nnode_modules\n")
    (root / "node_modules" / "lib").mkdir(parents=True)
    (root / "node_modules" / "lib" / "a.js").write_text("needle\n")
    output = str((await grep(context, "needle", glob="node_modules/**")).content)
    assert output.startswith("No files found\n(1 matching file was left out because .gitignore names them")
    assert "node_modules/lib/a.js" in output
    assert "as `path`" in str((await grep(context, "needle", glob="*.log", output_mode="content")).content)
    assert str((await grep(context, "nowhere", glob="node_modules/**")).content) == "No files found"
    assert str((await grep(context, "needle", glob=".git/**")).content) == "No files found"
    context.services.denied_reads = lambda: lambda path: path.endswith(".js")
    assert str((await grep(context, "needle", glob="node_modules/**")).content) == "No files found"


async def test_a_match_may_span_lines_if_wanted(context: Context) -> None:
    assert await content(context, "x = 2.*z", path="a.py") == ["No matches found"]
    found = await content(context, "x = 2.*z", path="a.py", multiline=True)
    assert found == ["a.py:3:x = 2", "a.py:4:y = 3", "a.py:5:z = 4"]


async def test_pages_follow_each_other(context: Context) -> None:
    """H1-11."""
    first = await grep(context, "needle", output_mode="content", head_limit=2)
    assert "1-2 of 5; use offset 2" in str(first.content)
    assert first.display["appliedLimit"] == 2
    pages = [(await grep(context, "needle", head_limit=2, offset=offset)).display["filenames"] for offset in (0, 2, 4)]
    assert pages == [["a.py", "src/b.ts"], [".hidden/c.py", "windows.txt"], []]


async def test_there_is_a_limit_unless_all_are_asked_for(context: Context, root: Path) -> None:
    (root / "long.txt").write_text("hay\n" * 400)
    assert len(await content(context, "hay")) == 251
    assert len(await content(context, "hay", head_limit=0)) == 400


async def test_long_lines_are_cut(context: Context, root: Path) -> None:
    """F23."""
    (root / "long.txt").write_text("hay" + "x" * 5_000_000 + "\n")
    (line,) = await content(context, "hay")
    assert len(line) < 700
    assert "omitted" in line


async def test_more_than_can_be_kept_ends_the_search(context: Context, root: Path) -> None:
    """F23."""
    (root / "huge.txt").write_bytes((b"y" * 99 + b"\n") * 250_000)
    outcome = await grep(context, "y", output_mode="content", path="huge.txt")
    assert "ended early" in str(outcome.content)
    assert outcome.display["numLines"] == 250


@pytest.mark.parametrize("pattern", ["--pre=sh", "-e", "--files"])
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(context: Context, pattern: str) -> None:
    found = await content(context, pattern)
    assert found == (["dash.md:1:--pre=sh"] if pattern == "--pre=sh" else ["No matches found"])


@pytest.mark.parametrize(
    ("wrong", "phrase"),
    [
        ({"pattern": "foo("}, "unclosed group"),
        ({"pattern": "(?=a)"}, "without them"),
        ({"pattern": r"(a)\1"}, "without them"),
        ({"pattern": "x", "type": "no-such-type"}, "unrecognized file type"),
        ({"pattern": "x", "glob": "[", "path": "src"}, "unclosed character class"),
        ({"pattern": "x", "path": "scr"}, "Did you mean .*src"),
        ({"pattern": "a\0b"}, "NUL"),
    ],
)
async def test_mistakes_are_explained(context: Context, wrong: dict[str, str], phrase: str) -> None:
    with pytest.raises(ToolError, match=phrase):
        await grep(context, **wrong)


async def test_bytes_that_are_no_text_are_survived(context: Context, root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9 hay\n")
    (root / "binary.bin").write_bytes(b"hay\0\xff\xfe hay\n")
    (root / os.fsdecode(b"na\xffme.txt")).write_bytes(b"hay\n")
    outcome = await grep(context, "hay", output_mode="content")
    assert "latin.txt:1:caf\N{REPLACEMENT CHARACTER} hay" in str(outcome.content)
    assert (await grep(context, "hay")).display["numFiles"] >= 2


async def test_nothing_found_is_no_error(context: Context) -> None:
    assert await lines(context, "zzz") == ["No files found"]
    assert await content(context, "zzz") == ["No matches found"]
    assert await lines(context, "zzz", output_mode="count") == ["No matches found"]


def test_the_fields_have_the_names_of_options() -> None:
    encoded = msgspec.to_builtins(GrepArgs("x", before=1, after=2, around=3, numbers=False, ignore_case=True))
    assert encoded == {"pattern": "x", "-B": 1, "-A": 2, "-C": 3, "-n": False, "-i": True}


def test_what_a_call_states(context: Context, root: Path) -> None:
    tool = Grep()
    assert tool.access(GrepArgs("x"), context) == (Access("read", str(root)),)
    assert tool.access(GrepArgs("x", path="/etc"), context) == (Access("read", "/etc"),)
    assert tool.read_only(GrepArgs("x"), context)
