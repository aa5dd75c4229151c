"""ApplyPatch on real files: all or none, what it refuses, touches and reports."""

import codecs
import os
from pathlib import Path

import msgspec
import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import EVERYTHING, Claim, Context, Outcome, ToolError
from bobstay.tools.builtin.apply_patch import ApplyPatch, ApplyPatchArgs
from bobstay.tools.builtin.read import Read, ReadArgs
from bobstay.tools.files.file_content import digest
from tests.kit.tool_context import ledger_of, make_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path)


async def read(context: Context, *paths: str) -> None:
    for path in paths:
        ledger_of(context).learn(await Read().run(ReadArgs(path), context))


async def patch(context: Context, body: str) -> Outcome:
    args = ApplyPatchArgs(f"*** Begin Patch\n{body}\n*** End Patch")
    await ApplyPatch().check(args, context)
    return ledger_of(context).learn(await ApplyPatch().run(args, context))


async def test_one_patch_adds_updates_moves_and_deletes(context: Context, tmp_path: Path) -> None:
    """H1-4"""
    (tmp_path / "a.py").write_text("one\ntwo\n")
    (tmp_path / "b.sh").write_text("echo\n")
    (tmp_path / "b.sh").chmod(0o755)
    (tmp_path / "c.txt").write_text("gone\n")
    await read(context, "a.py", "b.sh", "c.txt")
    outcome = await patch(
        context,
        "*** Update File: a.py\n-one\n+ONE\n*** Add File: new/d.txt\n+hello\n"
        "*** Update File: b.sh\n*** Move to: bin/b.sh\n@@\n-echo\n+echo hi\n*** Delete File: c.txt",
    )
    assert (tmp_path / "a.py").read_text() == "ONE\ntwo\n"
    assert (tmp_path / "new/d.txt").read_text() == "hello\n"
    assert (tmp_path / "bin/b.sh").read_text() == "echo hi\n"
    assert os.stat(tmp_path / "bin/b.sh").st_mode & 0o777 == 0o755
    assert not (tmp_path / "b.sh").exists()
    assert not (tmp_path / "c.txt").exists()
    assert outcome.content == (
        f"Updated {tmp_path}/a.py. It now reads:\n1\tONE\n2\ttwo\nCreated {tmp_path}/new/d.txt.\n"
        f"Moved {tmp_path}/b.sh to {tmp_path}/bin/b.sh. It now reads:\n1\techo hi\nDeleted {tmp_path}/c.txt."
    )
    assert (outcome.lines_added, outcome.lines_removed) == (3, 3)
    assert outcome.files[str(tmp_path / "bin/b.sh")] == digest(b"echo hi\n")
    shown = outcome.display["files"]
    assert [(each["type"], each["filePath"]) for each in shown] == [
        ("update", f"{tmp_path}/a.py"),
        ("create", f"{tmp_path}/new/d.txt"),
        ("move", f"{tmp_path}/bin/b.sh"),
        ("delete", f"{tmp_path}/c.txt"),
    ]
    assert shown[0]["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-one", "+ONE", " two"]}
    ]
    assert shown[2]["movedFrom"] == f"{tmp_path}/b.sh"
    assert msgspec.json.encode(outcome.display)


async def test_a_patched_file_may_be_patched_again_without_a_new_read(context: Context, tmp_path: Path) -> None:
    """H1-10"""
    await patch(context, "*** Add File: a\n+one")
    await patch(context, "*** Update File: a\n-one\n+two")
    assert (tmp_path / "a").read_text() == "two\n"


async def test_all_files_are_changed_or_none(context: Context, tmp_path: Path) -> None:
    """H1-4"""
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "b").write_text("two\n")
    await read(context, "a", "b")
    with pytest.raises(ToolError, match=r"b: the lines to change are not in the file"):
        await patch(context, "*** Update File: a\n-one\n+1\n*** Update File: b\n-three\n+3")
    assert (tmp_path / "a").read_text() == "one\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_files_already_written_are_put_back_when_a_later_one_fails(context: Context, tmp_path: Path) -> None:
    """H1-4"""
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/b").write_text("two\n")
    await read(context, "a", "closed/b")
    (tmp_path / "closed").chmod(0o500)
    try:
        with pytest.raises(ToolError, match=r"permission denied.*All files of the patch are as they were"):
            await patch(context, "*** Update File: a\n-one\n+1\n*** Add File: c\n+3\n*** Delete File: closed/b")
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert (tmp_path / "a").read_text() == "one\n"
    assert not (tmp_path / "c").exists()


async def test_files_already_written_are_put_back_when_a_patch_contradicts_itself(
    context: Context, tmp_path: Path
) -> None:
    """H1-4"""
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "a").chmod(0o751)
    (tmp_path / "m").write_text("moved\n")
    await read(context, "a", "m")
    with pytest.raises(ToolError, match=r"All files of the patch are as they were"):
        await patch(
            context,
            "*** Update File: a\n-one\n+1\n*** Update File: m\n*** Move to: n\n"
            "*** Add File: x\n+1\n*** Add File: x/y\n+2",
        )
    assert (tmp_path / "a").read_text() == "one\n"
    assert os.stat(tmp_path / "a").st_mode & 0o777 == 0o751
    assert sorted(os.listdir(tmp_path)) == ["a", "m"]


async def test_files_already_written_are_put_back_when_a_directory_is_a_file(context: Context, tmp_path: Path) -> None:
    """H1-4"""
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "plain").write_text("no folder\n")
    await read(context, "a")
    with pytest.raises(ToolError, match="is a file, not a directory"):
        await patch(context, "*** Update File: a\n-one\n+1\n*** Add File: plain/c\n+3")
    assert (tmp_path / "a").read_text() == "one\n"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("*** Update File: unread\n-x\n+y", "has not been read in this session"),
        ("*** Delete File: unread", "has not been read in this session"),
        ("*** Update File: stale\n-x\n+y", r"(?s)has changed since it was last read.*1\tnow"),
        ("*** Delete File: stale", "has changed since it was last read"),
        ("*** Add File: unread\n+y", "Add File makes a new file, but .*unread exists"),
        ("*** Update File: known\n*** Move to: unread\n@@\n-k\n+l", "which exists"),
        ("*** Update File: missing\n-x\n+y", "File does not exist"),
        ("*** Delete File: known\n*** Update File: known\n-k\n+l", "earlier section of the patch removes"),
        ("*** Delete File: link", "is a symbolic link. Name the file it leads to"),
        ("*** Update File: known\n k", "leaves every file as it was"),
        ("*** Update File: folder\n-x\n+y", "is a directory"),
        ("*** Update File: readonly\n-r\n+s", "is read-only"),
    ],
)
async def test_what_would_lose_something_is_refused(context: Context, tmp_path: Path, body: str, problem: str) -> None:
    """H1-9, H1-10"""
    for name, text in (("unread", "x\n"), ("stale", "x\n"), ("known", "k\n"), ("readonly", "r\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("known")
    await read(context, "stale", "known", "readonly")
    (tmp_path / "stale").write_text("now\n")
    (tmp_path / "readonly").chmod(0o444)
    with pytest.raises(ToolError, match=problem):
        await patch(context, body)
    assert (tmp_path / "known").read_text() == "k\n"
    assert (tmp_path / "unread").read_text() == "x\n"


async def test_a_file_that_changes_after_the_approval_is_not_overwritten(context: Context, tmp_path: Path) -> None:
    """H1-10"""
    (tmp_path / "a").write_text("one\n")
    await read(context, "a")
    args = ApplyPatchArgs("*** Begin Patch\n*** Update File: a\n-one\n+1\n*** End Patch")
    await ApplyPatch().check(args, context)
    (tmp_path / "a").write_text("one\nmore\n")
    with pytest.raises(ToolError, match="has changed since"):
        await ApplyPatch().run(args, context)
    assert (tmp_path / "a").read_text() == "one\nmore\n"


async def test_a_file_may_be_deleted_and_added_again_in_one_patch(context: Context, tmp_path: Path) -> None:
    """H1-4"""
    (tmp_path / "a").write_text("one\n")
    await read(context, "a")
    await patch(context, "*** Delete File: a\n*** Add File: a\n+whole new")
    assert (tmp_path / "a").read_text() == "whole new\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\n", b"ONE\r\ntwo\r\n"),
        (codecs.BOM_UTF8 + b"one\n\xc3\xa4\n", codecs.BOM_UTF8 + b"ONE\n\xc3\xa4\n"),
        ("\ufeffone\nä\n".encode("utf-16-le"), "\ufeffONE\nä\n".encode("utf-16-le")),
        (b"one\n\xe4\xf6 latin\n", b"ONE\n\xe4\xf6 latin\n"),
        (b"one\nlast line without newline", b"ONE\nlast line without newline"),
    ],
)
async def test_bytes_the_patch_does_not_name_stay(
    context: Context, tmp_path: Path, before: bytes, after: bytes
) -> None:
    """H1-10"""
    (tmp_path / "a.txt").write_bytes(before)
    await read(context, "a.txt")
    await patch(context, "*** Update File: a.txt\n-one\n+ONE")
    assert (tmp_path / "a.txt").read_bytes() == after


def test_a_patch_states_every_path_it_touches(context: Context, tmp_path: Path) -> None:
    """H1-4"""
    text = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: /etc/b\n*** Update File: ../c\n*** Move to: d\n"
    args = ApplyPatchArgs(f"{text}*** End Patch")
    paths = [f"{tmp_path}/a", "/etc/b", f"{tmp_path.parent}/c", f"{tmp_path}/d"]
    assert ApplyPatch().access(args, context) == tuple(Access("write", path) for path in paths)
    assert ApplyPatch().claims(args, context) == tuple(Claim(f"file:{os.path.realpath(path)}") for path in paths)
    assert ApplyPatch().access(ApplyPatchArgs("no patch"), context) == ()
    assert ApplyPatch().claims(ApplyPatchArgs("no patch"), context) == (EVERYTHING,)


async def test_what_is_no_patch_is_refused_before_anybody_is_asked(context: Context) -> None:
    """H1-4"""
    with pytest.raises(ToolError, match="first line of the patch must be"):
        await ApplyPatch().check(ApplyPatchArgs("diff --git a b"), context)
    with pytest.raises(ToolError, match="NUL"):
        await patch(context, "*** Delete File: a\0b")
    with pytest.raises(ToolError, match="surrogate"):
        await patch(context, "*** Add File: a\n+\ud800")
