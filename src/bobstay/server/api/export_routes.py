"""A session to take away: as Markdown for people, as JSON, or line by line as it is in the log. Secrets stay here."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Literal

from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from bobstay.redaction.redactor import Redactor
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.export import export_markdown
from bobstay.server.export.export_entries import branch, entries
from bobstay.server.export.export_names import file_name
from bobstay.server.sessions.log_reader import LogReader
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log_codec import to_json

PIECE = 128 * 1024
"""About how many bytes are made before they are sent."""
MEDIA = {"md": "text/markdown; charset=utf-8", "json": "application/json", "jsonl": "application/x-ndjson"}


class ExportQuery(Struct, frozen=True):
    format: Literal["md", "json", "jsonl"] = "md"
    """`md` for people, `json` for the talk that leads to now, `jsonl` for every entry of the log."""


async def export(call: ApiCall) -> Response:
    """Give a session as a file: `md` and `json` hold the talk that leads to now, `jsonl` every entry of the log."""
    view = call.console.registry.view(call.path["id"])
    kind: Literal["md", "json", "jsonl"] = call.query.format
    mask = Redactor(call.console.environment.secrets)
    shown: SessionView = mask.value(view)
    # A reader of its own: it is used in a thread, and the shared one belongs to the event loop.
    reader = LogReader(call.console.registry.reader(view.id).path)
    name = file_name(shown.title, view.id, kind)
    return StreamingResponse(
        _sent(_made(kind, reader, mask, shown)),
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
        media_type=MEDIA[kind],
    )


def _made(kind: str, reader: LogReader, mask: Redactor, view: SessionView) -> Iterator[bytes]:
    match kind:
        case "jsonl":
            for envelope in entries(reader, mask, view.seq):
                yield to_json(envelope) + b"\n"
        case "json":
            yield b'{"session":' + to_json(view.shown()) + b',"events":['
            for place, envelope in enumerate(branch(reader, mask, view.seq)):
                yield (b"," if place else b"") + to_json(envelope)
            yield b"]}\n"
        case _:
            yield "".join(export_markdown.head(view)).encode("utf-8", "replace")
            for envelope in branch(reader, mask, view.seq):
                for text in export_markdown.paragraphs(envelope):
                    yield text.encode("utf-8", "replace")


async def _sent(made: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Make some in a thread, send it, make more: never the whole of it is in memory."""
    while piece := await asyncio.to_thread(_piece, made):
        yield piece


def _piece(made: Iterator[bytes]) -> bytes:
    some: list[bytes] = []
    size = 0
    for part in made:
        some.append(part)
        size += len(part)
        if size >= PIECE:
            break
    return b"".join(some)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/sessions/{id}/export",
        export,
        query=ExportQuery,
        returns=Response,
        media="text/markdown, application/json, application/x-ndjson",
    ),
)
