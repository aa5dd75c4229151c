"""Reads pages of a PDF as text, or as an image if a page has no text."""

import re
from collections.abc import Callable
from threading import Lock
from typing import Any

from msgspec import Struct

from bobstay.model.message import Image, ReplyPart, Text
from bobstay.tools.base import ToolError
from bobstay.tools.files.image import MAX_BASE64, fit_image
from bobstay.tools.files.numbered_lines import MAX_BYTES
from bobstay.tools.files.tool_path import ToolPath

MAX_PAGES = 20
MAX_UNNAMED_PAGES = 10
"""Maximum length of a PDF that is shown without a page range."""
_SCANNED_TEXT = 20
"""A page with less text than this counts as scanned."""
_SIDE = 1200
_MIN_IMAGE = 60_000
"""Characters of base64 a page image needs to be legible; with less room none is made."""
_PAGE_RANGE = re.compile(r"(?P<first>[0-9]{1,6})\s*(?P<dash>-\s*(?P<last>[0-9]{1,6})?)?")
_library_lock = Lock()
"""The PDF library is not thread-safe."""


class PdfPages(Struct, frozen=True):
    parts: tuple[ReplyPart, ...]
    first: int
    last: int
    total: int


def read_pages(target: ToolPath, wanted: str, cancelled: Callable[[], bool]) -> PdfPages:
    """Show the pages named by `wanted` ("3" or "1-5"; empty for all of a short document).

    Raises:
        ToolError: the file is not a readable PDF, or the pages do not exist or are too many.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    with _library_lock:
        try:
            document = PdfDocument(target.real)
        except PdfiumError as error:
            secret = " It is protected by a password." if "assword" in str(error) else ""
            raise ToolError(f"{target.path} cannot be read as a PDF ({error}).{secret}") from None
        try:
            total = len(document)
            first, last = _range(wanted, total)
            return _read(document, first, last, total, cancelled)
        except PdfiumError as error:
            raise ToolError(f"{target.path} is damaged: {error}") from None
        finally:
            document.close()


def parse_pages(wanted: str) -> tuple[int, int | None]:
    """The first and last page that `wanted` names; None for "to the end".

    Raises:
        ToolError: it names none.
    """
    named = _PAGE_RANGE.fullmatch(wanted.strip())
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
        if total > MAX_UNNAMED_PAGES:
            raise ToolError(
                f"The PDF has {total} pages. Say which with pages, at most {MAX_PAGES} at a time, "
                f'such as "1-{MAX_UNNAMED_PAGES}".'
            )
        return 1, total
    first, named = parse_pages(wanted)
    if first > total:
        raise ToolError(f"The PDF has {total} pages; there is no page {first}.")
    last = min(total if named is None else named, total)
    if last - first >= MAX_PAGES:
        raise ToolError(f"At most {MAX_PAGES} pages can be read at a time. Ask for {first}-{first + MAX_PAGES - 1}.")
    return first, last


def _read(document: Any, first: int, last: int, total: int, cancelled: Callable[[], bool]) -> PdfPages:
    parts: list[ReplyPart] = []
    text_room, image_room = MAX_BYTES, MAX_BASE64
    for number in range(first, last + 1):
        if cancelled():
            break
        page = document[number - 1]
        try:
            text = _text(page)
            image = _render_page(page, image_room) if len(text) < _SCANNED_TEXT and image_room > _MIN_IMAGE else None
        finally:
            page.close()
        full = len(text) > text_room or (len(text) < _SCANNED_TEXT and image is None)
        if full and number > first:
            parts.append(Text(f'[No room for more. To read on, call Read with pages="{number}-{last}".]'))
            return PdfPages(tuple(parts), first, number - 1, total)
        text_room -= len(text)
        body = f"{text[:MAX_BYTES]}\n[The page is cut here.]" if len(text) > MAX_BYTES else text
        parts.append(Text(f"--- page {number} of {total} ---\n{body}".rstrip()))
        if image is not None:
            image_room -= len(image.data)
            parts.append(image)
    return PdfPages(tuple(parts), first, last, total)


def _text(page: Any) -> str:
    reader = page.get_textpage()
    try:
        content: str = reader.get_text_bounded()
    finally:
        reader.close()
    return content.replace("\r\n", "\n").replace("\r", "\n").strip()


def _render_page(page: Any, room: int) -> Image:
    width, height = page.get_size()
    bitmap = page.render(scale=min(_SIDE / max(width, height, 1), 4))
    try:
        fitted = fit_image(bitmap.to_pil().convert("RGB"), (int(width), int(height)), min(room, MAX_BASE64 // 4))
    finally:
        bitmap.close()
    return Image(fitted.media_type, fitted.data)
