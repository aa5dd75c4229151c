"""Matchers of hooks: a list of whole names, or a regular expression."""

import re
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")

_PLAIN = re.compile(r"[A-Za-z0-9_|, ]+")
_SEPARATOR = re.compile(r"[|,]")
_FILE_NAMES = re.compile(r"[^/\\*?()\[\]^$+{}\0]+")
"""Names of files with `|` between: all characters but those that make a pattern."""
_MOST_SUBJECTS = 1_000
_OLD_NAMES = {"Task": "Agent"}


class BadMatcherError(ValueError):
    """A matcher is not a valid pattern. It is refused when registered; otherwise the hook would never be called."""


def parse_matcher(pattern: object) -> str:
    """Return the matcher as it was written; "" for one that matches everything.

    Raises:
        BadMatcherError: it is not a valid pattern.
    """
    if pattern is None or pattern == "*":
        return ""
    if not isinstance(pattern, str):
        raise BadMatcherError(f"a hook's matcher must be a string, not {type(pattern).__name__}")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadMatcherError(f"the hook matcher {pattern!r} is not a valid pattern: {error}") from error
    return pattern


def matches(pattern: str, subject: str) -> bool:
    """Plain names, or several separated by `|` or `,`, match whole; anything else is searched for as a pattern."""
    if not pattern or not subject:
        return True
    if _PLAIN.fullmatch(pattern):
        names = [name.strip() for name in _SEPARATOR.split(_OLD_NAMES.get(pattern, pattern))]
        return subject in names
    return re.search(pattern, subject) is not None


def watched_names(pattern: str) -> tuple[str, ...]:
    """Return the names of files that a matcher lists; () if it lists none."""
    if not pattern or not _FILE_NAMES.fullmatch(pattern):
        return ()
    return tuple(name.strip() for name in _SEPARATOR.split(pattern) if name.strip() not in ("", ".", ".."))


class MatcherIndex(Generic[T]):
    """Finds what is registered for an event and a subject. Each pair is matched once, then it is a lookup."""

    def __init__(self, entries: Iterable[tuple[str, str, T]] = ()) -> None:
        """`entries` are triples of event, matcher, and what is registered."""
        self._by_event: dict[str, list[tuple[str, T]]] = {}
        self._found: dict[tuple[str, str], tuple[T, ...]] = {}
        for event, pattern, registered in entries:
            self._by_event.setdefault(event, []).append((pattern, registered))

    def find(self, event: str, subject: str) -> tuple[T, ...]:
        if event not in self._by_event:
            return ()
        found = self._found.get((event, subject))
        if found is None:
            if len(self._found) >= _MOST_SUBJECTS:
                self._found.clear()
            listed = event == "FileChanged"  # a point in the name of a file is no pattern
            found = tuple(
                registered
                for pattern, registered in self._by_event[event]
                if (subject in watched_names(pattern) if listed else matches(pattern, subject))
            )
            self._found[event, subject] = found
        return found
