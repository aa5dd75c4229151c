"""How the server fares: for those who watch over it."""

from typing import Literal

from msgspec import Struct
from starlette.responses import Response

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.metrics import CONTENT_TYPE, Metrics, text

WARNING_TEXT = "Approaching context limit (60%)"
CRITICAL_TEXT = "Context nearly full (90%). Consider starting a new session."
"""S000-36: how a session's health is told, in these very words."""


class Healthy(Struct, frozen=True):
    status: Literal["ok"] = "ok"


async def health(_: ApiCall) -> Healthy:
    """Tell whether the server answers, and nothing more."""
    return Healthy()


async def metrics(call: ApiCall) -> Response:
    """Give the numbers of this server in the text format of Prometheus."""
    console = call.console
    if console.meter is None:
        console.meter = Metrics(console.registry)
    return Response(text(console, console.meter), media_type=CONTENT_TYPE)


ENDPOINTS = (
    Endpoint("GET", "/health", health, None, returns=Healthy),
    Endpoint("GET", "/metrics", metrics, returns=Response, media=CONTENT_TYPE),
)
