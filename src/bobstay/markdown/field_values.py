"""Converts fields of front matter and JSON, which people write in many ways, to the types that definitions have."""

from typing import Any

LONGEST_TEXT = 8_000
MOST_ITEMS = 200
_EMPTY = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_KEPT = frozenset("\n\t\xa0\u3000\u200c\u200d")
"""Characters that Python does not call printable and that belong to texts."""


def as_text(value: Any) -> str:
    """Return a scalar as text; `[a, b]`, which YAML takes for a list, as it was written."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(as_text(item) for item in value[:MOST_ITEMS])}]"[:LONGEST_TEXT]
    if isinstance(value, dict):
        pairs = (f"{key}: {as_text(item)}" for key, item in list(value.items())[:MOST_ITEMS])
        return f"{{{', '.join(pairs)}}}"[:LONGEST_TEXT]
    text = str(value).strip()
    return "" if text in _EMPTY else _clean(text[:LONGEST_TEXT])


def as_line(value: Any) -> str:
    """Return the text on one line."""
    return " ".join(as_text(value).split())


def as_list(value: Any) -> tuple[str, ...]:
    """Return a list, or one text split at commas and blanks outside brackets and quotes."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        items = [as_line(item) for item in value[:MOST_ITEMS]]
    else:
        text = str(value).strip()  # not cut: half of a permission rule could allow more than the whole
        items = [] if text in _EMPTY else _split(_without_brackets(_clean(text)))[:MOST_ITEMS]
    return tuple(item for item in items if item)


def as_flag(value: Any, *, default: bool = False) -> bool:
    if isinstance(value, bool):
        return value
    text = as_text(value).lower()
    return True if text in _TRUE else False if text in _FALSE else default


def as_count(value: Any) -> int | None:
    """Return a whole number from 1 on; None for anything else."""
    if isinstance(value, bool):
        return None
    text = as_text(value)
    return (int(text) or None) if text.isascii() and text.isdigit() and len(text) < 10 else None


def as_map(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _clean(text: str) -> str:
    """Remove characters that move the cursor, hide text from people while models read it, or cannot be encoded."""
    if text.isprintable():
        return text
    return "".join(letter for letter in text if letter.isprintable() or letter in _KEPT)


def _without_brackets(text: str) -> str:
    """The inside of `[src/*.{ts,tsx}, lib]`: YAML does not take that for a list, but people do."""
    depth = 0
    for position, character in enumerate(text if text.startswith("[") else ""):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def _split(text: str) -> list[str]:
    items: list[str] = []
    current, depth, quote = "", 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and not current:
            quote = character
            continue
        elif character in "({[":
            depth += 1
        elif character in ")}]":
            depth = max(0, depth - 1)
        if not quote and depth == 0 and (character == "," or character.isspace()):
            items.append(current.strip("\"'"))
            current = ""
        else:
            current += character
    return [item for item in [*items, current.strip("\"'")] if item]
