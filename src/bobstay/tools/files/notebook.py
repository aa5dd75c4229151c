"""Parses Jupyter notebooks, recording where each cell is in the text."""

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in the module, missing from its stubs
from typing import Any

from msgspec import Struct

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")


class InvalidNotebookError(ValueError):
    """The text is not a notebook. The message says why."""


class Cell(Struct, frozen=True):
    id: str
    """Its own id, or `cell-N` counted from 0 if the format has no ids."""
    data: dict[str, Any]
    start: int
    """Where its JSON begins in the text of the notebook."""
    end: int

    @property
    def kind(self) -> str:
        return str(self.data.get("cell_type", "code"))

    @property
    def source(self) -> str:
        return join_source(self.data.get("source"))


class Notebook(Struct, frozen=True):
    text: str
    cells: tuple[Cell, ...]
    language: str
    has_ids: bool
    """Whether the version of the format gives each cell an id."""
    start: int
    """Where the list of cells begins, after its bracket."""
    end: int
    """Position of its closing bracket."""


def parse_notebook(text: str) -> Notebook:
    """Parse the text of a notebook, recording the position of each cell.

    Raises:
        InvalidNotebookError: it is not JSON, or has no list of cells.
    """
    try:
        whole = json.loads(text)
        if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
            raise InvalidNotebookError("it has no list of cells (a notebook older than version 4?)")
        start, spans, end = _spans(text)
    except (ValueError, IndexError, RecursionError) as error:
        raise InvalidNotebookError(str(error)) from None
    if not all(isinstance(cell, dict) for cell in whole["cells"]):
        raise InvalidNotebookError("one of its cells is not an object")
    cells = tuple(
        Cell(str(data.get("id") or f"cell-{at}"), data, *span)
        for at, (data, span) in enumerate(zip(whole["cells"], spans, strict=True))
    )
    version = (whole.get("nbformat"), whole.get("nbformat_minor"))
    has_ids = version[0] == 4 and isinstance(version[1], int) and version[1] >= 5
    return Notebook(text, cells, _language(whole.get("metadata")), has_ids, start, end)


def join_source(source: Any) -> str:
    """Join text that the format stores as a string or as a list of lines."""
    if isinstance(source, list):
        return "".join(piece for piece in source if isinstance(piece, str))
    return source if isinstance(source, str) else ""


def _language(metadata: Any) -> str:
    for name in ("language_info", "kernelspec"):
        part = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(part, dict):
            found = part.get("name" if name == "language_info" else "language")
            if isinstance(found, str):
                return found
    return "python"


def _spans(text: str) -> tuple[int, list[tuple[int, int]], int]:
    """Positions of the elements of the top-level list `cells` in valid JSON text."""
    found: tuple[int, list[tuple[int, int]], int] | None = None
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] == '"':
        key, at = scanstring(text, at + 1)
        at = _skip(text, _skip(text, at) + 1)
        if key == "cells" and text[at] == "[":
            found = _elements(text, at + 1)
            at = found[2] + 1
        else:
            _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    if found is None:
        raise InvalidNotebookError("it has no list of cells")
    return found


def _elements(text: str, start: int) -> tuple[int, list[tuple[int, int]], int]:
    spans: list[tuple[int, int]] = []
    at = _skip(text, start)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        spans.append((at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return start, spans, at


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
