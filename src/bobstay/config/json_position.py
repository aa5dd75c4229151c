"""Finds the line and column of a value in JSON text, for error messages."""

from typing import Any

MAX_DEPTH = 2000
"""Values nested deeper than this are not located."""


def locate_offset(data: bytes, offset: int) -> tuple[int, int]:
    """Return the line and column of a byte offset, both counted from 1."""
    before = data[: max(offset, 0)]
    line = before.count(b"\n") + 1
    start = before.rfind(b"\n") + 1
    return line, len(before[start:].decode("utf-8", "replace")) + 1


def locate_path(data: bytes, path: str) -> tuple[int, int] | None:
    """Return the line and column of the value at a path such as `$.permissions.allow[0]`; None if it is not found."""
    try:
        text = data.decode("utf-8")
        offset = _find_value(text, _parse_path(path))
    except (ValueError, IndexError, RecursionError):
        return None
    return None if offset is None else locate_offset(data, len(text[:offset].encode()))


def _parse_path(path: str) -> list[str | int]:
    """Split `$.a.b[0]` or `$.env[...]` into steps; `[...]` stands for any key."""
    steps: list[str | int] = []
    for part in path.removeprefix("$").replace("[", ".[").split("."):
        if part.startswith("[") and part[1:-1].isdigit():
            steps.append(int(part[1:-1]))
        elif part and not part.startswith("["):
            steps.append(part)
    return steps


def _find_value(text: str, steps: list[str | int]) -> int | None:
    import json

    decoder = json.JSONDecoder()
    position = _skip_blanks(text, 0)
    for step in steps[:MAX_DEPTH]:
        found = _find_member(text, position, step, decoder)
        if found is None:
            return position
        position = found
    return position


def _find_member(text: str, position: int, step: str | int, decoder: Any) -> int | None:
    opening = text[position]
    if opening not in "{[":
        return None
    position = _skip_blanks(text, position + 1)
    index = 0
    while text[position] not in "}]":
        name: str | int = index
        if opening == "{":
            name, position = decoder.raw_decode(text, position)
            position = _skip_blanks(text, _skip_blanks(text, position) + 1)
        if name == step:
            return position
        _, position = decoder.raw_decode(text, position)
        position = _skip_blanks(text, position)
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)
        index += 1
    return None


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position
