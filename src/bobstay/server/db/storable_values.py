"""Converts values to a form that both databases can store: invalid characters replaced, long values shortened."""

import math
from typing import Any

from bobstay.sessions.log_codec import Unstorable, to_json

LONGEST_TEXT = 256 * 1024
"""Characters of one text that a table keeps; the log has all of it."""
LONGEST_OUTPUT = 64 * 1024
LONGEST_INPUT = 256 * 1024
LONGEST_LEAF = 4 * 1024
"""Characters of one string in an input that is too long as a whole."""
MOST_LEAVES = 2_000
LONGEST_ID = 200
LONGEST_DIRECTORY = 500
"""Characters of an indexed path: PostgreSQL allows no more than 2,704 bytes in an index."""
LARGEST = 2**53 - 1


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """`text` without characters that databases refuse: NUL and lone surrogates."""
    text = text[:longest]
    if "\0" in text:
        text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def bounded_id(id: str, longest: int = LONGEST_ID) -> str:
    """An id as a key. One that is too long is cut and gets a hash, so that it stays unique."""
    if len(id) > longest:
        from hashlib import sha256

        id = f"{id[: longest - 100]}-{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return clean(id)


def elide_middle(text: str, longest: int = LONGEST_OUTPUT) -> str:
    """The beginning and the end of a long output: both are more useful than the middle."""
    if len(text) <= longest:
        return clean(text, longest)
    tail = longest // 4
    notice = f"\n[... {len(text) - longest} characters are left out here ...]\n"
    return clean(text[: longest - tail] + notice + text[-tail:], longest + len(notice))


def clamp_integer(number: int) -> int:
    """`number` clamped to the integers that JavaScript represents exactly."""
    return max(-LARGEST, min(number, LARGEST))


def finite(number: float) -> float:
    return float(number) if math.isfinite(number) else 0.0


def encode_moment(moment: float) -> str:
    """A time for a cursor: exact, or pages would overlap, and without a plus sign, which means a space in a URL."""
    return float(moment).hex().replace("+", "")


def decode_moment(text: str) -> float:
    """A time as written by `encode_moment`.

    Raises:
        ValueError: it is malformed.
    """
    number = float.fromhex(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def as_json(value: Any) -> str:
    """`value` as JSON text; null if it cannot be encoded."""
    try:
        return to_json(value).decode()
    except Unstorable:
        return "null"


def shorten_json(value: Any, longest: int = LONGEST_INPUT) -> tuple[str, int]:
    """JSON text of `value`, with long strings cut if it is too long, and the length of the full text."""
    text = as_json(value)
    length = len(text)
    for leaf in (LONGEST_LEAF, 200):
        if len(text) > longest:
            text = as_json(_shorten(value, leaf))
    return (text if len(text) <= longest else "null"), length


def collect_strings(value: Any) -> str:
    """All strings within a JSON value, one per line, for the search."""
    found: list[str] = []
    pending: list[Any] = [value]
    while pending and len(found) < MOST_LEAVES:
        match pending.pop():
            case str() as text:
                found.append(text)
            case dict() as fields:
                pending.extend(reversed(fields.values()))
            case list() | tuple() as entries:
                pending.extend(reversed(entries))
            case _:
                continue
    return "\n".join(found)


def _shorten(value: Any, longest: int) -> Any:
    match value:
        case str() if len(value) > longest:
            return f"{value[:longest]}[... {len(value) - longest} more characters]"
        case dict():
            return {key: _shorten(entry, longest) for key, entry in value.items()}
        case list() | tuple():
            return [_shorten(entry, longest) for entry in value]
        case _:
            return value
