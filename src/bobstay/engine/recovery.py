"""What to do when a model call failed: decided by a table, once, with counters of this turn."""

import os
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from bobstay.engine.state import PRUNED, State
from bobstay.model.event import Ending
from bobstay.model.message import Image, Text, ToolReply
from bobstay.providers.base import ErrorKind, ProviderError

LONGEST_WAIT = 600.0
"""A service that asks for a longer pause has in fact refused."""
KEPT = (4, 1)
"""How many tool replies, counted from the end, are kept at the first and at the second attempt to make room."""
FALL_BACK_AFTER = 3

FALL_BACK: frozenset[ErrorKind] = frozenset(
    {"overloaded", "server", "rate_limit", "not_found", "quota", "stalled", "unreachable"}
)

ERROR_NAMES: dict[ErrorKind, str] = {
    "authentication": "authentication_failed",
    "permission": "authentication_failed",
    "not_found": "invalid_request",
    "invalid_request": "unknown",
    "prompt_too_long": "invalid_request",
    "image_too_large": "invalid_request",
    "rate_limit": "rate_limit",
    "quota": "billing_error",
    "overloaded": "server_error",
    "server": "server_error",
    "timeout": "server_error",
    "stalled": "server_error",
    "connection": "server_error",
    "unreachable": "server_error",
    "protocol": "server_error",
    "refused": "invalid_request",
}
"""The words hosts of the stream-json wire know for our kinds."""


class RetryPolicy(Struct, frozen=True):
    attempts: int = 10
    first: float = 0.5
    longest: float = 32.0


class Recovery(Struct):
    """What this turn has tried so far."""

    attempts: int = 0
    continuations: int = 0
    empty: int = 0
    """Answers in a row that said nothing."""
    prunings: int = 0
    """Attempts to make room for a prompt that was too long."""
    images_dropped: bool = False

    def progressed(self) -> None:
        """A step succeeded: what was tried before it may be tried again."""
        self.attempts = self.empty = self.prunings = 0
        self.images_dropped = False


class Wait(Struct, frozen=True):
    seconds: float


class FallBack(Struct, frozen=True):
    model: str


class Prune(Struct, frozen=True):
    call_ids: tuple[str, ...]
    tokens: int
    images: bool = False


class GiveUp(Struct, frozen=True):
    ending: Ending
    text: str


Action: TypeAlias = Wait | FallBack | Prune | GiveUp


def after_error(
    error: ProviderError, recovery: Recovery, policy: RetryPolicy, state: State, fallbacks: Sequence[str]
) -> Action:
    """Choose the next thing to try, and count it."""
    if error.kind == "image_too_large" and not recovery.images_dropped and has_images(state):
        recovery.images_dropped = True
        return Prune((), 0, images=True)
    if error.kind == "prompt_too_long" or (error.kind == "image_too_large" and error.status == 413):
        return _make_room(error, recovery, state)
    recovery.attempts += 1
    patience = min(FALL_BACK_AFTER, policy.attempts + 1) if error.retryable else 1
    if fallbacks and error.kind in FALL_BACK and recovery.attempts >= patience:
        recovery.attempts = 0
        return FallBack(fallbacks[0])
    too_long = (error.retry_after or 0) > LONGEST_WAIT
    if not error.retryable or recovery.attempts > policy.attempts or too_long:
        return GiveUp("api_error", _said(error))
    return Wait(_delay(error, recovery.attempts, policy))


def _said(error: ProviderError) -> str:
    status = f"{error.status} " if error.status else ""
    return f"API Error: {status}{error}"


def _delay(error: ProviderError, attempt: int, policy: RetryPolicy) -> float:
    own: float = min(policy.first * 2 ** (attempt - 1), policy.longest)
    # Spread, so that many sessions do not come back at once; but never sooner than the service asked for.
    return max(error.retry_after or 0.0, own) * (1 + os.urandom(1)[0] / 1024)


def _make_room(error: ProviderError, recovery: Recovery, state: State) -> Action:
    for kept in KEPT[recovery.prunings :]:
        recovery.prunings += 1
        if replies := prunable(state, kept):
            tokens = sum(_size(reply) for reply in replies) // 4
            return Prune(tuple(reply.call_id for reply in replies), tokens)
    return GiveUp("prompt_too_long", f"Prompt is too long: {error}")


def has_images(state: State) -> bool:
    blocks = (block for message in state.messages for block in message.blocks)
    return any(
        isinstance(block, Image)
        or (isinstance(block, ToolReply) and any(isinstance(part, Image) for part in block.content))
        for block in blocks
    )


def pruned_note(prune: Prune) -> str:
    """What a person is told about it."""
    if prune.images:
        return "The model's service refused an image for its size: images are left out from here on."
    return (
        f"The talk was too long for the model: the output of {len(prune.call_ids)} old tool calls "
        f"(about {prune.tokens} tokens) is left out of what it is sent. The log keeps it."
    )


def prunable(state: State, kept: int = KEPT[0]) -> list[ToolReply]:
    """Tool replies that can be left out where the last `kept` stay, oldest first."""
    replies = [block for message in state.messages for block in message.blocks if isinstance(block, ToolReply)]
    recent = kept if len(replies) > kept else min(1, len(replies) - 1)
    old = replies[: len(replies) - recent] if recent > 0 else replies
    return [reply for reply in old if reply.content != (Text(PRUNED),)]


def _size(reply: ToolReply) -> int:
    return sum(len(part.data) if isinstance(part, Image) else len(part.text) for part in reply.content)
