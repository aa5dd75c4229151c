"""Positions and paths of the Language Server Protocol: UTF-16 columns and file URIs, to and from those of people."""

import os
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from bobstay.system.safe_read import read_regular

MAX_SOURCE = 2 << 20
"""Bytes of a file that is given to a server."""


def read_source(path: str) -> str | None:
    """The text of a file as a server gets it; None if there is no such file, or it is too large."""
    raw = read_regular(path, MAX_SOURCE + 1)
    return None if raw is None or len(raw) > MAX_SOURCE else raw.decode("utf-8", "replace").removeprefix("\ufeff")


def to_uri(path: str) -> str:
    return "file://" + quote(os.fsencode(path), safe="/~")


def from_uri(uri: Any) -> str:
    """The path of a file URI; "" for anything else."""
    if not isinstance(uri, str) or not uri.startswith("file://") or len(uri) > 16_384:
        return ""
    try:
        path = unquote(urlsplit(uri).path, errors="surrogateescape")
    except ValueError:
        return ""
    return path if path.startswith("/") and "\0" not in path else ""


def to_utf16(line: str, column: int) -> int:
    """The number of UTF-16 units before the character at `column`, counted from 0."""
    return len(line[:column].encode("utf-16-le", "surrogatepass")) // 2


def from_utf16(line: str, units: int) -> int:
    """The number of characters in the first `units` UTF-16 units."""
    return len(line.encode("utf-16-le", "surrogatepass")[: max(units, 0) * 2].decode("utf-16-le", "ignore"))


def split_lines(text: str) -> list[str]:
    """The lines as the protocol counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
