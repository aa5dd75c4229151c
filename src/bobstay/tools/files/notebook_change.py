"""Changes one cell in the text of a notebook; the bytes of all other cells are preserved."""

import json
import os
import re
from typing import Any, Literal

from msgspec import Struct

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import dominant_newline, with_newlines
from bobstay.tools.files.notebook import Notebook


class CellChange(Struct, frozen=True):
    text: str
    """The notebook afterwards."""
    cell_id: str
    kind: str
    language: str


def change_cell(
    notebook: Notebook, mode: Literal["replace", "insert", "delete"], cell_id: str, source: str, kind: str | None
) -> CellChange:
    """Apply `mode` to the cell `cell_id`; "" is allowed for an insertion at the start.

    Raises:
        ToolError: there is no such cell.
    """
    at = _index(notebook, cell_id) if cell_id else -1
    match mode:
        case "replace":
            cell = notebook.cells[at]
            data = _with_source(cell.data, source, kind or cell.kind)
            text = notebook.text[: cell.start] + _json(notebook, data) + notebook.text[cell.end :]
            return CellChange(text, cell.id, kind or cell.kind, notebook.language)
        case "delete":
            cell = notebook.cells[at]
            return CellChange(_delete_cell(notebook, at), cell.id, cell.kind, notebook.language)
        case "insert":
            data, new_id = _new_cell(notebook, source, kind or "code", at + 1)
            return CellChange(_insert_cell(notebook, at, data), new_id, kind or "code", notebook.language)


def _index(notebook: Notebook, cell_id: str) -> int:
    for at, cell in enumerate(notebook.cells):
        if cell.id == cell_id:
            return at
    counted = re.fullmatch(r"(?:cell-)?(\d{1,9})", cell_id)
    if counted and int(counted[1]) < len(notebook.cells):
        return int(counted[1])
    ids = ", ".join(cell.id for cell in notebook.cells[:20])
    raise ToolError(f"The notebook has no cell {cell_id[:80]!r}. Its cells are: {ids or 'none'}. Nothing was written.")


def _with_source(old: dict[str, Any], source: str, kind: str) -> dict[str, Any]:
    data = dict(old)
    data["cell_type"] = kind
    data["source"] = source if isinstance(old.get("source"), str) else source.splitlines(keepends=True)
    if kind == "code":
        data |= {"execution_count": None, "outputs": []}
    else:
        data.pop("execution_count", None)
        data.pop("outputs", None)
    return data


def _new_cell(notebook: Notebook, source: str, kind: str, at: int) -> tuple[dict[str, Any], str]:
    data: dict[str, Any] = {"cell_type": kind}
    if kind == "code":
        data["execution_count"] = None
    new_id = f"cell-{at}"
    if notebook.has_ids:
        data["id"] = new_id = os.urandom(4).hex()
    data["metadata"] = {}
    if kind == "code":
        data["outputs"] = []
    data["source"] = source.splitlines(keepends=True)
    return data, new_id


def _delete_cell(notebook: Notebook, at: int) -> str:
    cells, text = notebook.cells, notebook.text
    if at + 1 < len(cells):
        return text[: cells[at].start] + text[cells[at + 1].start :]
    if at > 0:
        return text[: cells[at - 1].end] + text[cells[at].end :]
    return text[: notebook.start] + text[notebook.end :]


def _insert_cell(notebook: Notebook, after: int, data: dict[str, Any]) -> str:
    cells, text = notebook.cells, notebook.text
    piece = _json(notebook, data)
    if not cells:
        gap, outer = _gaps(notebook)
        return text[: notebook.start] + gap + piece + outer + text[notebook.end :]
    if after < 0:
        first = cells[0]
        return text[: first.start] + piece + "," + _between(notebook, 0) + text[first.start :]
    return text[: cells[after].end] + "," + _between(notebook, after) + piece + text[cells[after].end :]


def _between(notebook: Notebook, at: int) -> str:
    """The whitespace before a cell, as the notebook formats it."""
    start = notebook.cells[at - 1].end if at else notebook.start
    return notebook.text[start : notebook.cells[at].start].lstrip(", ").lstrip(",") or " "


def _json(notebook: Notebook, data: dict[str, Any]) -> str:
    """The JSON of a cell, indented like the notebook."""
    indent = _indent(notebook)
    if indent is None:
        return json.dumps(data, ensure_ascii=False)
    text = json.dumps(data, ensure_ascii=False, indent=indent).replace("\n", f"\n{indent * 2}")
    return with_newlines(text, dominant_newline(notebook.text))


def _indent(notebook: Notebook) -> str | None:
    """One indentation level of the notebook's JSON; None if it is on one line."""
    found = re.match(r"\s*\{[ \t]*\r?\n?([ \t]+)\"", notebook.text)
    return found[1] if found and "\n" in notebook.text[: found.end()] else None


def _gaps(notebook: Notebook) -> tuple[str, str]:
    indent = _indent(notebook)
    if indent is None:
        return "", ""
    newline = dominant_newline(notebook.text)
    return newline + indent * 2, newline + indent
