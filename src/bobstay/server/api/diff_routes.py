"""What a session changed, over HTTP: files, hunks and numbers; and a way to take parts of it back."""

import os
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.model.ids import new_id
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.attribution import Scope, own_changes
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import bounds_of, look
from bobstay.server.files.working_changes import WorkingChanges, changes
from bobstay.server.revert.revert_changes import HunkPlace, RevertRequest, take_back
from bobstay.server.sessions.session_view import SessionView

KEPT = "rejected"


class DiffQuery(Struct, frozen=True):
    base: str = ""
    """A commit, branch or tag; empty for the one the session's work tree began from, else HEAD."""
    path: str = ""
    """A file or directory, relative to the session's; empty for all."""
    hunks: bool = True
    """Whether the changed lines come along, or only the files and their numbers."""
    scope: Scope = "all"
    """`session`: only what this session changed by its own calls; `turn`: since its last prompt."""


class Rejection(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    hunk: HunkPlace | None = None
    """The hunk to take back; none for the whole file."""
    sha256: Annotated[str, Meta(max_length=64)] = ""
    """Of the hunk, as the diff gave it."""
    version: Annotated[str, Meta(max_length=64)] = ""
    """Of the whole file, as the diff gave it; empty for one that was deleted."""
    base: str = ""
    """As the diff was asked for."""


class Rejected(Struct, frozen=True):
    path: str
    kept: str
    """Where a copy of the file before this is, on the server; empty if there was no file."""
    changes: WorkingChanges
    """What still differs at this path."""
    undo: str = ""
    """Quote it to have the file as it was before."""


class UndoBody(Struct, frozen=True, forbid_unknown_fields=True):
    undo: Annotated[str, Meta(min_length=1, max_length=64)]


class Undone(Struct, frozen=True):
    paths: tuple[str, ...]


async def show_diff(call: ApiCall) -> WorkingChanges:
    """Show what is different from a commit, new files included."""
    view = call.console.registry.view(call.path["id"])
    with look(view.cwd, bounds_of(call.console)) as place:
        environment = call.console.environment.children
        base = _base(view, call.query.base)
        found = await changes(place, environment, base=base, path=call.query.path, hunks=call.query.hunks)
    return await own_changes(call.console, view, found, call.query.scope)


async def reject_diff(call: ApiCall) -> Rejected:
    """Take back a hunk or a whole file, if it is still as it was shown; a copy of the file is kept."""
    wanted: Rejection = call.body
    if wanted.hunk is not None and not wanted.sha256:
        raise ApiError("invalid", "Quote the sha256 of the hunk, as the diff gave it.")
    view = call.console.registry.view(call.path["id"])
    environment, base = call.console.environment.children, _base(view, wanted.base)
    with look(view.cwd, bounds_of(call.console)) as place:
        wish = RevertRequest(wanted.path, base, wanted.hunk, wanted.sha256, wanted.version)
        taken = await take_back(place, environment, os.path.join(call.console.config.state, KEPT), wish)
        token = new_id()
        call.console.undos.add(token, place, taken.steps)
        detail = {"session": view.id, "path": wanted.path, "hunk": wanted.hunk, "kept": taken.kept}
        call.console.audit.record(call.principal.name, "diff.reject", detail, view.id)
        left = await changes(place, environment, base=base, path=wanted.path)
        return Rejected(wanted.path, taken.kept, left, token)


async def undo_reject(call: ApiCall) -> Undone:
    """Put back what was rejected, if nobody has changed the file meanwhile."""
    view = call.console.registry.view(call.path["id"])
    with look(view.cwd, bounds_of(call.console)) as place:
        paths = await call.console.undos.undo(call.body.undo, place)
    call.console.audit.record(call.principal.name, "diff.undo", {"session": view.id, "paths": paths}, view.id)
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
