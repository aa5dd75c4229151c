"""Recovery from failed model requests: retry, fall back to another model, prune the history, or give up."""

import logging
import os
from collections.abc import AsyncGenerator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.engine import reminders
from bobstay.engine.agent import RetryPolicy
from bobstay.engine.state import PRUNED, State
from bobstay.engine.step import Step
from bobstay.engine.turn_state import Recovery, TurnState
from bobstay.model.event import Ending, Event, ModelChanged, Noted, Pruned
from bobstay.model.live_events import Retrying
from bobstay.model.message import Image, Text, ToolReply
from bobstay.providers.base import ErrorKind, ProviderError

log = logging.getLogger(__name__)

LONGEST_WAIT = 600.0
"""A service that asks for a longer pause counts as refusing."""
KEPT = (4, 1)
"""How many of the latest tool replies are kept at the first and at the second attempt to prune."""
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
"""Our kinds of errors as hosts of the stream-json wire call them."""


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


async def after_fault(turn: TurnState, step: Step, error: ProviderError) -> AsyncGenerator[Event, None]:
    """Do what a failed request calls for. Without a `RunDone`, the model is asked again."""
    log.debug("the model request failed: %s (%s, status %s)", error, error.kind, error.status)
    if turn.force_structured and error.kind == "invalid_request":
        # Some models do not support a forced tool call: retry without it.
        turn.force_structured = turn.can_force = False
        return
    policy = turn.agent.retry
    action = after_error(error, turn.recovery, policy, turn.state, turn.fallbacks)
    match action:
        case Wait(seconds=seconds):
            name, attempt = ERROR_NAMES[error.kind], turn.recovery.attempts
            yield Retrying(attempt, policy.attempts, seconds, error.status, name, str(error))
            await turn.control.sleep(seconds)
        case FallBack(model=model):
            failed, current = step.route.name, turn.route().name
            if current in (failed, model):
                turn.fallbacks.remove(model)
            if current == failed:  # else a person has chosen another one meanwhile
                turn.model = ""
                yield ModelChanged(model, "fallback", failed)
        case Prune(call_ids=call_ids, tokens=tokens, images=images):
            turn.requests.reset()
            yield Pruned(call_ids, tokens, images)
            yield Noted(pruned_note(action), "warning")
        case GiveUp(ending=ending, text=text):
            done = turn.done(ending, text, stop="stop_sequence", error=ERROR_NAMES[error.kind])
            yield replace(done, status=error.status)
            return
    if step.kept and not turn.control.aborted:
        yield reminders.remind(reminders.BROKEN_OFF, "broken_off")


def after_error(
    error: ProviderError, recovery: Recovery, policy: RetryPolicy, state: State, fallbacks: Sequence[str]
) -> Action:
    """Choose the next action, and count it."""
    if error.kind == "image_too_large" and not recovery.images_dropped and has_images(state):
        recovery.images_dropped = True
        return Prune((), 0, images=True)
    if error.kind == "prompt_too_long" or (error.kind == "image_too_large" and error.status == 413):
        return _make_room(error, recovery, state)
    recovery.attempts += 1
    fall_back_after = min(FALL_BACK_AFTER, policy.attempts + 1) if error.retryable else 1
    if fallbacks and error.kind in FALL_BACK and recovery.attempts >= fall_back_after:
        recovery.attempts = 0
        return FallBack(fallbacks[0])
    too_long = (error.retry_after or 0) > LONGEST_WAIT
    if not error.retryable or recovery.attempts > policy.attempts or too_long:
        return GiveUp("api_error", _describe(error))
    return Wait(_delay(error, recovery.attempts, policy))


def _describe(error: ProviderError) -> str:
    status = f"{error.status} " if error.status else ""
    return f"API Error: {status}{error}"


def _delay(error: ProviderError, attempt: int, policy: RetryPolicy) -> float:
    backoff: float = min(policy.first * 2 ** (attempt - 1), policy.longest)
    # Jitter, so that many sessions do not retry at once; but never sooner than the service asked for.
    return max(error.retry_after or 0.0, backoff) * (1 + os.urandom(1)[0] / 1024)


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
    """Return the note that tells the person what was pruned."""
    if prune.images:
        return "The model's service refused an image for its size: images are left out from here on."
    return (
        f"The conversation was too long for the model: the output of {len(prune.call_ids)} old tool calls "
        f"(about {prune.tokens} tokens) is left out of what it is sent. The log keeps it."
    )


def prunable(state: State, kept: int = KEPT[0]) -> list[ToolReply]:
    """Return the tool replies that can be left out if the last `kept` stay, oldest first."""
    replies = [block for message in state.messages for block in message.blocks if isinstance(block, ToolReply)]
    recent = kept if len(replies) > kept else min(1, len(replies) - 1)
    old = replies[: len(replies) - recent] if recent > 0 else replies
    return [reply for reply in old if reply.content != (Text(PRUNED),)]


def _size(reply: ToolReply) -> int:
    return sum(len(part.data) if isinstance(part, Image) else len(part.text) for part in reply.content)
