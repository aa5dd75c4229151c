"""Writes permission updates to settings files: whole files, under a lock, so that no concurrent update is lost."""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from bobstay.permissions.access import Effect
from bobstay.permissions.mode import mode_problem
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule
from bobstay.permissions.rulebook import DESTINATIONS, RULE_UPDATES, rule_text
from bobstay.system.file_lock import hold_lock
from bobstay.system.safe_read import open_regular

Update: TypeAlias = dict[str, Any]

LOCK_TIMEOUT = 10.0
"""Seconds to wait while another program holds the lock."""
LARGEST = 1 << 20


class UpdateFailed(Exception):  # noqa: N818 - it says what happened
    """A settings file could not be changed, and is unchanged."""


def update_problem(update: Update) -> str:
    """Why a permission update from outside is invalid; "" if it is valid."""
    kind = update.get("type")
    if update.get("destination", "session") not in DESTINATIONS:
        return f"destination {update.get('destination')!r} is unknown: expected one of {', '.join(DESTINATIONS)}"
    if kind in RULE_UPDATES:
        return _rule_problem(update)
    if kind == "setMode":
        bad = mode_problem(str(update.get("mode")), can_bypass=True)
        return f"mode {update.get('mode')!r} is unknown" if bad else ""
    if kind in ("addDirectories", "removeDirectories"):
        given = update.get("directories")
        is_valid = isinstance(given, list | tuple) and all(isinstance(one, str) and one for one in given)
        return "" if is_valid else "directories must be a list of paths"
    return f"type {kind!r} is unknown: expected addRules, replaceRules, removeRules, setMode or addDirectories"


def _rule_problem(update: Update) -> str:
    effect = BEHAVIORS.get(str(update.get("behavior", "allow")))
    rules = update.get("rules")
    if effect is None:
        return f"behavior {update.get('behavior')!r} is unknown: expected allow, ask or deny"
    if not isinstance(rules, list | tuple) or not all(isinstance(raw, dict) for raw in rules):
        return 'rules must be a list of {"toolName": ..., "ruleContent": ...}'
    try:
        for raw in rules:
            Rule.parse(rule_text(raw), Effect(effect))
    except BadRule as error:
        return str(error)
    return ""


def write(updates: tuple[Update, ...], files: dict[str, str]) -> tuple[str, ...]:
    """Store the updates whose destination has a file in `files`; the others apply to the session only.

    Returns the files that were changed. Raises `UpdateFailed`.
    """
    changed: list[str] = []
    by_file: dict[str, list[Update]] = {}
    for update in updates:
        path = files.get(str(update.get("destination", "session")))
        if path is not None and not update_problem(update):
            by_file.setdefault(path, []).append(update)
    for path, wanted in by_file.items():
        if _change(path, wanted):
            changed.append(path)
    return tuple(changed)


def remove_entries(path: str, behavior: str, entries: list[Any]) -> None:
    """Remove entries from a list of rules by their exact values, malformed ones too. Raises `UpdateFailed`."""

    def apply(settings: dict[str, Any]) -> None:
        permissions = settings.get("permissions", {})
        permissions[behavior] = [one for one in permissions.get(behavior, []) if one not in entries]

    _rewrite(path, apply)


def set_value(path: str, name: str, value: Any) -> None:
    """Set one top-level value of a settings file; None removes it. Raises `UpdateFailed`."""

    def apply(settings: dict[str, Any]) -> None:
        if value is None:
            settings.pop(name, None)
        else:
            settings[name] = value

    _rewrite(path, apply)


def _change(path: str, updates: list[Update]) -> bool:
    def apply(settings: dict[str, Any]) -> None:
        for update in updates:
            _apply(settings, update, path)

    return _rewrite(path, apply)


def _rewrite(path: str, apply: Callable[[dict[str, Any]], None]) -> bool:
    path = os.path.realpath(path)
    directory = os.path.dirname(path)
    try:
        os.makedirs(directory, exist_ok=True)
        # A lock on the directory needs no lock file.
        with hold_lock(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), LOCK_TIMEOUT):
            settings = _read(path)
            before = msgspec.json.encode(settings)
            apply(settings)
            if msgspec.json.encode(settings) == before:
                return False
            _replace(path, msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")
    except BlockingIOError:
        raise UpdateFailed(f"{directory} is locked by another program; try again") from None
    except OSError as error:
        raise UpdateFailed(f"{path} could not be changed: {error.strerror or error}") from error
    return True


def _read(path: str) -> dict[str, Any]:
    try:
        with open(open_regular(path), "rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return {}
    if len(data) > LARGEST:
        raise UpdateFailed(f"{path} is larger than 1 MiB; it was left as it is")
    if not data.strip():
        return {}
    try:
        found = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UpdateFailed(f"{path} is not valid JSON ({error}); it was left as it is. Repair it first") from error
    if not isinstance(found, dict):
        raise UpdateFailed(f"{path} does not hold a JSON object; it was left as it is")
    return found


def _apply(settings: dict[str, Any], update: Update, path: str) -> None:
    permissions = settings.setdefault("permissions", {})
    if not isinstance(permissions, dict):
        raise UpdateFailed(f"{path}: permissions is not an object; it was left as it is")
    kind = update["type"]
    if kind == "setMode":
        permissions["defaultMode"] = update["mode"]
        return
    if kind in RULE_UPDATES:
        key = str(update.get("behavior", "allow"))
        given = [rule_text(raw) for raw in update["rules"]]
    else:
        key = "additionalDirectories"
        given = list(update["directories"])
    present = permissions.get(key, [])
    if not isinstance(present, list):
        raise UpdateFailed(f"{path}: permissions.{key} is not a list; it was left as it is")
    if kind.startswith("remove"):
        permissions[key] = [one for one in present if one not in given]
    elif kind.startswith("replace"):
        permissions[key] = given
    else:
        permissions[key] = [*present, *(one for one in dict.fromkeys(given) if one not in present)]


def _replace(path: str, data: bytes) -> None:
    from bobstay.system.atomic_file import replace_content

    try:
        mode = os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mode = 0o600
    replace_content(path, data, mode=mode)
