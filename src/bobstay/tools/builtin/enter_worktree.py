"""EnterWorktree: continues the session in a new worktree of its repository, on a branch of its own."""

import os
from typing import Annotated

from msgspec import Meta

from bobstay.git_files.git_directory import find_repository
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Context, Outcome, Tool, ToolError


class EnterWorktreeArgs(Args, frozen=True):
    name: (
        Annotated[
            str, Meta(max_length=100, description="A short name, part of its path and branch; else a random one.")
        ]
        | None
    ) = None
    branch: Annotated[str, Meta(max_length=150, description="The name of its branch, if another is wanted.")] | None = (
        None
    )


class EnterWorktree(Tool[EnterWorktreeArgs]):
    name = "EnterWorktree"
    hint = "git worktree branch isolated copy work apart"
    description = (
        "Creates a git worktree with a new branch at the current commit, and continues the session in it: paths are "
        "relative to it, and commands start in it. Only files that are committed are there.\n"
        "- Use it only when the user asks to work in a worktree, or instructions of the project say so.\n"
        "- Return with ExitWorktree."
    )
    args = EnterWorktreeArgs
    needs = "repository"

    def access(self, args: EnterWorktreeArgs, context: Context) -> tuple[Access, ...]:
        from bobstay.repositories.worktree_isolation import worktree_folder

        entry = find_repository(str(context.root))
        if entry is None:
            return ()
        top = os.path.realpath(os.path.dirname(entry))
        return (Access("write", f"{worktree_folder(top, context.services.worktree)}/{args.name or 'new'}"),)

    async def check(self, args: EnterWorktreeArgs, context: Context) -> None:
        if context.origin is not None:
            raise ToolError(
                f"The session works in the worktree {context.root} already. Leave it with ExitWorktree first."
            )

    async def run(self, args: EnterWorktreeArgs, context: Context) -> Outcome:
        from bobstay.repositories.git_failure import GitError
        from bobstay.repositories.worktree_isolation import create_worktree

        await self.check(args, context)
        try:
            made = await create_worktree(
                str(context.root),
                args.name or "",
                context.environment,
                settings=context.services.worktree,
                branch=args.branch or "",
            )
        except GitError as error:
            raise ToolError(f"No worktree was made. {error}") from None
        root = _same_folder(str(context.root), made.project, made.path)
        return Outcome(
            content=(
                f"The session now works in {root}, a worktree of {made.project} on the new branch {made.branch}. Files "
                "that were read before are other files there: read them again before changing them."
            ),
            display={"worktreePath": made.path, "worktreeBranch": made.branch, "root": root},
            root=root,
        )


def _same_folder(root: str, top: str, worktree: str) -> str:
    """The folder of the worktree that stands for the session's directory in the repository."""
    inner = os.path.relpath(os.path.realpath(root), top)
    folder = os.path.normpath(os.path.join(worktree, inner))
    return folder if not inner.startswith("..") and os.path.isdir(folder) else worktree
