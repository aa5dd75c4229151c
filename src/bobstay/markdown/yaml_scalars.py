"""Scalars and inline collections of lenient YAML: plain and quoted text, `[lists]` and `{maps}`, JSON included."""

import re
from typing import Any

DEEPEST = 16
BLANKS = " \t\r\n"
"""YAML knows no other white space: a no-break space is text."""
_NAMED_VALUES: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    '"': '"',
    "/": "/",
    "\\": "\\",
    " ": " ",
    "_": "\xa0",
    "N": "\x85",
    "L": "\u2028",
    "P": "\u2029",
}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"[-+]?\d{1,17}\.\d{1,17}(?:[eE][-+]?\d{1,3})?")
_SURROGATES = re.compile("[\ud800-\udfff]+")
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_BREAK = re.compile(r"[ \t\r]*\n[ \t\r\n]*")
_CLOSING = {"[": "]", "{": "}"}


class NotFlowError(Exception):
    """The text only begins like an inline collection."""


def resolve_plain(text: str) -> Any:
    """Return the value of an unquoted scalar: null, a boolean, a number, else the text itself."""
    if text in _NAMED_VALUES:
        return _NAMED_VALUES[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def quoted_end(text: str, start: int = 0) -> int:
    """Return the position behind the quoted scalar that begins at `start`; -1 if it is not closed."""
    quote, position = text[start], start + 1
    while (position := text.find(quote, position)) >= 0:
        if quote == "'":
            if text[position + 1 : position + 2] != "'":
                return position + 1
            position += 2
            continue
        before = position
        while text[before - 1] == "\\":
            before -= 1
        if (position - before) % 2 == 0:
            return position + 1
        position += 1
    return -1


def unquote(text: str) -> str:
    """Return the content of a complete quoted scalar; lines are folded as YAML folds them."""
    inner = _fold_lines(text[1:-1]) if "\n" in text else text[1:-1]
    if text[0] == "'":
        return inner.replace("''", "'")
    return _join_surrogates(_ESCAPE.sub(_unescape, inner))


def flow_end(text: str) -> int:
    """Return the position behind the inline collection with which `text` begins; -1 if it is not closed."""
    waiting: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character in "'\"" and _begins_scalar(text, position):
            position = quoted_end(text, position)
            if position < 0:
                return -1
            continue
        if character in _CLOSING:
            waiting.append(_CLOSING[character])
        elif character in "]}":
            if waiting.pop() != character:
                return -1
            if not waiting:
                return position + 1
        position += 1
    return -1


def parse_flow(text: str) -> Any:
    """Return the value of a complete inline collection.

    Raises:
        NotFlowError: it is none, or it is nested too deeply.
    """
    value, end = _parse_value(text, 0, DEEPEST)
    if end != len(text):
        raise NotFlowError
    return value


def _parse_value(text: str, position: int, depth: int) -> tuple[Any, int]:
    position = _skip_space(text, position)
    if depth <= 0 or position >= len(text):
        raise NotFlowError
    if text[position] == "[":
        return _parse_list(text, position + 1, depth)
    if text[position] == "{":
        return _parse_map(text, position + 1, depth)
    if text[position] in "'\"":
        end = quoted_end(text, position)
        if end < 0:
            raise NotFlowError
        return unquote(text[position:end]), end
    plain, end = _parse_plain(text, position)
    return resolve_plain(plain), end


def _parse_list(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while True:
        position = _skip_space(text, position)
        if text[position : position + 1] == "]":
            return found, position + 1
        value, position = _parse_value(text, position, depth - 1)
        found.append(value)
        position = _skip_separator(text, position, "]")


def _parse_map(text: str, position: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while True:
        position = _skip_space(text, position)
        if text[position : position + 1] == "}":
            return found, position + 1
        key, position = _parse_key(text, position)
        position = _skip_space(text, position)
        value = None
        if text[position : position + 1] == ":":
            position = _skip_space(text, position + 1)
            if text[position : position + 1] not in (",", "}"):
                value, position = _parse_value(text, position, depth - 1)
        found[key] = value
        position = _skip_separator(text, position, "}")


def _parse_key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] in ("'", '"'):
        end = quoted_end(text, position)
        if end < 0:
            raise NotFlowError
        return unquote(text[position:end]), end
    return _parse_plain(text, position)


def _parse_plain(text: str, position: int) -> tuple[str, int]:
    end = position
    while end < len(text) and text[end] not in ",[]{}":
        if text[end] == ":" and text[end + 1 : end + 2] in ("", " ", "\n", "\t", ",", "]", "}"):
            break
        end += 1
    plain = _LINE_BREAK.sub(" ", text[position:end].strip(BLANKS))
    if not plain:
        raise NotFlowError
    return plain, end


def _skip_separator(text: str, position: int, closing: str) -> int:
    position = _skip_space(text, position)
    if text[position : position + 1] == ",":
        return position + 1
    if text[position : position + 1] == closing:
        return position
    raise NotFlowError


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _begins_scalar(text: str, position: int) -> bool:
    """Whether a quote opens a quoted scalar; inside a word it is an apostrophe."""
    before = text[max(0, position - 200) : position].rstrip(BLANKS)[-1:]
    return before in ("", "[", "{", ",", ":")


def _unescape(found: re.Match[str]) -> str:
    if number := found[1] or found[2] or found[3]:
        code = int(number, 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"
    return _ESCAPES.get(found[4], found[0])


def _join_surrogates(text: str) -> str:
    """Combine surrogate pairs, as JSON writes them, and replace lone ones, which nothing can encode."""
    return _SURROGATES.sub(lambda run: run[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace"), text)


def _fold_lines(text: str) -> str:
    """Join the lines of a scalar with blanks; an empty line stands for a line break."""
    first, *rest = text.split("\n")
    folded = first.rstrip(BLANKS)
    breaks = 0
    for line in rest:
        if not line.strip(BLANKS):
            breaks += 1
            continue
        folded += "\n" * breaks if breaks else " "
        folded += line.strip(BLANKS) if line is not rest[-1] else line.lstrip(BLANKS)
        breaks = 0
    return folded + "\n" * breaks if breaks else folded
