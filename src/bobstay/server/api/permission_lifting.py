"""Checks of requests that would make a session ask less: they need the scope `approve`."""

import time

from bobstay.model.session_events import SessionConfig
from bobstay.server.api.endpoint import ApiCall
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workflows import BYPASS, is_read_only

LIFTING = ("acceptEdits", "auto", BYPASS)
"""Permission modes that ask less."""


def check_lifting(call: ApiCall, mode: str, *, given: bool = False) -> None:
    """Require `approve` for a mode that asks less, or (`given`) for tools, servers or variables of the sender's choice.

    Raises:
        ApiError: forbidden, without the scope `approve`.
    """
    if (mode in LIFTING or given) and not call.principal.may("approve"):
        text = "Modes that ask less, tools that run without asking, MCP servers and variables need the scope `approve`."
        raise ApiError("forbidden", text, needed="approve")


def check_child(call: ApiCall, parent: SessionView, config: SessionConfig) -> None:
    """The same for a session that continues another: its resulting configuration counts, not the request alone.

    Raises:
        ApiError: forbidden, without the scope `approve`.
    """
    mode = config.permission_mode or parent.permission_mode
    if not config.permission_mode or config.permission_mode == parent.config.permission_mode:
        mode = parent.permission_mode if parent.permission_mode in LIFTING else mode
    over = mode == BYPASS and config.bypass_until <= time.time()
    own = bool(call.services.secrets.variables_of(parent.id))
    check_lifting(call, "" if over else mode, given=bool(config.allowed_tools or config.mcp_servers or own))
    check_workflow(call, parent.config, config)


def check_workflow(call: ApiCall, before: SessionConfig, after: SessionConfig) -> None:
    """Require `approve` for letting a read-only session write.

    Raises:
        ApiError: forbidden, without the scope `approve`.
    """
    if is_read_only(before) and not is_read_only(after) and not call.principal.may("approve"):
        text = "Letting a read-only session write needs the scope `approve`. Start another session instead."
        raise ApiError("forbidden", text, needed="approve")


def bypass_end(mode: str, minutes: float) -> float:
    """When a bypass ends; it is always limited in time."""
    return time.time() + minutes * 60 if mode == BYPASS else 0.0
