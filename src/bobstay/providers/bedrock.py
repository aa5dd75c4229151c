"""Adapter for Amazon Bedrock: Claude in Anthropic's format, in envelopes of AWS; other models by `bedrock_converse`."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.providers.anthropic import INTERLEAVED_BETA, Anthropic
from bobstay.providers.anthropic_accepted import AcceptedFeatures, build_settings
from bobstay.providers.base import Chunk, Provider, ProviderError, Request
from bobstay.providers.bedrock_exchange import CONTENT_TYPE, NAME, BedrockEndpoint, BedrockEvents, check_bedrock_reply
from bobstay.providers.cloud_access import stream_renewing

API_VERSION = "bedrock-2023-05-31"
EAGER_BETA = "fine-grained-tool-streaming-2025-05-14"
"""What `eager_input_streaming` is elsewhere: Bedrock refuses that field of a tool."""

_OWN_BETAS = (INTERLEAVED_BETA, EAGER_BETA)


class Bedrock(Anthropic):
    name = NAME

    def __init__(self, http: HttpClient, endpoint: BedrockEndpoint) -> None:
        super().__init__(http, base_url=endpoint.base_url, headers=endpoint.headers)
        self._endpoint = endpoint
        self._others: Provider | None = None
        """For the models of other makers."""
        # Signatures of thinking are valid wherever the model is offered, so its origin is Anthropic here too.
        self._accepted = AcceptedFeatures(unsigned=False)
        self._accepted.eager = False
        self._accepted.references = False  # they need a beta that not every model there accepts
        self._headers["accept"] = CONTENT_TYPE
        del self._headers["anthropic-version"]
        betas = self._headers.pop("anthropic-beta", "")
        self._own_betas = tuple(filter(None, (each.strip() for each in betas.split(","))))
        self._refused_betas: frozenset[str] = frozenset()

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        if is_claude(request.model):
            return stream_renewing(super().stream, request, self._endpoint.access)
        if self._others is None:
            from bobstay.providers.bedrock_converse import Converse

            self._others = Converse(self._http, self._endpoint)
        return stream_renewing(self._others.stream, request, self._endpoint.access)

    def body(self, request: Request) -> bytes:
        # Anthropic's web search is not offered there.
        return super().body(replace(request, hosted_search=False) if request.hosted_search else request)

    def _opening(self, request: Request) -> bytes:
        return b'{"anthropic_version":"%b"' % API_VERSION.encode()

    def _settings(self, request: Request) -> dict[str, Any]:
        settings = build_settings(request, self._accepted)
        settings.pop("metadata", None)
        betas = self._betas(request)
        return {**settings, "anthropic_beta": betas} if betas else settings

    def _betas(self, request: Request) -> tuple[str, ...]:
        """Return the betas. Bedrock refuses a request for one that it does not know, or not for this model."""
        added = [EAGER_BETA] if request.tools else []
        if isinstance(request.thinking, int):
            added.append(INTERLEAVED_BETA)
        if "claude-3" in request.model:
            added.clear()
        wanted = (*self._own_betas, *request.betas, *(each for each in added if each not in self._refused_betas))
        return tuple(dict.fromkeys(wanted))

    def _adapt(self, request: Request, error: ProviderError) -> Request | None:
        sent = {*self._betas(request)} & {*_OWN_BETAS} - {*request.betas, *self._own_betas}
        if error.kind == "invalid_request" and "beta" in str(error).lower() and sent:
            self._refused_betas |= sent
            return request
        return super()._adapt(request, error)

    async def _post(self, request: Request) -> Reply:
        url = await self._endpoint.url(request.model, "invoke-with-response-stream")
        body = self.body(request)
        headers = {**await self._endpoint.access.headers(url, body), **self._headers}
        return await self._http.post(url, headers, body, request.on_activity)

    async def _check(self, reply: Reply) -> None:
        await check_bedrock_reply(reply)

    def _events(self, reply: Reply) -> AsyncIterator[tuple[str, bytes]]:
        return _ClaudeEvents(reply)


class _Part(Struct):
    bytes: bytes


_decode_part = msgspec.json.Decoder(_Part).decode


class _ClaudeEvents(BedrockEvents):
    """Anthropic's events, without their envelopes."""

    async def __anext__(self) -> tuple[str, bytes]:
        while True:
            kind, payload = await super().__anext__()
            if kind != "chunk":
                continue
            try:
                return "", _decode_part(payload).bytes
            except (ValueError, RecursionError) as error:
                raise ProviderError(
                    f"The bedrock server sent a part that cannot be read: {error}", kind="protocol"
                ) from error


def is_claude(model: str) -> bool:
    """Whether a model is one of Anthropic's. The id of a profile of one's own says nothing; most are for Claude."""
    name = model.rpartition("/")[2]
    return "claude" in name or (model.startswith("arn:") and "." not in name)
