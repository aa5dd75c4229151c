"""Reads settings files of other programs: a value we cannot use is left out with a warning, not a reason to stop."""

from typing import Any

import msgspec

from bobstay.config import json_position
from bobstay.config.settings import KNOWN, Settings

_MOST = 50
_NEVER_LEFT_OUT = (
    "permissions.allow",
    "permissions.ask",
    "permissions.deny",
    "permissions.disable",
    "hooks",
    "sandbox",
)
"""What restricts or runs something: leaving out a part of it would silently permit more than was meant."""

_HOOKS_OFF = "disableAllHooks"
"""Left out, it would let commands run that somebody wanted off."""


def decode_tolerant(data: bytes, file: str) -> tuple[Settings, list[str]]:
    """Settings and warnings.

    Raises:
        msgspec.DecodeError: it is no JSON, or a part is broken that must not be left out.
    """
    said: Any = msgspec.json.decode(data)
    warnings: list[str] = []
    for _ in range(_MOST):
        try:
            settings = msgspec.convert(said, Settings)
            extra = {name: value for name, value in said.items() if name not in KNOWN}
            return msgspec.structs.replace(settings, extra=extra), warnings
        except msgspec.ValidationError as error:
            what, _, path = str(error).partition(" - at `")
            steps = path.rstrip("`").removeprefix("$").removeprefix(".").replace("[", ".[").split(".")
            place = json_position.of_path(data, path.rstrip("`"))
            where = f"{file}:{place[0]}:{place[1]}" if place else file
            named = ".".join(_counted(steps))
            if named == _HOOKS_OFF:
                said[_HOOKS_OFF] = True
                warnings.append(f"{where}: {named} must be true or false; it is taken as true, so hooks do not run.")
                continue
            if not _leave_out(said, steps):
                raise
            warnings.append(f"{where}: {named} is left out, as it cannot be used here ({what[:1].lower()}{what[1:]}).")
    raise msgspec.ValidationError(f"more than {_MOST} values cannot be used")


def _leave_out(said: Any, steps: list[str]) -> bool:
    named = _counted(steps)
    if not isinstance(said, dict) or not named or ".".join(named).startswith(_NEVER_LEFT_OUT):
        return False
    holder: Any = said
    for step in named[:-1]:
        holder = holder.get(step)
        if not isinstance(holder, dict):
            return False
    return holder.pop(named[-1], None) is not None


def _counted(steps: list[str]) -> list[str]:
    """The part of a value's path that names it in a JSON object: at most two keys deep, no places in lists."""
    named: list[str] = []
    for step in steps[:2]:
        if not step or step.startswith("["):
            break
        named.append(step)
    return named
