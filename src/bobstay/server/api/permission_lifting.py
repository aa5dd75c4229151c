"""Requests by which a session would ask less: who may make them, and for how long they hold."""

import time

from bobstay.model.session_events import SessionConfig
from bobstay.server.api.endpoint import ApiCall
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workflows import BYPASS, only_reads

LIFTING = ("acceptEdits", "auto", BYPASS)
"""Permission modes in which somebody is asked less."""


def check_lifting(call: ApiCall, mode: str, *, given: bool = False) -> None:
    """Where less would be asked, or code of the sender's choice run, only those who decide such things may wish so.

    Raises:
        ApiError: forbidden, to whoever may not approve.
    """
    if (mode in LIFTING or given) and not call.principal.may("approve"):
        text = "To choose a mode that asks less, tools that run unasked, MCP servers or variables, `approve` is needed."
        raise ApiError("forbidden", text, needed="approve")


def check_child(call: ApiCall, parent: SessionView, config: SessionConfig) -> None:
    """The same for a session that goes on from another: what it would be counts, not the words of the request.

    Raises:
        ApiError: forbidden, to whoever may not approve.
    """
    mode = config.permission_mode or parent.permission_mode
    if not config.permission_mode or config.permission_mode == parent.config.permission_mode:
        mode = parent.permission_mode if parent.permission_mode in LIFTING else mode
    over = mode == BYPASS and config.bypass_until <= time.time()
    own = call.console.variables is not None and bool(call.console.variables.of(parent.id))
    check_lifting(call, "" if over else mode, given=bool(config.allowed_tools or config.mcp_servers or own))
    check_workflow(call, parent.config, config)


def check_workflow(call: ApiCall, before: SessionConfig, after: SessionConfig) -> None:
    """A session that only reads may write from here on: only those who approve may wish so.

    Raises:
        ApiError: forbidden, to whoever may not.
    """
    if only_reads(before) and not only_reads(after) and not call.principal.may("approve"):
        text = "To let a session write that only reads, `approve` is needed. Begin another session instead."
        raise ApiError("forbidden", text, needed="approve")


def bypass_end(mode: str, minutes: float) -> float:
    """When bypassing ends: it never goes on for ever (S003-5)."""
    return time.time() + minutes * 60 if mode == BYPASS else 0.0
