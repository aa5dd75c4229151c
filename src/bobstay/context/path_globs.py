"""Matches whole paths against globs with `**` and `{a,b}`, in time that no pattern can make long."""

import re
from fnmatch import translate
from functools import lru_cache

from bobstay.permissions.path_scope import expand_braces


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a glob covers a path: `*` within one name, `**` over any number of folders, `{a,b}` for either.

    Both are relative to the same folder, or both are absolute.
    """
    names = path.split("/")
    return any(_matches(names, alternative) for alternative in expand_braces(pattern))


def _matches(names: list[str], pattern: str) -> bool:
    pattern = pattern.removeprefix("./")
    if pattern.startswith("/") and names[0]:
        pattern = pattern[1:]
    parts = (f"{pattern}**" if pattern.endswith("/") else pattern).split("/")
    positions = _skip_folders({0}, parts)
    for name in names:
        reached: set[int] = set()
        for position in positions:
            if position == len(parts):
                continue
            if parts[position] == "**":
                reached.add(position)
            elif _name_pattern(parts[position]).match(name):
                reached.add(position + 1)
        positions = _skip_folders(reached, parts)
    return len(parts) in positions


def _skip_folders(positions: set[int], parts: list[str]) -> set[int]:
    """Add the positions behind each `**`, which may stand for no folder at all."""
    found = set(positions)
    for position, part in enumerate(parts):
        if part == "**" and position in found:
            found.add(position + 1)
    return found


@lru_cache(maxsize=512)
def _name_pattern(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
