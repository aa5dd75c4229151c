"""The frames of the Language Server Protocol: whole or in pieces, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.tools.lsp.rpc_framing import BadFrameError, FrameDecoder, encode_frame

MESSAGES = st.lists(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.one_of(st.integers(-9, 9), st.text(st.characters(codec="utf-8"), max_size=20)),
        max_size=3,
    ),
    max_size=5,
)


@given(MESSAGES, st.integers(1, 50))
def test_messages_arrive_whole_however_they_are_cut(messages: list[dict[str, Any]], size: int) -> None:
    """H1-4"""
    sent = b"".join(encode_frame(message) for message in messages)
    decoder = FrameDecoder()
    found = [each for at in range(0, len(sent), size) for each in decoder.feed(sent[at : at + size])]
    assert found == [{"jsonrpc": "2.0", **message} for message in messages]


def test_a_message_without_parameters_has_none_not_even_null() -> None:
    """JSON-RPC has lists and objects for parameters; a server may refuse anything else. A result may be null."""
    assert encode_frame({"method": "exit", "params": None}).endswith(b'{"jsonrpc":"2.0","method":"exit"}')
    assert encode_frame({"id": 1, "result": None}).endswith(b'"result":null}')


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 5000,
        b"Content-Type: x\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 40000000\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Length: 4\r\n\r\nnope",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n\xff\xfe",
    ],
)
def test_what_is_not_the_protocol_is_refused(data: bytes) -> None:
    """H1-4"""
    with pytest.raises(BadFrameError):
        FrameDecoder().feed(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_messages_or_refused(data: bytes) -> None:
    """H1-4"""
    try:
        found = FrameDecoder().feed(b"Content-Length: 5\r\n\r\n" + data)
    except BadFrameError:
        return
    assert all(isinstance(each, dict) for each in found)
