"""Idempotent requests: a repeated `Idempotency-Key` gets the response of the first request."""

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
    """Whether responses are stored for repeated requests."""
    return endpoint.method != "GET" and endpoint.scope is not None


async def run_once(endpoint: Endpoint, call: ApiCall, run: Callable[[], Awaitable[Response]]) -> Response:
    """Run the request, or replay the response that the same request got within a day.

    Raises:
        ApiError: conflict, if the key was used for another request or the first is still running.
    """
    key = call.request.headers.get(HEADER, "")
    if not key or not is_repeatable(endpoint):
        return await run()
    if len(key) > LONGEST:
        raise ApiError("invalid", f"An Idempotency-Key has at most {LONGEST} characters.")
    who, database = call.principal.name, call.services.database
    earlier = await state_tables.begin_request(database, who, key, fingerprint(call))
    if earlier is not None:
        return Response(earlier.body, earlier.status, {"idempotent-replayed": "true"}, "application/json")
    try:
        answer = await run()
    except BaseException:
        # A failed request had no effect, or its error says so: it may be retried.
        await state_tables.abandon_request(database, who, key)
        raise
    await state_tables.finish_request(database, who, key, answer.status_code, bytes(answer.body).decode())
    return answer


def fingerprint(call: ApiCall) -> str:
    """A hash that is equal for repeated requests."""
    encoded = msgspec.json.encode(
        [call.request.method, call.request.url.path, call.request.url.query, call.body], order="sorted"
    )
    return sha256(encoded).hexdigest()
