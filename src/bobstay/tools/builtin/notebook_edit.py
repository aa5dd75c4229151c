"""NotebookEdit: replaces, inserts or deletes one cell of a Jupyter notebook."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.file_update import (
    can_inspect,
    describe_hard_links,
    encode_for,
    load_known,
    require_text,
    store_unchanged,
)
from bobstay.tools.files.notebook import InvalidNotebookError, parse_notebook
from bobstay.tools.files.notebook_change import CellChange, change_cell
from bobstay.tools.files.offload import offload, require_not_cancelled
from bobstay.tools.files.patch import clip_display_text, make_patch, to_display_text
from bobstay.tools.files.similar_paths import missing_file_error
from bobstay.tools.files.tool_path import ToolPath, absolute_path, locate, real_path, stat_regular_file


class NotebookEditArgs(Args, frozen=True):
    notebook_path: Annotated[str, Meta(description="Path of the .ipynb file.")]
    new_source: Annotated[str, Meta(description="The new source of the cell; not needed to delete one.")] | None = None
    cell_id: (
        Annotated[
            str, Meta(description="The cell to replace or delete, or after which to insert (at the start if absent).")
        ]
        | None
    ) = None
    cell_type: (
        Annotated[Literal["code", "markdown", "raw"], Meta(description="Kind of the cell; kept if absent.")] | None
    ) = None
    edit_mode: Annotated[Literal["replace", "insert", "delete"], Meta(description="What to do.")] = "replace"


class _Plan(Struct, frozen=True):
    data: bytes
    expected: str
    before: str
    after: str
    change: CellChange
    links: str


class NotebookEdit(Tool[NotebookEditArgs]):
    name = "NotebookEdit"
    hint = "jupyter notebook cell ipynb change"
    description = (
        "Changes one cell of a Jupyter notebook (.ipynb) that has been read in this session.\n"
        "- replace (the default) sets the source of the cell cell_id; outputs of a code cell are cleared.\n"
        "- insert puts a new cell after cell_id, or first if cell_id is absent.\n"
        "- delete removes the cell cell_id.\n"
        "- cell ids are those Read shows. The other cells stay as they are."
    )
    args = NotebookEditArgs

    def access(self, args: NotebookEditArgs, context: Context) -> tuple[Access, ...]:
        return (Access("write", absolute_path(args.notebook_path, context)),)

    def claims(self, args: NotebookEditArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute_path(args.notebook_path, context))}"),)

    async def check(self, args: NotebookEditArgs, context: Context) -> None:
        target = _locate_notebook(args, context)
        if can_inspect(target, context):
            await offload(lambda _: _plan(target, args, context))

    async def run(self, args: NotebookEditArgs, context: Context) -> Outcome:
        target = _locate_notebook(args, context)
        return await offload(lambda cancelled: _edit(target, args, context, cancelled))


def _locate_notebook(args: NotebookEditArgs, context: Context) -> ToolPath:
    """Resolve the path of the notebook; raises `ToolError` for input that makes no sense for any notebook."""
    if not args.notebook_path.endswith(".ipynb"):
        raise ToolError("notebook_path must name a .ipynb file. Use Edit for other files.")
    if args.edit_mode != "delete" and args.new_source is None:
        raise ToolError(f"new_source is missing; it is needed to {args.edit_mode} a cell.")
    if args.edit_mode != "insert" and not args.cell_id:
        raise ToolError(f"cell_id is missing; it says which cell to {args.edit_mode}.")
    require_text(args.new_source or "", "new_source")
    return locate(args.notebook_path, context)


def _edit(target: ToolPath, args: NotebookEditArgs, context: Context, cancelled: Callable[[], bool]) -> Outcome:
    plan = _plan(target, args, context)
    require_not_cancelled(cancelled)
    stored = store_unchanged(target, plan.data, plan.expected)
    patch = make_patch(plan.before, plan.after)
    done = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[args.edit_mode]
    return Outcome(
        content=f"{done} cell {plan.change.cell_id} in {target.path}.{plan.links}",
        display=_display(target, args, plan) | {"structuredPatch": patch.bounded()},
        files={target.real: stored},
        lines_added=patch.added,
        lines_removed=patch.removed,
    )


def _plan(target: ToolPath, args: NotebookEditArgs, context: Context) -> _Plan:
    status = stat_regular_file(target)
    if status is None:
        raise missing_file_error(target.path, context)
    present = load_known(target, context)
    before = present.content.text
    try:
        notebook = parse_notebook(before)
    except InvalidNotebookError as error:
        raise ToolError(f"{target.path} is not a valid notebook: {error}. Nothing was written.") from None
    change = change_cell(notebook, args.edit_mode, args.cell_id or "", args.new_source or "", args.cell_type)
    data = encode_for(present.content, change.text, target)
    return _Plan(data, present.hash, before, change.text, change, describe_hard_links(status))


def _display(target: ToolPath, args: NotebookEditArgs, plan: _Plan) -> dict[str, Any]:
    return {
        "notebook_path": target.path,
        "edit_mode": args.edit_mode,
        "cell_id": plan.change.cell_id,
        "cell_type": plan.change.kind,
        "language": plan.change.language,
        "new_source": clip_display_text(args.new_source or ""),
        "original_file": to_display_text(plan.before),
        "updated_file": to_display_text(plan.after),
        "error": "",
    }
