"""Splits HTML into text and tags in linear time."""

import html
import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

_OPEN = re.compile(r"</?[a-zA-Z]|<[!?]")
_STOP = re.compile(r"""[>"']""")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]{0,40}")
_VALUE = re.compile(r"""\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_SKIPPED = frozenset(
    {"script", "style", "template", "svg", "math", "noscript", "iframe", "title", "textarea", "canvas"}
)
_SELF_CLOSING = frozenset({"svg", "math"})
_TAG_LIMIT = 8_000
"""Characters of a tag that are searched for attributes."""


class Tag(Struct, frozen=True):
    name: str
    """Lower case."""
    closing: bool
    inside: str
    """Everything between the name and the `>`."""

    def attribute(self, name: str) -> str:
        """The value of an attribute, or "" if the tag has none of that name."""
        lowered = self.inside.lower()
        start = lowered.find(name)
        while start >= 0:
            match = _VALUE.match(self.inside, start + len(name))
            if match and (start == 0 or not (lowered[start - 1].isalnum() or lowered[start - 1] in "-_")):
                return html.unescape("".join(match.groups(""))).strip()
            start = lowered.find(name, start + len(name))
        return ""


Piece: TypeAlias = str | Tag


def tokenize(source: str) -> Iterator[Piece]:
    """Yield the text and tags of `source` in order, without comments and unreadable elements such as scripts."""
    position, end = 0, len(source)
    dead: set[str] = set()
    while position < end:
        begins = _OPEN.search(source, position)
        if begins is None:
            yield source[position:]
            return
        opened = begins.start()
        if opened > position:
            yield source[position:opened]
        position = _after_markup(source, opened)
        if position > opened:
            continue
        closing = source.startswith("/", opened + 1)
        name = _NAME.match(source, opened + 1 + closing)
        assert name is not None, "a tag begins where _OPEN matches"
        tag_end = _tag_end(source, name.end(), dead)
        if tag_end == end:
            return  # an unterminated tag is dropped
        tag = Tag(name[0].lower(), closing, source[name.end() : min(tag_end, name.end() + _TAG_LIMIT)])
        position = tag_end + 1
        if tag.name in _SKIPPED and not closing and not (tag.name in _SELF_CLOSING and tag.inside.endswith("/")):
            position = _after_element(source, position, tag.name)
        else:
            yield tag


def _after_markup(source: str, opened: int) -> int:
    """Where a comment, declaration or instruction starting at `opened` ends; `opened` if there is none."""
    if source.startswith("<!--", opened):
        return _after(source, "-->", opened + 2)
    if source.startswith("<![CDATA[", opened):
        return _after(source, "]]>", opened)
    if source.startswith(("<!", "<?"), opened):
        return _after(source, ">", opened)
    return opened


def _after(source: str, mark: str, start: int) -> int:
    position = source.find(mark, start)
    return len(source) if position < 0 else position + len(mark)


def _tag_end(source: str, start: int, dead: set[str]) -> int:
    """Position of the `>` that ends a tag, skipping quoted values.

    `dead` holds quotes that do not occur again, so that a hostile page cannot cause repeated searches.
    """
    while match := _STOP.search(source, start):
        if match[0] == ">":
            return match.start()
        start = match.end()
        if match[0] not in dead and source[match.start() - 1] == "=":
            closed = source.find(match[0], start)
            if closed < 0:
                dead.add(match[0])
            else:
                start = closed + 1
    return len(source)


def _after_element(source: str, start: int, name: str) -> int:
    """Position after the end tag of a skipped element; an unclosed one extends to the end."""
    match = re.compile(f"</{name}\\b", re.IGNORECASE).search(source, start)
    return len(source) if match is None else _after(source, ">", match.start())
