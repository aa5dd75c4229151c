"""Read: shows a file to the model, whatever kind it is of, within bounds."""

import os
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta

from bobstay.model.message import Image, ReplyPart, Text
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.file_content import decode, digest, is_binary, kind_of
from bobstay.tools.files.file_reading import SMALL, fingerprint, opened_again, read_up_to, read_whole
from bobstay.tools.files.file_view import View, stream_view, view_of
from bobstay.tools.files.numbered_lines import MOST_LINES
from bobstay.tools.files.offload import offload
from bobstay.tools.files.tool_path import ToolPath, absolute, locate, real_path, status_of

_LARGEST_IMAGE = 40 << 20
_DISPLAYED_IMAGE = 256 * 1024
"""Characters of base64 up to which an image is also given to programs; a frame carries it twice then."""


class ReadArgs(Args, frozen=True):
    file_path: Annotated[str, Meta(description="Path of the file, absolute or relative to the working directory.")]
    offset: Annotated[int, Meta(description="Line (or notebook cell) to start at, from 1.")] | None = None
    limit: Annotated[int, Meta(description="How many lines to read, at most 2000.")] | None = None
    pages: Annotated[str, Meta(description='Pages of a PDF, such as "3" or "1-5"; at most 20 a call.')] | None = None


class Read(Tool[ReadArgs]):
    name = "Read"
    hint = "open view show cat file image pdf notebook"
    description = (
        "Reads a file.\n"
        "- Text comes with line numbers (number, tab, line), by default the first 2000 lines; lines longer than 2000 "
        "characters are cut. Use offset and limit for other parts of long files.\n"
        "- Images (PNG, JPEG, GIF, WebP) are shown to you. PDF files come page by page; a PDF of more than 10 pages "
        "needs `pages`. Notebooks (.ipynb) come as cells with their outputs.\n"
        "- It reads files only: list directories with Glob or ls.\n"
        "- Several files can be read at once by several calls in one reply."
    )
    args = ReadArgs
    cap = 120_000

    def read_only(self, args: ReadArgs, context: Context) -> bool:
        return True

    def access(self, args: ReadArgs, context: Context) -> tuple[Access, ...]:
        return (Access("read", absolute(args.file_path, context)),)

    def claims(self, args: ReadArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute(args.file_path, context))}", shared=True),)

    async def check(self, args: ReadArgs, context: Context) -> None:
        if args.offset is not None and args.offset < 0:
            raise ToolError("offset counts lines from 1; it cannot be negative.")
        if args.limit is not None and args.limit < 1:
            raise ToolError("limit must be at least 1.")
        if args.pages:
            from bobstay.tools.files.pdf import parse_pages

            parse_pages(args.pages)

    async def run(self, args: ReadArgs, context: Context) -> Outcome:
        await self.check(args, context)
        place = locate(args.file_path, context)
        status = status_of(place)
        if status is None:
            from bobstay.tools.files.similar_paths import missing

            raise missing(place.path, context)
        if status.st_size > SMALL:
            outcome = await offload(lambda cancelled: _large(place, args, cancelled))
        else:
            with opened_again(place) as (descriptor, _):
                raw = read_up_to(descriptor, SMALL)
            if kind_of(raw, place.path) == "text":
                outcome = _text_outcome(place, view_of(raw, args.offset or 1, _most(args)))
            else:
                outcome = await offload(lambda cancelled: _special(place, raw, args, cancelled))
        return _with_instructions(outcome, place, context)


def _most(args: ReadArgs) -> int:
    return min(args.limit or MOST_LINES, MOST_LINES)


def _large(place: ToolPath, args: ReadArgs, cancelled: Callable[[], bool]) -> Outcome:
    with opened_again(place) as (descriptor, status):
        head = os.pread(descriptor, 8192, 0)
        if kind_of(head, place.path) == "text":
            return _text_outcome(place, stream_view(descriptor, status, args.offset or 1, _most(args), cancelled))
    return _special(place, head, args, cancelled)


def _special(place: ToolPath, head: bytes, args: ReadArgs, cancelled: Callable[[], bool]) -> Outcome:
    """The outcome for what is not simply text."""
    match kind_of(head, place.path):
        case "image":
            return _image(place)
        case "pdf":
            return _pdf(place, args.pages or "", cancelled)
        case "notebook":
            return _notebook(place, args)
        case _:
            raise ToolError(
                f"{place.path} is a binary file ({os.stat(place.real).st_size:,} bytes), which Read cannot show. "
                "Look at it with a shell tool made for its kind (file, xxd, unzip -l, sqlite3 ...)."
            )


def _text_outcome(place: ToolPath, view: View) -> Outcome:
    return Outcome(
        content=view.shown,
        display={
            "type": "text",
            "file": {
                "filePath": place.path,
                "content": view.plain,
                "numLines": view.count,
                "startLine": view.first,
                "totalLines": view.total,
            },
        },
        files={place.real: view.hash},
    )


def _image(place: ToolPath) -> Outcome:
    from bobstay.tools.files.image import shrink

    raw = read_whole(place, _LARGEST_IMAGE)
    picture = shrink(raw)
    scaled = (picture.width, picture.height) != (picture.original_width, picture.original_height)
    parts: tuple[ReplyPart, ...] = (Image(picture.media_type, picture.data),)
    if scaled:
        size = f"{picture.original_width} x {picture.original_height}"
        parts += (Text(f"[The image is {size} pixels; it is shown at {picture.width} x {picture.height}.]"),)
    file: dict[str, Any] = {
        "filePath": place.path,
        "base64": picture.data if len(picture.data) <= _DISPLAYED_IMAGE else "",
        "type": picture.media_type,
        "originalSize": len(raw),
        "dimensions": {
            "originalWidth": picture.original_width,
            "originalHeight": picture.original_height,
            "displayWidth": picture.width,
            "displayHeight": picture.height,
        },
    }
    return Outcome(content=parts, display={"type": "image", "file": file}, files={place.real: digest(raw)})


def _pdf(place: ToolPath, pages: str, cancelled: Callable[[], bool]) -> Outcome:
    from bobstay.tools.files.pdf import read_pages

    shown = read_pages(place, pages, cancelled)
    file = {
        "filePath": place.path,
        "originalSize": os.stat(place.real).st_size,
        "firstPage": shown.first,
        "lastPage": shown.last,
        "totalPages": shown.total,
    }
    return Outcome(content=shown.parts, display={"type": "pdf", "file": file}, files={place.real: fingerprint(place)})


def _notebook(place: ToolPath, args: ReadArgs) -> Outcome:
    from bobstay.tools.files.notebook import BadNotebook, parse
    from bobstay.tools.files.notebook_view import view_cells

    raw = read_whole(place)
    most = _most(args)
    try:
        notebook = parse(decode(raw).text)
    except BadNotebook as error:
        if is_binary(raw):
            raise ToolError(f"{place.path} is named as a notebook but is a binary file.") from None
        outcome = _text_outcome(place, view_of(raw, args.offset or 1, most))
        note = f"[This is not a valid notebook ({error}), so it is shown as text.]"
        return Outcome(f"{note}\n{outcome.content}", outcome.display, files=outcome.files)
    view = view_cells(notebook, args.offset or 1, most)
    display = {"type": "notebook", "file": {"filePath": place.path, "cells": view.cells}}
    return Outcome(content=view.parts, display=display, files={place.real: digest(raw)})


def _with_instructions(outcome: Outcome, place: ToolPath, context: Context) -> Outcome:
    """Add the instruction files of a folder that this read is the first to enter."""
    enter = context.parts.get("instructions")
    text = enter(place.path) if enter is not None else ""
    if not text:
        return outcome
    reminder = f"<system-reminder>\n{text}\n</system-reminder>"
    content: str | tuple[ReplyPart, ...]
    if isinstance(outcome.content, str):
        content = f"{outcome.content}\n\n{reminder}"
    else:
        content = (*outcome.content, Text(reminder))
    return Outcome(content, outcome.display, files=outcome.files)
