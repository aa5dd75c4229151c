"""Asks a model one question beside the conversation, with retries, and counts what all attempts cost."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from bobstay.engine.engine_ports import Route
from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.live_events import MessageBegan
from bobstay.model.message import Block, Message, Text, Usage
from bobstay.providers.base import ProviderError, Request, ToolSpec
from bobstay.providers.thinking import fit_thinking

ATTEMPTS = 3
RETRY_PAUSE = 0.5
MAX_OUTPUT = 4_000
"""Output tokens: an answer needs few, but some models think first."""
T = TypeVar("T")


class ModelQuestion(Struct, frozen=True):
    system: tuple[str, ...]
    text: str
    tools: tuple[ToolSpec, ...] = ()


class QuestionCost(Struct):
    """What the attempts have cost so far, also if the last one fails."""

    usage: Usage = Usage()
    reported: float = 0.0
    """In US dollars, as the vendor reports it; 0 if it does not."""

    def price(self, route: Route) -> float:
        return self.reported or route.price(self.usage)


class QuestionReply(Struct):
    """The answer of one attempt, as far as it came."""

    blocks: list[Block]
    complete: bool = False


async def ask_model(
    route: Route, question: ModelQuestion, read: Callable[[QuestionReply], T], spent: QuestionCost
) -> T:
    """Return what `read` makes of the answer.

    Raises:
        ProviderError: no attempt was answered.
    """
    thinking, effort = fit_thinking("off", None, route.thinks, route.efforts)
    request = Request(
        route.model,
        question.system,
        (Message("user", (Text(question.text),)),),
        tools=question.tools,
        max_tokens=min(route.max_output, MAX_OUTPUT),
        thinking=thinking,
        thinks=route.thinks,
        effort=effort,
    )
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return read(await collect_reply(route, request, spent))
        except ProviderError as error:
            if not error.retryable or attempt == ATTEMPTS:
                raise
            await asyncio.sleep(RETRY_PAUSE * 2 ** (attempt - 1))
    raise AssertionError("the last attempt returns or raises")


async def collect_reply(route: Route, request: Request, spent: QuestionCost) -> QuestionReply:
    """Return the whole answer to a request; what it cost is added to `spent`, also if it breaks off."""
    reply, usage, cost = QuestionReply([]), Usage(), 0.0
    try:
        async for chunk in route.provider.stream(request):
            if isinstance(chunk, MessageBegan):
                usage = chunk.usage
            elif isinstance(chunk, BlockDone):
                reply.blocks.append(chunk.block)
            elif isinstance(chunk, MessageDone):
                usage, cost = chunk.usage, chunk.cost
                reply.complete = chunk.stop in ("end_turn", "tool_use", "stop_sequence")
    finally:
        spent.usage += usage
        spent.reported += cost
    return reply
