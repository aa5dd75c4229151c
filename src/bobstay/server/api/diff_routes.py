"""Changes in a session's directory over HTTP: show the diff, reject parts of it, undo a rejection."""

import os
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.model.ids import new_id
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.attribution import Scope, own_changes
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import open_session_directory
from bobstay.server.files.working_changes import WorkingChanges, find_changes
from bobstay.server.revert.revert_changes import HunkPosition, RevertRequest, revert_change
from bobstay.server.sessions.session_view import SessionView

KEPT = "rejected"


class DiffQuery(Struct, frozen=True):
    base: str = ""
    """A commit, branch or tag; empty for the base of the session's worktree, else HEAD."""
    path: str = ""
    """A file or directory, relative to the session's directory; empty for all."""
    hunks: bool = True
    """Whether to include the changed lines, or only files and counts."""
    scope: Scope = "all"
    """`session`: only changes by this session's tool calls; `turn`: only those since its last prompt."""


class Rejection(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    hunk: HunkPosition | None = None
    """The hunk to revert; null for the whole file."""
    sha256: Annotated[str, Meta(max_length=64)] = ""
    """Hash of the hunk, from the diff."""
    version: Annotated[str, Meta(max_length=64)] = ""
    """Version of the whole file, from the diff; empty for a deleted file."""
    base: str = ""
    """`base` of the diff."""


class Rejected(Struct, frozen=True):
    path: str
    kept: str
    """Path of a copy of the previous file on the server; empty if there was none."""
    changes: WorkingChanges
    """The remaining changes at this path."""
    undo: str = ""
    """Send it to undo the rejection."""


class UndoBody(Struct, frozen=True, forbid_unknown_fields=True):
    undo: Annotated[str, Meta(min_length=1, max_length=64)]


class Undone(Struct, frozen=True):
    paths: tuple[str, ...]


async def show_diff(call: ApiCall) -> WorkingChanges:
    """Show the changes since a commit, including new files."""
    view = call.services.registry.view(call.path["id"])
    with open_session_directory(view.cwd, call.services.roots.allowed()) as directory:
        environment = call.services.environment.children
        base = _base(view, call.query.base)
        found = await find_changes(directory, environment, base=base, path=call.query.path, hunks=call.query.hunks)
    return await own_changes(call.services.database, call.services.registry, view, found, call.query.scope)


async def reject_diff(call: ApiCall) -> Rejected:
    """Revert a hunk or a whole file if it has not changed since the diff; a copy of the file is kept."""
    wanted: Rejection = call.body
    if wanted.hunk is not None and not wanted.sha256:
        raise ApiError("invalid", "Send the sha256 of the hunk, as the diff gave it.")
    view = call.services.registry.view(call.path["id"])
    environment, base = call.services.environment.children, _base(view, wanted.base)
    with open_session_directory(view.cwd, call.services.roots.allowed()) as directory:
        revert = RevertRequest(wanted.path, base, wanted.hunk, wanted.sha256, wanted.version)
        reverted = await revert_change(directory, environment, os.path.join(call.services.options.state, KEPT), revert)
        token = new_id()
        call.services.undos.add(token, directory, reverted.steps)
        detail = {"session": view.id, "path": wanted.path, "hunk": wanted.hunk, "kept": reverted.kept}
        call.services.audit.record(call.principal.name, "diff.reject", detail, view.id)
        left = await find_changes(directory, environment, base=base, path=wanted.path)
        return Rejected(wanted.path, reverted.kept, left, token)


async def undo_reject(call: ApiCall) -> Undone:
    """Undo a rejection, if the file has not changed since."""
    view = call.services.registry.view(call.path["id"])
    with open_session_directory(view.cwd, call.services.roots.allowed()) as directory:
        paths = await call.services.undos.undo(call.body.undo, directory)
    call.services.audit.record(call.principal.name, "diff.undo", {"session": view.id, "paths": paths}, view.id)
    return Undone(paths)


def _base(view: SessionView, asked: str) -> str:
    return asked or (view.config.base if view.config.worktree else "")


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/sessions/{id}/diff",
        show_diff,
        query=DiffQuery,
        returns=WorkingChanges,
        errors=("not_found", "forbidden", "invalid", "not_supported", "conflict", "unavailable"),
    ),
    Endpoint(
        "POST",
        "/sessions/{id}/diff/reject",
        reject_diff,
        "operate",
        Rejection,
        returns=Rejected,
        errors=("not_found", "forbidden", "not_supported", "conflict", "too_large", "storage", "unavailable"),
    ),
    Endpoint(
        "POST",
        "/sessions/{id}/diff/undo",
        undo_reject,
        "operate",
        UndoBody,
        returns=Undone,
        errors=("not_found", "forbidden", "conflict", "storage"),
    ),
)
