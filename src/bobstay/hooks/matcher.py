"""Which hooks a moment concerns: matchers, and the entries of settings files read into them."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from msgspec import Struct

from bobstay.hooks.event import HookName

DEFAULT_TIMEOUT = 60.0
LONGEST_TIMEOUT = 3600.0
LEAVING = 5.0
"""Seconds a hook has when the session ends, unless it asks for more: nobody waits a minute to leave."""
NAMES: frozenset[str] = frozenset(get_args(HookName))
_PLAIN = re.compile(r"[\w|-]+")


class BadMatcherError(ValueError):
    """A matcher is no pattern. Better refused when it is registered than silently never called."""


class BadHookError(ValueError):
    """A hook's entry in a settings file cannot be used; `path` is where in the file it stands."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        super().__init__(what)


class CommandHook(Struct, frozen=True):
    """A program to start at a moment."""

    event: str
    pattern: str
    command: str
    timeout: float = DEFAULT_TIMEOUT
    block: bool = False
    """Whether a failure counts as a no."""
    source: str = ""
    """The settings file it stands in."""
    folder: str = ""
    """The trusted folder whose settings name it; "" for a hook of the user's own."""
    files: dict[str, str] = {}
    """Digests of the files of that folder it names: they must stay what they were when the session began."""


def checked_pattern(pattern: object) -> str:
    """A matcher as it was written, "" for one that matches everything.

    Raises:
        BadMatcherError: it cannot be read.
    """
    if pattern is None or pattern == "*":
        return ""
    if not isinstance(pattern, str):
        raise BadMatcherError(f"a hook's matcher must be text, not {type(pattern).__name__}")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadMatcherError(f"the hook matcher {pattern!r} is no valid pattern: {error}") from error
    return pattern


def matches(pattern: str, subject: str) -> bool:
    """Plain names, also several with `|` between, match whole; anything else is searched for as a pattern."""
    if not pattern or not subject:
        return True
    if _PLAIN.fullmatch(pattern):
        return subject in pattern.split("|")
    return re.search(pattern, subject) is not None


def command_hooks(hooks: dict[str, Any], source: str, warnings: list[str]) -> Iterator[CommandHook]:
    """Read the `hooks` of one settings file. What this version has no use for is told in `warnings`.

    Raises:
        BadHookError: an entry means nothing.
    """
    for event, groups in hooks.items():
        if event not in NAMES:
            warnings.append(f"{source}: there is no hook event {event[:60]!r}; its hooks are never called.")
            continue
        if not isinstance(groups, list):
            raise BadHookError(f"$.hooks.{event}", f"hooks.{event} must be a list")
        for index, group in enumerate(groups):
            yield from _group(event, group, f"$.hooks.{event}[{index}]", source, warnings)


def _group(event: str, group: object, path: str, source: str, warnings: list[str]) -> Iterator[CommandHook]:
    where = path.removeprefix("$.")
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        raise BadHookError(path, f'{where} must be an object with "hooks", a list')
    try:
        pattern = checked_pattern(group.get("matcher"))
    except BadMatcherError as error:
        raise BadHookError(f"{path}.matcher", f"{where}.matcher: {error}") from error
    for index, entry in enumerate(group["hooks"]):
        kind = entry.get("type") if isinstance(entry, dict) else None
        if isinstance(kind, str) and kind != "command":
            warnings.append(f"{source}: {where}.hooks[{index}]: hooks of type {kind[:40]!r} are not run yet.")
        else:
            yield _command(event, pattern, entry, f"{path}.hooks[{index}]", source)


def _command(event: str, pattern: str, entry: object, path: str, source: str) -> CommandHook:
    where = path.removeprefix("$.")
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(command, str) or not command.strip():
        raise BadHookError(path, f'{where} must be an object with "type": "command" and a "command" that is not empty')
    timeout = entry.get("timeout", LEAVING if event == "SessionEnd" else DEFAULT_TIMEOUT)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_TIMEOUT:
        raise BadHookError(f"{path}.timeout", f"{where}.timeout must be a number of seconds up to {LONGEST_TIMEOUT:g}")
    block = entry.get("onFailure") == "block"
    return CommandHook(event, pattern, command, float(timeout), block, source)
