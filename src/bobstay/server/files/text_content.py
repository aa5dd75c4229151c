"""Decodes the content of a file as text, with its encoding, byte order mark and line endings."""

import codecs
import os
from typing import Literal, TypeAlias

from msgspec import Struct

Newline: TypeAlias = Literal["none", "lf", "crlf", "cr", "mixed"]
MOST_TEXT = 1024 * 1024
MOST_BINARY = 256 * 1024
LOOKED_AT = 8192
"""Bytes that are examined to tell text from binary data, as git does."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class DecodedText(Struct, frozen=True):
    text: str
    encoding: str
    bom: bool
    newline: Newline


def read_up_to(handle: int, most: int, start: int = 0) -> bytes:
    """At most `most` bytes from `start` on."""
    pieces: list[bytes] = []
    while most > 0 and (piece := os.pread(handle, min(most, 1 << 20), start)):
        pieces.append(piece)
        start += len(piece)
        most -= len(piece)
    return b"".join(pieces)


def decode_text(data: bytes, *, whole: bool = True) -> DecodedText | None:
    """`data` as text; None if it is binary. If not `whole`, an incomplete character at the end is dropped."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _as(data[len(mark) :], name, bom=True, whole=whole, errors="replace")
    if b"\0" in data[:LOOKED_AT]:
        return None
    try:
        return _as(data, "utf-8", bom=False, whole=whole, errors="strict")
    except UnicodeDecodeError:
        return _as(data, "latin-1", bom=False, whole=whole, errors="strict")


def media_type(start: bytes) -> str:
    """A media type that browsers do not execute: images by their signature, all else as binary data or plain text."""
    for signature, kind in _SIGNATURES:
        if start.startswith(signature):
            return kind
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return "application/octet-stream" if decode_text(start, whole=False) is None else "text/plain; charset=utf-8"


def detect_newline(text: str) -> Newline:
    pairs = text.count("\r\n")
    feeds, returns = text.count("\n") - pairs, text.count("\r") - pairs
    kinds: list[Newline] = []
    if pairs:
        kinds.append("crlf")
    if feeds:
        kinds.append("lf")
    if returns:
        kinds.append("cr")
    if not kinds:
        return "none"
    return kinds[0] if len(kinds) == 1 else "mixed"


def _as(data: bytes, name: str, *, bom: bool, whole: bool, errors: str) -> DecodedText:
    text = codecs.getincrementaldecoder(name)(errors).decode(data, final=whole)
    return DecodedText(text, name, bom, detect_newline(text))
