"""Long outputs of tool calls over HTTP: a summary, and any part by range."""

import asyncio
import os

from starlette.responses import Response

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.files.output_blobs import Blob, BlobEnds, open_blob, read_ends
from bobstay.server.files.range_response import respond_with_range

OUTPUT = "output"


async def read_blob(call: ApiCall) -> Response:
    """Read the whole output of a tool call as plain bytes, or a part of it by range."""
    blob = await _open(call)
    name = f"{call.path['call_id'][:100]}.txt"
    return await respond_with_range(
        call.request.headers.get("range"),
        blob.size,
        blob.read,
        blob.close,
        media="text/plain; charset=utf-8",
        name=name,
    )


async def summarise_blob(call: ApiCall) -> BlobEnds:
    """Show the beginning and end of a tool call's output, its size and its digest."""
    blob = await _open(call)
    try:
        return await asyncio.to_thread(read_ends, blob, call.path["call_id"])
    finally:
        blob.close()


async def _open(call: ApiCall) -> Blob:
    session_id = call.path["id"]
    call.services.registry.view(session_id)
    reader = call.services.registry.reader(session_id)
    folder = os.path.join(call.services.environment.paths.bobstay, OUTPUT)
    return await asyncio.to_thread(open_blob, reader, session_id, call.path["call_id"], folder)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/sessions/{id}/blobs/{call_id}",
        read_blob,
        returns=Response,
        errors=("not_found", "range_not_satisfiable"),
        media="text/plain",
    ),
    Endpoint("GET", "/sessions/{id}/blobs/{call_id}/summary", summarise_blob, returns=BlobEnds, errors=("not_found",)),
)
