"""Adapter for Gemini on Google Vertex AI: Google's own format, at another address and with other credentials."""

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.providers.base import Request
from bobstay.providers.gemini import Gemini
from bobstay.providers.vertex_endpoint import NAME, VertexEndpoint


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
