"""What all ways of printing share: a session as they see it, and one prompt taken to its end."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from bobstay.assembly.session import Session
from bobstay.model.event import Event, RunDone
from bobstay.model.message import Block
from bobstay.print_mode.signals import SignalStop
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.result_frame import VERDICTS
from bobstay.wire.wire_frames import Facts

PATIENCE = 5.0
"""Seconds an interrupted turn is given to end."""


class PrintFace(Protocol):
    """Shows the events of a session in its own way."""

    def show(self, event: Event) -> None: ...

    def finish(self) -> None:
        """All turns are over: write what was held back."""
        ...


def facts_of(session: Session) -> Facts:
    return Facts(
        cwd=str(session.cwd),
        tools=tuple(session.tools),
        model=session.model,
        mode=session.mode,
        api_key_source=session.api_key_source,
        commands=session.commands,
    )


def encoder_for(session: Session, *, partial: bool = False, replay: bool = False) -> EventEncoder:
    return EventEncoder(
        session.id,
        lambda: facts_of(session),
        session.totals,
        partial=partial,
        replay=replay,
        entry=lambda: session.entry,
        mask=session.mask,
    )


async def run_once(
    session: Session,
    blocks: tuple[Block, ...],
    face: PrintFace,
    stop: SignalStop,
    *,
    wait: float,
    seconds: float | None = None,
) -> int:
    """Work on one prompt, on all it queues and on what its background commands bring; return the last exit code.

    `wait` is for how many seconds after an answer background commands are waited for, `seconds` for how many the whole
    may take, waiting included. When a signal asks to stop, the
    session is interrupted and the turn comes to its own end.
    """
    session.background.listeners.append(face.show)
    turns = _Turns(session, face.show, wait, seconds)
    running = asyncio.ensure_future(turns.run(blocks))
    asked = asyncio.ensure_future(stop.asked())
    try:
        await asyncio.wait((running, asked), return_when=asyncio.FIRST_COMPLETED)
        if not running.done() and session.busy:
            await session.interrupt()
            await asyncio.wait((running,), timeout=PATIENCE)
        if running.done():
            running.result()
    finally:
        asked.cancel()
        running.cancel()
    await end_background(session)
    face.finish()
    done = turns.done
    return 1 if session.busy or done is None or VERDICTS[done.ending].is_error else 0


class _Turns:
    """The turns of one run, until nothing is left that it should wait for."""

    def __init__(self, session: Session, show: Callable[[Event], None], wait: float, seconds: float | None) -> None:
        self._session = session
        self._show = show
        self._wait = wait
        self._until = None if seconds is None else time.monotonic() + seconds
        self.done: RunDone | None = None
        """How the last turn ended."""

    async def run(self, blocks: tuple[Block, ...]) -> None:
        events: AsyncGenerator[Event, None] | None = self._session.run(blocks)
        while events is not None:
            self.done = None
            self.done = await shown(events, self._show)
            events = next_turn(self._session, self.done, waited=0.0)
            if events is None and self._goes_on():
                began = time.monotonic()
                left = self._wait if self._until is None else min(self._wait, self._until - began)
                if await self._session.background.wait(left):
                    events = next_turn(self._session, self.done, waited=time.monotonic() - began)

    def _goes_on(self) -> bool:
        """A run that a limit, an error or a person ended does not wait for what its commands bring."""
        return self.done is not None and not VERDICTS[self.done.ending].is_error


async def end_background(session: Session) -> None:
    """End what still runs in the background, and say so: nobody would ever hear of it again."""
    if ended := await session.background.end():
        titles = ", ".join(f'"{title}"' for title in ended)
        sys.stderr.write(f"Warning: still running in the background, ended with the session: {titles}\n")


def next_turn(
    session: Session, done: RunDone | None, *, waited: float | None = None
) -> AsyncGenerator[Event, None] | None:
    """The turn to take next: about a queued message, or notices of background commands that ended.

    `waited`: see `Session.run_notices`. None after a turn that could not be stored: the next would fail alike.
    """
    if done is None or done.error == "log":
        return None
    if (queued := session.next_queued()) is not None:
        return session.run_queued(queued)
    return session.run_notices(waited=waited) if session.background.has_wake_notice else None


async def shown(events: AsyncGenerator[Event, None], show: Callable[[Event], None]) -> RunDone | None:
    """Show every event of a turn; return the last one."""
    done = None
    async with aclosing(events):
        async for event in events:
            show(event)
            if isinstance(event, RunDone):
                done = event
    return done
