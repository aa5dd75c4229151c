"""Attributes changes in a directory to a session, as opposed to others who work there."""

import os
from typing import Literal, TypeAlias

from msgspec.structs import replace

from bobstay.server.db.database import Database
from bobstay.server.db.touched_files import TouchedFiles, find_touched_files
from bobstay.server.files.git_diff_parser import DiffFile
from bobstay.server.files.working_changes import WorkingChanges
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView

RECENT = 60.0
"""Seconds: edits of others shortly before are not attributed to a first command."""
Scope: TypeAlias = Literal["all", "session", "turn"]


async def own_changes(
    database: Database, registry: SessionRegistry, view: SessionView, found: WorkingChanges, scope: Scope
) -> WorkingChanges:
    """The part of `found` that the session changed, with the number of other files.

    A file is the session's if one of its edits names it, or if it was last written while one of its commands ran and no
    other session has edited it since. In a worktree of its own everything is the session's.
    """
    if scope == "all" or (scope == "session" and view.config.worktree):
        return found
    await database.wait_until_indexed(view.id, view.seq)
    mine = await find_touched_files(database, view, last_turn=scope == "turn")
    maybe = [file for file in found.files if not _is_edited(mine, view.cwd, file)]
    others = await _others(database, registry, view) if mine.runs and maybe else []
    kept = tuple(file for file in found.files if _is_own(view.cwd, file, mine, others))
    left = len(found.files) - len(kept)
    return replace(found, files=kept, total=len(kept), elsewhere=found.total - len(found.files) + left)


def _is_own(cwd: str, file: DiffFile, mine: TouchedFiles, others: list[TouchedFiles]) -> bool:
    if _is_edited(mine, cwd, file):
        return True
    path = os.path.realpath(os.path.join(cwd, file.path))
    try:
        written = os.lstat(path).st_mtime
    except OSError:
        return mine.has_command_naming(path)
    return mine.has_run_at(written) and not any(_is_edited(other, cwd, file) for other in others)


def _is_edited(by: TouchedFiles, cwd: str, file: DiffFile) -> bool:
    return any(os.path.realpath(os.path.join(cwd, name)) in by.edited for name in (file.path, file.old_path) if name)


async def _others(database: Database, registry: SessionRegistry, view: SessionView) -> list[TouchedFiles]:
    """The edits of sessions in the same directory, or above or below it, since this one began."""
    known = tuple(registry.views.values())
    others = [other for other in known if other.id != view.id and other.updated_at >= view.created_at - RECENT]
    return [await find_touched_files(database, one) for one in others if _is_nested(one.cwd, view.cwd)]


def _is_nested(one: str, other: str) -> bool:
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")
