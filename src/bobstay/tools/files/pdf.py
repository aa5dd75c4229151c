"""Reads pages of a PDF: their text, or a picture of those that have none."""

import re
from collections.abc import Callable
from threading import Lock
from typing import Any

from msgspec import Struct

from bobstay.model.message import Image, ReplyPart, Text
from bobstay.tools.base import ToolError
from bobstay.tools.files.image import BUDGET, fitted
from bobstay.tools.files.numbered_lines import MOST_BYTES
from bobstay.tools.files.tool_path import ToolPath

MOST_PAGES = 20
WITHOUT_ASKING = 10
"""Pages of a PDF that is shown without saying which pages are wanted."""
_LITTLE = 20
"""Characters below which a page counts as scanned."""
_SIDE = 1200
_SMALLEST = 60_000
"""Characters of base64 a page picture needs to be legible; with less left over it is not made."""
_NAMED = re.compile(r"(?P<first>[0-9]{1,6})\s*(?P<dash>-\s*(?P<last>[0-9]{1,6})?)?")
_turn = Lock()
"""The PDF library may be used by one thread at a time only."""


class PdfPages(Struct, frozen=True):
    parts: tuple[ReplyPart, ...]
    first: int
    last: int
    total: int


def read_pages(place: ToolPath, wanted: str, cancelled: Callable[[], bool]) -> PdfPages:
    """Show the pages named by `wanted` ("3" or "1-5"; empty for all of a short document).

    Raises:
        ToolError: the file cannot be read as a PDF, or there are not these pages, or too many.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    with _turn:
        try:
            document = PdfDocument(place.real)
        except PdfiumError as error:
            secret = " It is protected by a password." if "assword" in str(error) else ""
            raise ToolError(f"{place.path} cannot be read as a PDF ({error}).{secret}") from None
        try:
            total = len(document)
            first, last = _range(wanted, total)
            return _read(document, first, last, total, cancelled)
        except PdfiumError as error:
            raise ToolError(f"{place.path} is damaged: {error}") from None
        finally:
            document.close()


def parse_pages(wanted: str) -> tuple[int, int | None]:
    """The first and last page that `wanted` names; None for "to the end".

    Raises:
        ToolError: it names none.
    """
    named = _NAMED.fullmatch(wanted.strip())
    if named is None or int(named["first"]) < 1:
        raise ToolError(f'pages must be a page or a range such as "3" or "1-5", not {wanted[:40]!r}.')
    first = int(named["first"])
    if not named["dash"]:
        return first, first
    last = int(named["last"]) if named["last"] else None
    if last is not None and last < first:
        raise ToolError(f"pages must not end before they begin: {wanted[:40]!r}.")
    return first, last


def _range(wanted: str, total: int) -> tuple[int, int]:
    if total < 1:
        raise ToolError("The PDF has no pages.")
    if not wanted:
        if total > WITHOUT_ASKING:
            raise ToolError(
                f"The PDF has {total} pages. Say which with pages, at most {MOST_PAGES} at a time, "
                f'such as "1-{WITHOUT_ASKING}".'
            )
        return 1, total
    first, named = parse_pages(wanted)
    if first > total:
        raise ToolError(f"The PDF has {total} pages; there is no page {first}.")
    last = min(total if named is None else named, total)
    if last - first >= MOST_PAGES:
        raise ToolError(f"At most {MOST_PAGES} pages can be read at a time. Ask for {first}-{first + MOST_PAGES - 1}.")
    return first, last


def _read(document: Any, first: int, last: int, total: int, cancelled: Callable[[], bool]) -> PdfPages:
    parts: list[ReplyPart] = []
    letters, pictures = MOST_BYTES, BUDGET
    for number in range(first, last + 1):
        if cancelled():
            break
        page = document[number - 1]
        try:
            text = _text(page)
            picture = _picture(page, pictures) if len(text) < _LITTLE and pictures > _SMALLEST else None
        finally:
            page.close()
        full = len(text) > letters or (len(text) < _LITTLE and picture is None)
        if full and number > first:
            parts.append(Text(f'[No room for more. To read on, call Read with pages="{number}-{last}".]'))
            return PdfPages(tuple(parts), first, number - 1, total)
        letters -= len(text)
        body = f"{text[:MOST_BYTES]}\n[The page is cut here.]" if len(text) > MOST_BYTES else text
        parts.append(Text(f"--- page {number} of {total} ---\n{body}".rstrip()))
        if picture is not None:
            pictures -= len(picture.data)
            parts.append(picture)
    return PdfPages(tuple(parts), first, last, total)


def _text(page: Any) -> str:
    reader = page.get_textpage()
    try:
        found: str = reader.get_text_bounded()
    finally:
        reader.close()
    return found.replace("\r\n", "\n").replace("\r", "\n").strip()


def _picture(page: Any, room: int) -> Image:
    width, height = page.get_size()
    bitmap = page.render(scale=min(_SIDE / max(width, height, 1), 4))
    try:
        shrunk = fitted(bitmap.to_pil().convert("RGB"), (int(width), int(height)), min(room, BUDGET // 4))
    finally:
        bitmap.close()
    return Image(shrunk.media_type, shrunk.data)
