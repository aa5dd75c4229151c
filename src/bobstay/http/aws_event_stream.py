"""Splits the body of a reply into messages of the AWS event stream encoding, and checks their checksums.

A message is: its length, the length of its headers, a checksum of both, the headers, the payload, and a checksum of
all of it; every number is big-endian (docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html).
"""

from binascii import crc32
from collections.abc import Iterator
from struct import Struct as Layout
from struct import error as LayoutError  # noqa: N812 - a class, whatever its name

from msgspec import Struct

from bobstay.http.http_error import HttpError

MAX_MESSAGE_SIZE = 24 * 1024 * 1024
"""Maximum bytes of one message; AWS sends payloads of at most 16 MiB."""
MAX_HEADERS_SIZE = 128 * 1024

_PRELUDE = Layout(">III")
_CHECKSUM = Layout(">I")
_LENGTH = Layout(">H")
_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type: booleans, integers, a timestamp and a UUID. None of them is of use here."""
_BYTES, _TEXT = 6, 7


class EventStreamMessage(Struct, frozen=True):
    headers: dict[str, str]
    """Headers whose values are text; the others are left out."""
    payload: bytes


class EventStreamSplitter:
    """Call `feed` with bytes as they arrive; it yields the messages that became complete."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._needed = _PRELUDE.size

    def feed(self, data: bytes) -> Iterator[EventStreamMessage]:
        """Yield the messages that `data` completes.

        Raises:
            HttpError: A checksum or a length is wrong, so that nothing that follows can be read either.
        """
        kept = self._kept
        kept += data
        while len(kept) >= self._needed:
            total, headers_size, checksum = _PRELUDE.unpack_from(kept)
            if self._needed == _PRELUDE.size:
                self._needed = _check_prelude(kept, total, headers_size, checksum)
                continue
            message = bytes(kept[:total])
            del kept[:total]
            self._needed = _PRELUDE.size
            yield _decode_message(message, headers_size)


def _check_prelude(kept: bytearray, total: int, headers_size: int, checksum: int) -> int:
    """Return the size of the message that begins here."""
    if crc32(memoryview(kept)[:8]) != checksum:
        raise _broken("the checksum of its lengths is wrong")
    overhead = _PRELUDE.size + _CHECKSUM.size
    if total > MAX_MESSAGE_SIZE or headers_size > MAX_HEADERS_SIZE or total < overhead + headers_size:
        raise _broken(f"it has impossible lengths ({total:,} bytes with {headers_size:,} of headers)")
    return total


def _decode_message(message: bytes, headers_size: int) -> EventStreamMessage:
    end = len(message) - _CHECKSUM.size
    if crc32(memoryview(message)[:end]) != _CHECKSUM.unpack_from(message, end)[0]:
        raise _broken("its checksum is wrong")
    start = _PRELUDE.size
    headers = dict(_decode_headers(message[start : start + headers_size]))
    return EventStreamMessage(headers, message[start + headers_size : end])


def _decode_headers(data: bytes) -> Iterator[tuple[str, str]]:
    position = 0
    try:
        while position < len(data):
            name_end = position + 1 + data[position]
            name = data[position + 1 : name_end].decode()
            kind = data[name_end]
            position = name_end + 1
            if kind in (_BYTES, _TEXT):
                size = _LENGTH.unpack_from(data, position)[0]
                position += _LENGTH.size
            else:
                size = _FIXED_SIZES[kind]
            if position + size > len(data):
                raise _broken("a header is longer than all of them")
            if kind == _TEXT:
                yield name, data[position : position + size].decode()
            position += size
    except (IndexError, KeyError, UnicodeDecodeError, LayoutError) as error:
        raise _broken("its headers cannot be read") from error


def _broken(what: str) -> HttpError:
    return HttpError(f"The server sent a message that cannot be read: {what}. Was it changed on the way?", "protocol")
