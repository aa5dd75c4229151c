"""Write: creates a file, or replaces one the model has read."""

import os
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool
from bobstay.tools.files.edit_diagnostics import with_new_errors
from bobstay.tools.files.file_content import Content, dominant_newline, with_newlines
from bobstay.tools.files.file_reading import MAX_HASHED_SIZE, fingerprint
from bobstay.tools.files.file_update import (
    can_inspect,
    describe_hard_links,
    load_known,
    require_known,
    require_text,
    stale_error,
    store_unchanged,
)
from bobstay.tools.files.offload import offload, require_not_cancelled
from bobstay.tools.files.patch import clip_display_text, make_patch, to_display_text
from bobstay.tools.files.tool_path import ToolPath, absolute_path, locate, real_path, stat_regular_file


class WriteArgs(Args, frozen=True):
    file_path: Annotated[str, Meta(description="Path of the file, absolute_path or relative to the working directory.")]
    content: Annotated[str, Meta(description="The whole new content of the file.")]


class _Plan(Struct, frozen=True):
    data: bytes
    text: str
    expected: str | None
    """Hash of the file to be replaced; None if it does not exist yet."""
    before: str | None
    status: os.stat_result | None
    note: str = ""


class Write(Tool[WriteArgs]):
    name = "Write"
    hint = "create save new file overwrite"
    description = (
        "Writes a whole file, creating missing directories on its path.\n"
        "- A file that exists must have been read in this session first; otherwise the call is refused.\n"
        "- Prefer Edit for changing part of a file, and existing files to new ones.\n"
        "- Newline style, encoding and mode of an existing file are kept."
    )
    args = WriteArgs

    def access(self, args: WriteArgs, context: Context) -> tuple[Access, ...]:
        return (Access("write", absolute_path(args.file_path, context)),)

    def claims(self, args: WriteArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute_path(args.file_path, context))}"),)

    async def check(self, args: WriteArgs, context: Context) -> None:
        target = locate(args.file_path, context)
        require_text(args.content, "content")
        if can_inspect(target, context):
            await offload(lambda _: _plan(target, args.content, context))

    async def run(self, args: WriteArgs, context: Context) -> Outcome:
        target = locate(args.file_path, context)
        require_text(args.content, "content")
        outcome = await offload(lambda cancelled: _write(target, args.content, context, cancelled))
        return await with_new_errors(outcome, context)


def _write(target: ToolPath, content: str, context: Context, cancelled: Callable[[], bool]) -> Outcome:
    plan = _plan(target, content, context)
    require_not_cancelled(cancelled)
    stored = store_unchanged(target, plan.data, plan.expected)
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    patch = make_patch(plan.before or "", plan.text)
    created = plan.expected is None
    action = "Created" if created else "Replaced the content of"
    size = f"{lines} {'line' if lines == 1 else 'lines'}"
    return Outcome(
        content=f"{action} {target.path} ({size}).{plan.note}{describe_hard_links(plan.status)}",
        display={
            "type": "create" if created else "update",
            "filePath": target.path,
            "content": clip_display_text(content),
            "structuredPatch": [] if plan.before is None else patch.bounded(),
            "originalFile": None if plan.before is None else to_display_text(plan.before),
            "userModified": False,
        },
        files={target.real: stored},
        lines_added=patch.added,
        lines_removed=patch.removed,
    )


def _plan(target: ToolPath, content: str, context: Context) -> _Plan:
    """Compute what to write from the current content of the file."""
    status = stat_regular_file(target)
    if status is None:
        return _Plan(content.encode(), content, None, None, None)
    if status.st_size > MAX_HASHED_SIZE:
        known = require_known(target, context)
        if fingerprint(target) != known:
            raise stale_error(target, None)
        return _Plan(content.encode(), content, known, None, status)
    present = load_known(target, context)
    text = content
    if "\r" not in content:
        text = with_newlines(content, dominant_newline(present.content.text))
    data, note = _encode_like(present.content, text)
    return _Plan(data, text, present.hash, present.content.text, status, note)


def _encode_like(before: Content, text: str) -> tuple[bytes, str]:
    """Encode `text` like the existing file; the note says if that was not possible."""
    content = before
    if before.errors == "surrogateescape":
        content = Content("", mark=before.mark)
    if content.mark and text.startswith("\ufeff"):
        text = text[1:]
    try:
        return content.encode(text), ""
    except UnicodeEncodeError:
        note = f" Note: {before.encoding} lacks some of these characters, so the file is in UTF-8 now."
        return text.encode(), note
