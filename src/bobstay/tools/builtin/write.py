"""Write: makes a file, or replaces one the model has read."""

import os
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool
from bobstay.tools.files.file_content import Content, newline_of, with_newlines
from bobstay.tools.files.file_reading import LARGEST_HASHED, fingerprint
from bobstay.tools.files.file_update import links_note, load, may_look, require_known, require_text, stale, store
from bobstay.tools.files.offload import offload, require_wanted
from bobstay.tools.files.patch import clipped, field, patch_of
from bobstay.tools.files.tool_path import ToolPath, absolute, locate, real_path, status_of


class WriteArgs(Args, frozen=True):
    file_path: Annotated[str, Meta(description="Path of the file, absolute or relative to the working directory.")]
    content: Annotated[str, Meta(description="The whole new content of the file.")]


class _Plan(Struct, frozen=True):
    data: bytes
    text: str
    expected: str | None
    """Hash of the file to be replaced; None where there is none yet."""
    before: str | None
    status: os.stat_result | None
    note: str = ""


class Write(Tool[WriteArgs]):
    name = "Write"
    hint = "create save new file overwrite"
    description = (
        "Writes a whole file, making the directories on its path.\n"
        "- A file that exists must have been read in this session first; otherwise the call is refused.\n"
        "- Prefer Edit for changing part of a file, and existing files to new ones.\n"
        "- Newline style, encoding and mode of an existing file are kept."
    )
    args = WriteArgs

    def access(self, args: WriteArgs, context: Context) -> tuple[Access, ...]:
        return (Access("write", absolute(args.file_path, context)),)

    def claims(self, args: WriteArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute(args.file_path, context))}"),)

    async def check(self, args: WriteArgs, context: Context) -> None:
        place = locate(args.file_path, context)
        require_text(args.content, "content")
        if may_look(place, context):
            await offload(lambda _: _plan(place, args.content, context))

    async def run(self, args: WriteArgs, context: Context) -> Outcome:
        place = locate(args.file_path, context)
        require_text(args.content, "content")
        return await offload(lambda cancelled: _write(place, args.content, context, cancelled))


def _write(place: ToolPath, content: str, context: Context, cancelled: Callable[[], bool]) -> Outcome:
    plan = _plan(place, content, context)
    require_wanted(cancelled)
    stored = store(place, plan.data, plan.expected)
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    patch = patch_of(plan.before or "", plan.text)
    created = plan.expected is None
    word = "Created" if created else "Replaced the content of"
    size = f"{lines} {'line' if lines == 1 else 'lines'}"
    return Outcome(
        content=f"{word} {place.path} ({size}).{plan.note}{links_note(plan.status)}",
        display={
            "type": "create" if created else "update",
            "filePath": place.path,
            "content": clipped(content),
            "structuredPatch": [] if plan.before is None else patch.bounded(),
            "originalFile": None if plan.before is None else field(plan.before),
            "userModified": False,
        },
        files={place.real: stored},
        lines_added=patch.added,
        lines_removed=patch.removed,
    )


def _plan(place: ToolPath, content: str, context: Context) -> _Plan:
    """What to write, decided on the file as it is now."""
    status = status_of(place)
    if status is None:
        return _Plan(content.encode(), content, None, None, None)
    if status.st_size > LARGEST_HASHED:
        known = require_known(place, context)
        if fingerprint(place) != known:
            raise stale(place, None)
        return _Plan(content.encode(), content, known, None, status)
    present = load(place, context)
    text = content
    if "\r" not in content:
        text = with_newlines(content, newline_of(present.content.text))
    data, note = _in_manner_of(present.content, text)
    return _Plan(data, text, present.hash, present.content.text, status, note)


def _in_manner_of(before: Content, text: str) -> tuple[bytes, str]:
    """The bytes of `text` in the encoding the file had, and a note where that could not be kept."""
    manner = before
    if before.errors == "surrogateescape":
        manner = Content("", mark=before.mark)
    if manner.mark and text.startswith("\ufeff"):
        text = text[1:]
    try:
        return manner.encode(text), ""
    except UnicodeEncodeError:
        note = f" Note: {before.encoding} lacks some of these characters, so the file is in UTF-8 now."
        return text.encode(), note
