"""Serves a host over stdin and stdout: prompts and requests in, frames and approval requests out."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Literal

from bobstay.assembly.conversation import Conversation
from bobstay.assembly.session import AgentSession
from bobstay.config.options import Options
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import Event, RunDone
from bobstay.print_mode.control_requests import Requests
from bobstay.print_mode.host_hooks import HostHooks
from bobstay.print_mode.host_prompts import is_verbatim, parse_client_id, parse_prompt
from bobstay.print_mode.print_face import (
    INTERRUPT_TIMEOUT,
    CommandList,
    build_encoder,
    clear_frames,
    end_background,
    next_turn,
    show_turn,
)
from bobstay.print_mode.signals import SignalStop
from bobstay.sessions.log import LogError
from bobstay.wire import wire_frames
from bobstay.wire.control_channel import ControlChannel
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.result_frame import RESULT_ROWS, refused_start
from bobstay.wire.stdio import FrameWriter, LineReader, parse_line
from bobstay.wire.wire_frames import Frame


class StateFrames:
    """Reports the session's state (running, requires_action, idle) to a host that asked for it, without gaps."""

    def __init__(self, output: FrameWriter, wanted: Literal["", "host_only", "all"]) -> None:
        self._output = output
        self._wanted = wanted
        self._state = "idle"
        self.session_id = ""

    def change(self, state: str) -> None:
        if not self._wanted or state == self._state:
            return
        self._state = state
        fields: dict[str, Any] = {"state": state}
        if self._wanted == "host_only":
            fields["sdk_host_only"] = True
        self._output.send(wire_frames.system(self.session_id, "session_state_changed", **fields))


class HostServer:
    """Serves until the host closes its end. Requests are processed in order; responses are never queued behind them."""

    def __init__(
        self,
        conversation: Conversation,
        channel: ControlChannel,
        hooks: HostHooks,
        output: FrameWriter,
        state: StateFrames,
        options: Options,
    ) -> None:
        self._conversation = conversation
        self._channel = channel
        self._options = options
        self._output = output
        self._state = state
        self._encoder = self._build_encoder(0)
        self._commands = CommandList(conversation.session)
        self._requests = Requests(
            conversation, hooks, lambda: self._encoder, output.send, lambda: self._turns is not None
        )
        self._inbox: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._turns: asyncio.Task[None] | None = None
        self._input_done = False
        self._failed = False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def _session(self) -> AgentSession:
        return self._conversation.session

    async def run(self, lines: LineReader, stop: SignalStop, wait: float) -> int:
        """Serve until the end of input, or until a signal; return the exit code.

        After the end of input it waits for background commands, at most `wait` seconds after each answer.

        Raises:
            BadLineError: the host sent a line that is not a JSON object.
            HostGoneError: it no longer reads.
        """
        self._start(self._read(lines))
        self._follow(self._session)
        self._conversation.ended.append(self._end_session)
        self._conversation.begun.append(self._begin_session)
        self._start(self._work(wait))
        stopping = asyncio.ensure_future(stop.requested())
        try:
            await asyncio.wait((stopping, self._over), return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                self._over.result()
        finally:
            stopping.cancel()
            await self._stop()
        self._mirror()
        return 1 if self._failed else 0

    def _follow(self, session: AgentSession) -> None:
        self._state.session_id = session.id
        session.background.listeners.append(self._background_ended)
        session.agents.listeners.append(self._show_agent)

    def _end_session(self, session: AgentSession, prompt: str) -> None:
        self._mirror()
        for frame in clear_frames(session, prompt):
            self._output.send(frame)

    async def _begin_session(self, session: AgentSession) -> None:
        self._encoder = self._build_encoder(self._encoder.results)
        self._commands = CommandList(session)
        self._follow(session)

    def _build_encoder(self, results: int) -> EventEncoder:
        partial, replay = self._options.include_partial_messages, self._options.replay_user_messages
        return build_encoder(self._session, partial=partial, replay=replay, results=results)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` concurrently; an exception in it ends the server."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if self._over.done():
            return
        if error is not None:
            self._over.set_exception(error)
        elif self._input_done and self._turns is None:
            self._over.set_result(None)

    async def _stop(self) -> None:
        """Stop everything, after giving a running turn time to emit its last frames."""
        if self._turns is not None:
            await self._session.interrupt()
        if self._turns is not None:
            await asyncio.wait((self._turns,), timeout=INTERRUPT_TIMEOUT)
        for task in self._tasks:
            task.cancel()

    async def _read(self, lines: LineReader) -> None:
        async for line in lines.lines():
            frame = parse_line(line)
            match frame.get("type"):
                case "control_response":
                    self._channel.resolve(frame)
                case "user" | "control_request":
                    self._inbox.put_nowait(frame)
                case _:
                    # keep_alive, and types of newer hosts.
                    continue
        self._channel.close()
        self._inbox.put_nowait(None)

    async def _work(self, wait: float) -> None:
        while (frame := await self._inbox.get()) is not None:
            async with self._conversation.changing:
                pass  # what comes while a conversation is being cleared is for the next one
            if frame["type"] == "user":
                self._prompt(frame)
                await asyncio.sleep(0)  # let the turn start before the next line, which may interrupt it
            else:
                await self._requests.answer(frame)
        await self._wait_for_turns()
        while not self._failed and await self._session.background.wait(wait):
            self._run_notices()
            await self._wait_for_turns()
        await end_background(self._session)
        self._input_done = True

    async def _wait_for_turns(self) -> None:
        while self._turns is not None:
            await asyncio.wait((self._turns,))

    # ------------------------------------------------------------ turns

    def _prompt(self, frame: Frame) -> None:
        blocks, given, verbatim = parse_prompt(frame), parse_client_id(frame), is_verbatim(frame)
        if not blocks:
            self._output.send(refused_start(self._session.id, "The message has no content that could be understood."))
            return
        if self._turns is not None:
            try:
                self._session.steer(blocks, client_id=given, verbatim=verbatim)
            except LogError as error:
                self._output.send(refused_start(self._session.id, str(error)))
                return
            self._queued(given)
            return
        self._begin(self._conversation.run(blocks, client_id=given, verbatim=verbatim))
        self._queued(given)

    def _background_ended(self, event: BackgroundEnded) -> None:
        self._show(event)
        self._run_notices()

    def _show_agent(self, started: AgentStarted, event: Event) -> None:
        for frame in self._encoder.background.of_agent(started.id, event):
            self._output.send(frame)
        if isinstance(event, AgentEnded):
            self._run_notices()

    def _run_notices(self) -> None:
        """Notify the model of finished background commands, unless a running turn does so."""
        if self._turns is None and self._session.background.has_wake_notice:
            self._begin(self._session.run_notices())

    def _begin(self, events: AsyncGenerator[Event, None]) -> None:
        self._state.change("running")
        self._turns = self._start(self._run_turns(events))

    def _queued(self, given: str) -> None:
        if given:
            self._output.send(wire_frames.lifecycle(self._session.id, given, "queued"))

    async def _run_turns(self, first: AsyncGenerator[Event, None]) -> None:
        events: AsyncGenerator[Event, None] | None = first
        try:
            while events is not None:
                done = await self._turn(events)
                events = next_turn(self._conversation, done)
        finally:
            # No await since the last check of the queue, so that no prompt is lost in between.
            self._turns = None
        self._state.change("idle")

    async def _turn(self, events: AsyncGenerator[Event, None]) -> RunDone | None:
        done = await show_turn(events, self._show)
        self._failed = done is None or RESULT_ROWS[done.ending].is_error
        return done

    def _show(self, event: Event) -> None:
        for frame in (*self._encoder.frames(event), *self._commands.changes(event)):
            if frame["type"] == "result":
                self._mirror()
            self._output.send(frame)

    def _mirror(self) -> None:
        if self._options.session_mirror:
            for path, lines in self._session.mirror():
                for frame in wire_frames.mirror(path, lines):
                    self._output.send(frame)
