"""Edit on real files: what it writes, refuses and reports."""

import asyncio
import codecs
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bobstay.permissions.access import Access
from bobstay.tools.base import Claim, Context, Outcome, ToolError
from bobstay.tools.builtin.edit import Edit, EditArgs, OneEdit
from bobstay.tools.builtin.read import Read, ReadArgs
from bobstay.tools.builtin.write import Write, WriteArgs
from bobstay.tools.files.file_content import decode, digest, make_visible, with_plain_newlines
from tests.kit.tool_context import ledger_of, make_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path)


async def read(context: Context, path: str) -> Outcome:
    return ledger_of(context).learn(await Read().run(ReadArgs(path), context))


async def edit(context: Context, path: str, old: str, new: str, *, every: bool = False) -> Outcome:
    args = EditArgs(path, old, new, every)
    await Edit().check(args, context)
    return ledger_of(context).learn(await Edit().run(args, context))


async def test_an_edit_changes_the_file_and_says_what_it_reads_now(context: Context, tmp_path: Path) -> None:
    """H1-10, with the shape programs know."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    await read(context, "a.txt")
    outcome = await edit(context, "a.txt", "one", "ONE")
    assert (tmp_path / "a.txt").read_text() == "ONE\ntwo\n"
    assert outcome.content == f"The file {tmp_path}/a.txt has been updated. It now reads:\n1\tONE\n2\ttwo"
    assert outcome.display == {
        "filePath": f"{tmp_path}/a.txt",
        "oldString": "one",
        "newString": "ONE",
        "originalFile": "one\ntwo\n",
        "structuredPatch": [
            {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-one", "+ONE", " two"]}
        ],
        "userModified": False,
        "replaceAll": False,
    }
    assert (outcome.lines_added, outcome.lines_removed) == (1, 1)


def test_an_edit_states_what_it_touches(context: Context, tmp_path: Path) -> None:
    (tmp_path / "real.txt").touch()
    (tmp_path / "link.txt").symlink_to("real.txt")
    args = EditArgs("sub/../link.txt", "a", "b")
    assert Edit().access(args, context) == (Access("write", f"{tmp_path}/link.txt"),)
    assert Edit().claims(args, context) == (Claim(f"file:{os.path.realpath(tmp_path)}/real.txt"),)
    assert not Edit().read_only(args, context)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "a\ud800b"])
async def test_senseless_paths_are_refused_with_words(context: Context, path: str) -> None:
    args = EditArgs(path, "a", "b")
    Edit().access(args, context)
    Edit().claims(args, context)
    with pytest.raises(ToolError, match="path"):
        await Edit().check(args, context)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    raw=st.one_of(
        st.binary(min_size=1, max_size=80),
        st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\r", b"\xe9", b"\xc3\xa9", b"\t"]), min_size=1).map(
            b"".join
        ),
        st.text("ab\r\né”", min_size=1).map(lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le")),
        st.text("ab\r\né”", min_size=1).map(lambda text: codecs.BOM_UTF8 + text.encode()),
    ),
    data=st.data(),
    every=st.booleans(),
)
async def test_whatever_the_bytes_of_a_file_only_the_span_changes(
    context: Context, tmp_path: Path, raw: bytes, data: st.DataObject, every: bool
) -> None:
    """F15, F16, F19: random bytes, a random text that occurs once."""
    text = decode(raw).text
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assume(text[start - 1 : start + 1] != "\r\n" and text[end - 1 : end + 1] != "\r\n")
    old = with_plain_newlines(text[start:end])
    assume(with_plain_newlines(text).count(old) == 1 and make_visible(old) == old and old != "NEW")
    plain = with_plain_newlines(text)
    assume(plain.find(old, plain.find(old) + 1) < 0)
    path = tmp_path / "data"
    path.write_bytes(raw)
    ledger_of(context).hashes[str(path.resolve())] = digest(raw)
    await edit(context, "data", old, "NEW", every=every)
    content = decode(raw)
    assert path.read_bytes() == content.encode(text[:start] + "NEW" + text[end:])


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nold\r\nb", b"a\r\nnew\r\nline\r\nb"),
        (codecs.BOM_UTF8 + b"a\nold\nb\n", codecs.BOM_UTF8 + b"a\nnew\nline\nb\n"),
        (b"caf\xe9\nold\n", b"caf\xe9\nnew\nline\n"),
        ("zoë ".encode() + b"\xff\xfe\nold\n", "zoë ".encode() + b"\xff\xfe\nnew\nline\n"),
        (
            codecs.BOM_UTF16_BE + "é\r\nold\r\n".encode("utf-16-be"),
            codecs.BOM_UTF16_BE + "é\r\nnew\r\nline\r\n".encode("utf-16-be"),
        ),
        (b"a\rold\rb\r", b"a\rnew\rline\rb\r"),
    ],
)
async def test_encoding_newlines_and_mark_of_a_file_are_kept(
    context: Context, tmp_path: Path, before: bytes, after: bytes, every: bool
) -> None:
    """F15, F16, F19."""
    (tmp_path / "a").write_bytes(before)
    await read(context, "a")
    await edit(context, "a", "old", "new\nline", every=every)
    assert (tmp_path / "a").read_bytes() == after


async def test_a_character_the_encoding_lacks_is_refused_and_nothing_is_written(
    context: Context, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9\n")
    await read(context, "a")
    with pytest.raises(ToolError, match="cp1252, which has no '日'"):
        await edit(context, "a", "café", "日本")
    assert (tmp_path / "a").read_bytes() == b"caf\xe9\n"


async def test_a_file_that_was_never_read_is_not_edited(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(ToolError, match="Read it first"):
        await edit(context, "a", "x", "y")


async def test_a_file_changed_by_somebody_else_is_not_edited_and_is_shown(context: Context, tmp_path: Path) -> None:
    """F21: the error carries the fresh snippet; a fresh Read clears it."""
    lines = [f"line {number}\n" for number in range(100)]
    (tmp_path / "a").write_text("".join(lines))
    await read(context, "a")
    lines[70] = "line 70 changed\n"
    (tmp_path / "a").write_text("".join(lines))
    with pytest.raises(ToolError, match="has changed since") as failure:
        await edit(context, "a", "line 70\n", "seventy\n")
    assert "71\tline 70 changed" in str(failure.value)
    await read(context, "a")
    await edit(context, "a", "line 70 changed", "seventy")


async def test_a_touched_but_equal_file_is_not_stale(context: Context, tmp_path: Path) -> None:
    """F21: content decides, not the time stamp."""
    (tmp_path / "a").write_text("x y\n")
    await read(context, "a")
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text("x y\n")
    os.utime(tmp_path / "a", (2_000_000_000, 2_000_000_000))
    await edit(context, "a", "x", "z")


async def test_own_edits_and_writes_never_make_a_file_stale(context: Context, tmp_path: Path) -> None:
    """F21, F22: the ledger knows what was written."""
    ledger_of(context).learn(await Write().run(WriteArgs("a", "0\n"), context))
    for number in range(5):
        await edit(context, "a", f"{number}\n", f"{number + 1}\n")
    assert (tmp_path / "a").read_text() == "5\n"


async def test_a_formatter_after_an_edit_is_answered_by_one_fresh_read(context: Context, tmp_path: Path) -> None:
    """F22: the formatter's text is shown by the refusal, and one Read is enough to continue."""
    (tmp_path / "a.py").write_text("x = 1\n")
    await read(context, "a.py")
    await edit(context, "a.py", "x = 1", "x=2")
    (tmp_path / "a.py").write_text("x = 2\n")
    with pytest.raises(ToolError, match="1\tx = 2"):
        await edit(context, "a.py", "x=2", "x=3")
    await read(context, "a.py")
    await edit(context, "a.py", "x = 2", "x = 3")


async def test_a_file_changed_while_approval_was_pending_is_not_overwritten(context: Context, tmp_path: Path) -> None:
    """F37: checked, then approved minutes later: the content is hashed again when it is applied."""
    (tmp_path / "a").write_text("x\n")
    await read(context, "a")
    args = EditArgs("a", "x", "y")
    await Edit().check(args, context)
    (tmp_path / "a").write_text("x\nprecious\n")
    with pytest.raises(ToolError, match="has changed since"):
        await Edit().run(args, context)
    assert (tmp_path / "a").read_text() == "x\nprecious\n"


async def test_several_edits_are_all_made_or_none(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    await read(context, "a")
    bad = EditArgs("a", edits=(OneEdit("one", "1"), OneEdit("three", "3")))
    with pytest.raises(ToolError, match="Edit 2 of 2"):
        await Edit().run(bad, context)
    assert (tmp_path / "a").read_text() == "one\ntwo\n"
    outcome = await Edit().run(EditArgs("a", edits=(OneEdit("one", "1"), OneEdit("two", "2"))), context)
    assert (tmp_path / "a").read_text() == "1\n2\n"
    assert "in 2 places" in str(outcome.content)


@pytest.mark.parametrize(
    ("args", "phrase"),
    [
        (EditArgs("a", "x", "x"), "the same"),
        (EditArgs("a", "x"), "both old_string and new_string"),
        (EditArgs("a"), "both old_string and new_string"),
        (EditArgs("a", "x", "y", edits=(OneEdit("x", "y"),)), "not both"),
        (EditArgs("a", edits=(OneEdit("x", "y"), OneEdit("", "y"))), "empty"),
        (EditArgs("a", "x", "\ud800"), "surrogate"),
    ],
)
async def test_edits_that_make_no_sense_are_refused(context: Context, args: EditArgs, phrase: str) -> None:
    with pytest.raises(ToolError, match=phrase):
        await Edit().check(args, context)


async def test_an_empty_old_string_makes_a_file_but_never_replaces_one(context: Context, tmp_path: Path) -> None:
    outcome = await edit(context, "sub/new.txt", "", "hello\n")
    assert (tmp_path / "sub/new.txt").read_text() == "hello\n"
    assert outcome.lines_added == 1
    (tmp_path / "empty").touch()
    await edit(context, "empty", "", "filled")
    assert (tmp_path / "empty").read_text() == "filled"
    with pytest.raises(ToolError, match="exists and is not empty"):
        await edit(context, "sub/new.txt", "", "other")


async def test_a_missing_file_is_answered_with_near_names(context: Context, tmp_path: Path) -> None:
    (tmp_path / "settings.py").touch()
    with pytest.raises(ToolError, match=r"does not exist.*Did you mean .*settings\.py"):
        await edit(context, "setings.py", "a", "b")


async def test_check_reveals_nothing_about_files_outside_the_working_directories(tmp_path: Path) -> None:
    """Permission comes after the check, so the check must not look."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    context = make_context(inside)
    await Edit().check(EditArgs(str(outside / "secret"), "x", "y"), context)
    await Edit().check(EditArgs(str(outside / "missing"), "x", "y"), context)
    await Write().check(WriteArgs(str(outside / "secret"), "y"), context)


async def test_a_link_is_followed_and_stays_a_link(context: Context, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x\n")
    (tmp_path / "link").symlink_to("real")
    await read(context, "link")
    await edit(context, "link", "x", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "y\n"
    await edit(context, "real", "y", "z")


async def test_a_tolerant_match_is_told(context: Context, tmp_path: Path) -> None:
    """F17: the result says so."""
    (tmp_path / "a.go").write_text("func f() {\n\treturn 1\n}\n")
    await read(context, "a.go")
    outcome = await edit(context, "a.go", "    return 1\n}", "    return 2\n}")
    assert (tmp_path / "a.go").read_text() == "func f() {\n\treturn 2\n}\n"
    assert "does not match the file exactly" in str(outcome.content)


async def test_the_fields_for_programs_fit_into_a_frame(context: Context, tmp_path: Path) -> None:
    """H1-7: frames stay under a mebibyte however large the file and the change."""
    (tmp_path / "a").write_text("é" * 300_000 + "\nold\n")
    await read(context, "a")
    outcome = await edit(context, "a", "old", "\n".join(["ü" * 90] * 5000))
    assert outcome.display["originalFile"] is None
    assert len(msgspec.json.encode(outcome.display)) < 400_000
    assert len(str(outcome.content)) < 20_000
    assert outcome.lines_added == 5000


async def test_bytes_that_are_no_text_never_break_the_result(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("é".encode() + b"\xff\nold\n")
    await read(context, "a")
    outcome = await edit(context, "a", "old", "new")
    msgspec.json.encode((outcome.content, outcome.display))


async def test_a_cancelled_edit_has_either_happened_or_not_when_the_call_ends(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old" + "\nx" * 500_000)
    await read(context, "a")
    running = asyncio.create_task(Edit().run(EditArgs("a", "old", "new"), context))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    seen = (tmp_path / "a").read_text()[:3]
    assert seen in ("old", "new")
    assert os.listdir(tmp_path) == ["a"]


async def test_a_file_too_large_to_edit_is_refused(context: Context, tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(51 << 20)
    ledger_of(context).hashes[str((tmp_path / "a").resolve())] = "known"
    with pytest.raises(ToolError, match="too large"):
        await edit(context, "a", "x", "y")
