"""The event stream encoding of AWS: any split of the bytes, and bytes that were changed on the way."""

from binascii import crc32
from struct import pack

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from bobstay.http.aws_event_stream import MAX_MESSAGE_SIZE, EventStreamMessage, EventStreamSplitter
from bobstay.http.http_error import HttpError
from tests.modelserver.bedrock import encode_message

names = st.text(min_size=1, max_size=20).filter(lambda name: len(name.encode()) <= 255)
values = st.text(max_size=40)
messages = st.lists(st.tuples(st.dictionaries(names, values, max_size=4), st.binary(max_size=200)), max_size=5)


def split(data: bytes, size: int) -> list[EventStreamMessage]:
    splitter = EventStreamSplitter()
    return [message for start in range(0, len(data), size) for message in splitter.feed(data[start : start + size])]


@given(messages, st.integers(1, 300))
def test_any_split_of_the_bytes_gives_the_same_messages_as_botocore(
    sent: list[tuple[dict[str, str], bytes]], size: int
) -> None:
    """H3-11."""
    data = b"".join(encode_message(headers, payload) for headers, payload in sent)
    received = [(message.headers, message.payload) for message in split(data, size)]
    assert received == sent
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    assert [(message.headers, message.payload) for message in buffer] == sent


@given(st.binary(max_size=100), st.integers(0), st.integers(1, 255), st.integers(1, 60))
def test_a_changed_byte_is_noticed_and_nothing_of_that_message_is_used(
    payload: bytes, place: int, change: int, size: int
) -> None:
    first = encode_message({":event-type": "chunk"}, b"whole")
    second = bytearray(encode_message({":event-type": "chunk"}, payload))
    second[place % len(second)] ^= change
    splitter = EventStreamSplitter()
    seen: list[EventStreamMessage] = []

    def read() -> None:
        data = first + bytes(second) + first
        for start in range(0, len(data), size):
            seen.extend(splitter.feed(data[start : start + size]))

    with pytest.raises(HttpError, match="cannot be read") as caught:
        read()
    assert caught.value.kind == "protocol"
    assert [message.payload for message in seen] in ([b"whole"], [])


@given(st.binary(max_size=400), st.integers(1, 50))
def test_bytes_that_are_no_messages_are_refused_and_never_kept_for_long(data: bytes, size: int) -> None:
    try:
        split(b"\0\0\0\x20" + data, size)
    except HttpError as error:
        assert error.kind == "protocol"  # noqa: PT017 - that there is an error depends on the data


@pytest.mark.parametrize("total", [0, 15, MAX_MESSAGE_SIZE + 1, 2**32 - 1])
def test_lengths_that_cannot_be_are_refused_at_once(total: int) -> None:
    prelude = pack(">II", total, 0)
    with pytest.raises(HttpError, match="impossible lengths"):
        split(prelude + pack(">I", crc32(prelude)), 12)


def test_headers_that_are_no_text_are_skipped_whatever_their_type() -> None:
    kinds = {0: b"", 1: b"", 2: b"x", 3: b"xx", 4: b"xxxx", 5: b"x" * 8, 8: b"x" * 8, 9: b"x" * 16, 6: b"\0\3abc"}
    headers = b"".join(b"\1a" + bytes([kind]) + value for kind, value in kinds.items()) + b"\1b\7\0\2hi"
    prelude = pack(">II", 16 + len(headers), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers
    assert split(message + pack(">I", crc32(message)), 7) == [EventStreamMessage({"b": "hi"}, b"")]


@pytest.mark.parametrize("headers", [b"\x09a", b"\1a\x0c", b"\1a\7\0\x09x", b"\2\xff\xfe\0", b"\1a\7\0"])
def test_headers_that_cannot_be_read_are_refused(headers: bytes) -> None:
    prelude = pack(">II", 16 + len(headers), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers
    with pytest.raises(HttpError, match="header"):
        split(message + pack(">I", crc32(message)), 100)
