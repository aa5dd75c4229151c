"""Adapter for Google Vertex AI: Claude models in Anthropic's format and Gemini models in Google's."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from msgspec import Struct

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.anthropic_accepted import AcceptedFeatures
from bobstay.providers.base import Chunk, Provider, ProviderError, Request
from bobstay.providers.cloud_access import CloudAccess, stream_renewing
from bobstay.providers.gemini import Gemini
from bobstay.providers.google_access import NO_PROJECT, GoogleAccess

NAME = "vertex"
API_VERSION = "vertex-2023-10-16"
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
            raise ProviderError(NO_PROJECT, kind="invalid_request")
        host = _SHARED_HOSTS.get(self.region) or f"{self.region}-aiplatform.googleapis.com"
        base = self.base_url.rstrip("/") or f"https://{host}/v1"
        place = f"projects/{quote(project, safe=':')}/locations/{self.region}"
        return f"{base}/{place}/publishers/{publisher}/models/{quote(model, safe='@')}:{method}"


class Vertex:
    """Chooses the format by the model's name."""

    name = NAME

    def __init__(self, http: HttpClient, endpoint: VertexEndpoint) -> None:
        self._http = http
        self._endpoint = endpoint
        self._claude: Provider | None = None
        self._gemini: Provider | None = None

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        return stream_renewing(lambda sent: self._choose(sent.model).stream(sent), request, self._endpoint.access)

    async def close(self) -> None:
        await self._http.close()

    def _choose(self, model: str) -> Provider:
        if model.startswith("claude"):
            self._claude = self._claude or VertexClaude(self._http, self._endpoint)
            return self._claude
        if model.startswith("gemini"):
            self._gemini = self._gemini or VertexGemini(self._http, self._endpoint)
            return self._gemini
        raise ProviderError(
            f"{model} is neither a Claude nor a Gemini model, and bobstay uses no others on Vertex AI. Name one as in "
            "vertex/claude-sonnet-5-5 or vertex/gemini-4-argon.",
            kind="not_found",
        )


class VertexClaude(Anthropic):
    name = NAME

    def __init__(self, http: HttpClient, endpoint: VertexEndpoint) -> None:
        super().__init__(http, base_url=endpoint.base_url, headers=endpoint.headers)
        self._endpoint = endpoint
        # Signatures of thinking are valid wherever the model is offered, so its origin is Anthropic here too.
        self._accepted = AcceptedFeatures(unsigned=False)
        del self._headers["anthropic-version"]

    def _opening(self, request: Request) -> bytes:
        return b'{"anthropic_version":"%b"' % API_VERSION.encode()

    async def _post(self, request: Request) -> Reply:
        url = await self._endpoint.url("anthropic", request.model, "streamRawPredict")
        body = self.body(request)
        headers = {**await self._endpoint.access.headers(url, body), **self._headers_for(request)}
        return await self._http.post(url, headers, body, request.on_activity)


class VertexGemini(Gemini):
    name = NAME

    def __init__(self, http: HttpClient, endpoint: VertexEndpoint) -> None:
        super().__init__(http, base_url=endpoint.base_url, api_key="", headers=endpoint.headers)
        self._endpoint = endpoint

    async def _post(self, request: Request) -> Reply:
        url = await self._endpoint.url("google", request.model, "streamGenerateContent")
        body = self.body(request)
        headers = {**await self._endpoint.access.headers(url, body), **self._headers}
        return await self._http.post(f"{url}?alt=sse", headers, body, request.on_activity)
