"""Health, metrics, settings, projects and workers over HTTP."""

from tests.server.api.place import Place


async def test_health_tells_nobody_more_than_that(place: Place) -> None:
    for path in ("/health", "/api/v1/health"):
        reply = await place.get(path, headers={})
        assert (reply.status, reply.json) == (200, {"status": "ok"})
