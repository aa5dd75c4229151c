"""ApplyPatch: changes several files by one patch, all or none, for models trained on its format."""

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import EVERYTHING, Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.edit_diagnostics import with_new_errors
from bobstay.tools.files.file_content import decode
from bobstay.tools.files.file_update import can_inspect, describe_hard_links
from bobstay.tools.files.numbered_lines import number_changed_lines
from bobstay.tools.files.offload import offload
from bobstay.tools.files.patch import MAX_FIELD_SIZE, Patch, make_patch
from bobstay.tools.files.patch_format import FileSection, PatchFormatError, parse_patch, patch_paths
from bobstay.tools.files.patch_plan import FileChange, carry_out, plan_patch
from bobstay.tools.files.tool_path import absolute_path, locate, real_path

_MAX_FILES_SHOWN = 200


class ApplyPatchArgs(Args, frozen=True):
    input: Annotated[str, Meta(description="The patch, from *** Begin Patch to *** End Patch.")]


class ApplyPatch(Tool[ApplyPatchArgs]):
    name = "ApplyPatch"
    aliases = ("apply_patch",)
    hint = "change add delete move several files diff"
    description = (
        "Changes files by a patch: all of it is applied, or nothing.\n"
        "*** Begin Patch\n"
        "*** Add File: path        (each line of the new file begins with +)\n"
        "*** Delete File: path\n"
        "*** Update File: path     (optionally followed by *** Move to: new path)\n"
        "@@ class or function      (optional: a line that stands before the change)\n"
        " a line that stays\n"
        "-a line that goes\n"
        "+a line that comes\n"
        "*** End of File           (optional: the lines above are the last ones)\n"
        "*** End Patch\n"
        "- Give about three lines that stay before and after each change, and @@ where they occur more than once. "
        "Changes of one file stand in the order of the file.\n"
        "- A file that is updated, moved or deleted must have been read in this session, and not changed since; "
        "otherwise the call is refused.\n"
        "- Newline style, encoding and everything the patch does not name stay as they are."
    )
    args = ApplyPatchArgs
    needs = "patch"

    def access(self, args: ApplyPatchArgs, context: Context) -> tuple[Access, ...]:
        paths = (absolute_path(path, context) for path in patch_paths(_sections_or_none(args)))
        return tuple(Access("write", path) for path in dict.fromkeys(paths))

    def claims(self, args: ApplyPatchArgs, context: Context) -> tuple[Claim, ...]:
        paths = (real_path(absolute_path(path, context)) for path in patch_paths(_sections_or_none(args)))
        return tuple(Claim(f"file:{path}") for path in dict.fromkeys(paths)) or (EVERYTHING,)

    async def check(self, args: ApplyPatchArgs, context: Context) -> None:
        sections = _sections(args)
        targets = [locate(path, context) for path in patch_paths(sections)]
        if all(can_inspect(target, context) for target in targets):
            await offload(lambda _: plan_patch(sections, context))

    async def run(self, args: ApplyPatchArgs, context: Context) -> Outcome:
        sections = _sections(args)
        outcome = await offload(lambda cancelled: _apply(sections, context, cancelled))
        return await with_new_errors(outcome, context)


def _sections(args: ApplyPatchArgs) -> tuple[FileSection, ...]:
    try:
        return parse_patch(args.input)
    except PatchFormatError as error:
        raise ToolError(f"{error} Nothing was written.") from None


def _sections_or_none(args: ApplyPatchArgs) -> tuple[FileSection, ...]:
    """The sections, or none of a patch that is refused before anybody is asked about it."""
    try:
        return parse_patch(args.input)
    except PatchFormatError:
        return ()


def _apply(sections: tuple[FileSection, ...], context: Context, cancelled: Callable[[], bool]) -> Outcome:
    plan = plan_patch(sections, context)
    stored = carry_out(plan, cancelled)
    moved = {change.moved_from for change in plan.changes}
    changes = [change for change in plan.changes if change.after is not None or change.target.path not in moved]
    patches = [make_patch(_text(_before(change)), _text(change.after)) for change in changes]
    shown = list(zip(changes, patches, strict=True))
    return Outcome(
        content="\n".join(_describe(change, patch) for change, patch in shown),
        display={"files": _display(shown), "fileCount": len(shown)},
        files=stored,
        lines_added=sum(patch.added for patch in patches),
        lines_removed=sum(patch.removed for patch in patches),
    )


def _before(change: FileChange) -> bytes | None:
    return change.origin if change.moved_from else change.before


def _text(raw: bytes | None) -> str:
    return "" if raw is None else decode(raw).text


def _kind(change: FileChange) -> str:
    if change.moved_from:
        return "move"
    if change.after is None:
        return "delete"
    return "create" if change.before is None else "update"


def _describe(change: FileChange, patch: Patch) -> str:
    path, kind = change.target.path, _kind(change)
    if kind in ("create", "delete"):
        return f"{'Created' if kind == 'create' else 'Deleted'} {path}."
    notes = "".join(f" Note: {note}" for note in change.notes)
    snippet = number_changed_lines(patch.hunks)
    if kind == "move":
        reads = f" It now reads:\n{snippet}" if snippet else ""
        return f"Moved {change.moved_from} to {path}.{notes}{reads}"
    return f"Updated {path}.{notes}{describe_hard_links(change.status)} It now reads:\n{snippet}"


def _display(shown: list[tuple[FileChange, Patch]]) -> list[dict[str, Any]]:
    """One entry a file; the hunks together are as large as those of one edit may be."""
    entries: list[dict[str, Any]] = []
    room = MAX_FIELD_SIZE
    for change, patch in shown[:_MAX_FILES_SHOWN]:
        hunks = patch.bounded()
        size = sum(len(line) for hunk in hunks for line in hunk["lines"])
        room -= size
        entry = {"filePath": change.target.path, "type": _kind(change), "structuredPatch": hunks if room >= 0 else []}
        if change.moved_from:
            entry["movedFrom"] = change.moved_from
        entries.append(entry)
    return entries
