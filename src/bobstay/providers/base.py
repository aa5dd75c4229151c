"""The provider interface: an adapter turns a request into a stream of chunks."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from bobstay.model.event import BlockDone, MessageDone, Noted
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Message
from bobstay.providers.message_encoding import EncodingCache
from bobstay.providers.thinking import Effort, ThinkingMode, ThinkingSupport

Chunk: TypeAlias = MessageBegan | BlockBegan | TextDelta | ThinkingDelta | InputDelta | BlockDone | MessageDone | Noted

SMALL_WINDOW = 16_384
"""Tokens. In a smaller window a coding agent soon forgets its task: a prompt with tools alone takes a quarter of it."""


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    is_deferred: bool = False
    """Its schema was left out until a search loaded it."""


class Request(Struct, frozen=True):
    model: str
    """The vendor's name of the model, without the provider prefix."""
    system: tuple[str, ...]
    """Sections, most stable first; each may be a cache breakpoint."""
    messages: tuple[Message, ...]
    """Already repaired: valid for every vendor, with alternating roles, starting with the user."""
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 32_000
    thinking: ThinkingMode = "off"
    thinks: ThinkingSupport = "adaptive"
    """How the model supports thinking, as far as known; `thinking` is adapted to it."""
    thinking_display: str = ""
    """How much of its thinking the vendor shows, if it supports a choice."""
    effort: Effort | None = None
    betas: tuple[str, ...] = ()
    session_id: str = ""
    hosted_search: bool = False
    """Offer the vendor's own web search to the model."""
    forced_tool: str = ""
    """The tool that the model must call, if its vendor supports that."""
    on_activity: Callable[[], None] | None = None
    """Called for every piece of the answer that arrives, including pings and comments; for a watchdog."""
    cache: EncodingCache = field(default_factory=EncodingCache)
    """Messages encoded for earlier requests of the same turn."""


ErrorKind: TypeAlias = Literal[
    "authentication",
    "permission",
    "not_found",
    "invalid_request",
    "prompt_too_long",
    "image_too_large",
    "rate_limit",
    "quota",
    "overloaded",
    "server",
    "timeout",
    "stalled",
    "connection",
    "unreachable",
    "protocol",
    "refused",
]

RETRYABLE: frozenset[ErrorKind] = frozenset(
    {"rate_limit", "overloaded", "server", "timeout", "stalled", "connection", "protocol"}
)


class ProviderError(Exception):
    """A model call failed. The adapter determines `kind`, by the table in `error_kinds.py`."""

    def __init__(
        self, message: str, *, kind: ErrorKind, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.status = status
        self.retry_after = retry_after
        """Seconds that the server asked to wait."""

    @property
    def retryable(self) -> bool:
        return self.kind in RETRYABLE


class Provider(Protocol):
    name: str

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield `MessageBegan`, then blocks as they come, then exactly one `MessageDone`.

        Each block: `BlockBegan`, its deltas, `BlockDone` as soon as the vendor says that the block is complete.
        `MessageDone.cost` is the cost that the vendor reports, else 0: the loop computes it then.
        A `Noted` may come anywhere: a note for the person about how the model was called. One attempt only: retries
        are up to the loop.

        Raises:
            ProviderError: the only exception that leaves an adapter.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
