"""The vocabulary of permission: what a call would touch, and what was decided about it."""

from enum import IntEnum
from typing import Literal

from msgspec import Struct


class Effect(IntEnum):
    """Ordered by strictness, so the strictest of several answers is `max`."""

    ALLOW = 0
    ASK = 1
    DENY = 2


class Access(Struct, frozen=True):
    """One thing a call would touch. A tool states it, the policy judges it.

    `target` is an absolute path for `read` and `write`, the command text for `exec`, the URL for `net`;
    `person` means the call exists to be put before a person (a question, a plan); `outside` that a command asks to
    leave the sandbox; `none` touches nothing outside the session.
    """

    kind: Literal["read", "write", "exec", "net", "person", "outside", "none"]
    target: str = ""


class PolicyDecision(Struct, frozen=True):
    """A verdict with the reason a person can read and the source that gave it."""

    verdict: Effect
    why: str = ""
    source: str = ""
    """Where the deciding rule stands: `user`, `project`, `local`, `managed`, `cli`, `session`, `default`."""
    reason_type: Literal["rule", "mode", "hook", "safety", "default", "remembered", "sandbox", "judge", ""] = ""
    blocked_path: str = ""
    unread: bool = False
    """It is asked about only because it could not be analysed."""
