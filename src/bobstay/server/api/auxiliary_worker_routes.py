"""Terminals and diff watchers over HTTP; input and output of a terminal go over its WebSocket."""

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import Code
from bobstay.server.sessions.worker_view import WorkerView


class NewTerminal(Struct, frozen=True, forbid_unknown_fields=True):
    resume: bool = False
    """Resume the conversation of the session's external engine in it."""


async def open_terminal(call: ApiCall) -> WorkerView:
    """Open a terminal in the session's directory."""
    return await call.services.auxiliary_workers.open_terminal(call.path["id"], resume=call.body.resume)


async def close_terminal(call: ApiCall) -> None:
    """Close a terminal and end all its processes."""
    await call.services.auxiliary_workers.stop(call.path["worker_id"])


async def watch_changes(call: ApiCall) -> WorkerView:
    """Watch the session's worktree and publish its changes on the session's streams."""
    return await call.services.auxiliary_workers.watch(call.path["id"])


_START: tuple[Code, ...] = ("cannot_start", "too_many", "wrong_state")

ENDPOINTS = (
    Endpoint("POST", "/sessions/{id}/terminals", open_terminal, "terminal", NewTerminal, None, WorkerView, 201, _START),
    Endpoint("DELETE", "/terminals/{worker_id}", close_terminal, "terminal"),
    Endpoint("POST", "/sessions/{id}/watch", watch_changes, "read", returns=WorkerView, errors=_START),
)
