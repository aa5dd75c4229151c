"""Cleans text of MCP servers before a model or a person reads it: no control or invisible characters, a limit."""

import unicodedata

_KEPT = frozenset("\n\t")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Control, format (bidirectional marks, zero width, tags), lone surrogates, private use, unassigned."""


def clean_text(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, without characters that are not seen."""
    if len(text) > limit * 4:
        text = text[: limit * 4]
    if not text.isascii() or not text.isprintable():
        text = "".join(letter for letter in text if letter in _KEPT or _is_visible(letter))
    return text if len(text) <= limit else f"{text[:limit]} [...]"


def clean_line(text: str, limit: int) -> str:
    """The same on one line."""
    return " ".join(clean_text(text, limit).split())


def _is_visible(letter: str) -> bool:
    # An emoji may need a joiner between its parts, and U+FE0F after them is a mark, not a format character.
    return letter == "\u200d" or unicodedata.category(letter) not in _INVISIBLE
