"""NotebookEdit changes one cell and preserves the bytes of the others."""

import json
from pathlib import Path
from typing import Any

import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.builtin.notebook_edit import NotebookEdit, NotebookEditArgs
from bobstay.tools.builtin.read import Read, ReadArgs
from tests.kit.tool_context import ledger_of, make_context

ODD = """{
 "cells": [
  {"cell_type": "markdown", "id": "m1", "metadata": {"x": 1.10},   "source": "# odd é"},
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "c1",
   "metadata": {},
   "outputs": [{"output_type": "stream", "name": "stdout", "text": "hi"}],
   "source": [
    "a = 1\\n",
    "b"
   ]
  },
  {"cell_type": "raw", "id": "r1", "metadata": {}, "source": ["]}\\"["]}
 ],
 "metadata": {"big": 123456789012345678901234567890, "cells": []},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""


@pytest.fixture
async def context(tmp_path: Path) -> Context:
    context = make_context(tmp_path)
    (tmp_path / "a.ipynb").write_text(ODD)
    ledger_of(context).learn(await Read().run(ReadArgs("a.ipynb"), context))
    return context


async def change(context: Context, **fields: Any) -> Outcome:
    args = NotebookEditArgs("a.ipynb", **fields)
    await NotebookEdit().check(args, context)
    return ledger_of(context).learn(await NotebookEdit().run(args, context))


def cells(tmp_path: Path) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((tmp_path / "a.ipynb").read_text())["cells"]
    return loaded


async def test_a_cell_is_replaced_and_its_outputs_are_cleared(context: Context, tmp_path: Path) -> None:
    outcome = await change(context, cell_id="c1", new_source="x = 2\ny = 3")
    assert cells(tmp_path)[1] == {
        "cell_type": "code",
        "execution_count": None,
        "id": "c1",
        "metadata": {},
        "outputs": [],
        "source": ["x = 2\n", "y = 3"],
    }
    assert outcome.display["cell_id"] == "c1"
    assert outcome.display["language"] == "python"
    assert outcome.content == f"Replaced cell c1 in {tmp_path}/a.ipynb."


async def test_all_outside_the_cell_stays_byte_for_byte(context: Context, tmp_path: Path) -> None:
    await change(context, cell_id="c1", new_source="x")
    text = (tmp_path / "a.ipynb").read_text()
    start, end = ODD.index('  {\n   "cell_type": "code"'), ODD.index('  {"cell_type": "raw"')
    assert text.startswith(ODD[:start])
    assert text.endswith(ODD[end:])


async def test_cells_are_inserted_and_deleted_anywhere(context: Context, tmp_path: Path) -> None:
    await change(context, edit_mode="insert", new_source="first", cell_type="markdown")
    await change(context, edit_mode="insert", new_source="after c1", cell_id="c1")
    await change(context, edit_mode="insert", new_source="last", cell_id="r1")
    sources = ["".join(cell["source"]) for cell in cells(tmp_path)]
    assert sources == ["first", "# odd é", "a = 1\nb", "after c1", ']}"[', "last"]
    assert len({cell["id"] for cell in cells(tmp_path)}) == 6
    for cell in reversed(cells(tmp_path)[1:]):
        await change(context, edit_mode="delete", cell_id=cell["id"])
    await change(context, edit_mode="delete", cell_id="cell-0")
    assert cells(tmp_path) == []
    await change(context, edit_mode="insert", new_source="only")
    assert [cell["source"] for cell in cells(tmp_path)] == [["only"]]


async def test_the_kind_of_a_cell_can_change(context: Context, tmp_path: Path) -> None:
    await change(context, cell_id="c1", new_source="words", cell_type="markdown")
    assert "outputs" not in cells(tmp_path)[1]
    await change(context, cell_id="m1", new_source="code()", cell_type="code")
    assert cells(tmp_path)[0]["outputs"] == []
    assert cells(tmp_path)[0]["source"] == "code()"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_notebook_in_one_line_and_one_from_windows_are_kept_so(tmp_path: Path, newline: str) -> None:
    context = make_context(tmp_path)
    compact = json.dumps(json.loads(ODD)) if newline == "\n" else ODD.replace("\n", newline)
    (tmp_path / "a.ipynb").write_bytes(compact.encode())
    ledger_of(context).learn(await Read().run(ReadArgs("a.ipynb"), context))
    await change(context, cell_id="c1", new_source="x")
    await change(context, edit_mode="insert", cell_id="r1", new_source="y")
    raw = (tmp_path / "a.ipynb").read_bytes()
    assert raw.count(b"\n") == (0 if newline == "\n" else raw.count(b"\r\n"))
    assert [cell["source"] for cell in cells(tmp_path)][1:] == [["x"], [']}"['], ["y"]]


@pytest.mark.parametrize(
    ("fields", "phrase"),
    [
        ({"cell_id": "nope", "new_source": "x"}, "no cell 'nope'. Its cells are: m1, c1, r1"),
        ({"new_source": "x"}, "cell_id is missing"),
        ({"cell_id": "c1"}, "new_source is missing"),
        ({"edit_mode": "delete"}, "cell_id is missing"),
        ({"cell_id": "cell-99", "new_source": "x"}, "no cell"),
    ],
)
async def test_changes_that_make_no_sense_are_refused(context: Context, fields: dict[str, Any], phrase: str) -> None:
    with pytest.raises(ToolError, match=phrase):
        await change(context, **fields)


async def test_other_files_broken_notebooks_and_stale_ones_are_refused(context: Context, tmp_path: Path) -> None:
    """F21 and F37 hold for notebooks too."""
    with pytest.raises(ToolError, match=r"\.ipynb"):
        await NotebookEdit().check(NotebookEditArgs("a.py", "x", "c"), context)
    args = NotebookEditArgs("a.ipynb", "x", "c1")
    await NotebookEdit().check(args, context)
    (tmp_path / "a.ipynb").write_text("{}")
    with pytest.raises(ToolError, match="has changed since"):
        await NotebookEdit().run(args, context)
    ledger_of(context).learn(await Read().run(ReadArgs("a.ipynb"), context))
    with pytest.raises(ToolError, match="not a valid notebook"):
        await NotebookEdit().run(args, context)
    with pytest.raises(ToolError, match="does not exist"):
        await NotebookEdit().run(NotebookEditArgs("b.ipynb", "x", "c1"), context)


def test_it_states_that_it_writes(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    assert NotebookEdit().access(NotebookEditArgs("a.ipynb", "x"), context) == (Access("write", f"{tmp_path}/a.ipynb"),)
