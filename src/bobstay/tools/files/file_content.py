"""Bytes to text and back without losing one, and the hash by which a content is known."""

import codecs
import re
from hashlib import sha256
from typing import Literal

from msgspec import Struct

Newline = Literal["\n", "\r\n", "\r"]
Kind = Literal["text", "image", "pdf", "notebook", "binary"]

_MARKS = (
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
    """The text of a file with all that is needed to write it back byte for byte."""

    text: str
    """With the newlines of the file; bytes that are no text stand as lone surrogates."""
    encoding: str = "utf-8"
    errors: str = "strict"
    mark: bytes = b""
    """The byte order mark the file begins with."""

    def encode(self, text: str) -> bytes:
        """The bytes of `text` in the manner of this file.

        Raises:
            UnicodeEncodeError: the encoding of the file lacks a character of `text`.
        """
        return self.mark + text.encode(self.encoding, self.errors)

    @property
    def intact(self) -> bool:
        """Whether every byte could be read as text."""
        return self.errors == "strict" or _LOST.search(self.text) is None


def digest(raw: bytes) -> str:
    """The hash by which a content is known in the ledger."""
    return sha256(raw).hexdigest()


def decode(raw: bytes) -> Content:
    """Read `raw` as text, such that `encode` of the text gives `raw` again."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark) and (content := _marked(raw, mark, encoding)) is not None:
            return content
    try:
        return Content(raw.decode())
    except UnicodeDecodeError:
        pass
    if _looks_western(raw):
        return Content(raw.decode("cp1252"), "cp1252")
    return Content(raw.decode("utf-8", "surrogateescape"), "utf-8", "surrogateescape")


def kind_of(head: bytes, path: str) -> Kind:
    """Tell from its first bytes, and its name, what kind of file it is."""
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
    """Tell from the first bytes of a file whether it is something else than text."""
    head = head[:_SNIFFED]
    if any(head.startswith(mark) for mark, _ in _MARKS[1:]):
        return False
    if b"\0" in head:
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls * 10 > len(head) * 3


def visible(text: str) -> str:
    """`text` with a replacement character for each byte that is no text, so that it can be shown and sent."""
    return text if text.isascii() else _LOST.sub("\N{REPLACEMENT CHARACTER}", text)


def with_plain_newlines(text: str) -> str:
    """`text` with every newline, however written, as one line feed."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def newline_of(text: str) -> Newline:
    """The newline most lines of `text` end with; a line feed where there is none."""
    pairs = text.count("\r\n")
    feeds = text.count("\n") - pairs
    returns = text.count("\r") - pairs
    if returns > pairs + feeds:
        return "\r"
    return "\r\n" if pairs > feeds else "\n"


def with_newlines(text: str, newline: Newline) -> str:
    """`text`, whose newlines are line feeds, with `newline` in their place."""
    return text if newline == "\n" else text.replace("\n", newline)


def _marked(raw: bytes, mark: bytes, encoding: str) -> Content | None:
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
    """Whether bytes that are no UTF-8 make sense in the old Western encoding: a guess, but one that loses nothing."""
    return not (_MULTIBYTE.search(raw) or _UNUSED_1252.search(raw) or b"\0" in raw)
