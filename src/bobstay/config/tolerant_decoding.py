"""Tolerant decoding of other programs' settings files: an unusable value is ignored with a warning."""

from typing import Any

import msgspec

from bobstay.config import json_position
from bobstay.config.settings import KNOWN_KEYS, Settings

_MAX_ERRORS = 50
_NEVER_REMOVED = (
    "permissions.allow",
    "permissions.ask",
    "permissions.deny",
    "permissions.disable",
    "hooks",
    "sandbox",
    "disabledMcpjsonServers",
)
"""Values that restrict or run something: ignoring a part of them would silently permit more than intended."""

_HOOKS_OFF = "disableAllHooks"
"""If it were ignored, hooks would run that the user disabled."""


def decode_tolerant(data: bytes, file: str) -> tuple[Settings, list[str]]:
    """Decode settings; returns them with warnings.

    Raises:
        msgspec.DecodeError: the data is not JSON, or a value is invalid that must not be ignored.
    """
    raw: Any = msgspec.json.decode(data)
    warnings: list[str] = []
    for _ in range(_MAX_ERRORS):
        try:
            settings = msgspec.convert(raw, Settings)
            extra = {name: value for name, value in raw.items() if name not in KNOWN_KEYS}
            return msgspec.structs.replace(settings, extra=extra), warnings
        except msgspec.ValidationError as error:
            what, _, path = str(error).partition(" - at `")
            steps = path.rstrip("`").removeprefix("$").removeprefix(".").replace("[", ".[").split(".")
            position = json_position.locate_path(data, path.rstrip("`"))
            where = f"{file}:{position[0]}:{position[1]}" if position else file
            named = ".".join(_named_steps(steps))
            if named == _HOOKS_OFF:
                raw[_HOOKS_OFF] = True
                warnings.append(f"{where}: {named} must be true or false; it is taken as true, so hooks do not run.")
                continue
            if not _remove_value(raw, steps):
                raise
            warnings.append(f"{where}: {named} is ignored, as it cannot be used here ({what[:1].lower()}{what[1:]}).")
    raise msgspec.ValidationError(f"more than {_MAX_ERRORS} values cannot be used")


def _remove_value(raw: Any, steps: list[str]) -> bool:
    named = _named_steps(steps)
    if not isinstance(raw, dict) or not named or ".".join(named).startswith(_NEVER_REMOVED):
        return False
    holder: Any = raw
    for step in named[:-1]:
        holder = holder.get(step)
        if not isinstance(holder, dict):
            return False
    return holder.pop(named[-1], None) is not None


def _named_steps(steps: list[str]) -> list[str]:
    """Return the keys at the start of a path: at most two, and none below a list index."""
    named: list[str] = []
    for step in steps[:2]:
        if not step or step.startswith("["):
            break
        named.append(step)
    return named
