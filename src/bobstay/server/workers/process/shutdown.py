"""Ends engine processes step by step: by a control request, by signals, then by force."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any, Literal

from bobstay.server.workers.process.engine_process import EngineProcess, ShutdownTimeouts


async def interrupt_turn(
    engine: EngineProcess, over: "asyncio.Future[None]", timeouts: ShutdownTimeouts, say: Callable[[], None] | None
) -> Literal["word", "signal", "force"]:
    """End the turn whose end is `over`. `say` requests that in the engine's own protocol, if it has one.

    Returns what ended it; unless that was a request (`word`), the process has ended too.
    """
    if say is not None:
        say()
        if await _either(over, engine.ended, timeouts.word):
            return "word"
    for number, limit in ((signal.SIGINT, timeouts.sigint), (signal.SIGTERM, timeouts.sigterm)):
        engine.signal(number)
        if await _either(over, engine.ended, limit):
            return "signal"
    engine.kill()
    return "force"


async def end_process(
    engine: EngineProcess, over: "asyncio.Future[None]", timeouts: ShutdownTimeouts, say: Callable[[], None] | None
) -> None:
    """End a running turn, then the process, which may have to be killed afterwards."""
    if say is not None:
        if not over.done():
            say()
            await _either(over, engine.ended, timeouts.word)
        engine.close_input()
        if await engine.wait_ended(timeouts.word):
            return
    engine.signal(signal.SIGTERM)
    await engine.wait_ended(timeouts.sigterm)


def describe_exit(code: int) -> str:
    """A message for a person that says how a process ended."""
    if code >= 0:
        return f"Process exited with code {code}"
    return f"The process was ended by {signal_name(code)}"


def signal_name(code: int) -> str:
    """The name of the signal in an exit code; empty if there is none."""
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


async def _either(over: "asyncio.Future[None]", ended: "asyncio.Future[int]", limit: float) -> bool:
    waited: list[asyncio.Future[Any]] = [over, ended]
    await asyncio.wait(waited, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    return over.done() or ended.done()
