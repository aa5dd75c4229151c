"""Write on real files: atomic replacement, stale files, and clear errors."""

import codecs
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import Claim, Context, Outcome, ToolError
from bobstay.tools.builtin.read import Read, ReadArgs
from bobstay.tools.builtin.write import Write, WriteArgs
from bobstay.tools.files.atomic_write import ConcurrentChangeError, replace_file
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.tool_path import ToolPath
from tests.kit.tool_context import ledger_of, make_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path)


async def read(context: Context, path: str) -> Outcome:
    return ledger_of(context).learn(await Read().run(ReadArgs(path), context))


async def write(context: Context, path: str, content: str) -> Outcome:
    args = WriteArgs(path, content)
    await Write().check(args, context)
    return ledger_of(context).learn(await Write().run(args, context))


async def test_a_new_file_is_made_with_the_directories_on_its_path(context: Context, tmp_path: Path) -> None:
    """H1-9, with the shape programs know."""
    outcome = await write(context, "a/b/c.txt", "new file\n")
    path = tmp_path / "a/b/c.txt"
    assert path.read_text() == "new file\n"
    assert outcome.display == {
        "type": "create",
        "filePath": str(path),
        "content": "new file\n",
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    assert outcome.files == {str(path.resolve()): digest(b"new file\n")}
    assert (outcome.lines_added, outcome.lines_removed) == (1, 0)


async def test_a_new_file_gets_the_mode_the_user_gives_new_files(context: Context, tmp_path: Path) -> None:
    (tmp_path / "like").touch()
    await write(context, "a", "x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "like").stat().st_mode


async def test_a_read_file_is_replaced_and_the_difference_is_told(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\nthree\n")
    await read(context, "a")
    outcome = await write(context, "a", "one\n2\n3\nthree\n")
    assert outcome.display["type"] == "update"
    assert outcome.display["originalFile"] == "one\ntwo\nthree\n"
    assert outcome.display["structuredPatch"][0]["lines"] == [" one", "-two", "+2", "+3", " three"]
    assert (outcome.lines_added, outcome.lines_removed) == (2, 1)
    await write(context, "a", "again\n")


async def test_a_file_never_read_is_not_replaced(context: Context, tmp_path: Path) -> None:
    """H1-9."""
    (tmp_path / "a").write_text("precious")
    with pytest.raises(ToolError, match="Read it first"):
        await write(context, "a", "x")
    with pytest.raises(ToolError, match="Read it first"):
        await Write().run(WriteArgs("a", "x"), context)
    assert (tmp_path / "a").read_text() == "precious"


async def test_a_file_changed_since_is_not_replaced_and_is_shown(context: Context, tmp_path: Path) -> None:
    """F21, F37: hashed again when it is applied."""
    (tmp_path / "a").write_text("old")
    await read(context, "a")
    args = WriteArgs("a", "x")
    await Write().check(args, context)
    (tmp_path / "a").write_text("precious")
    with pytest.raises(ToolError, match="1\tprecious"):
        await Write().run(args, context)
    assert (tmp_path / "a").read_text() == "precious"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\rb\r", "x\ny\n", b"x\ry\r"),
        (b"a\nb\n", "x\r\ny\n", b"x\r\ny\n"),
        (codecs.BOM_UTF8 + b"a\n", "x\n", codecs.BOM_UTF8 + b"x\n"),
        (codecs.BOM_UTF8 + b"a\n", "\ufeffx\n", codecs.BOM_UTF8 + b"x\n"),
        (
            codecs.BOM_UTF16_LE + "é\r\n".encode("utf-16-le"),
            "ü\n",
            codecs.BOM_UTF16_LE + "ü\r\n".encode("utf-16-le"),
        ),
        (b"caf\xe9\n", "th\xe9\n", b"th\xe9\n"),
        (b"caf\xe9\n", "日\n", "日\n".encode()),
        ("é".encode() + b"\xff\n", "ü\n", "ü\n".encode()),
    ],
)
async def test_newlines_mark_and_encoding_of_a_replaced_file_are_kept(
    context: Context, tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    """H1-9, F15, F19."""
    (tmp_path / "a").write_bytes(before)
    await read(context, "a")
    await write(context, "a", content)
    assert (tmp_path / "a").read_bytes() == after


async def test_the_mode_of_a_replaced_file_is_kept(context: Context, tmp_path: Path) -> None:
    """H1-9."""
    path = tmp_path / "run.sh"
    path.write_text("a")
    path.chmod(0o751)
    await read(context, "run.sh")
    await write(context, "run.sh", "b")
    assert path.stat().st_mode & 0o7777 == 0o751


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o400])
async def test_a_read_only_file_is_not_replaced(context: Context, tmp_path: Path, mode: int) -> None:
    path = tmp_path / "generated.py"
    path.write_text("kept")
    path.chmod(mode)
    await read(context, "generated.py")
    with pytest.raises(ToolError, match=rf"is read-only \(mode {mode:04o}\).*chmod u\+w"):
        await write(context, "generated.py", "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("kept", mode)


MOUNTED = """
import sys
from bobstay.tools.files.atomic_write import replace_file
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.tool_path import ToolPath
path = sys.argv[1]
print(replace_file(ToolPath(path, path), b"new, and longer or shorter", digest(b"old " * 20)))
"""


def test_a_file_that_is_a_mount_point_is_written_in_place(tmp_path: Path) -> None:
    """As files are that are mounted one by one into a container: rename(2) says EBUSY."""
    outside, inside = tmp_path / "outside", tmp_path / "work" / "inside"
    inside.parent.mkdir()
    inside.touch()
    outside.write_bytes(b"old " * 20)
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2"'
    phrase = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(outside), str(inside)]
    ended = subprocess.run([*phrase, sys.executable, MOUNTED], capture_output=True, text=True, check=False)
    if "unshare:" in ended.stderr or "mount:" in ended.stderr:
        pytest.skip(f"no mount namespaces here: {ended.stderr}")
    assert ended.stdout.strip() == digest(b"new, and longer or shorter"), ended.stderr
    assert outside.read_bytes() == b"new, and longer or shorter"
    assert list(inside.parent.iterdir()) == [inside]


async def test_a_link_is_followed_and_stays(context: Context, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("made")
    await read(context, "real")
    await write(context, "link", "b")
    await write(context, "dangling", "c")
    assert (tmp_path / "link").is_symlink()
    assert ((tmp_path / "real").read_text(), (tmp_path / "made").read_text()) == ("b", "c")


async def test_other_names_of_a_replaced_file_are_mentioned(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    await read(context, "a")
    outcome = await write(context, "a", "new")
    assert "2 hard links" in str(outcome.content)
    assert (tmp_path / "b").read_text() == "a"


async def test_directories_and_devices_are_not_written_to(context: Context, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path, phrase in [
        (".", "is a directory"),
        ("pipe", "a named pipe"),
        ("/dev/null", "device"),
        ("loop", "form a loop"),
    ]:
        with pytest.raises(ToolError, match=phrase):
            await Write().run(WriteArgs(path, "x"), context)


async def test_a_path_through_a_file_is_refused_with_words(context: Context, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ToolError, match="not a directory"):
        await write(context, "file/below", "x")
    with pytest.raises(ToolError, match="ends with a slash"):
        await write(context, "folder/", "x")
    with pytest.raises(ToolError, match="too long"):
        await write(context, "n" * 300, "x")


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory seen by somebody who may not write everywhere: as root we step down for the test."""
    root = Path(tempfile.mkdtemp()).resolve()
    root.chmod(0o755)
    stepped_down = os.geteuid() == 0
    (root / "old").write_text("old")
    if stepped_down:
        os.seteuid(65534)
    else:
        root.chmod(0o555)
    yield root
    if stepped_down:
        os.seteuid(0)
    root.chmod(0o755)
    shutil.rmtree(root)


async def test_a_directory_that_may_not_be_written_to_leaves_the_file_and_says_why(unprivileged: Path) -> None:
    context = make_context(unprivileged)
    await read(context, "old")
    for path in ("old", "new", "sub/new"):
        with pytest.raises(ToolError, match="permission denied"):
            await write(context, path, "x")
    assert (unprivileged / "old").read_text() == "old"
    assert os.listdir(unprivileged) == ["old"]


async def test_a_full_disk_leaves_the_old_file_whole_and_no_rubbish(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("precious")
    await read(context, "a")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(ToolError, match="larger than the system allows"):
            await write(context, "a", "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "a").read_text() == "precious"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_came_or_changed_meanwhile_is_never_overwritten(tmp_path: Path) -> None:
    """F37: the last look is right before the rename."""
    path = tmp_path / "a"
    place = ToolPath(str(path), str(path))
    path.write_text("theirs")
    for expected in (None, digest(b"mine")):
        with pytest.raises(ConcurrentChangeError):
            replace_file(place, b"new", expected)
    path.unlink()
    with pytest.raises(ConcurrentChangeError):
        replace_file(place, b"new", digest(b"theirs"))
    assert os.listdir(tmp_path) == []


def test_a_write_states_what_it_touches(context: Context, tmp_path: Path) -> None:
    args = WriteArgs("~/x", "")
    assert Write().access(args, context) == (Access("write", f"{tmp_path}/x"),)
    assert Write().claims(args, context) == (Claim(f"file:{os.path.realpath(tmp_path)}/x"),)


async def test_half_a_surrogate_pair_is_refused(context: Context) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        await Write().check(WriteArgs("a", "\ud800"), context)


async def test_a_huge_content_is_written_whole_and_shown_in_part(context: Context, tmp_path: Path) -> None:
    """H1-7: ten megabytes on one line."""
    content = "x" * 10_000_000
    outcome = await write(context, "a", content)
    assert (tmp_path / "a").stat().st_size == 10_000_000
    assert len(msgspec.json.encode(outcome.display)) < 100_000


async def test_a_file_too_large_to_hash_is_replaced_only_if_its_ends_are_as_known(
    context: Context, tmp_path: Path
) -> None:
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.write(b"head\n" * 20_000)
        file.truncate(60 << 20)
    await read(context, "big")
    with path.open("r+b") as file:
        file.write(b"HEAD")
    with pytest.raises(ToolError, match="has changed since"):
        await write(context, "big", "x")
    await read(context, "big")
    await write(context, "big", "small now\n")
    assert path.read_text() == "small now\n"
