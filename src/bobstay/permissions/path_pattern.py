"""Path patterns with .gitignore semantics, matched in bounded time.

No regular expressions: rules may come from untrusted files, and `*a*a*a*b` must not take minutes.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Test: TypeAlias = Callable[[str], bool]


class BadPattern(ValueError):  # noqa: N818 - it names a thing, not an event
    """A malformed pattern. The message says what was expected."""


class Segment:
    """One path component of a pattern: literal characters, `?`, `*` and `[...]`."""

    def __init__(self, text: str) -> None:
        self._tests: list[Test | None] = []
        """One test per character; None stands for `*`."""
        self.literal = True
        position = 0
        while position < len(text):
            position = self._parse_character(text, position)

    def matches(self, name: str) -> bool:
        return matches_items(self._tests, name, lambda test, character: test(character))

    def _parse_character(self, text: str, position: int) -> int:
        character = text[position]
        if character == "\\":
            if position + 1 == len(text):
                raise BadPattern("a backslash must be followed by the character it makes literal")
            self._tests.append(text[position + 1].__eq__)
            return position + 2
        if character == "[":
            self.literal = False
            return self._parse_class(text, position)
        if character in "*?":
            self.literal = False
            self._tests.append(None if character == "*" else _anything)
        else:
            self._tests.append(character.__eq__)
        return position + 1

    def _parse_class(self, text: str, start: int) -> int:
        position = start + 1
        inverted = text[position : position + 1] in ("!", "^")
        position += inverted
        ranges: list[tuple[str, str]] = []
        first = True
        while first or text[position : position + 1] != "]":
            first = False
            if position < len(text) and text[position] == "\\":
                position += 1
            if position >= len(text):
                raise BadPattern("expected ] after [ (write \\[ for the character itself)")
            low = high = text[position]
            position += 1
            if text[position : position + 1] == "-" and text[position + 1 : position + 2] not in ("", "]"):
                high = text[position + 1]
                position += 2
            ranges.append((low, high))
        self._tests.append(lambda character: any(low <= character <= high for low, high in ranges) != inverted)
        return position + 1


def _anything(_character: str) -> bool:
    return True


def matches_items(pattern: Sequence[T | None], items: Sequence[str], match: Callable[[T, str], bool]) -> bool:
    """Match all of `items`; None in the pattern matches any run of them. Quadratic at worst."""
    at = position = 0
    star = -1
    resume = 0
    while position < len(items):
        wanted = pattern[at] if at < len(pattern) else None
        if at < len(pattern) and wanted is None:
            star, resume = at, position
            at += 1
        elif wanted is not None and match(wanted, items[position]):
            at += 1
            position += 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(rest is None for rest in pattern[at:])


def matches_wildcard(pattern: str, text: str) -> bool:
    """Match the whole of `text`; `*` matches any characters, everything else is literal. Linear."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    position = len(first)
    *middle, last = rest
    for piece in middle:
        found = text.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(text) - position >= len(last) and text.endswith(last)


class PathPattern:
    """A path pattern relative to a base directory, split into components."""

    def __init__(self, text: str, *, any_depth: bool) -> None:
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise BadPattern("a pattern may not contain .. (use //absolute/path or ~/path)")
        segments: list[Segment | None] = [None if part == "**" else Segment(part) for part in parts]
        if any_depth:
            segments.insert(0, None)
            parts.insert(0, "**")
        self._parts = parts
        self._segments = segments
        self._contents = _without_contents(segments)
        last = self._contents[-1] if self._contents else None
        self._closed = last is not None and last.literal

    def literal_head(self) -> list[str]:
        """The leading components without wildcards or escapes."""
        found: list[str] = []
        for part, segment in zip(self._parts, self._segments, strict=False):
            if segment is None or not segment.literal or "\\" in part:
                break
            found.append(part)
        return found

    def matches(self, parts: Sequence[str], *, generously: bool) -> bool:
        """Match components below the base. A directory matched by name covers its contents.

        A directory matched by a wildcard covers its contents only if `generously`:
        `docs/*` forbids all of docs/a/b, but permits only docs/a.
        """
        if matches_items(self._segments, parts, Segment.matches):
            return True
        if not generously and not self._closed:
            return False
        return any(matches_items(self._contents, parts[:length], Segment.matches) for length in range(len(parts) + 1))


def _without_contents(segments: list[Segment | None]) -> list[Segment | None]:
    """The pattern without a trailing `/**`: it names the directory whose contents `name/**` matches."""
    if len(segments) > 1 and segments[-1] is None and segments[-2] is not None:
        return segments[:-1]
    return segments
