"""Finds the files that a prompt mentions: `@path`, `@path#L2-3`, `@"a path"`."""

import re

from msgspec import Struct

_MENTION = re.compile(r"(?:^|(?<=\s))@(?:\"([^\"\n]+)\"(#L\d+(?:-L?\d+)?)?|([^\s\"]+))")
_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?$")
_PUNCTUATION = ".;:!?)]}'*"
LONGEST = 4096


class FileMention(Struct, frozen=True):
    path: str
    """As it was written."""
    first: int = 0
    """The first line that is meant; 0 for all lines."""
    last: int = 0
    """The last line that is meant; 0 for all from the first."""
    sentence: bool = False
    """It may end with punctuation that belongs to the sentence."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """The paths it may mean, the likeliest first."""
        bare = self.path.rstrip(_PUNCTUATION)
        return (self.path, bare) if self.sentence and bare not in ("", self.path) else (self.path,)


def find_mentions(text: str) -> list[FileMention]:
    """Return the mentions in a text, each once, in their order. Whether there are such files is not looked at."""
    found: dict[FileMention, None] = {}
    for match in _MENTION.finditer(text) if "@" in text else ():
        quoted, lines, plain = match.groups()
        written = f"{quoted}{lines or ''}" if quoted else plain.rstrip(",")
        mention = _parse(written, sentence=not quoted)
        if mention is not None:
            found[mention] = None
    return list(found)


def _parse(written: str, *, sentence: bool) -> FileMention | None:
    for text in (written, written.rstrip(_PUNCTUATION)) if sentence else (written,):
        if lines := _LINES.search(text):
            path, first = text[: lines.start()], int(lines[1])
            last = int(lines[2]) if lines[2] else first
            if path and len(path) <= LONGEST:
                return FileMention(path, max(first, 1), max(first, last, 1))
    return FileMention(written, sentence=sentence) if written and len(written) <= LONGEST else None
