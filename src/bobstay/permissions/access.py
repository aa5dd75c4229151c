"""Permission types: what a tool call would access, and the policy's decision about it."""

from enum import IntEnum
from typing import Literal

from msgspec import Struct


class Effect(IntEnum):
    """The outcome of a rule or decision, ordered by strictness: the strictest of several is their `max`."""

    ALLOW = 0
    ASK = 1
    DENY = 2


class Access(Struct, frozen=True):
    """One resource that a call would use. The tool states it, the policy judges it.

    `target` is an absolute path for `read` and `write`, the command text for `exec`, the URL for `net`.
    `peer`: an agent of another session that would get a message, as `SendMessage` names it.
    `person`: the call is a question or plan that only a person can answer. `outside`: a command asks to run outside
    the sandbox. `none`: nothing outside the session is used.
    """

    kind: Literal["read", "write", "exec", "net", "peer", "person", "outside", "none"]
    target: str = ""


class PolicyDecision(Struct, frozen=True):
    """An effect, with the reason shown to people and the source of the deciding rule."""

    effect: Effect
    why: str = ""
    source: str = ""
    """Where the deciding rule comes from: `user`, `project`, `local`, `managed`, `cli`, `session`, `default`."""
    reason_type: Literal["rule", "mode", "hook", "safety", "default", "remembered", "sandbox", "judge", ""] = ""
    blocked_path: str = ""
    unanalysed: bool = False
    """The effect is `ASK` only because the command could not be analysed."""
