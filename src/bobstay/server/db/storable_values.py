"""Values as tables can hold them: text of any origin made storable, long things cut with their length noted."""

import math
from typing import Any

from bobstay.sessions.log_codec import Unstorable, to_json

LONGEST_TEXT = 256 * 1024
"""Characters of one text that a table keeps; the log has it all."""
LONGEST_OUTPUT = 64 * 1024
LONGEST_INPUT = 256 * 1024
LONGEST_LEAF = 4 * 1024
"""Of one string in an input that is too long as a whole."""
MOST_LEAVES = 2_000
LONGEST_ID = 200
LONGEST_DIRECTORY = 500
"""Of those that are in an index of a table: PostgreSQL takes no more than 2,704 bytes there."""
LARGEST = 2**53 - 1


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """`text` without what a database refuses: NUL, and halves of surrogate pairs."""
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


def identity(id: str, longest: int = LONGEST_ID) -> str:
    """An id as a key. One that is too long for a key is cut, with a hash so that two stay two."""
    if len(id) > longest:
        from hashlib import sha256

        id = f"{id[: longest - 100]}-{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return clean(id)


def both_ends(text: str, longest: int = LONGEST_OUTPUT) -> str:
    """The beginning and the end of a long output: both tell more than the middle."""
    if len(text) <= longest:
        return clean(text, longest)
    tail = longest // 4
    left_out = f"\n[... {len(text) - longest} characters are left out here ...]\n"
    return clean(text[: longest - tail] + left_out + text[-tail:], longest + len(left_out))


def whole(number: int) -> int:
    """`number` as every database, and every JavaScript, can hold it."""
    return max(-LARGEST, min(number, LARGEST))


def finite(number: float) -> float:
    return float(number) if math.isfinite(number) else 0.0


def exactly(moment: float) -> str:
    """A moment for a cursor: to the last bit, or two pages would overlap. A plus would be a blank in an address."""
    return float(moment).hex().replace("+", "")


def exact(text: str) -> float:
    """A moment as `exactly` wrote it.

    Raises:
        ValueError: it is none.
    """
    number = float.fromhex(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def as_json(value: Any) -> str:
    """`value` as JSON text; null where it has no such form."""
    try:
        return to_json(value).decode()
    except Unstorable:
        return "null"


def shortened_json(value: Any, longest: int = LONGEST_INPUT) -> tuple[str, int]:
    """JSON text of `value` and the length of the whole; where that is too long, its long strings are cut."""
    text = as_json(value)
    length = len(text)
    for leaf in (LONGEST_LEAF, 200):
        if len(text) > longest:
            text = as_json(_shortened(value, leaf))
    return (text if len(text) <= longest else "null"), length


def leaves(value: Any) -> str:
    """All strings within a JSON value, a line each: what there is to search in it."""
    found: list[str] = []
    waiting: list[Any] = [value]
    while waiting and len(found) < MOST_LEAVES:
        match waiting.pop():
            case str() as text:
                found.append(text)
            case dict() as fields:
                waiting.extend(reversed(fields.values()))
            case list() | tuple() as entries:
                waiting.extend(reversed(entries))
            case _:
                continue
    return "\n".join(found)


def _shortened(value: Any, longest: int) -> Any:
    match value:
        case str() if len(value) > longest:
            return f"{value[:longest]}[... {len(value) - longest} more characters]"
        case dict():
            return {key: _shortened(entry, longest) for key, entry in value.items()}
        case list() | tuple():
            return [_shortened(entry, longest) for entry in value]
        case _:
            return value
