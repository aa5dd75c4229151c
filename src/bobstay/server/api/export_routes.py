"""Export of a session over HTTP as Markdown, JSON or JSON Lines, with secrets redacted."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Literal

from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from bobstay.redaction.redactor import Redactor
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.export import export_markdown
from bobstay.server.export.export_entries import branch, entries
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log_codec import to_json
from bobstay.sessions.session_logs import EntryReader

CHUNK_BYTES = 128 * 1024
"""Approximate size of a chunk of the response."""
LONGEST_NAME = 48
_UNSAFE = re.compile(r"[^a-z0-9]+")
MEDIA = {"md": "text/markdown; charset=utf-8", "json": "application/json", "jsonl": "application/x-ndjson"}


class ExportQuery(Struct, frozen=True):
    format: Literal["md", "json", "jsonl"] = "md"
    """`md` for people, `json` for the current conversation, `jsonl` for every entry of the log."""


async def export(call: ApiCall) -> Response:
    """Export a session as a file: `md` and `json` hold the current conversation, `jsonl` every entry of the log."""
    view = call.services.registry.view(call.path["id"])
    kind: Literal["md", "json", "jsonl"] = call.query.format
    redactor = Redactor(call.services.environment.secrets)
    shown: SessionView = redactor.redact_value(view)
    # A separate reader, because it is used in a thread and the shared one belongs to the event loop.
    reader = call.services.registry.reader(view.id).copy()
    name = file_name(shown.title, view.id, kind)
    return StreamingResponse(
        _stream(_render(kind, reader, redactor, shown)),
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
        media_type=MEDIA[kind],
    )


def file_name(title: str, session_id: str, ending: str) -> str:
    """A name of letters, digits, `-` and one dot, which are safe in headers, shells and file systems."""
    name = _UNSAFE.sub("-", title.lower()[: 4 * LONGEST_NAME]).strip("-")[:LONGEST_NAME].strip("-")
    id = _UNSAFE.sub("", session_id.lower())[:8]
    return f"{name or 'session'}-{id}.{ending}"


def _render(kind: str, reader: EntryReader, redactor: Redactor, view: SessionView) -> Iterator[bytes]:
    match kind:
        case "jsonl":
            for envelope in entries(reader, redactor, view.seq):
                yield to_json(envelope) + b"\n"
        case "json":
            yield b'{"session":' + to_json(view.without_memory()) + b',"events":['
            for index, envelope in enumerate(branch(reader, redactor, view.seq)):
                yield (b"," if index else b"") + to_json(envelope)
            yield b"]}\n"
        case _:
            yield "".join(export_markdown.head(view)).encode("utf-8", "replace")
            for envelope in branch(reader, redactor, view.seq):
                for text in export_markdown.paragraphs(envelope):
                    yield text.encode("utf-8", "replace")


async def _stream(rendered: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Render chunk by chunk in a thread, so that the whole export is never in memory."""
    while chunk := await asyncio.to_thread(_next_chunk, rendered):
        yield chunk


def _next_chunk(rendered: Iterator[bytes]) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in rendered:
        parts.append(part)
        size += len(part)
        if size >= CHUNK_BYTES:
            break
    return b"".join(parts)


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
