"""Where a project's models are in Google Vertex AI, and who one is there."""

from urllib.parse import quote

from msgspec import Struct

from bobstay.providers.base import ProviderError
from bobstay.providers.cloud_access import CloudAccess
from bobstay.providers.google_access import NO_PROJECT, GoogleAccess

NAME = "vertex"
_SHARED_HOSTS = {
    "global": "aiplatform.googleapis.com",
    "us": "aiplatform.us.rep.googleapis.com",
    "eu": "aiplatform.eu.rep.googleapis.com",
}


class VertexEndpoint(Struct, frozen=True):
    access: CloudAccess
    region: str
    project: str = ""
    """"" for that of the credentials."""
    base_url: str = ""
    """A gateway, with the version (`/v1`); "" for the host of the region."""
    headers: dict[str, str] = {}

    async def url(self, publisher: str, model: str, method: str) -> str:
        project = self.project
        if not project and isinstance(self.access, GoogleAccess):
            project = await self.access.project()
        if not project:
            raise ProviderError(NO_PROJECT, kind="unreachable")
        host = _SHARED_HOSTS.get(self.region) or f"{self.region}-aiplatform.googleapis.com"
        base = self.base_url.rstrip("/") or f"https://{host}/v1"
        place = f"projects/{quote(project, safe=':')}/locations/{self.region}"
        return f"{base}/{place}/publishers/{publisher}/models/{quote(model, safe='@')}:{method}"
