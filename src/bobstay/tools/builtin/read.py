"""Read: shows a text file, image, PDF or notebook to the model, within size limits."""

import os
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from bobstay.model.message import Image, ReplyPart, Text
from bobstay.permissions.access import Access
from bobstay.system.safe_read import read_up_to
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.file_content import decode, detect_kind, digest, is_binary
from bobstay.tools.files.file_reading import SMALL_FILE, fingerprint, open_checked_file, read_whole
from bobstay.tools.files.file_view import View, make_view, stream_view
from bobstay.tools.files.numbered_lines import MAX_LINES
from bobstay.tools.files.offload import offload
from bobstay.tools.files.tool_path import ToolPath, absolute_path, locate, real_path, stat_regular_file

_MAX_IMAGE_SIZE = 40 << 20
_MAX_DISPLAYED_IMAGE = 256 * 1024
"""Characters of base64 up to which an image is also in the display; the frame then carries it twice."""


class ReadArgs(Args, frozen=True):
    file_path: Annotated[str, Meta(description="Path of the file, absolute_path or relative to the working directory.")]
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
        return (Access("read", absolute_path(args.file_path, context)),)

    def claims(self, args: ReadArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute_path(args.file_path, context))}", shared=True),)

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
        target = locate(args.file_path, context)
        status = stat_regular_file(target)
        if status is None:
            from bobstay.tools.files.similar_paths import missing_file_error

            raise missing_file_error(target.path, context)
        if status.st_size > SMALL_FILE:
            outcome = await offload(lambda cancelled: _read_large(target, args, cancelled))
        else:
            with open_checked_file(target) as (descriptor, _):
                raw = read_up_to(descriptor, SMALL_FILE)
            if detect_kind(raw, target.path) == "text":
                outcome = _text_outcome(target, make_view(raw, args.offset or 1, _line_limit(args)))
            else:
                outcome = await offload(lambda cancelled: _read_special(target, raw, args, cancelled))
        return _with_instructions(outcome, target, context)


def _line_limit(args: ReadArgs) -> int:
    return min(args.limit or MAX_LINES, MAX_LINES)


def _read_large(target: ToolPath, args: ReadArgs, cancelled: Callable[[], bool]) -> Outcome:
    with open_checked_file(target) as (descriptor, status):
        head = os.pread(descriptor, 8192, 0)
        if detect_kind(head, target.path) == "text":
            return _text_outcome(
                target, stream_view(descriptor, status, args.offset or 1, _line_limit(args), cancelled)
            )
    return _read_special(target, head, args, cancelled)


def _read_special(target: ToolPath, head: bytes, args: ReadArgs, cancelled: Callable[[], bool]) -> Outcome:
    """The outcome for files other than plain text."""
    match detect_kind(head, target.path):
        case "image":
            return _read_image(target)
        case "pdf":
            return _read_pdf(target, args.pages or "", cancelled)
        case "notebook":
            return _read_notebook(target, args)
        case _:
            raise ToolError(
                f"{target.path} is a binary file ({os.stat(target.real).st_size:,} bytes), which Read cannot show. "
                "Look at it with a shell tool made for its kind (file, xxd, unzip -l, sqlite3 ...)."
            )


def _text_outcome(target: ToolPath, view: View) -> Outcome:
    return Outcome(
        content=view.shown,
        display={
            "type": "text",
            "file": {
                "filePath": target.path,
                "content": view.plain,
                "numLines": view.count,
                "startLine": view.first,
                "totalLines": view.total,
            },
        },
        files={target.real: view.hash},
    )


def _read_image(target: ToolPath) -> Outcome:
    from bobstay.tools.files.image import shrink

    raw = read_whole(target, _MAX_IMAGE_SIZE)
    image = shrink(raw)
    scaled = (image.width, image.height) != (image.original_width, image.original_height)
    parts: tuple[ReplyPart, ...] = (Image(image.media_type, image.data),)
    if scaled:
        size = f"{image.original_width} x {image.original_height}"
        parts += (Text(f"[The image is {size} pixels; it is shown at {image.width} x {image.height}.]"),)
    file: dict[str, Any] = {
        "filePath": target.path,
        "base64": image.data if len(image.data) <= _MAX_DISPLAYED_IMAGE else "",
        "type": image.media_type,
        "originalSize": len(raw),
        "dimensions": {
            "originalWidth": image.original_width,
            "originalHeight": image.original_height,
            "displayWidth": image.width,
            "displayHeight": image.height,
        },
    }
    return Outcome(content=parts, display={"type": "image", "file": file}, files={target.real: digest(raw)})


def _read_pdf(target: ToolPath, pages: str, cancelled: Callable[[], bool]) -> Outcome:
    from bobstay.tools.files.pdf import read_pages

    shown = read_pages(target, pages, cancelled)
    file = {
        "filePath": target.path,
        "originalSize": os.stat(target.real).st_size,
        "firstPage": shown.first,
        "lastPage": shown.last,
        "totalPages": shown.total,
    }
    return Outcome(content=shown.parts, display={"type": "pdf", "file": file}, files={target.real: fingerprint(target)})


def _read_notebook(target: ToolPath, args: ReadArgs) -> Outcome:
    from bobstay.tools.files.notebook import InvalidNotebookError, parse_notebook
    from bobstay.tools.files.notebook_view import view_cells

    raw = read_whole(target)
    most = _line_limit(args)
    try:
        notebook = parse_notebook(decode(raw).text)
    except InvalidNotebookError as error:
        if is_binary(raw):
            raise ToolError(f"{target.path} is named as a notebook but is a binary file.") from None
        outcome = _text_outcome(target, make_view(raw, args.offset or 1, most))
        note = f"[This is not a valid notebook ({error}), so it is shown as text.]"
        return Outcome(f"{note}\n{outcome.content}", outcome.display, files=outcome.files)
    view = view_cells(notebook, args.offset or 1, most)
    display = {"type": "notebook", "file": {"filePath": target.path, "cells": view.cells}}
    return Outcome(content=view.parts, display=display, files={target.real: digest(raw)})


def _with_instructions(outcome: Outcome, target: ToolPath, context: Context) -> Outcome:
    """Add a reminder of instruction files that apply to this path and were not told yet."""
    instructions_for = context.services.instructions_for
    reminder = instructions_for(target.path) if instructions_for is not None else ""
    return replace(outcome, reminder=reminder) if reminder else outcome
