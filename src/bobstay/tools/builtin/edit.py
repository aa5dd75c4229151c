"""Edit: replaces text in a file the model has read and leaves the rest unchanged."""

import os
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.edit_diagnostics import with_new_errors
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.file_update import (
    can_inspect,
    describe_hard_links,
    encode_for,
    load_known,
    require_text,
    store_unchanged,
)
from bobstay.tools.files.numbered_lines import number_changed_lines
from bobstay.tools.files.offload import offload, require_not_cancelled
from bobstay.tools.files.patch import clip_display_text, make_patch, to_display_text
from bobstay.tools.files.similar_paths import missing_file_error
from bobstay.tools.files.text_edits import Replacement, apply_replacements, locate_snippet
from bobstay.tools.files.tool_path import ToolPath, absolute_path, locate, real_path, stat_regular_file


class OneEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """One of several changes."""

    old_string: Annotated[str, Meta(description="The text to replace.")]
    new_string: Annotated[str, Meta(description="The text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class EditArgs(Args, frozen=True):
    file_path: Annotated[str, Meta(description="Path of the file, absolute_path or relative to the working directory.")]
    old_string: Annotated[str, Meta(description="The text to replace; it must occur exactly once.")] | None = None
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
        "- old_string is the exact text as the file contains it, without the line numbers Read shows. It must occur in "
        "the file exactly once: give enough of the lines around it, or set replace_all to change every occurrence.\n"
        "- Several changes to one file go into `edits`; they are applied in order, all or none.\n"
        "- An empty old_string makes a new file of new_string.\n"
        "- Newline style, encoding and everything outside the match stay as they are."
    )
    args = EditArgs

    def access(self, args: EditArgs, context: Context) -> tuple[Access, ...]:
        return (Access("write", absolute_path(args.file_path, context)),)

    def claims(self, args: EditArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute_path(args.file_path, context))}"),)

    async def check(self, args: EditArgs, context: Context) -> None:
        target, replacements = locate(args.file_path, context), _replacements(args)
        if can_inspect(target, context):
            await offload(lambda _: _plan(target, replacements, context))

    async def run(self, args: EditArgs, context: Context) -> Outcome:
        target, replacements = locate(args.file_path, context), _replacements(args)
        outcome = await offload(lambda cancelled: _edit(target, replacements, context, cancelled))
        return await with_new_errors(outcome, context)


def _replacements(args: EditArgs) -> tuple[Replacement, ...]:
    """The requested replacements; raises `ToolError` for those that make no sense for any file."""
    if args.edits and not (args.old_string or args.new_string):
        requested = tuple(Replacement(one.old_string, one.new_string, one.replace_all) for one in args.edits)
    elif args.edits:
        raise ToolError("Give either old_string and new_string, or edits; not both.")
    elif args.old_string is None or args.new_string is None:
        raise ToolError("Give both old_string and new_string, or a list of edits.")
    else:
        requested = (Replacement(args.old_string, args.new_string, args.replace_all),)
    for number, replacement in enumerate(requested, 1):
        which = f"Edit {number} of {len(requested)}: " if len(requested) > 1 else ""
        require_text(replacement.old, f"{which}old_string")
        require_text(replacement.new, f"{which}new_string")
        if replacement.old == replacement.new:
            raise ToolError(f"{which}old_string and new_string are the same, so there is nothing to change.")
        if not replacement.old and len(requested) > 1:
            raise ToolError(f"{which}old_string is empty. Say which text to replace.")
    return requested


def _edit(
    target: ToolPath, replacements: tuple[Replacement, ...], context: Context, cancelled: Callable[[], bool]
) -> Outcome:
    plan = _plan(target, replacements, context)
    require_not_cancelled(cancelled)
    stored = store_unchanged(target, plan.data, plan.expected, lambda text: locate_snippet(text, replacements))
    patch = make_patch(plan.before, plan.after)
    return Outcome(
        content=_confirmation(target, plan, number_changed_lines(patch.hunks)),
        display=_display(target, plan, replacements) | {"structuredPatch": patch.bounded()},
        files={target.real: stored},
        lines_added=patch.added,
        lines_removed=patch.removed,
    )


def _plan(target: ToolPath, replacements: tuple[Replacement, ...], context: Context) -> _Plan:
    """Compute the new content from the current content of the file."""
    status = stat_regular_file(target)
    first = replacements[0]
    if not first.old:
        return _plan_creation(target, first.new, status)
    if status is None:
        raise missing_file_error(target.path, context)
    present = load_known(target, context, lambda text: locate_snippet(text, replacements))
    before = present.content.text
    changed = apply_replacements(before, replacements)
    if changed.text == before:
        raise ToolError("The edits together leave the file as it was. Nothing was written.")
    data = encode_for(present.content, changed.text, target)
    return _Plan(data, present.hash, before, changed.text, changed.count, changed.notes, status)


def _plan_creation(target: ToolPath, text: str, status: os.stat_result | None) -> _Plan:
    if status is not None and status.st_size:
        raise ToolError(
            f"old_string is empty, which makes a new file, but {target.path} exists and is not empty. "
            "Say which text to replace, or use Write to replace all of it."
        )
    return _Plan(text.encode(), None if status is None else digest(b""), "", text, 1, (), status)


def _confirmation(target: ToolPath, plan: _Plan, snippet: str) -> str:
    if plan.expected is None:
        return f"Created {target.path}."
    places = "" if plan.count == 1 else f" in {plan.count} places"
    notes = "".join(f" Note: {note}" for note in plan.notes)
    reads = f" It now reads:\n{snippet}" if snippet else ""
    return f"The file {target.path} has been updated{places}.{notes}{describe_hard_links(plan.status)}{reads}"


def _display(target: ToolPath, plan: _Plan, replacements: tuple[Replacement, ...]) -> dict[str, Any]:
    first = replacements[0]
    shown: dict[str, Any] = {
        "filePath": target.path,
        "oldString": clip_display_text(first.old),
        "newString": clip_display_text(first.new),
        "originalFile": to_display_text(plan.before),
        "userModified": False,
        "replaceAll": first.every,
    }
    if len(replacements) > 1:
        shown["edits"] = len(replacements)
    return shown
