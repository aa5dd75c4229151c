"""Edit: replaces text in a file the model has read, touching nothing else in it."""

import os
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.file_update import encoded, links_note, load, may_look, require_text, store
from bobstay.tools.files.numbered_lines import after
from bobstay.tools.files.offload import offload, require_wanted
from bobstay.tools.files.patch import clipped, field, patch_of
from bobstay.tools.files.similar_paths import missing
from bobstay.tools.files.text_edits import Replacement, apply, place_of
from bobstay.tools.files.tool_path import ToolPath, absolute, locate, real_path, status_of


class OneEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """One of several changes."""

    old_string: Annotated[str, Meta(description="The text to replace.")]
    new_string: Annotated[str, Meta(description="The text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class EditArgs(Args, frozen=True):
    file_path: Annotated[str, Meta(description="Path of the file, absolute or relative to the working directory.")]
    old_string: Annotated[str, Meta(description="The text to replace; it must stand in one place only.")] | None = None
    new_string: Annotated[str, Meta(description="The text to put in its place; different from old_string.")] | None = (
        None
    )
    replace_all: Annotated[bool, Meta(description="Replace every occurrence of old_string.")] = False
    edits: (
        Annotated[
            tuple[OneEdit, ...],
            Meta(description="Several changes instead of old_string and new_string: one after the other, all or none."),
        ]
        | None
    ) = None


class _Plan(Struct, frozen=True):
    data: bytes
    expected: str | None
    before: str
    after: str
    count: int
    notes: tuple[str, ...]
    status: os.stat_result | None


class Edit(Tool[EditArgs]):
    name = "Edit"
    aliases = ("MultiEdit",)
    hint = "change replace modify text in file"
    description = (
        "Replaces text in a file.\n"
        "- The file must have been read in this session, and not changed since; otherwise the call is refused.\n"
        "- old_string is the exact text as the file holds it, without the line numbers Read shows. It must stand in "
        "the file exactly once: give enough of the lines around it, or set replace_all to change every occurrence.\n"
        "- Several changes to one file go into `edits`; they are applied in order, all or none.\n"
        "- An empty old_string makes a new file of new_string.\n"
        "- Newline style, encoding and everything outside the match stay as they are."
    )
    args = EditArgs

    def access(self, args: EditArgs, context: Context) -> tuple[Access, ...]:
        return (Access("write", absolute(args.file_path, context)),)

    def claims(self, args: EditArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute(args.file_path, context))}"),)

    async def check(self, args: EditArgs, context: Context) -> None:
        place, replacements = locate(args.file_path, context), _replacements(args)
        if may_look(place, context):
            await offload(lambda _: _plan(place, replacements, context))

    async def run(self, args: EditArgs, context: Context) -> Outcome:
        place, replacements = locate(args.file_path, context), _replacements(args)
        return await offload(lambda cancelled: _edit(place, replacements, context, cancelled))


def _replacements(args: EditArgs) -> tuple[Replacement, ...]:
    """What is asked for, refused where it makes no sense whatever the file holds."""
    if args.edits and not (args.old_string or args.new_string):
        asked = tuple(Replacement(one.old_string, one.new_string, one.replace_all) for one in args.edits)
    elif args.edits:
        raise ToolError("Give either old_string and new_string, or edits; not both.")
    elif args.old_string is None or args.new_string is None:
        raise ToolError("Give both old_string and new_string, or a list of edits.")
    else:
        asked = (Replacement(args.old_string, args.new_string, args.replace_all),)
    for number, one in enumerate(asked, 1):
        which = f"Edit {number} of {len(asked)}: " if len(asked) > 1 else ""
        require_text(one.old, f"{which}old_string")
        require_text(one.new, f"{which}new_string")
        if one.old == one.new:
            raise ToolError(f"{which}old_string and new_string are the same, so there is nothing to change.")
        if not one.old and len(asked) > 1:
            raise ToolError(f"{which}old_string is empty. Say which text to replace.")
    return asked


def _edit(
    place: ToolPath, replacements: tuple[Replacement, ...], context: Context, cancelled: Callable[[], bool]
) -> Outcome:
    plan = _plan(place, replacements, context)
    require_wanted(cancelled)
    stored = store(place, plan.data, plan.expected, lambda text: place_of(text, replacements))
    patch = patch_of(plan.before, plan.after)
    return Outcome(
        content=_confirmation(place, plan, after(patch.hunks)),
        display=_display(place, plan, replacements) | {"structuredPatch": patch.bounded()},
        files={place.real: stored},
        lines_added=patch.added,
        lines_removed=patch.removed,
    )


def _plan(place: ToolPath, replacements: tuple[Replacement, ...], context: Context) -> _Plan:
    """The new content, decided on the file as it is now."""
    status = status_of(place)
    first = replacements[0]
    if not first.old:
        return _creation(place, first.new, status)
    if status is None:
        raise missing(place.path, context)
    present = load(place, context, lambda text: place_of(text, replacements))
    before = present.content.text
    changed = apply(before, replacements)
    if changed.text == before:
        raise ToolError("The edits together leave the file as it was. Nothing was written.")
    data = encoded(present.content, changed.text, place)
    return _Plan(data, present.hash, before, changed.text, changed.count, changed.notes, status)


def _creation(place: ToolPath, text: str, status: os.stat_result | None) -> _Plan:
    if status is not None and status.st_size:
        raise ToolError(
            f"old_string is empty, which makes a new file, but {place.path} exists and is not empty. "
            "Say which text to replace, or use Write to replace all of it."
        )
    return _Plan(text.encode(), None if status is None else digest(b""), "", text, 1, (), status)


def _confirmation(place: ToolPath, plan: _Plan, snippet: str) -> str:
    if plan.expected is None:
        return f"Created {place.path}."
    places = "" if plan.count == 1 else f" in {plan.count} places"
    notes = "".join(f" Note: {note}" for note in plan.notes)
    reads = f" It now reads:\n{snippet}" if snippet else ""
    return f"The file {place.path} has been updated{places}.{notes}{links_note(plan.status)}{reads}"


def _display(place: ToolPath, plan: _Plan, replacements: tuple[Replacement, ...]) -> dict[str, Any]:
    first = replacements[0]
    shown: dict[str, Any] = {
        "filePath": place.path,
        "oldString": clipped(first.old),
        "newString": clipped(first.new),
        "originalFile": field(plan.before),
        "userModified": False,
        "replaceAll": first.every,
    }
    if len(replacements) > 1:
        shown["edits"] = len(replacements)
    return shown
