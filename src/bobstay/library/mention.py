"""Mentions of files in prompts and commands: `@f`, `@f#L2-3`, `@"with space"`, `@dir`."""

import re

from msgspec import Struct

MOST = 1_000
"""Mentions of one text that are looked at."""
LONGEST = 4096
"""Characters of a path."""
_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"(#L\d{1,9}(?:-L?\d{1,9})?)?|([^\s"]\S*))')
_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?$")
_PUNCTUATION = ".,;:!?'\"`*)]}>"
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}


class Mention(Struct, frozen=True):
    """A file or directory that a text refers to; it need not exist."""

    path: str
    """As it was written: relative, absolute or with `~/`; without punctuation that belongs to the sentence."""
    first: int = 0
    """The first line that is meant; 0 for the whole file."""
    last: int = 0
    punctuation: str = ""
    """What was taken for punctuation of the sentence, but may be the end of the name."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """The paths it may mean; the first that exists is meant."""
        return (self.path + self.punctuation, self.path) if self.punctuation else (self.path,)


def find_mentions(text: str, *, inside: bool = False) -> tuple[Mention, ...]:
    """Return the mentions of a text, each once. `inside` if something other than white space stands before it."""
    found: dict[Mention, None] = {}
    for match in _MENTION.finditer(text) if "@" in text else ():
        if inside and match.start() == 0:
            continue
        if mention := _build(match):
            found[mention] = None
        if len(found) >= MOST:
            break
    return tuple(found)


def _build(match: re.Match[str]) -> Mention | None:
    quoted, lines_of_quoted, plain = match.groups()
    # The convention drops a comma at the end of a word; other punctuation may belong to the name.
    written = quoted + (lines_of_quoted or "") if quoted else plain.rstrip(",")
    path = written if quoted else _strip_punctuation(written)
    if lines := _LINES.search(path):
        first, last = int(lines[1]), int(lines[2] or lines[1])
        return _check(Mention(path[: lines.start()], max(first, 1), max(first, last, 1)))
    return _check(Mention(path, punctuation=written[len(path) :]))


def _check(mention: Mention) -> Mention | None:
    path = mention.path
    return mention if path.strip() and "\0" not in path and len(path) <= LONGEST else None


def _strip_punctuation(text: str) -> str:
    """Remove what belongs to the sentence and not to the path."""
    core = text.rstrip(_PUNCTUATION)
    tail = text[len(core) :]
    # `.`, `..` and `...` are names of their own.
    dots = len(tail) - len(tail.lstrip(".")) if core.endswith("/") or not core else 0
    closing = {last for last, opening in _OPENING.items() if opening in core}
    end = len(tail)
    while end > dots and tail[end - 1] not in closing:
        end -= 1
    return core + tail[:end]
