"""Adapter for Claude on Amazon Bedrock: Anthropic's messages, in the envelopes of `InvokeModelWithResponseStream`."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bobstay.http.aws_event_stream import EventStreamMessage, EventStreamSplitter
from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.providers.anthropic import INTERLEAVED_BETA, Anthropic
from bobstay.providers.anthropic_accepted import AcceptedFeatures, build_settings
from bobstay.providers.aws_access import AwsAccess
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.providers.cloud_access import CloudAccess, stream_renewing

NAME = "bedrock"
API_VERSION = "bedrock-2023-05-31"
CONTENT_TYPE = "application/vnd.amazon.eventstream"
EAGER_BETA = "fine-grained-tool-streaming-2025-05-14"
"""What `eager_input_streaming` is elsewhere: Bedrock refuses that field of a tool."""

_ERROR_LIMIT = 256 * 1024
_OWN_BETAS = (INTERLEAVED_BETA, EAGER_BETA)


class BedrockEndpoint(Struct, frozen=True):
    access: CloudAccess
    base_url: str = ""
    """A gateway, or another endpoint of AWS; "" for the one of the region."""
    region: str = ""
    """"" to ask `access` for that of the profile."""
    headers: dict[str, str] = {}

    async def url(self, model: str) -> str:
        base = self.base_url.rstrip("/")
        if not base:
            region = self.region or _arn_region(model)
            if not region and isinstance(self.access, AwsAccess):
                region = check_region(await self.access.region())
            if not region:
                from bobstay.providers.aws_access import NO_REGION

                raise ProviderError(NO_REGION, kind="unreachable")
            domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
            base = f"https://bedrock-runtime.{region}.{domain}"
        return f"{base}/model/{quote(model, safe='')}/invoke-with-response-stream"


class Bedrock(Anthropic):
    name = NAME

    def __init__(self, http: HttpClient, endpoint: BedrockEndpoint) -> None:
        super().__init__(http, base_url=endpoint.base_url, headers=endpoint.headers)
        self._endpoint = endpoint
        # Signatures of thinking are valid wherever the model is offered, so its origin is Anthropic here too.
        self._accepted = AcceptedFeatures(unsigned=False)
        self._accepted.eager = False
        self._headers["accept"] = CONTENT_TYPE
        del self._headers["anthropic-version"]
        betas = self._headers.pop("anthropic-beta", "")
        self._own_betas = tuple(filter(None, (each.strip() for each in betas.split(","))))
        self._refused_betas: frozenset[str] = frozenset()

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        return stream_renewing(super().stream, request, self._endpoint.access)

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
        _check_model(request.model, is_gateway=bool(self._endpoint.base_url))
        url = await self._endpoint.url(request.model)
        body = self.body(request)
        headers = {**await self._endpoint.access.headers(url, body), **self._headers}
        return await self._http.post(url, headers, body, request.on_activity)

    async def _check(self, reply: Reply) -> None:
        kind = reply.headers.get("content-type", "")
        if reply.status != 200:
            name = reply.headers.get("x-amzn-errortype", "").partition(":")[0]
            raise _classify(reply.status, name, await reply.read(_ERROR_LIMIT), reply.headers)
        if not kind.startswith(CONTENT_TYPE):
            reply.close()
            raise ProviderError(
                f"The bedrock server answered with {kind or 'no content type'} instead of a stream of events. Check "
                "ANTHROPIC_BEDROCK_BASE_URL.",
                kind="protocol",
            )
        reply.headers.setdefault("request-id", reply.headers.get("x-amzn-requestid", ""))

    def _events(self, reply: Reply) -> AsyncIterator[tuple[str, bytes]]:
        return BedrockEvents(reply)


class BedrockEvents(AsyncIterator[tuple[str, bytes]]):
    """Iterates over Anthropic's events in their envelopes. An exception in the stream is raised in its place."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._splitter = EventStreamSplitter()
        self._complete: Iterator[EventStreamMessage] = iter(())

    async def __anext__(self) -> tuple[str, bytes]:
        try:
            event = await self._read_event()
        except BaseException:
            # Also on cancellation: the server should stop generating.
            self._reply.close()
            raise
        if event is None:
            raise StopAsyncIteration
        return "", event

    async def _read_event(self) -> bytes | None:
        while True:
            for message in self._complete:
                if (event := _open_envelope(message, self._reply.headers)) is not None:
                    return event
            data = await self._reply.read_some()
            if not data:
                return None
            self._complete = self._splitter.feed(data)


class _Part(Struct):
    bytes: bytes


_decode_part = msgspec.json.Decoder(_Part).decode


def _open_envelope(message: EventStreamMessage, headers: dict[str, str]) -> bytes | None:
    """Return the event inside; None if the message has none.

    Raises:
        ProviderError: The message says what went wrong, or cannot be read.
    """
    kind = message.headers.get(":message-type", "event")
    if kind == "exception":
        raise _classify(None, message.headers.get(":exception-type", ""), message.payload, headers)
    if kind == "error":
        text = msgspec.json.encode({"message": message.headers.get(":error-message", "")})
        raise _classify(None, message.headers.get(":error-code", ""), text, headers)
    if message.headers.get(":event-type") != "chunk":
        return None
    try:
        return _decode_part(message.payload).bytes
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"The bedrock server sent a part that cannot be read: {error}", kind="protocol") from error


class _Exception(Struct):
    message: Any = None
    Message: Any = None
    original_message: Any = msgspec.field(name="originalMessage", default=None)

    def text(self) -> str:
        found = (self.message or self.Message, self.original_message)
        return ": ".join(dict.fromkeys(each for each in found if isinstance(each, str) and each))


_HINTS = (
    ("on-demand throughput", "Put the prefix of an inference profile before the name: us., eu., apac. or global."),
    ("model identifier is invalid", "Check the name, and that the model is offered in AWS_REGION."),
    ("access to the model", "Ask for access to it in the console of Amazon Bedrock, in the region of AWS_REGION."),
    ("security token included in the request is expired", "Sign in again, for example with: aws sso login"),
)


def _classify(status: int | None, name: str, body: bytes, headers: dict[str, str]) -> ProviderError:
    from bobstay.providers.error_kinds import classify

    try:
        text = msgspec.json.decode(body, type=_Exception).text()
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
    hint = next((f" {hint}" for words, hint in _HINTS if words in text), "")
    error: dict[str, Any] = {"type": name, "message": text + hint}
    found = classify(status, {"error": error}, headers, NAME)
    if found.kind == "rate_limit" and "per day" in text:
        return ProviderError(str(found), kind="quota", status=found.status)
    return found


def check_region(region: str) -> str:
    """Return the region if it can be one: it becomes a part of a host's name.

    Raises:
        ProviderError
    """
    if region.isascii() and region.replace("-", "").isalnum() and len(region) <= 40:
        return region
    raise ProviderError(f"{region!r} is not a region. Check AWS_REGION and your AWS profile.", kind="invalid_request")


def _arn_region(model: str) -> str:
    parts = model.split(":")
    return check_region(parts[3]) if model.startswith("arn:") and len(parts) > 5 and parts[3] else ""


def _check_model(model: str, *, is_gateway: bool) -> None:
    """Check that the model is one of Anthropic's. The id of a profile of one's own says nothing about it."""
    if is_gateway or model.startswith("arn:") or "anthropic." in model:
        return
    raise ProviderError(
        f"{model} is not a Claude model, and bobstay uses no others on Amazon Bedrock. Name one as in "
        "bedrock/us.anthropic.claude-sonnet-5-5, or an inference profile by its ARN.",
        kind="not_found",
    )
