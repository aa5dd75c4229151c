"""Read of text: numbering, ranges, limits, and paths it does not open."""

import asyncio
import codecs
import os
import socket
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bobstay.permissions.access import Access
from bobstay.tools.base import Claim, Context, Outcome, ToolError
from bobstay.tools.builtin.read import Read, ReadArgs
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.file_view import make_view, stream_view
from tests.kit.tool_context import make_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path)


async def read(context: Context, path: str, offset: int | None = None, limit: int | None = None) -> Outcome:
    args = ReadArgs(path, offset, limit)
    await Read().check(args, context)
    return await Read().run(args, context)


async def test_a_text_file_is_shown_with_line_numbers(context: Context, tmp_path: Path) -> None:
    """H1-8, with the shape programs know."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    outcome = await read(context, "a.txt")
    assert outcome.content == "1\tone\n2\ttwo"
    assert outcome.display == {
        "type": "text",
        "file": {
            "filePath": f"{tmp_path}/a.txt",
            "content": "one\ntwo\n",
            "numLines": 2,
            "startLine": 1,
            "totalLines": 2,
        },
    }
    assert outcome.files == {str((tmp_path / "a.txt").resolve()): digest(b"one\ntwo\n")}


def test_a_read_states_that_it_only_reads(context: Context, tmp_path: Path) -> None:
    args = ReadArgs("a")
    assert Read().read_only(args, context)
    assert Read().access(args, context) == (Access("read", f"{tmp_path}/a"),)
    assert Read().claims(args, context) == (Claim(f"file:{os.path.realpath(tmp_path)}/a", shared=True),)


async def test_a_part_is_shown_and_how_to_read_on_is_told(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    outcome = await read(context, "a", offset=4, limit=2)
    assert outcome.content == "4\tline 4\n5\tline 5\n\n[Lines 4-5 of 10 shown. To read on, call Read with offset=6.]"
    assert outcome.display["file"] | {"filePath": ""} == {
        "filePath": "",
        "content": "line 4\nline 5\n",
        "numLines": 2,
        "startLine": 4,
        "totalLines": 10,
    }
    assert (await read(context, "a", offset=9)).content == "9\tline 9\n10\tline 10"
    assert str((await read(context, "a", offset=0, limit=1)).content).startswith("1\tline 1\n")


async def test_an_empty_file_and_an_offset_past_the_end_are_told(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert (await read(context, "a")).content == "[The file exists but is empty.]"
    (tmp_path / "a").write_text("x\n")
    assert (await read(context, "a", offset=5)).content == "[The file has 1 lines; offset 5 is past its end.]"


async def test_no_more_than_two_thousand_lines_are_shown(context: Context, tmp_path: Path) -> None:
    """H1-8."""
    (tmp_path / "a").write_text("x\n" * 5000)
    outcome = await read(context, "a", limit=4000)
    assert outcome.display["file"]["numLines"] == 2000
    assert "offset=2001" in str(outcome.content)


async def test_no_more_than_fifty_kilobytes_are_shown(context: Context, tmp_path: Path) -> None:
    """H1-8."""
    (tmp_path / "a").write_text(("é" * 500 + "\n") * 1000)
    outcome = await read(context, "a")
    assert 40_000 < len(str(outcome.content).encode()) < 52_000
    count = outcome.display["file"]["numLines"]
    assert f"offset={count + 1}" in str(outcome.content)
    assert str((await read(context, "a", offset=count + 1)).content).startswith(f"{count + 1}\té")


async def test_a_long_line_is_cut(context: Context, tmp_path: Path) -> None:
    """H1-7, H1-8: ten megabytes on one line."""
    (tmp_path / "a").write_text("short\n" + "x" * 10_000_000 + "\nend\n")
    lines = str((await read(context, "a")).content).split("\n")
    assert (lines[0], lines[2]) == ("1\tshort", "3\tend")
    assert lines[1].endswith("[line cut: 10,000,000 characters]")
    assert len(lines[1]) < 2010


async def test_windows_and_old_mac_lines_are_numbered_like_others(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\r\nb\rc\n")
    assert (await read(context, "a")).content == "1\ta\n2\tb\n3\tc"


@pytest.mark.parametrize(
    ("raw", "line", "note"),
    [
        (codecs.BOM_UTF8 + b"x\n", "1\tx", ""),
        (codecs.BOM_UTF16_LE + "zoë\n".encode("utf-16-le"), "1\tzoë", "UTF-16-LE"),
        (b"caf\xe9\n", "1\tcafé", "Windows-1252"),
        ("é".encode() + b"\xff\n", "1\té\ufffd", "not valid UTF-8"),
    ],
)
async def test_other_encodings_are_shown_and_told(
    context: Context, tmp_path: Path, raw: bytes, line: str, note: str
) -> None:
    """F19: the hash is of the raw bytes all the same."""
    (tmp_path / "a").write_bytes(raw)
    outcome = await read(context, "a")
    assert str(outcome.content).split("\n")[0] == line
    assert note in str(outcome.content)
    assert bool(note) == ("[The file" in str(outcome.content))
    assert list(outcome.files.values()) == [digest(raw)]
    msgspec.json.encode((outcome.content, outcome.display))


async def test_a_binary_file_is_refused(context: Context, tmp_path: Path) -> None:
    """H1-8."""
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 10_000)
    for path in ("a.bin", "b.bin"):
        with pytest.raises(ToolError, match="is a binary file"):
            await read(context, path)


async def test_a_missing_file_is_answered_with_near_names(context: Context, tmp_path: Path) -> None:
    """H1-8."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/Module.py").touch()
    for path in ("src/module.py", "src/Modul.py", "src/Module.ts", "/elsewhere/src/Module.py"):
        with pytest.raises(ToolError, match=r"does not exist.*working directory is .*Did you mean .*/src/Module\.py"):
            await read(context, path)
    with pytest.raises(ToolError, match=r"working directory is [^?]*$"):
        await read(context, "src/quite-another-thing")


async def test_what_is_no_regular_file_is_not_opened(context: Context, tmp_path: Path) -> None:
    """H1-8: a pipe or a device would block or never end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "environment").symlink_to("/proc/self/environ")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        for path, phrase in [
            (".", "is a directory.*Glob"),
            ("pipe", "named pipe"),
            ("socket", "a socket"),
            ("zero", "device"),
            ("environment", "device or kernel file"),
            ("/dev/stdin", "device"),
            ("/proc/kcore", "device or kernel file"),
            ("loop", "form a loop"),
        ]:
            with pytest.raises(ToolError, match=phrase):
                await asyncio.wait_for(read(context, path), 5)


@pytest.mark.parametrize("args", [ReadArgs("a", offset=-1), ReadArgs("a", limit=0), ReadArgs("a", pages="x")])
async def test_senseless_numbers_are_refused(context: Context, args: ReadArgs) -> None:
    with pytest.raises(ToolError):
        await Read().check(args, context)


async def test_a_gigabyte_is_read_in_parts_with_little_memory(context: Context, tmp_path: Path) -> None:
    """H1-7: offset and limit stream; the file is sparse but for its lines."""
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(b"".join(b"line %d\n" % number for number in range(1, 200_001)))
        file.truncate(1 << 30)
    tracemalloc.start()
    outcome = await read(context, "huge", offset=150_000, limit=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(outcome.content).startswith("150000\tline 150000\n150001\tline 150001\n150002\tline 150002\n\n")
    assert "offset=150003" in str(outcome.content)
    assert peak < 20 << 20
    assert outcome.files == (await read(context, "huge", limit=1)).files
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    assert outcome.files != (await read(context, "huge", limit=1)).files


async def test_a_million_lines_are_counted(context: Context, tmp_path: Path) -> None:
    """H1-7."""
    (tmp_path / "a").write_bytes(b"x\r\n" * 1_000_000)
    outcome = await read(context, "a", offset=1_000_000)
    assert outcome.content == "1000000\tx"
    assert outcome.display["file"]["totalLines"] == 1_000_000
    assert list(outcome.files.values()) == [digest(b"x\r\n" * 1_000_000)]


@settings(max_examples=80, deadline=None)
@given(
    raw=st.lists(st.sampled_from([b"ab", b"\n", b"\r\n", b"\r", b"\xc3\xa9", b"\xff", b"x" * 2100]), max_size=40).map(
        b"".join
    ),
    first=st.integers(1, 12),
    most=st.integers(1, 12),
    mark=st.sampled_from([b"", codecs.BOM_UTF8]),
)
@example(b"a\r", 1, 1, b"")
@example(b"a\nb", 3, 1, b"")
def test_streaming_shows_what_reading_at_once_shows(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, first: int, most: int, mark: bytes
) -> None:
    raw = mark + b"\xc3\xa9" + raw
    path = tmp_path_factory.mktemp("stream") / "a"
    path.write_bytes(raw)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        streamed = stream_view(descriptor, os.fstat(descriptor), first, most, lambda: False)
    finally:
        os.close(descriptor)
    at_once = make_view(raw, first, most)
    assert (streamed.plain, streamed.total, streamed.count, streamed.hash) == (
        at_once.plain,
        at_once.total,
        at_once.count,
        at_once.hash,
    )


async def test_instructions_of_a_folder_newly_entered_come_beside_the_result(tmp_path: Path) -> None:
    """H4-4: nested instruction files come with the read that enters their folder."""
    entered: list[str] = []

    def instructions(path: str) -> str:
        entered.append(path)
        return "" if len(entered) > 1 else "Use tabs here."

    context = make_context(tmp_path, instructions_for=instructions)
    (tmp_path / "a").write_text("x\n")
    first, second = await read(context, "a"), await read(context, "a")
    assert (first.content, first.reminder) == ("1\tx", "Use tabs here.")
    assert (second.content, second.reminder) == ("1\tx", "")
    assert entered == [f"{tmp_path}/a"] * 2


async def test_a_read_can_be_cancelled_and_leaves_no_thread_behind(context: Context, tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b"x\n" * 10_000)
        file.truncate(8 << 30)
    before = bytes_read()
    running = asyncio.create_task(read(context, "a", offset=1_000_000_000))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bytes_read() - before < 4 << 30


def bytes_read() -> int:
    """By this process, from all files."""
    return int(Path("/proc/self/io").read_text().split()[1])
