"""Artifacts of a session over HTTP: the documents that workflow modes produced."""

from msgspec import Struct

from bobstay.model.session_events import ArtifactMade
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.artifacts import read_artifacts


class Artifacts(Struct, frozen=True):
    artifacts: tuple[ArtifactMade, ...]


async def list_artifacts(call: ApiCall) -> Artifacts:
    """List the research notes, plans and reviews that a session produced."""
    return Artifacts(tuple(await read_artifacts(call.services.registry, call.path["id"])))


ENDPOINTS = (Endpoint("GET", "/sessions/{id}/artifacts", list_artifacts, returns=Artifacts),)
