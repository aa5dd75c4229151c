"""Lines through real pipes."""

import asyncio
import os
import threading

import pytest

from bobstay.wire.stdio import BadLineError, FrameWriter, HostGoneError, LineReader, parse_line


async def read_all(data: bytes, pieces: int = 1) -> list[bytes]:
    source, sink = os.pipe()
    step = max(len(data) // pieces, 1)

    def feed() -> None:
        for start in range(0, len(data), step):
            view = memoryview(data)[start : start + step]
            while view:
                view = view[os.write(sink, view) :]
        os.close(sink)

    writer = threading.Thread(target=feed)
    writer.start()
    lines = [line async for line in LineReader(source).lines()]
    await asyncio.to_thread(writer.join)
    os.close(source)
    return lines


async def test_lines_come_whole_however_they_were_cut() -> None:
    data = b'{"a":1}\n\n  \n{"b":"' + b"x" * 1000 + b'"}\r\n{"last":true}'
    for pieces in (1, 3, 50):
        assert await read_all(data, pieces) == [b'{"a":1}', b'{"b":"' + b"x" * 1000 + b'"}', b'{"last":true}']


async def test_a_line_of_many_megabytes_is_read() -> None:
    line = b'{"image":"' + b"A" * 12_000_000 + b'"}'
    (read,) = await read_all(line + b"\n")
    assert read == line


async def test_a_regular_file_serves_as_input(tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "in.jsonl")
    with open(path, "wb") as file:
        file.write(b"{}\n{}\n")
    descriptor = os.open(path, os.O_RDONLY)
    assert len([line async for line in LineReader(descriptor).lines()]) == 2
    os.close(descriptor)


async def test_an_input_that_cannot_be_read_is_an_empty_one(tmp_path: os.PathLike[str]) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    assert [line async for line in LineReader(descriptor).lines()] == []
    os.close(descriptor)


def test_a_big_line_is_written_whole_to_a_slow_reader() -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    pieces: list[bytes] = []

    def drain() -> None:
        while piece := os.read(source, 7_000):
            pieces.append(piece)

    reader = threading.Thread(target=drain)
    reader.start()
    FrameWriter(sink).send({"text": "x" * 900_000})
    os.close(sink)
    reader.join()
    os.close(source)
    assert b"".join(pieces) == b'{"text":"' + b"x" * 900_000 + b'"}\n'


def test_writing_to_nobody_is_its_own_error() -> None:
    source, sink = os.pipe()
    os.close(source)
    with pytest.raises(HostGoneError):
        FrameWriter(sink).send({})
    os.close(sink)


@pytest.mark.parametrize("line", [b"this is not json", b"[1]", b"7", b'{"a":', b"\xff\xfe", b'{"a":"\xff"}'])
def test_a_line_that_is_no_object_is_refused_with_a_reason(line: bytes) -> None:
    with pytest.raises(BadLineError, match="Error parsing streaming input line"):
        parse_line(line)


def test_half_a_character_is_no_reason_to_hang_up() -> None:
    assert parse_line(b'{"text":"a\\ud800b"}') == {"text": "a?b"}


def test_a_line_nested_without_end_is_refused() -> None:
    with pytest.raises(BadLineError):
        parse_line(b'{"a":' * 200_000)
