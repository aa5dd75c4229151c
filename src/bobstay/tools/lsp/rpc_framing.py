"""Reads and writes the messages of the Language Server Protocol: a header with a length, then JSON."""

from typing import Any

import msgspec

MAX_MESSAGE = 32 << 20
_MAX_HEADER = 4096
_END = b"\r\n\r\n"


class BadFrameError(Exception):
    """What the server sends is not the protocol. The text says what was wrong."""


def encode_frame(message: dict[str, Any]) -> bytes:
    """Encode a message. Parameters that are None are left out, because the protocol has no null there."""
    sent = {name: value for name, value in message.items() if name != "params" or value is not None}
    body = msgspec.json.encode({"jsonrpc": "2.0", **sent})
    return b"Content-Length: %d%b%b" % (len(body), _END, body)


class FrameDecoder:
    """Takes bytes as they arrive and returns the messages they complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted = -1
        """Bytes of the body that follows; -1 while the header is not complete."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that `data` completes.

        Raises:
            BadFrameError: the header or the JSON is malformed, or the message too long.
        """
        self._buffer += data
        messages: list[dict[str, Any]] = []
        while True:
            if self._wanted < 0 and not self._read_header():
                return messages
            if len(self._buffer) < self._wanted:
                return messages
            body = bytes(self._buffer[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = -1
            messages.append(_decode(body))

    def _read_header(self) -> bool:
        end = self._buffer.find(_END, 0, _MAX_HEADER + len(_END))
        if end < 0:
            if len(self._buffer) > _MAX_HEADER:
                raise BadFrameError("it sent something else than messages of the Language Server Protocol")
            return False
        lengths = [
            line.partition(b":")[2].strip()
            for line in bytes(self._buffer[:end]).split(b"\r\n")
            if line.partition(b":")[0].strip().lower() == b"content-length"
        ]
        if len(lengths) != 1 or not lengths[0].isdigit() or len(lengths[0]) > 10:
            raise BadFrameError("it sent a message without a valid length")
        self._wanted = int(lengths[0])
        if self._wanted > MAX_MESSAGE:
            raise BadFrameError(f"it sent a message of {self._wanted:,} bytes, more than {MAX_MESSAGE:,}")
        del self._buffer[: end + len(_END)]
        return True


def _decode(body: bytes) -> dict[str, Any]:
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadFrameError("it sent a message that is not JSON") from None
    if not isinstance(message, dict):
        raise BadFrameError("it sent a message that is not an object")
    return message
