"""One model call and the tools it asks for, which start while the model still speaks."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal

from msgspec.structs import replace

from bobstay.engine.agent import Agent
from bobstay.engine.engine_ports import Route
from bobstay.engine.pipeline import NO_PAST, CallPipeline, PriorProgress, never_began
from bobstay.engine.repeat_guard import Finished
from bobstay.engine.toolbox import CUT_OFF
from bobstay.engine.turn_control import TurnControl
from bobstay.model.event import BlockDone, Event, MessageDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Stop, Text, Thinking, ToolCall
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.system.mailbox import Mailbox


class Step:
    """Pull `events` to its end; then the other fields say how it went."""

    def __init__(self, agent: Agent, route: Route, request: Request, control: TurnControl, used: set[str]) -> None:
        self.stop: Stop | None = None
        self.error: ProviderError | None = None
        self.aborted: Literal["", "streaming", "tools"] = ""
        self.settlements: list[CallPipeline] = []
        self.kept = False
        """Some block besides thinking was complete, so that the answer, or what there is of it, stands."""
        self._agent = agent
        self._route = route
        self._request = request
        self._control = control
        self._used = used
        """Ids of all calls of the session: a model that uses one twice gets another for it."""
        self._box: Mailbox[Event] = Mailbox()
        self._tasks: set[asyncio.Task[None]] = set()
        self._began: MessageBegan | None = None
        self._open: tuple[int, list[str]] | None = None
        self._called = False
        self._final_call = ""
        """The id of the call that is the last block so far, if it is one."""
        self._written = 0
        """Characters of the answer so far."""
        self._started = time.monotonic()
        self._counted = False
        """The end of the answer was told, with what it cost."""
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        """When the model's server gave its last sign of life."""
        self._stalled = False
        self._pumping: asyncio.Future[None] | None = None
        self._watchdog: asyncio.TimerHandle | None = None

    @property
    def finished(self) -> list[Finished]:
        """The calls that were answered, for the count of repeats."""
        return [
            Finished(each.call, each.done, each.prepared is not None and each.prepared.tool.polls(each.prepared.args))
            for each in self.settlements
            if each.done is not None
        ]

    @property
    def structured_failures(self) -> int:
        """How many attempts at structured output did not fit the schema."""
        if not self._agent.structured:
            return 0
        attempts = (each for each in self.settlements if each.prepared and each.prepared.tool.needs == "schema")
        return sum(1 for each in attempts if each.done is not None and each.done.reply.is_error)

    async def events(self) -> AsyncGenerator[Event, None]:
        self._pumping = pump = asyncio.ensure_future(self._pump())
        pump.add_done_callback(lambda _: self._box.wake())
        self._watch()
        self._control.on_abort(self._box.wake)
        try:
            while True:
                event = self._box.take()
                if event is not None:
                    yield event
                    if type(event) is BlockDone and isinstance(event.block, ToolCall):
                        self._start(event.block)
                    continue
                if self._control.aborted and not self.aborted:
                    self._abort(pump)
                    continue
                if pump.done() and not self._tasks:
                    break
                await self._box.wait()
            if not pump.cancelled():
                pump.result()
        finally:
            self._control.on_abort(None)
            if self._watchdog is not None:
                self._watchdog.cancel()
            await _over([pump, *self._tasks])

    # ------------------------------------------------------------ the model

    async def _pump(self) -> None:
        # Made here and not kept: a step that refers to itself would hold the whole request until the next collection.
        request = replace(self._request, on_activity=self._sign_of_life)
        try:
            async for chunk in self._route.provider.stream(request):
                self._sign_of_life()
                self._box.put(self._seen(chunk))
        except ProviderError as error:
            self.error = error
        except asyncio.CancelledError:
            if not self._stalled:
                raise
            self.error = ProviderError(
                f"The model's server gave no sign of life for {self._silence:g} seconds.", kind="stalled"
            )
        if self.error is not None:
            self._close_early()

    def _seen(self, chunk: Chunk) -> Chunk:
        """Note what a chunk means for the step, and fill in what only we know."""
        if type(chunk) is TextDelta:
            self._written += len(chunk.text)
            if self._open is not None:
                self._open[1].append(chunk.text)
            return chunk
        if type(chunk) is BlockBegan:
            self._open = (chunk.index, []) if chunk.kind == "text" else None
        elif type(chunk) is ThinkingDelta:
            self._written += len(chunk.text)
        elif type(chunk) is InputDelta:
            self._written += len(chunk.json)
        elif type(chunk) is MessageBegan:
            self._began = chunk
            self._watch()
        elif type(chunk) is BlockDone:
            self._open = None
            self.kept = self.kept or not isinstance(chunk.block, Thinking)
            return self._with_own_id(chunk)
        elif type(chunk) is MessageDone:
            self.stop = chunk.stop
            self._counted = True
            return replace(
                chunk,
                cost=chunk.cost or self._route.price(chunk.usage),
                api_ms=self._milliseconds(),
                model=self._route.name,
            )
        return chunk

    def _with_own_id(self, done: BlockDone) -> BlockDone:
        self._final_call = ""
        if not isinstance(done.block, ToolCall):
            return done
        call = done.block
        if call.id in self._used:
            call = replace(call, id=f"call_{new_id().replace('-', '')[:24]}")
        self._used.add(call.id)
        self._final_call = call.id
        self._called = True
        return done if call is done.block else replace(done, block=call)

    def _close_early(self) -> None:
        """The answer broke off: count what it cost, and let stand what came of it."""
        if self._began is None or self._counted:
            return
        from bobstay.engine.estimate import usage_so_far

        self._counted = True
        usage = usage_so_far(self._began.usage, self._request, self._written)
        self._box.put(
            MessageDone(
                self._began.message_id,
                self._route.name,
                "tool_use" if self._called else "end_turn",
                usage,
                cost=self._route.price(usage),
                api_ms=self._milliseconds(),
                broken="kept" if self.kept else "lost",
            )
        )

    def _milliseconds(self) -> int:
        return int((time.monotonic() - self._started) * 1000)

    @property
    def _silence(self) -> float:
        """Seconds without a sign of life after which the model is given up."""
        patience = self._agent.patience
        if self._began is not None:
            return patience.between
        return patience.first_local if self._route.local else patience.first

    def _sign_of_life(self) -> None:
        self._last = self._loop.time()

    def _watch(self) -> None:
        """End a stream without a sign of life. One timer that looks when the limit is due, not one for each byte."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self._pumping is None or self._pumping.done():
            return
        left = self._last + self._silence - self._loop.time()
        if left <= 0:
            self._stalled = True
            self._pumping.cancel()
            return
        self._watchdog = self._loop.call_later(left, self._watch)

    # ------------------------------------------------------------ the tools

    def _start(self, call: ToolCall, past: PriorProgress = NO_PAST) -> None:
        """Begin a call whose block is stored by now."""
        if self.aborted:
            self._box.put(never_began(call, self._control.reason))
            return
        settlement = CallPipeline(self._agent.toolbox, call, past)
        self.settlements.append(settlement)
        task = asyncio.ensure_future(self._settle(settlement))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._settled(done, settlement))

    async def _cut_off(self, call: ToolCall) -> bool:
        """Whether the output limit ended the answer within `call`: known only when the answer is over."""
        assert self._pumping is not None
        await asyncio.wait({self._pumping})
        return self.stop == "max_tokens" and self._final_call == call.id

    async def _settle(self, settlement: CallPipeline) -> None:
        call = settlement.call
        incomplete = settlement.prepared is None and (call.malformed or not call.input)
        if incomplete and await self._cut_off(call):
            settlement.refusal = CUT_OFF
        async with aclosing(settlement.events()) as events:
            async for event in events:
                await self._box.commit(event)
        if settlement.ending == "interrupt":
            self._control.abort()

    def _settled(self, task: "asyncio.Task[None]", settlement: CallPipeline) -> None:
        """A call is over, by itself or cancelled, even before it began: it is answered in any case."""
        self._tasks.discard(task)
        settlement.ticket.leave()
        if self.aborted and settlement.done is None:
            for event in settlement.interrupted(self._control.reason):
                self._box.put(event)
        self._box.wake()

    # ------------------------------------------------------------ the end

    def _abort(self, pump: "asyncio.Future[None]") -> None:
        """Stop speaking and doing. Each call is still answered: its task sees to that when it is cancelled."""
        self.aborted = "streaming" if not pump.done() and not self._tasks else "tools"
        if not pump.done():
            pump.cancel()
            if self._open is not None and self._open[1] and self._began is not None:
                index, pieces = self._open
                partial = Text("".join(pieces))
                began = self._began
                self._box.put(BlockDone(began.message_id, index, partial, began.model, began.usage, partial=True))
                self.kept = True
            self._close_early()
        for task in self._tasks:
            task.cancel()


async def _over(tasks: "list[asyncio.Future[None]]") -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        if not task.cancelled():
            task.exception()
