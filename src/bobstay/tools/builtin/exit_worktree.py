"""ExitWorktree: returns from a worktree to the session's own directory, and keeps or removes the worktree."""

import os
from typing import Annotated, Literal

from msgspec import Meta

from bobstay.git_files.git_directory import find_repository
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Context, Outcome, Tool, ToolError

_MAX_NAMED = 10


class ExitWorktreeArgs(Args, frozen=True):
    action: Annotated[
        Literal["keep", "remove"],
        Meta(description="Leave the worktree and its branch as they are, or remove them."),
    ]
    discard_changes: Annotated[
        bool, Meta(description="Remove it although files have changes that are not committed; they are lost.")
    ] = False


class ExitWorktree(Tool[ExitWorktreeArgs]):
    name = "ExitWorktree"
    hint = "git worktree leave return remove keep"
    description = (
        "Returns from the worktree entered with EnterWorktree to the directory the session was started in.\n"
        "- `keep` leaves the worktree and its branch for later.\n"
        "- `remove` removes both. It is refused while files have changes that are not committed: commit them, or ask "
        "the user and set discard_changes. A branch with commits that are in no other branch is kept."
    )
    args = ExitWorktreeArgs
    needs = "repository"

    def access(self, args: ExitWorktreeArgs, context: Context) -> tuple[Access, ...]:
        if args.action == "keep":
            return (Access("none"),)
        # Unknown rather than a write: what is discarded is asked about even where edits are allowed.
        return () if args.discard_changes else (Access("write", str(context.root)),)

    def destructive(self, args: ExitWorktreeArgs, context: Context) -> bool:
        return args.action == "remove" and args.discard_changes

    async def check(self, args: ExitWorktreeArgs, context: Context) -> None:
        if context.origin is None:
            raise ToolError("The session works in the directory it was started in: there is no worktree to leave.")

    async def run(self, args: ExitWorktreeArgs, context: Context) -> Outcome:
        await self.check(args, context)
        origin = str(context.origin)
        top = _top(str(context.root))
        if not _exists(origin):
            raise ToolError(f"The directory the session was started in, {origin}, is gone, so it stays where it is.")
        kept, said = True, f"The worktree {top} is kept."
        if args.action == "remove":
            kept, said = False, await _remove(top, context, discard=args.discard_changes)
        return Outcome(
            content=f"The session works in {origin} again. {said}",
            display={"worktreePath": top, "kept": kept, "root": origin},
            root=origin,
        )


def _exists(folder: str) -> bool:
    return os.path.isdir(folder)


def _top(root: str) -> str:
    entry = find_repository(root)
    return os.path.dirname(entry) if entry is not None else root


async def _remove(top: str, context: Context, *, discard: bool) -> str:
    from bobstay.repositories.git_failure import GitError
    from bobstay.repositories.worktree_isolation import discard_worktree, inspect_worktree

    try:
        work = await inspect_worktree(top, context.environment)
        if work.dirty and not discard:
            named = ", ".join(work.dirty[:_MAX_NAMED])
            more = " and more" if len(work.dirty) > _MAX_NAMED else ""
            raise ToolError(
                f"Files in {top} have changes that are not committed: {named}{more}. Nothing was removed. Commit them, "
                "keep the worktree, or ask the user whether they may be lost (discard_changes)."
            )
        await discard_worktree(top, context.environment, work)
    except GitError as error:
        raise ToolError(f"The worktree {top} was not removed. {error}") from None
    if work.commits:
        nowhere = "1 commit that is" if work.commits == 1 else f"{work.commits} commits that are"
        return f"The worktree {top} was removed. Its branch {work.branch} is kept: it has {nowhere} in no other branch."
    return f"The worktree {top} and its branch {work.branch} were removed."
