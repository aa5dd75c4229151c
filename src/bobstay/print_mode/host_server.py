"""A host program drives the session over stdin and stdout: prompts and requests in, frames and questions out."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Literal

from bobstay.assembly.session import Session
from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import Event, RunDone
from bobstay.print_mode.control_requests import Requests
from bobstay.print_mode.host_hooks import HostHooks
from bobstay.print_mode.host_prompts import client_id, prompt_blocks
from bobstay.print_mode.print_face import PATIENCE, end_background, next_turn, shown
from bobstay.print_mode.signals import SignalStop
from bobstay.sessions.log import LogError
from bobstay.wire import wire_frames
from bobstay.wire.control_channel import ControlChannel
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.result_frame import VERDICTS, refused_start
from bobstay.wire.stdio import FrameWriter, LineReader, parse_line
from bobstay.wire.wire_frames import Frame


class StateFrames:
    """Tells the host whether the session runs, waits for it, or rests: if it asked to be told, then without gaps."""

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
    """Reads until the host closes its end. What it asks is done in the order it came; answers never wait in line."""

    def __init__(
        self,
        session: Session,
        channel: ControlChannel,
        hooks: HostHooks,
        encoder: EventEncoder,
        output: FrameWriter,
        state: StateFrames,
        *,
        mirrored: bool = False,
    ) -> None:
        self._mirrored = mirrored
        self._session = session
        self._channel = channel
        self._encoder = encoder
        self._output = output
        self._state = state
        self._requests = Requests(session, hooks, encoder, output.send, lambda: self._turns is not None)
        self._todo: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._turns: asyncio.Task[None] | None = None
        self._heard_all = False
        self._failed = False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, lines: LineReader, stop: SignalStop, wait: float) -> int:
        """Serve until the end of input, or until a signal; return the exit code.

        After the end of input, background commands are waited for: at most `wait` seconds after each answer.

        Raises:
            BadLineError: the host sent a line that is no JSON object.
            HostGoneError: it no longer reads.
        """
        self._start(self._read(lines))
        self._session.background.listeners.append(self._background_ended)
        self._start(self._work(wait))
        asked = asyncio.ensure_future(stop.asked())
        try:
            await asyncio.wait((asked, self._over), return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                self._over.result()
        finally:
            asked.cancel()
            await self._stop()
        self._mirror()
        return 1 if self._failed else 0

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let `work` go on beside everything else; should it break, all is over."""
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
        elif self._heard_all and self._turns is None:
            self._over.set_result(None)

    async def _stop(self) -> None:
        """Leave nothing running; what a turn has to say at its end is still said."""
        if self._turns is not None:
            await self._session.interrupt()
        if self._turns is not None:
            await asyncio.wait((self._turns,), timeout=PATIENCE)
        for task in self._tasks:
            task.cancel()

    async def _read(self, lines: LineReader) -> None:
        async for line in lines.lines():
            frame = parse_line(line)
            match frame.get("type"):
                case "control_response":
                    self._channel.answered(frame)
                case "user" | "control_request":
                    self._todo.put_nowait(frame)
                case _:
                    # keep_alive, and whatever newer hosts say that we have no ear for.
                    continue
        self._channel.close()
        self._todo.put_nowait(None)

    async def _work(self, wait: float) -> None:
        while (frame := await self._todo.get()) is not None:
            if frame["type"] == "user":
                self._prompt(frame)
                await asyncio.sleep(0)  # the turn begins before the next line is read, which may interrupt it
            else:
                await self._requests.answer(frame)
        await self._all_turns_over()
        while not self._failed and await self._session.background.wait(wait):
            self._run_notices()
            await self._all_turns_over()
        await end_background(self._session)
        self._heard_all = True

    async def _all_turns_over(self) -> None:
        while self._turns is not None:
            await asyncio.wait((self._turns,))

    # ------------------------------------------------------------ turns

    def _prompt(self, frame: Frame) -> None:
        blocks, given = prompt_blocks(frame), client_id(frame)
        if not blocks:
            self._output.send(refused_start(self._session.id, "The message has no content that could be understood."))
            return
        if self._turns is not None:
            try:
                self._session.steer(blocks, client_id=given)
            except LogError as error:
                self._output.send(refused_start(self._session.id, str(error)))
                return
            self._queued(given)
            return
        self._begin(self._session.run(blocks, client_id=given))
        self._queued(given)

    def _background_ended(self, event: BackgroundEnded) -> None:
        self._show(event)
        self._run_notices()

    def _run_notices(self) -> None:
        """Let the model know of background commands that ended, unless it is at work: then it hears of them there."""
        if self._turns is None and self._session.background.has_wake_notice:
            self._begin(self._session.run_notices())

    def _begin(self, events: AsyncGenerator[Event, None]) -> None:
        self._state.change("running")
        self._turns = self._start(self._take_turns(events))

    def _queued(self, given: str) -> None:
        if given:
            self._output.send(wire_frames.lifecycle(self._session.id, given, "queued"))

    async def _take_turns(self, first: AsyncGenerator[Event, None]) -> None:
        events: AsyncGenerator[Event, None] | None = first
        try:
            while events is not None:
                done = await self._turn(events)
                events = next_turn(self._session, done)
        finally:
            # Nothing is awaited between the last look at the queue and here: no prompt can fall in between.
            self._turns = None
        self._state.change("idle")

    async def _turn(self, events: AsyncGenerator[Event, None]) -> RunDone | None:
        done = await shown(events, self._show)
        self._failed = done is None or VERDICTS[done.ending].is_error
        return done

    def _show(self, event: Event) -> None:
        for frame in self._encoder.frames(event):
            if frame["type"] == "result":
                self._mirror()
            self._output.send(frame)

    def _mirror(self) -> None:
        if self._mirrored:
            for frame in wire_frames.mirror(*self._session.mirror()):
                self._output.send(frame)
