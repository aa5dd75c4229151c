"""Turns the answers of language servers into text for the model, whatever form they have."""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bobstay.tools.lsp.source_text import from_uri, from_utf16, read_source, split_lines
from bobstay.tools.tool_error import ToolError

MAX_LOCATIONS = 100
_MAX_SYMBOLS = 500
_MAX_DEPTH = 8
_LONGEST_LINE = 200
_LONGEST_HOVER = 8_000
_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enum member", "struct", "event", "operator", "type parameter"),
)


async def find_column(path: str, line: int, symbol: str | None, column: int | None) -> int:
    """The column, counted from 0, of a symbol in a line counted from 1.

    Raises:
        ToolError: the line does not exist, or does not contain the symbol; shows the line.
    """
    text = await asyncio.to_thread(read_source, path)
    lines = split_lines(text or "")
    if line > len(lines):
        raise ToolError(f"{path} has {len(lines)} lines, so there is no line {line}.")
    if not symbol:
        return (column or 1) - 1
    found = lines[line - 1].find(symbol)
    if found < 0:
        raise ToolError(f"Line {line} does not contain {symbol[:100]!r}. It reads: {lines[line - 1][:_LONGEST_LINE]}")
    return found


def describe_hover(answer: Any) -> str:
    """The text of a hover: a string, marked text, or a list of them."""
    contents = answer.get("contents") if isinstance(answer, dict) else None
    parts = contents if isinstance(contents, list) else [contents]
    texts = [part if isinstance(part, str) else part.get("value") if isinstance(part, dict) else None for part in parts]
    text = "\n\n".join(each.strip() for each in texts if isinstance(each, str) and each.strip())
    return text if len(text) <= _LONGEST_HOVER else f"{text[:_LONGEST_HOVER]}\n... [cut]"


def describe_locations(answer: Any, directories: Iterable[Path], denied: Callable[[str], bool] | None = None) -> str:
    """One line a location: path, line and column, and in working directories the text of the line. Reads files.

    Files that may not be read, by `denied`, are left out.
    """
    given = answer if isinstance(answer, list) else [answer]
    found = dict.fromkeys(position for each in given if (position := _position(each)) is not None)
    allowed = [position for position in found if denied is None or not denied(position[0])]
    roots = [os.path.realpath(each).rstrip("/") + "/" for each in directories]
    shown: list[str] = []
    sources: dict[str, list[str]] = {}
    for path, line, units in allowed[:MAX_LOCATIONS]:
        if path not in sources:
            inside = any(os.path.realpath(path).startswith(root) for root in roots)
            text = read_source(path) if inside else None
            sources[path] = split_lines(text) if text is not None else []
        lines = sources[path]
        text = lines[line] if line < len(lines) else ""
        column = from_utf16(text, units) if text else units
        shown.append(f"{path}:{line + 1}:{column + 1}" + (f": {text.strip()[:_LONGEST_LINE]}" if text else ""))
    more = f"\n... and {len(allowed) - MAX_LOCATIONS} more" if len(allowed) > MAX_LOCATIONS else ""
    return "\n".join(shown) + more


def describe_symbols(answer: Any) -> str:
    """An outline: a line for each symbol, indented by depth."""
    lines: list[str] = []
    _add_symbols(answer, 0, lines)
    if len(lines) > _MAX_SYMBOLS:
        lines[_MAX_SYMBOLS:] = [f"... and {len(lines) - _MAX_SYMBOLS} more"]
    return "\n".join(lines)


def _add_symbols(given: Any, depth: int, lines: list[str]) -> None:
    for each in given if isinstance(given, list) and depth < _MAX_DEPTH else ():
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            continue
        location = each.get("location")
        region = each.get("range") or (location.get("range") if isinstance(location, dict) else None)
        start = region.get("start") if isinstance(region, dict) else None
        line = start.get("line") if isinstance(start, dict) else None
        kind = each.get("kind")
        named = _KINDS[kind - 1] if isinstance(kind, int) and 0 < kind <= len(_KINDS) else "symbol"
        at = f" (line {line + 1})" if isinstance(line, int) else ""
        lines.append(f"{'  ' * depth}{named} {' '.join(each['name'].split())[:_LONGEST_LINE]}{at}")
        _add_symbols(each.get("children"), depth + 1, lines)


def _position(given: Any) -> tuple[str, int, int] | None:
    """The path, line and UTF-16 column of a Location or LocationLink."""
    if not isinstance(given, dict):
        return None
    path = from_uri(given.get("uri") or given.get("targetUri"))
    region = given.get("range") or given.get("targetSelectionRange") or given.get("targetRange")
    start = region.get("start") if isinstance(region, dict) else None
    line, units = (start.get("line"), start.get("character")) if isinstance(start, dict) else (None, None)
    if not path or not isinstance(line, int) or not isinstance(units, int) or line < 0 or units < 0:
        return None
    return path, line, units
