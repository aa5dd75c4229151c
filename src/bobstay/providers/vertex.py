"""Adapter for Google Vertex AI: chooses the one for Claude or the one for Gemini."""

from collections.abc import AsyncIterator

from bobstay.http.client import HttpClient
from bobstay.providers.base import Chunk, Provider, ProviderError, Request
from bobstay.providers.cloud_access import stream_renewing
from bobstay.providers.vertex_endpoint import NAME, VertexEndpoint


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
            if self._claude is None:
                from bobstay.providers.vertex_claude import VertexClaude

                self._claude = VertexClaude(self._http, self._endpoint)
            return self._claude
        if model.startswith("gemini"):
            if self._gemini is None:
                from bobstay.providers.vertex_gemini import VertexGemini

                self._gemini = VertexGemini(self._http, self._endpoint)
            return self._gemini
        raise ProviderError(
            f"{model} is neither a Claude nor a Gemini model, and bobstay uses no others on Vertex AI. Name one as in "
            "vertex/claude-sonnet-5-5 or vertex/gemini-4-argon.",
            kind="not_found",
        )
