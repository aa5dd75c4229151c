"""Finds the files that a session changed, from its tool calls: edited paths, and the times its commands ran."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field
from sqlalchemy import select

from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import sessions, tool_calls
from bobstay.server.sessions.session_view import SessionView
from bobstay.tools.files.patch_format import PatchFormatError, parse_patch, patch_paths

PATCHING = ("ApplyPatch",)
EDITING = ("Edit", "MultiEdit", "NotebookEdit", "Write")
RUNNING = ("Bash",)
SLACK = 0.1
"""Seconds of tolerance: file systems have a coarser clock."""


class CommandRun(Struct, frozen=True):
    """A command and the time it ran."""

    command: str
    begun: float
    ended: float
    """For a background command: when the session was last active, because its real end is not known."""

    def covers(self, moment: float) -> bool:
        return self.begun - SLACK <= moment <= self.ended + SLACK


class TouchedFiles(Struct):
    edited: dict[str, float] = field(default_factory=dict)
    """Absolute paths, with the time of the last edit."""
    runs: list[CommandRun] = field(default_factory=list)

    def has_run_at(self, moment: float) -> bool:
        return any(run.covers(moment) for run in self.runs)

    def has_command_naming(self, path: str) -> bool:
        """Whether a command names a file: the only evidence for a file that was deleted."""
        return any(os.path.basename(path) in run.command for run in self.runs)


async def find_touched_files(database: Database, view: SessionView, *, last_turn: bool = False) -> TouchedFiles:
    """The files a session changed by its own calls; with `last_turn`, since its last prompt."""
    session_id, cwd, until = view.id, view.cwd, view.updated_at
    calls = tool_calls.c
    query = select(calls.name, calls.input, calls.called_at, calls.started_at, calls.result_at).where(
        calls.session_id == session_id,
        calls.name.in_((*EDITING, *PATCHING, *RUNNING)),
        calls.called_at.is_not(None),
        calls.denied.is_not(True),
    )
    if last_turn:
        begun = select(sessions.c.turn_seq).where(sessions.c.id == session_id).scalar_subquery()
        query = query.where(calls.called_seq >= begun)
    found = TouchedFiles()
    async with database.read_transaction() as connection:
        for row in (await connection.execute(query.order_by(calls.called_seq))).mappings():
            _add(found, row, cwd, until)
    return found


def _add(found: TouchedFiles, row: Mapping[Any, Any], cwd: str, until: float) -> None:
    try:
        given = msgspec.json.decode(row["input"] or "null")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    begun = row["started_at"] or row["called_at"]
    if row["name"] in RUNNING:
        result: Any = row["result_at"]
        ended: float = until if result is None or given.get("run_in_background") else result
        found.runs.append(CommandRun(str(given.get("command", "")), begun, ended))
        return
    for path in _patched(given) if row["name"] in PATCHING else (given.get("file_path") or given.get("notebook_path"),):
        if isinstance(path, str) and path and "\0" not in path:
            found.edited[os.path.realpath(os.path.join(cwd, path))] = row["result_at"] or begun


def _patched(given: dict[str, Any]) -> tuple[str, ...]:
    try:
        return tuple(patch_paths(parse_patch(str(given.get("input", "")))))
    except PatchFormatError:
        return ()
