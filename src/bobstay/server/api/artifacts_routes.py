"""What workflow modes left, over HTTP."""

from msgspec import Struct

from bobstay.model.session_events import ArtifactMade
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.artifacts import left_by


class Artifacts(Struct, frozen=True):
    artifacts: tuple[ArtifactMade, ...]


async def list_artifacts(call: ApiCall) -> Artifacts:
    """List the research notes, plans and reviews a session left."""
    return Artifacts(tuple(await left_by(call.console, call.path["id"])))


ENDPOINTS = (Endpoint("GET", "/sessions/{id}/artifacts", list_artifacts, returns=Artifacts),)
