"""What all ways of printing share: a session as they see it, and one prompt taken to its end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from bobstay.assembly.session import Session
from bobstay.model.event import Event, InputQueued, RunDone
from bobstay.model.message import Block
from bobstay.printer.stop import Stop
from bobstay.wire.encode import Encoder
from bobstay.wire.frames import Facts
from bobstay.wire.results import VERDICTS

PATIENCE = 5.0
"""Seconds an interrupted turn is given to end."""


class Face(Protocol):
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


def encoder_for(session: Session, *, partial: bool = False, replay: bool = False) -> Encoder:
    return Encoder(
        session.id,
        lambda: facts_of(session),
        session.totals,
        partial=partial,
        replay=replay,
        entry=lambda: session.entry,
        mask=session.mask,
    )


async def run_once(session: Session, blocks: tuple[Block, ...], face: Face, stop: Stop) -> int:
    """Work on one prompt and all it queues; return the exit code of the last turn.

    When a signal asks to stop, the session is interrupted and the turn comes to its own end.
    """
    running = asyncio.ensure_future(_turns(session, blocks, face.show))
    asked = asyncio.ensure_future(stop.asked())
    try:
        await asyncio.wait((running, asked), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await session.interrupt()
            await asyncio.wait((running,), timeout=PATIENCE)
        done = running.result() if running.done() else None
    finally:
        asked.cancel()
        running.cancel()
    face.finish()
    return 1 if done is None or VERDICTS[done.ending].is_error else 0


async def _turns(session: Session, blocks: tuple[Block, ...], show: Callable[[Event], None]) -> RunDone | None:
    done = await shown(session.run(blocks), show)
    while (queued := next_after(session, done)) is not None:
        done = await shown(session.run_queued(queued), show)
    return done


def next_after(session: Session, done: RunDone | None) -> InputQueued | None:
    """The message to take up next. None after a turn that could not be stored: the next would fail alike, for ever."""
    return None if done is None or done.error == "log" else session.next_queued()


async def shown(events: AsyncGenerator[Event, None], show: Callable[[Event], None]) -> RunDone | None:
    """Show every event of a turn; return the last one."""
    done = None
    async with aclosing(events):
        async for event in events:
            show(event)
            if isinstance(event, RunDone):
                done = event
    return done
