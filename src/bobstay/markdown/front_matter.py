"""Splits a Markdown file into its front matter and its body."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.markdown.yaml_document import YamlProblem, parse_plain_fields

LONGEST = 64 * 1024
"""Bytes of front matter; what is longer is taken for text."""
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_CLOSING = re.compile(rb"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


class FrontMatter(Struct, frozen=True):
    fields: dict[str, Any] = {}
    body_start: int = 0
    """Where the body begins, in bytes."""
    problems: tuple[YamlProblem, ...] = ()
    """With lines of the file."""
    unclosed: bool = False
    """The file begins like front matter, which does not end in the bytes given."""


def split_front_matter(data: bytes) -> FrontMatter:
    """Read the front matter of a file, or of its first bytes. Without any, the whole file is the body."""
    opening = _OPENING.match(data)
    if opening is None:
        return FrontMatter()
    closing = _CLOSING.search(data, opening.end(), opening.end() + LONGEST)
    if closing is None:
        return FrontMatter(
            unclosed=True, problems=(YamlProblem(1, "the front matter that begins here is not closed by `---`"),)
        )
    text = data[opening.end() : closing.start()].decode(errors="replace")
    fields, problems = _parse(text)
    moved = tuple(YamlProblem(each.line + 1, each.text) for each in problems)
    return FrontMatter(fields, closing.end(), moved)


def decode_body(data: bytes, matter: FrontMatter) -> str:
    """Return the body as text, whatever its bytes are."""
    start = 3 if not matter.body_start and data.startswith(b"\xef\xbb\xbf") else matter.body_start
    return data[start:].decode(errors="replace")


def _parse(text: str) -> tuple[dict[str, Any], tuple[YamlProblem, ...]]:
    if text.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(text, type=dict[str, Any]), ()
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            pass  # not JSON: perhaps a map of YAML over several lines
    plain = parse_plain_fields(text)
    if plain is not None:
        return plain, ()
    from bobstay.markdown.lenient_yaml import parse_yaml

    document = parse_yaml(text)
    return document.fields, document.problems
