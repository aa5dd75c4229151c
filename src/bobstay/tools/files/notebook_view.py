"""Renders a notebook for the model: each cell with its id, source and outputs, within size limits."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bobstay.model.message import Image, ReplyPart, Text
from bobstay.tools.base import ToolError
from bobstay.tools.files.image import MAX_BASE64, shrink
from bobstay.tools.files.notebook import Cell, Notebook, join_source
from bobstay.tools.files.numbered_lines import MAX_BYTES

_MAX_OUTPUT = 5_000
_MAX_IMAGES = 8


class CellsView(Struct, frozen=True):
    parts: tuple[ReplyPart, ...]
    cells: list[dict[str, Any]]
    """The same for programs."""


def view_cells(notebook: Notebook, first: int, most: int) -> CellsView:
    """Show at most `most` cells from number `first` (from 1)."""
    total = len(notebook.cells)
    if not total:
        return CellsView((Text("[The notebook has no cells.]"),), [])
    if first > total:
        return CellsView((Text(f"[The notebook has {total} cells; offset {first} is past its end.]"),), [])
    collector = _ImageCollector()
    texts: list[str] = []
    listed: list[dict[str, Any]] = []
    room = MAX_BYTES
    last = first - 1
    for number, cell in enumerate(notebook.cells[first - 1 : first - 1 + most], first):
        outputs = [shown for output in _outputs(cell) if (shown := collector.render(output, cell.id))]
        source = _shorten(cell.source, MAX_BYTES // 2)
        text = _cell_text(cell, source, outputs, notebook.language)
        room -= len(text)
        if room < 0 and texts:
            break
        texts.append(text)
        listed.append(_to_display(cell, source, outputs, notebook.language))
        last = number
    if last < total:
        texts.append(f"[Cells {first}-{last} of {total} shown. To read on, call Read with offset={last + 1}.]")
    return CellsView((Text("\n".join(texts)), *collector.images), listed)


class _ImageCollector:
    """Collects images of outputs within a size limit."""

    def __init__(self) -> None:
        self.images: list[Image] = []
        self._room = MAX_BASE64

    def render(self, output: dict[str, Any], cell_id: str) -> str:
        """The text that represents `output`."""
        data = output.get("data")
        bundle: dict[str, Any] = data if isinstance(data, dict) else {}
        for kind in ("image/png", "image/jpeg"):
            if kind in bundle:
                return self._add_image(join_source(bundle[kind]), cell_id)
        if output.get("output_type") == "error":
            trace = output.get("traceback")
            lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
            return _shorten("\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}", _MAX_OUTPUT)
        text = (
            join_source(output.get("text"))
            or join_source(bundle.get("text/plain"))
            or join_source(bundle.get("text/html"))
        )
        return _shorten(text, _MAX_OUTPUT)

    def _add_image(self, encoded: str, cell_id: str) -> str:
        if len(self.images) >= _MAX_IMAGES or self._room < MAX_BASE64 // 10:
            return "[image left out: no room]"
        try:
            fitted = shrink(b64decode(encoded), min(self._room, MAX_BASE64 // 2))
        except (ToolError, ValueError):
            return "[image left out: its data is broken]"
        self._room -= len(fitted.data)
        self.images.append(Image(fitted.media_type, fitted.data))
        return f"[image {len(self.images)} of cell {cell_id}, below]"


def _outputs(cell: Cell) -> Iterator[dict[str, Any]]:
    outputs = cell.data.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield output


def _cell_text(cell: Cell, source: str, outputs: list[str], language: str) -> str:
    kind = language if cell.kind == "code" else cell.kind
    lines = [f'<cell id="{cell.id}" type="{kind}">', source, "</cell>"]
    for output in outputs:
        lines += [f'<output cell="{cell.id}">', output, "</output>"]
    return "\n".join(lines)


def _to_display(cell: Cell, source: str, outputs: list[str], language: str) -> dict[str, Any]:
    listed: dict[str, Any] = {"cellType": cell.kind, "source": source, "cell_id": cell.id}
    if cell.kind == "code":
        count = cell.data.get("execution_count")
        listed |= {
            "execution_count": count if isinstance(count, int) else None,
            "language": language,
            "outputs": [{"output_type": "text", "text": output} for output in outputs],
        }
    return listed


def _shorten(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
