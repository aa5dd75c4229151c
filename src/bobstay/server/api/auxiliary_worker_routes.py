"""Terminals and watchers over HTTP; what goes on in a terminal is on its WebSocket."""

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import Code
from bobstay.server.sessions.session_view import WorkerView


class NewTerminal(Struct, frozen=True, forbid_unknown_fields=True):
    resume: bool = False
    """Go on in it with the talk of the session's external engine."""


async def open_terminal(call: ApiCall) -> WorkerView:
    """Open a terminal in the session's directory."""
    return await call.console.crew.open_terminal(call.path["id"], resume=call.body.resume)


async def close_terminal(call: ApiCall) -> None:
    """Close a terminal and end all that runs in it."""
    await call.console.crew.stop(call.path["worker_id"])


async def watch_changes(call: ApiCall) -> WorkerView:
    """Tell those who follow the session of changes in its work tree, from now on."""
    return await call.console.crew.watch(call.path["id"])


_START: tuple[Code, ...] = ("cannot_start", "too_many", "wrong_state")

ENDPOINTS = (
    Endpoint("POST", "/sessions/{id}/terminals", open_terminal, "terminal", NewTerminal, None, WorkerView, 201, _START),
    Endpoint("DELETE", "/terminals/{worker_id}", close_terminal, "terminal"),
    Endpoint("POST", "/sessions/{id}/watch", watch_changes, "read", returns=WorkerView, errors=_START),
)
