"""What all exchanges with Amazon Bedrock share: the endpoint, the exceptions, and the messages of a stream."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from bobstay.http.aws_event_stream import EventStreamMessage, EventStreamSplitter
from bobstay.http.connection import Reply
from bobstay.providers.aws_access import NO_REGION, AwsAccess
from bobstay.providers.base import ProviderError
from bobstay.providers.cloud_access import CloudAccess

NAME = "bedrock"
CONTENT_TYPE = "application/vnd.amazon.eventstream"
_ERROR_LIMIT = 256 * 1024


class BedrockEndpoint(Struct, frozen=True):
    access: CloudAccess
    base_url: str = ""
    """A gateway, or another endpoint of AWS; "" for the one of the region."""
    region: str = ""
    """"" to ask `access` for that of the profile."""
    headers: dict[str, str] = {}

    async def url(self, model: str, method: str) -> str:
        base = self.base_url.rstrip("/")
        if not base:
            region = self.region or _arn_region(model)
            if not region and isinstance(self.access, AwsAccess):
                region = check_region(await self.access.region())
            if not region:
                raise ProviderError(NO_REGION, kind="unreachable")
            domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
            base = f"https://bedrock-runtime.{region}.{domain}"
        return f"{base}/model/{quote(model, safe='')}/{method}"


async def check_bedrock_reply(reply: Reply) -> None:
    """Check that `reply` is an event stream.

    Raises:
        ProviderError: It is an error, or not a response of this service.
    """
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


class BedrockEvents(AsyncIterator[tuple[str, bytes]]):
    """Iterates over the kind and the payload of each event. An exception in the stream is raised in its place."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._splitter = EventStreamSplitter()
        self._complete: Iterator[EventStreamMessage] = iter(())

    async def __anext__(self) -> tuple[str, bytes]:
        try:
            message = await self._read_message()
            if message is not None:
                _raise_exception(message, self._reply.headers)
        except BaseException:
            # Also on cancellation: the server should stop generating.
            self._reply.close()
            raise
        if message is None:
            raise StopAsyncIteration
        return message.headers.get(":event-type", ""), message.payload

    async def _read_message(self) -> EventStreamMessage | None:
        while True:
            for message in self._complete:
                return message
            data = await self._reply.read_some()
            if not data:
                return None
            self._complete = self._splitter.feed(data)


def _raise_exception(message: EventStreamMessage, headers: dict[str, str]) -> None:
    kind = message.headers.get(":message-type", "event")
    if kind == "exception":
        raise _classify(None, message.headers.get(":exception-type", ""), message.payload, headers)
    if kind == "error":
        text = msgspec.json.encode({"message": message.headers.get(":error-message", "")})
        raise _classify(None, message.headers.get(":error-code", ""), text, headers)


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
