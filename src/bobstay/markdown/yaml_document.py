"""A document of lenient YAML, and a fast way to read one that has only plain text."""

from typing import Any

from msgspec import Struct

_SPECIAL = frozenset("'\"[{|>#")
"""Characters with which a value begins that is more than plain text on one line."""


class YamlProblem(Struct, frozen=True):
    line: int
    """Counted from 1."""
    text: str


class YamlDocument(Struct, frozen=True):
    """`fields` has plain scalars of the top level as text, because a version or an id is no number."""

    fields: dict[str, Any]
    problems: tuple[YamlProblem, ...] = ()


def parse_plain_fields(text: str) -> dict[str, Any] | None:
    """Read `key: plain text` lines; None if there is anything else, for which the whole reader is needed."""
    fields: dict[str, Any] = {}
    for raw in text.split("\n"):
        line = raw.rstrip(" \t\r")
        if not line:
            continue
        key, _, rest = line.partition(":")
        value = rest.strip(" \t")
        if not key.isascii() or not key.replace("-", "").replace("_", "").isalnum() or key[0] == "-":
            return None
        if rest[:1] not in ("", " ") or value[:1] in _SPECIAL or " #" in value or "\t" in value:
            return None
        if not rest and line[-1] != ":":
            return None
        fields[key] = value or None
    return fields
