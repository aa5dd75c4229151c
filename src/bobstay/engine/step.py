"""One step: a model request and the tool calls of its answer, which start while the answer is still streaming."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal

from msgspec.structs import replace

from bobstay.engine.agent import Agent
from bobstay.engine.approval import NO_PRIOR_PROGRESS, PriorProgress
from bobstay.engine.engine_ports import Route
from bobstay.engine.pipeline import CallPipeline, not_started_reply
from bobstay.engine.repeat_guard import FinishedCall
from bobstay.engine.turn_control import TurnControl
from bobstay.model.event import BlockDone, Event, MessageDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Stop, Text, Thinking, ToolCall
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.system.mailbox import Mailbox


class Step:
    """Consume `events` to its end; then the other fields hold the outcome."""

    def __init__(self, agent: Agent, route: Route, request: Request, control: TurnControl, call_ids: set[str]) -> None:
        self.stop: Stop | None = None
        self.error: ProviderError | None = None
        self.aborted: Literal["", "streaming", "tools"] = ""
        self.pipelines: list[CallPipeline] = []
        self.kept = False
        """Some block besides thinking was complete, so the answer is kept even if it is partial."""
        self._agent = agent
        self.route = route
        self._request = request
        self._control = control
        self._call_ids = call_ids
        """Ids of all calls of the session: a call that reuses one gets a new id."""
        self._box: Mailbox[Event] = Mailbox()
        self._tasks: set[asyncio.Task[None]] = set()
        self._began: MessageBegan | None = None
        self._open: tuple[int, list[str]] | None = None
        self._called = False
        self._final_call = ""
        """The id of the last block so far, if it is a call."""
        self._written = 0
        """Characters of the answer so far."""
        self._started = time.monotonic()
        self._usage_sent = False
        """The `MessageDone` of the answer, with its usage, was sent."""
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        """When the model's server last sent something."""
        self._stalled = False
        self._pumping: asyncio.Future[None] | None = None
        self._watchdog: asyncio.TimerHandle | None = None

    @property
    def finished(self) -> list[FinishedCall]:
        """The calls with a result, for the repeat guard."""
        return [
            FinishedCall(each.call, each.done)
            if each.prepared is None
            else FinishedCall(
                each.call,
                each.done,
                each.prepared.tool.polls(each.prepared.args),
                each.prepared.tool.stable_result(each.done.reply.text),
            )
            for each in self.pipelines
            if each.done is not None
        ]

    @property
    def structured_failures(self) -> int:
        """How many attempts at structured output did not fit the schema."""
        if not self._agent.structured:
            return 0
        attempts = (each for each in self.pipelines if each.prepared and each.prepared.tool.needs == "schema")
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
            await _cancel_and_drain([pump, *self._tasks])

    # ------------------------------------------------------------ the model

    async def _pump(self) -> None:
        # Not an attribute: a step that refers to itself would hold the whole request until the next collection.
        request = replace(self._request, on_activity=self._on_activity)
        try:
            async for chunk in self.route.provider.stream(request):
                self._on_activity()
                self._box.put(self._process(chunk))
        except ProviderError as error:
            self.error = error
        except asyncio.CancelledError:
            if not self._stalled:
                raise
            self.error = ProviderError(
                f"The model's server sent nothing for {self._silence:g} seconds.", kind="stalled"
            )
        if self.error is not None:
            self._close_early()

    def _process(self, chunk: Chunk) -> Chunk:
        """Update the step from a chunk, and add what the provider does not know."""
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
            self._usage_sent = True
            return replace(
                chunk,
                cost=chunk.cost or self.route.price(chunk.usage),
                api_ms=self._milliseconds(),
                model=self.route.name,
            )
        return chunk

    def _with_own_id(self, done: BlockDone) -> BlockDone:
        self._final_call = ""
        if not isinstance(done.block, ToolCall):
            return done
        call = done.block
        if call.id in self._call_ids:
            call = replace(call, id=f"call_{new_id().replace('-', '')[:24]}")
        self._call_ids.add(call.id)
        self._final_call = call.id
        self._called = True
        return done if call is done.block else replace(done, block=call)

    def _close_early(self) -> None:
        """Send the `MessageDone` of an answer that broke off, with its estimated usage."""
        if self._began is None or self._usage_sent:
            return
        from bobstay.engine.estimate import usage_so_far

        self._usage_sent = True
        usage = usage_so_far(self._began.usage, self._request, self._written)
        self._box.put(
            MessageDone(
                self._began.message_id,
                self.route.name,
                "tool_use" if self._called else "end_turn",
                usage,
                cost=self.route.price(usage),
                api_ms=self._milliseconds(),
                broken="kept" if self.kept else "lost",
            )
        )

    def _milliseconds(self) -> int:
        return int((time.monotonic() - self._started) * 1000)

    @property
    def _silence(self) -> float:
        """Seconds of silence after which the request is given up."""
        timeouts = self._agent.timeouts
        if self._began is not None:
            return timeouts.between
        return timeouts.first_local if self.route.local else timeouts.first

    def _on_activity(self) -> None:
        self._last = self._loop.time()

    def _watch(self) -> None:
        """End a silent stream. One timer checks when the limit is due, instead of a new one for each byte."""
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

    def _start(self, call: ToolCall, prior: PriorProgress = NO_PRIOR_PROGRESS) -> None:
        """Start a call whose block is stored by now."""
        if self.aborted:
            self._box.put(not_started_reply(call, self._control.reason))
            return
        pipeline = CallPipeline(self._agent.toolbox, call, prior)
        self.pipelines.append(pipeline)
        task = asyncio.ensure_future(self._run_call(pipeline))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._on_call_ended(done, pipeline))

    async def _cut_off(self, call: ToolCall) -> bool:
        """Whether the output limit ended the answer within `call`, which is known only when the answer is over."""
        assert self._pumping is not None
        await asyncio.wait({self._pumping})
        return self.stop == "max_tokens" and self._final_call == call.id

    async def _run_call(self, pipeline: CallPipeline) -> None:
        if pipeline.may_be_cut_off and await self._cut_off(pipeline.call):
            pipeline.cut_off()
        async with aclosing(pipeline.events()) as events:
            async for event in events:
                await self._box.commit(event)
        if pipeline.ending == "interrupt":
            self._control.abort()

    def _on_call_ended(self, task: "asyncio.Task[None]", pipeline: CallPipeline) -> None:
        """Give a cancelled call its reply, even if it had not started."""
        self._tasks.discard(task)
        pipeline.ticket.finish()
        if self.aborted and pipeline.done is None:
            for event in pipeline.interrupted(self._control.reason):
                self._box.put(event)
        self._box.wake()

    # ------------------------------------------------------------ the end

    def _abort(self, pump: "asyncio.Future[None]") -> None:
        """Stop the answer and its calls. Each call still gets a reply when its task is cancelled."""
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


async def _cancel_and_drain(tasks: "list[asyncio.Future[None]]") -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        if not task.cancelled():
            task.exception()
