"""Adapter for Claude on Google Vertex AI: Anthropic's format, but for the model's name and the version."""

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.anthropic_accepted import AcceptedFeatures
from bobstay.providers.base import Request
from bobstay.providers.vertex_endpoint import NAME, VertexEndpoint

API_VERSION = "vertex-2023-10-16"


class VertexClaude(Anthropic):
    name = NAME

    def __init__(self, http: HttpClient, endpoint: VertexEndpoint) -> None:
        super().__init__(http, base_url=endpoint.base_url, headers=endpoint.headers)
        self._endpoint = endpoint
        # Signatures of thinking are valid wherever the model is offered, so its origin is Anthropic here too.
        self._accepted = AcceptedFeatures(unsigned=False)
        self._accepted.references = False  # they need a beta that not every model there accepts
        del self._headers["anthropic-version"]

    def _opening(self, request: Request) -> bytes:
        return b'{"anthropic_version":"%b"' % API_VERSION.encode()

    async def _post(self, request: Request) -> Reply:
        url = await self._endpoint.url("anthropic", request.model, "streamRawPredict")
        body = self.body(request)
        headers = {**await self._endpoint.access.headers(url, body), **self._headers_for(request)}
        return await self._http.post(url, headers, body, request.on_activity)
