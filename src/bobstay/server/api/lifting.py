"""Requests by which a session would ask less: who may make them, and for how long they hold."""

import time

from bobstay.server.api.table import Call
from bobstay.server.errors import ApiError
from bobstay.server.workflows import BYPASS

LIFTING = ("acceptEdits", "auto", BYPASS)
"""Permission modes in which somebody is asked less."""


def check_lifting(call: Call, mode: str, *, given: bool = False) -> None:
    """Where less would be asked, or code of the sender's choice run, only those who decide such things may wish so.

    Raises:
        ApiError: forbidden, to whoever may not approve.
    """
    if (mode in LIFTING or given) and not call.principal.may("approve"):
        text = "To choose a mode that asks less, tools that run unasked, MCP servers or variables, `approve` is needed."
        raise ApiError("forbidden", text, needed="approve")


def bypass_end(mode: str, minutes: float) -> float:
    """When bypassing ends: it never goes on for ever (S003-5)."""
    return time.time() + minutes * 60 if mode == BYPASS else 0.0
