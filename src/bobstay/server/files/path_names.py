"""Encodes file names of any bytes as JSON text and decodes them without loss.

Names are bytes, and JSON is Unicode. Valid UTF-8 is kept; any other byte is written `\\xff`, and a backslash in a name
is doubled. Escapes below 0x80 are not decoded: `\\x2e` cannot smuggle a dot in.
"""

import re

from bobstay.server.errors import ApiError

LONGEST = 4096
"""Bytes of a path, the limit of the system."""
_ESCAPE = re.compile(rb"\\(\\|x[89a-fA-F][0-9a-fA-F])")


def encode_path(name: bytes) -> str:
    """A name, or a path, as text for clients."""
    text = name.replace(b"\\", b"\\\\").decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    return "".join(f"\\x{ord(letter) - 0xDC00:02x}" if "\udc80" <= letter <= "\udcff" else letter for letter in text)


def decode_path(text: str) -> bytes:
    """The bytes of a name that a client sent. A backslash that begins no escape stands for itself.

    Raises:
        ApiError: invalid.
    """
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise ApiError("invalid", "The path holds half a character. Write it as it was shown.") from None
    if b"\0" in raw:
        raise ApiError("invalid", "A path cannot hold a NUL character.")
    if len(raw) > 4 * LONGEST:
        raise ApiError("invalid", f"A path may have at most {LONGEST} bytes.")
    return _ESCAPE.sub(_byte, raw)


def split_path(text: str) -> tuple[bytes, ...]:
    """The components of a path below a directory; none for the directory itself.

    Raises:
        ApiError: invalid, if it is absolute, contains `..`, or is too long.
    """
    path = decode_path(text)
    if path.startswith(b"/"):
        raise ApiError("invalid", "Give a path relative to the session's directory, without a slash before it.")
    if len(path) > LONGEST:
        raise ApiError("invalid", f"A path may have at most {LONGEST} bytes.")
    parts = tuple(part for part in path.split(b"/") if part not in (b"", b"."))
    if b".." in parts:
        raise ApiError("invalid", "A path may not contain '..'.")
    return parts


def _byte(match: "re.Match[bytes]") -> bytes:
    found = match[1]
    return b"\\" if found == b"\\" else bytes([int(found[1:], 16)])
