"""Read of images, PDF files and notebooks, within limits and in formats every provider accepts."""

import json
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from PIL import Image as Pictures

from bobstay.model.message import Image, Text
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.builtin.read import Read, ReadArgs
from tests.kit.tool_context import make_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path)


async def read(context: Context, path: str, **more: Any) -> Outcome:
    return await Read().run(ReadArgs(path, **more), context)


def images(outcome: Outcome) -> list[Image]:
    assert isinstance(outcome.content, tuple)
    return [part for part in outcome.content if isinstance(part, Image)]


def texts(outcome: Outcome) -> str:
    assert isinstance(outcome.content, tuple)
    return "\n".join(part.text for part in outcome.content if isinstance(part, Text))


def noise(width: int, height: int, mode: str = "RGB") -> Pictures.Image:
    size = width * height * len(mode)
    return Pictures.frombytes(mode, (width, height), Random(1).randbytes(size))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.png", "image/png"), ("a.jpg", "image/jpeg"), ("a.gif", "image/gif"), ("a.webp", "image/webp")],
)
async def test_a_small_image_is_shown_as_it_is(context: Context, tmp_path: Path, name: str, kind: str) -> None:
    """H1-8, with the shape programs know."""
    noise(40, 30).convert("P" if name.endswith("gif") else "RGB").save(tmp_path / name)
    raw = (tmp_path / name).read_bytes()
    outcome = await read(context, name)
    assert images(outcome) == [Image(kind, b64encode(raw).decode())]
    assert outcome.display["type"] == "image"
    assert outcome.display["file"]["type"] == kind
    assert outcome.display["file"]["originalSize"] == len(raw)
    assert outcome.display["file"]["base64"] == b64encode(raw).decode()


@pytest.mark.parametrize(
    ("width", "height", "mode", "name"),
    [
        (2000, 600, "RGB", "a.png"),
        (800, 800, "RGBA", "a.png"),
        (1700, 500, "RGB", "a.jpg"),
        (1600, 300, "P", "a.gif"),
        (600, 600, "CMYK", "a.jpg"),
        (2000, 100, "I;16", "a.png"),
        (9000, 200, "1", "a.png"),
    ],
)
async def test_a_large_image_is_made_smaller(
    context: Context, tmp_path: Path, width: int, height: int, mode: str, name: str
) -> None:
    """F5: one image too large would make every later request fail."""
    picture = noise(width, height, "RGBA" if mode == "RGBA" else "RGB")
    picture = Pictures.new(mode, (width, height)) if mode == "I;16" else picture.convert(mode)
    out = BytesIO()
    picture.save(out, name.replace("a.", "").replace("jpg", "jpeg"), quality=100)
    (tmp_path / name).write_bytes(out.getvalue())
    outcome = await read(context, name)
    [shown] = images(outcome)
    assert len(shown.data) <= 700_000
    with Pictures.open(BytesIO(b64decode(shown.data))) as small:
        small.load()
        assert max(small.size) <= 1568
        assert f"image/{(small.format or '').lower()}" == shown.media_type
        ratio = small.width / small.height
    assert ratio == pytest.approx(width / height, rel=0.1)
    assert len(msgspec.json.encode((outcome.content, outcome.display))) < 1 << 20


@pytest.mark.parametrize("name", ["a.gif", "a.webp"])
async def test_of_a_moving_image_the_first_frame_is_shown(context: Context, tmp_path: Path, name: str) -> None:
    """F5: some providers refuse moving images."""
    frames = [Pictures.new("RGB", (30, 20), colour) for colour in ("red", "blue", "green")]
    frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
    [shown] = images(await read(context, name))
    with Pictures.open(BytesIO(b64decode(shown.data))) as still:
        assert getattr(still, "n_frames", 1) == 1
        assert still.size == (30, 20)
        red, _, blue = still.convert("RGB").getpixel((5, 5))  # type: ignore[misc]  # of RGB it is three numbers
        assert red > blue


@pytest.mark.parametrize("length", [20, 60, 2000])
async def test_a_broken_image_is_refused(context: Context, tmp_path: Path, length: int) -> None:
    """F5: what cannot be decoded never reaches the model."""
    out = BytesIO()
    noise(100, 100).save(out, "PNG")
    (tmp_path / "a.png").write_bytes(out.getvalue()[:length])
    with pytest.raises(ToolError, match="cannot be shown"):
        await read(context, "a.png")


async def test_an_image_of_monstrous_size_is_refused(context: Context, tmp_path: Path) -> None:
    """F5: a few bytes may claim millions of pixels."""
    Pictures.new("1", (10_000, 8_000)).save(tmp_path / "bomb.png")
    with pytest.raises(ToolError, match="10000 x 8000 pixels, too many"):
        await read(context, "bomb.png")


def pdf_of(pages: list[str]) -> bytes:
    """A PDF with one line of text a page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return (out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + table + end).encode()


def lines(count: int) -> list[str]:
    return [f"This is the text of page number {number}." for number in range(1, count + 1)]


async def test_the_pages_of_a_short_pdf_are_shown_as_text(context: Context, tmp_path: Path) -> None:
    """H1-8."""
    (tmp_path / "a.pdf").write_bytes(pdf_of(lines(3)))
    outcome = await read(context, "a.pdf")
    assert texts(outcome).startswith("--- page 1 of 3 ---\nThis is the text of page number 1.\n--- page 2 of 3")
    assert images(outcome) == []
    assert outcome.display["type"] == "pdf"
    assert outcome.display["file"]["totalPages"] == 3
    assert len(outcome.files) == 1


async def test_a_long_pdf_needs_pages(context: Context, tmp_path: Path) -> None:
    """H1-8: more than ten pages only by name, at most twenty a call."""
    (tmp_path / "a.pdf").write_bytes(pdf_of(lines(30)))
    with pytest.raises(ToolError, match=r"has 30 pages\. Say which"):
        await read(context, "a.pdf")
    with pytest.raises(ToolError, match="At most 20 pages"):
        await read(context, "a.pdf", pages="1-21")
    with pytest.raises(ToolError, match="no page 31"):
        await read(context, "a.pdf", pages="31")
    assert texts(await read(context, "a.pdf", pages="29-40")).count("--- page") == 2
    assert "page number 7." in texts(await read(context, "a.pdf", pages="7"))


@pytest.mark.parametrize("pages", ["0", "-3", "a-b", "5-2", "1-2-3", "\u0663\u00b2", "9" * 5000])
async def test_senseless_pages_are_refused(context: Context, pages: str) -> None:
    with pytest.raises(ToolError):
        await Read().check(ReadArgs("a.pdf", pages=pages), context)


async def test_pages_without_text_are_shown_as_pictures(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_of(["Some words stand on this page.", "", ""]))
    outcome = await read(context, "a.pdf")
    assert len(images(outcome)) == 2
    assert len(msgspec.json.encode((outcome.content, outcome.display))) < 1 << 20


async def test_a_broken_pdf_is_refused(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\nnonsense")
    with pytest.raises(ToolError, match="cannot be read as a PDF"):
        await read(context, "a.pdf")


def notebook(cells: list[dict[str, Any]]) -> str:
    return json.dumps(
        {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    )


def code(cell_id: str, source: str, outputs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {},
        "execution_count": 1,
        "source": source.splitlines(keepends=True),
        "outputs": outputs or [],
    }


async def test_a_notebook_is_shown_as_cells_with_outputs(context: Context, tmp_path: Path) -> None:
    """H1-8."""
    out = BytesIO()
    noise(20, 20).save(out, "PNG")
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": "stdout", "text": ["hello\n"]},
        {"output_type": "display_data", "data": {"image/png": b64encode(out.getvalue()).decode(), "text/plain": "x"}},
        {"output_type": "display_data", "data": {"image/png": "bm90IGFuIGltYWdl"}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["Traceback", "E: v"]},
    ]
    markdown = {"cell_type": "markdown", "metadata": {}, "id": "m", "source": "# Title"}
    (tmp_path / "a.ipynb").write_text(notebook([markdown, code("c1", "print(1)\nplot()", outputs)]))
    outcome = await read(context, "a.ipynb")
    assert texts(outcome) == (
        '<cell id="m" type="markdown">\n# Title\n</cell>\n'
        '<cell id="c1" type="python">\nprint(1)\nplot()\n</cell>\n'
        '<output cell="c1">\nhello\n\n</output>\n'
        '<output cell="c1">\n[image 1 of cell c1, below]\n</output>\n'
        '<output cell="c1">\n[image left out: its data is broken]\n</output>\n'
        '<output cell="c1">\nTraceback\nE: v\n</output>'
    )
    assert len(images(outcome)) == 1
    assert outcome.display["type"] == "notebook"
    assert [cell["cell_id"] for cell in outcome.display["file"]["cells"]] == ["m", "c1"]


async def test_a_huge_notebook_is_shown_in_parts(context: Context, tmp_path: Path) -> None:
    """H1-7: outputs are bounded, and the rest can be read on."""
    big = [{"output_type": "stream", "text": "y" * 1_000_000}]
    (tmp_path / "a.ipynb").write_text(notebook([code(f"c{number}", "x" * 4000, big) for number in range(30)]))
    outcome = await read(context, "a.ipynb")
    assert len(texts(outcome)) < 60_000
    assert "To read on, call Read with offset=" in texts(outcome)
    assert '<cell id="c20"' in texts(await read(context, "a.ipynb", offset=21))
    assert len(msgspec.json.encode((outcome.content, outcome.display))) < 1 << 20


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"cells": [1]}', '{"cells": {}}', "[" * 100_000])
async def test_what_is_only_named_a_notebook_is_shown_as_text(context: Context, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    assert "not a valid notebook" in str((await read(context, "a.ipynb")).content)


async def test_strange_cells_do_not_break_the_reading(context: Context, tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {},
        {"cell_type": 5, "source": 7, "outputs": "no"},
        {"cell_type": "code", "outputs": [3, {"data": []}, {"output_type": "error", "traceback": 4}], "source": [1]},
    ]
    (tmp_path / "a.ipynb").write_text(notebook(cells))
    assert '<cell id="cell-2" type="python">' in texts(await read(context, "a.ipynb"))
