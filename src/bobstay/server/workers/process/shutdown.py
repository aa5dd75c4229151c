"""How an engine process is made to end, politely first: by a word, by one signal after the other, by force."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any, Literal

from bobstay.server.workers.process.engine_process import EngineProcess, ShutdownTimeouts


async def interrupt(
    engine: EngineProcess, over: "asyncio.Future[None]", patience: ShutdownTimeouts, say: Callable[[], None] | None
) -> Literal["word", "signal", "force"]:
    """Have the turn end that `over` is the end of. `say` asks for it in the engine's own protocol, if it has one.

    Returns by what it ended; after all but a word the process is gone too.
    """
    if say is not None:
        say()
        if await _either(over, engine.ended, patience.word):
            return "word"
    for number, limit in ((signal.SIGINT, patience.sigint), (signal.SIGTERM, patience.sigterm)):
        engine.signal(number)
        if await _either(over, engine.ended, limit):
            return "signal"
    engine.kill()
    return "force"


async def end(
    engine: EngineProcess, over: "asyncio.Future[None]", patience: ShutdownTimeouts, say: Callable[[], None] | None
) -> None:
    """Have the process end, and the turn that may run before it. It may need force afterwards."""
    if say is not None:
        if not over.done():
            say()
            await _either(over, engine.ended, patience.word)
        engine.close_input()
        if await engine.gone(patience.word):
            return
    engine.signal(signal.SIGTERM)
    await engine.gone(patience.sigterm)


def how(code: int) -> str:
    """How a process ended, for a person."""
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
