"""Health and metrics of the server for monitoring."""

from typing import Literal

from msgspec import Struct
from starlette.responses import Response

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.metrics import CONTENT_TYPE

WARNING_TEXT = "Approaching context limit (60%)"
CRITICAL_TEXT = "Context nearly full (90%). Consider starting a new session."
"""Texts for the two thresholds of a session's context; clients compare them literally."""


class Healthy(Struct, frozen=True):
    status: Literal["ok"] = "ok"


async def health(_: ApiCall) -> Healthy:
    """Check that the server responds."""
    return Healthy()


async def metrics(call: ApiCall) -> Response:
    """Show the metrics of this server in the text format of Prometheus."""
    return Response(call.services.metrics.render(), media_type=CONTENT_TYPE)


ENDPOINTS = (
    Endpoint("GET", "/health", health, None, returns=Healthy),
    Endpoint("GET", "/metrics", metrics, returns=Response, media=CONTENT_TYPE),
)
