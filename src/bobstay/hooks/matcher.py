"""Matchers of hooks: a list of whole names, or a regular expression."""

import re

_PLAIN = re.compile(r"[A-Za-z0-9_|, ]+")
_SEPARATOR = re.compile(r"[|,]")
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
