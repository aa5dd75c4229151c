"""Decodes file contents to text without loss, and hashes them."""

import codecs
import re
from hashlib import sha256
from typing import Literal

from msgspec import Struct

Newline = Literal["\n", "\r\n", "\r"]
Kind = Literal["text", "image", "pdf", "notebook", "binary"]

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFFED = 8192
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b") + b"\x7f"
_LOST = re.compile("[\ud800-\udfff]")
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_UNUSED_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d\xff]")


class Content(Struct, frozen=True):
    """The text of a file, with what is needed to restore it byte for byte."""

    text: str
    """With the newlines of the file; undecodable bytes appear as lone surrogates."""
    encoding: str = "utf-8"
    errors: str = "strict"
    mark: bytes = b""
    """The byte order mark the file begins with."""

    def encode(self, text: str) -> bytes:
        """Encode `text` like this file.

        Raises:
            UnicodeEncodeError: the encoding of the file lacks a character of `text`.
        """
        return self.mark + text.encode(self.encoding, self.errors)

    @property
    def intact(self) -> bool:
        """Whether every byte could be read as text."""
        return self.errors == "strict" or _LOST.search(self.text) is None


def digest(raw: bytes) -> str:
    """Hash of a content, as stored in the file ledger."""
    return sha256(raw).hexdigest()


def decode(raw: bytes) -> Content:
    """Decode `raw` such that `encode` restores it exactly."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark) and (content := _decode_marked(raw, mark, encoding)) is not None:
            return content
    try:
        return Content(raw.decode())
    except UnicodeDecodeError:
        pass
    if _looks_western(raw):
        return Content(raw.decode("cp1252"), "cp1252")
    return Content(raw.decode("utf-8", "surrogateescape"), "utf-8", "surrogateescape")


def detect_kind(head: bytes, path: str) -> Kind:
    """Detect the kind of a file from its first bytes and its name."""
    if head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")):
        return "image"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image"
    if head.startswith(b"%PDF-"):
        return "pdf"
    if path.endswith(".ipynb"):
        return "notebook"
    return "binary" if is_binary(head) else "text"


def is_binary(head: bytes) -> bool:
    """Whether the first bytes of a file show that it is not text."""
    head = head[:_SNIFFED]
    if any(head.startswith(mark) for mark, _ in _BYTE_ORDER_MARKS[1:]):
        return False
    if b"\0" in head:
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls * 10 > len(head) * 3


def make_visible(text: str) -> str:
    """`text` with a replacement character for each undecodable byte, so that it can be shown and sent."""
    return text if text.isascii() else _LOST.sub("\N{REPLACEMENT CHARACTER}", text)


def with_plain_newlines(text: str) -> str:
    """`text` with every newline converted to a line feed."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def dominant_newline(text: str) -> Newline:
    """The most frequent newline of `text`; a line feed if it has none."""
    pairs = text.count("\r\n")
    feeds = text.count("\n") - pairs
    returns = text.count("\r") - pairs
    if returns > pairs + feeds:
        return "\r"
    return "\r\n" if pairs > feeds else "\n"


def with_newlines(text: str, newline: Newline) -> str:
    """Replace the line feeds of `text` by `newline`."""
    return text if newline == "\n" else text.replace("\n", newline)


def _decode_marked(raw: bytes, mark: bytes, encoding: str) -> Content | None:
    body = raw[len(mark) :]
    if encoding == "utf-8":
        content = decode(body)
        if content.encoding == "utf-8":
            return Content(content.text, "utf-8", content.errors, mark)
        return Content(body.decode("utf-8", "surrogateescape"), "utf-8", "surrogateescape", mark)
    try:
        content = Content(body.decode(encoding, "surrogatepass"), encoding, "surrogatepass", mark)
        return content if content.encode(content.text) == raw else None
    except (UnicodeDecodeError, UnicodeEncodeError):
        return None


def _looks_western(raw: bytes) -> bool:
    """Whether bytes that are not UTF-8 look like Windows-1252. A wrong guess loses nothing."""
    return not (_MULTIBYTE.search(raw) or _UNUSED_1252.search(raw) or b"\0" in raw)
