"""The permission modes: what each lets through, as data."""

from typing import Literal, TypeAlias

from msgspec import Struct

ModeName: TypeAlias = Literal["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]


class PermissionMode(Struct, frozen=True):
    name: str
    title: str
    edits: bool = False
    """File edits inside the working directories, and simple file commands there, need no question."""
    looks_only: bool = False
    """What is not read-only is asked about, whatever the allow rules say."""
    asks: bool = True
    """False: what would be asked is refused."""
    boxes: bool = False
    """What would run in the sandbox needs no question, if that is switched on."""
    bypasses: bool = False
    """What would be asked for want of a rule is let through."""


MODES: dict[str, PermissionMode] = {
    mode.name: mode
    for mode in (
        PermissionMode("default", "asks before anything that changes something", boxes=True),
        PermissionMode("acceptEdits", "edits files in the working directories without asking", edits=True, boxes=True),
        PermissionMode("plan", "reads and plans; asks before anything else", looks_only=True),
        # Until a judge of its own decides for it, auto asks like default: never laxer than it can answer for.
        PermissionMode("auto", "asks before anything that changes something"),
        PermissionMode("dontAsk", "refuses what it would have to ask about", asks=False),
        PermissionMode("bypassPermissions", "asks about almost nothing", bypasses=True),
    )
}
ALIASES = {"manual": "default"}


def problem(mode: str, *, can_bypass: bool) -> str:
    """Why a session may not enter `mode`: `invalid_mode`, `bypass_not_launched`, or nothing."""
    found = MODES.get(ALIASES.get(mode, mode))
    if found is None:
        return "invalid_mode"
    return "bypass_not_launched" if found.bypasses and not can_bypass else ""


def mode_named(mode: str) -> PermissionMode:
    """The mode of that name. Raises `ValueError` naming those there are."""
    found = MODES.get(ALIASES.get(mode, mode))
    if found is None:
        raise ValueError(f"{mode!r} is not a permission mode: expected one of {', '.join(MODES)}")
    return found
