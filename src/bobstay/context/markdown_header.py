"""Reads the header of a Markdown file (`---`, keys, `---`), leniently: what cannot be read does not lose the file."""

import re
from typing import TypeAlias

Header: TypeAlias = dict[str, str | tuple[str, ...]]

_KEY = re.compile(r"([A-Za-z][\w-]*)\s*:(?:\s+(.*)|)$")
_BLOCK = frozenset({"", ">", "|", ">-", "|-", ">+", "|+"})
_OPEN, _CLOSE = "([{", ")]}"


def split_header(text: str) -> tuple[Header, str]:
    """Return the keys of the header and the text after it. Without a header, there are no keys."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((index for index, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    return (_parse(lines[1:end]), "\n".join(lines[end + 1 :])) if end else ({}, text)


def header_text(header: Header, key: str) -> str:
    value = header.get(key, "")
    return value if isinstance(value, str) else ", ".join(value)


def header_list(header: Header, key: str) -> tuple[str, ...]:
    """Return a list, or the parts of a text between commas and blanks."""
    value = header.get(key, ())
    return tuple(_split(value, ", \t")) if isinstance(value, str) else value


def _parse(lines: list[str]) -> Header:
    header: Header = {}
    index = 0
    while index < len(lines):
        found = _KEY.match(lines[index].rstrip())
        index += 1
        if found is None:
            continue
        value = (found[2] or "").strip()
        start = index
        while index < len(lines) and (not lines[index].strip() or lines[index][0] in " \t-"):
            index += 1
        header[found[1]] = _block(lines[start:index]) if value in _BLOCK else _value(value)
    return header


def _block(lines: list[str]) -> str | tuple[str, ...]:
    given = [line.strip() for line in lines if line.strip()]
    if given and all(line == "-" or line.startswith("- ") for line in given):
        return tuple(item for line in given if (item := _unquote(line[1:].strip())))
    return " ".join(given)


def _value(text: str) -> str | tuple[str, ...]:
    if text.startswith("[") and text.endswith("]"):
        return tuple(_split(text[1:-1], ","))
    return _unquote(text)


def _split(text: str, separators: str) -> list[str]:
    """Split at separators that are not inside of brackets or quotes."""
    parts, part, depth, quote = list[str](), "", 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth = max(depth - 1, 0)
        elif letter in separators and depth == 0:
            parts.append(part)
            part = ""
            continue
        part += letter
    return [name for each in (*parts, part) if (name := _unquote(each.strip()))]


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
