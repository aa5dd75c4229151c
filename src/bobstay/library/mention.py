"""Mentions of files in prompts and commands: `@f`, `@f#L2-3`, `@"with space"`, `@dir`."""

import os
import re

from msgspec import Struct

MOST = 100
"""Mentions of one text that are looked at."""
_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]{1,1000})"((?:#L\d{1,9}(?:-L?\d{1,9})?)?)|([^\s"@]\S{0,1000}))')
_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?$")
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}


class Mention(Struct, frozen=True):
    """A file or directory that a text refers to; it need not exist."""

    path: str
    """As it was written: relative, absolute or with `~/`."""
    first: int = 0
    """The first line that is meant; 0 for the whole file."""
    last: int = 0

    def resolve(self, cwd: str, home: str) -> str:
        """Return the absolute path; the disk is not read."""
        path = home + self.path[1:] if self.path == "~" or self.path.startswith("~/") else self.path
        return os.path.normpath(os.path.join(cwd, path))


def find_mentions(text: str, *, inside: bool = False) -> tuple[Mention, ...]:
    """Return the mentions of a text, each once. `inside` if something other than white space stands before it."""
    found: dict[Mention, None] = {}
    for match in _MENTION.finditer(text):
        if inside and match.start() == 0:
            continue
        if mention := _build(match):
            found[mention] = None
        if len(found) >= MOST:
            break
    return tuple(found)


def _build(match: re.Match[str]) -> Mention | None:
    written = (match[1] + match[2]) if match[1] else _strip_punctuation(match[3])
    first = last = 0
    if lines := _LINES.search(written):
        first = int(lines[1])
        last = int(lines[2] or lines[1])
        written = written[: lines.start()]
    if not written.strip() or "\0" in written:
        return None
    return Mention(written, first, max(first, last)) if first else Mention(written)


def _strip_punctuation(text: str) -> str:
    """Remove what belongs to the sentence and not to the path."""
    while text:
        last = text[-1]
        is_end = last in ",;:!?'\"`*" or (last == "." and not text.endswith(("..", "/.")) and text != ".")
        if not is_end and (last not in _OPENING or _OPENING[last] in text):
            break
        text = text[:-1]
    return text
