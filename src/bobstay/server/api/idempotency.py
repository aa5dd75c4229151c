"""Requests that may be sent twice: with an `Idempotency-Key`, the second gets the answer of the first."""

from collections.abc import Awaitable, Callable
from hashlib import sha256

import msgspec
from starlette.responses import Response

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db import state_tables
from bobstay.server.errors import ApiError

HEADER = "idempotency-key"
LONGEST = 200


def is_repeatable(endpoint: Endpoint) -> bool:
    """Whether an answer is kept for those who send the request again."""
    return endpoint.method != "GET" and endpoint.scope is not None


async def once(endpoint: Endpoint, call: ApiCall, run: Callable[[], Awaitable[Response]]) -> Response:
    """Run the request, or repeat what the same one was answered within a day.

    Raises:
        ApiError: conflict, if the key was used for something else or the first is under way.
    """
    key = call.request.headers.get(HEADER, "")
    if not key or not is_repeatable(endpoint):
        return await run()
    if len(key) > LONGEST:
        raise ApiError("invalid", f"An Idempotency-Key has at most {LONGEST} characters.")
    who, database = call.principal.name, call.console.database
    earlier = await state_tables.begin(database, who, key, fingerprint(call))
    if earlier is not None:
        return Response(earlier.body, earlier.status, {"idempotent-replayed": "true"}, "application/json")
    try:
        answer = await run()
    except BaseException:
        # What failed had no effect, or tells itself that it had one: it may be tried again.
        await state_tables.abandon(database, who, key)
        raise
    await state_tables.finish(database, who, key, answer.status_code, bytes(answer.body).decode())
    return answer


def fingerprint(call: ApiCall) -> str:
    """The same for the same request, sent again."""
    said = msgspec.json.encode(
        [call.request.method, call.request.url.path, call.request.url.query, call.body], order="sorted"
    )
    return sha256(said).hexdigest()
