"""Finds the line and column of a place in JSON text. Only ever needed to explain an error."""

from typing import Any

PLACE = 2000
"""Values nested deeper than this are not looked for."""


def of_offset(data: bytes, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of a byte offset."""
    before = data[: max(offset, 0)]
    line = before.count(b"\n") + 1
    start = before.rfind(b"\n") + 1
    return line, len(before[start:].decode("utf-8", "replace")) + 1


def of_path(data: bytes, path: str) -> tuple[int, int] | None:
    """Line and column of the value at a path such as `$.permissions.allow[0]`; None if it cannot be found."""
    try:
        text = data.decode("utf-8")
        offset = _find(text, _steps(path))
    except (ValueError, IndexError, RecursionError):
        return None
    return None if offset is None else of_offset(data, len(text[:offset].encode()))


def _steps(path: str) -> list[str | int]:
    """`$.a.b[0]` and `$.env[...]` as steps; `[...]` stands for any key."""
    steps: list[str | int] = []
    for part in path.removeprefix("$").replace("[", ".[").split("."):
        if part.startswith("[") and part[1:-1].isdigit():
            steps.append(int(part[1:-1]))
        elif part and not part.startswith("["):
            steps.append(part)
    return steps


def _find(text: str, steps: list[str | int]) -> int | None:
    import json

    decoder = json.JSONDecoder()
    position = _blank(text, 0)
    for step in steps[:PLACE]:
        found = _member(text, position, step, decoder)
        if found is None:
            return position
        position = found
    return position


def _member(text: str, position: int, step: str | int, decoder: Any) -> int | None:
    opening = text[position]
    if opening not in "{[":
        return None
    position = _blank(text, position + 1)
    index = 0
    while text[position] not in "}]":
        name: str | int = index
        if opening == "{":
            name, position = decoder.raw_decode(text, position)
            position = _blank(text, _blank(text, position) + 1)
        if name == step:
            return position
        _, position = decoder.raw_decode(text, position)
        position = _blank(text, position)
        if text[position] == ",":
            position = _blank(text, position + 1)
        index += 1
    return None


def _blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position
