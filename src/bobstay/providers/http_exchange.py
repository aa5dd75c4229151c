"""What the adapters need of HTTP exchanges with model servers, whatever the API format."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from bobstay.http.connection import Reply
from bobstay.http.http_error import HttpError
from bobstay.providers.base import ProviderError
from bobstay.providers.message_encoding import from_json
from bobstay.version import __version__

_ERROR_LIMIT = 256 * 1024

E = TypeVar("E")


@contextmanager
def provider_errors() -> Generator[None, None, None]:
    """Turn the errors of the HTTP client into those of a provider."""
    try:
        yield
    except HttpError as error:
        raise ProviderError(str(error), kind=error.kind) from error


async def check_reply(reply: Reply, provider: str) -> None:
    """Check that `reply` is a stream of events.

    Raises:
        ProviderError: It is an error, or not a response of a model server.
    """
    kind = reply.headers.get("content-type", "")
    if reply.status == 200 and not kind.startswith(("application/json", "text/html")):
        return
    body = await reply.read(_ERROR_LIMIT)
    if reply.status == 200 and (kind.startswith("text/html") or b'"error"' not in body):
        raise ProviderError(
            f"The {provider} server answered with {kind} instead of a stream of events. Check the base URL.",
            kind="protocol",
        )
    from bobstay.providers.error_kinds import classify

    raise classify(reply.status, body, reply.headers, provider)


def user_agent() -> str:
    return f"bobstay/{__version__}"


def truncated_error(provider: str) -> ProviderError:
    return ProviderError(f"The {provider} server ended its answer in the middle.", kind="connection")


def decode_event(data: bytes, decoder: "msgspec.json.Decoder[E]") -> E:
    """Decode the event in `data`, replacing invalid UTF-8.

    Raises:
        ProviderError: The data is not such an event.
    """
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError):
        pass
    try:
        return msgspec.convert(from_json(data), decoder.type)
    except ValueError as error:
        raise ProviderError(f"The model server sent an event that cannot be read: {error}", kind="protocol") from error
