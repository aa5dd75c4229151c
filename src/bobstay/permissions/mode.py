"""The permission modes, as data: what each allows without asking."""

from typing import Literal, TypeAlias

from msgspec import Struct

ModeName: TypeAlias = Literal["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]


class PermissionMode(Struct, frozen=True):
    name: str
    title: str
    edits: bool = False
    """File edits and simple file commands inside the working directories are allowed."""
    read_only: bool = False
    """Everything that is not read-only is asked about, whatever the allow rules say."""
    asks: bool = True
    """False: whatever would be asked about is denied."""
    sandbox_auto_allow: bool = False
    """With `sandbox.autoAllow`, commands that run in the sandbox are allowed without asking."""
    bypasses: bool = False
    """Calls that no rule covers are allowed instead of asked about."""


MODES: dict[str, PermissionMode] = {
    mode.name: mode
    for mode in (
        PermissionMode("default", "asks before anything that changes something", sandbox_auto_allow=True),
        PermissionMode(
            "acceptEdits", "edits files in the working directories without asking", edits=True, sandbox_auto_allow=True
        ),
        PermissionMode("plan", "reads and plans; asks before anything else", read_only=True),
        # The policy itself asks as in default mode; the advisor of auto mode then answers in place of a person.
        PermissionMode("auto", "asks before anything that changes something"),
        PermissionMode("dontAsk", "refuses what it would have to ask about", asks=False),
        PermissionMode("bypassPermissions", "asks about almost nothing", bypasses=True),
    )
}
ALIASES = {"manual": "default"}


def mode_problem(mode: str, *, can_bypass: bool) -> str:
    """Why a session may not enter `mode`: `invalid_mode` or `bypass_not_launched`; "" if it may."""
    found = MODES.get(ALIASES.get(mode, mode))
    if found is None:
        return "invalid_mode"
    return "bypass_not_launched" if found.bypasses and not can_bypass else ""


def get_mode(mode: str) -> PermissionMode:
    """The mode of that name or alias. Raises `ValueError` with the known names."""
    found = MODES.get(ALIASES.get(mode, mode))
    if found is None:
        raise ValueError(f"{mode!r} is not a permission mode: expected one of {', '.join(MODES)}")
    return found
