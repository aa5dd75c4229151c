"""The one thing a model vendor's adapter must do: turn a request into a stream of events."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from bobstay.model.event import BlockDone, MessageDone, Noted
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Message
from bobstay.providers.message_encoding import EncodingCache
from bobstay.providers.thinking import Effort, Thinks, Wanted

Chunk: TypeAlias = MessageBegan | BlockBegan | TextDelta | ThinkingDelta | InputDelta | BlockDone | MessageDone | Noted

SMALL_WINDOW = 16_384
"""Tokens. Below that a coding agent soon forgets what it was asked: a prompt with tools takes a quarter of it."""


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


class Request(Struct, frozen=True):
    model: str
    """The vendor's own name of the model, without the provider prefix."""
    system: tuple[str, ...]
    """Sections, most stable first; each may be a cache breakpoint."""
    messages: tuple[Message, ...]
    """Already repaired: legal for every vendor, roles alternating, starting with the user."""
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 32_000
    thinking: Wanted = "off"
    thinks: Thinks = "adaptive"
    """How the model thinks, as far as is known; `thinking` fits it."""
    thinking_display: str = ""
    """How much of its thinking the vendor shall show, where it lets one choose."""
    effort: Effort | None = None
    betas: tuple[str, ...] = ()
    session_id: str = ""
    hosted_search: bool = False
    """Offer the vendor's own web search to the model."""
    forced_tool: str = ""
    """The tool the model must call, where its vendor lets one say so."""
    on_activity: Callable[[], None] | None = None
    """Called for every piece of the answer that arrives, pings and comments included: a watchdog wants to know."""
    cache: EncodingCache = field(default_factory=EncodingCache)
    """What was encoded for the requests before this one in its turn."""


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
    """A model call failed. `kind` is the adapter's judgement, made once, by the table in `errors.py`."""

    def __init__(
        self, message: str, *, kind: ErrorKind, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.status = status
        self.retry_after = retry_after
        """Seconds the server asked us to wait."""

    @property
    def retryable(self) -> bool:
        return self.kind in RETRYABLE


class Provider(Protocol):
    name: str

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield `MessageBegan`, then blocks as they come, then exactly one `MessageDone`.

        Each block: `BlockBegan`, its deltas, `BlockDone` at the moment the vendor says the block is complete.
        `MessageDone.cost` is what the vendor itself says the answer cost, else 0: the loop prices it then.
        A `Noted` may stand anywhere: what the person should know of how the model was asked. One attempt; retries
        are the loop's business.

        Raises:
            ProviderError: the only exception that crosses this line.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
