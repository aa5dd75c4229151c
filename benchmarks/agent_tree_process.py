"""The process that `benchmarks.agent_tree` measures: a session with sub-agents, or as many sessions without one."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from benchmarks.model.script import TREE_STEPS
from bobstay.assembly.build_session import open_session
from bobstay.config.options import Options
from bobstay.model.event import Event, MessageDone, RunDone

LONGEST_WAIT = 300.0


async def main(kind: str, count: int, folder: str) -> None:
    run = Path(folder).name
    began = time.monotonic()
    if kind == "sessions":
        made = [_work(folder, f"BENCH:{run}:read:{TREE_STEPS} go") for _ in range(count)]
        steps = sum(own for own, _ in await asyncio.gather(*made))
    else:
        _, steps = await _work(folder, f"BENCH:{run}:tree:{count} go", at_once=count)
    needed = count * (TREE_STEPS + 1)
    assert steps == needed, f"{steps} steps instead of {needed}"
    pace = count * TREE_STEPS / (time.monotonic() - began)
    print(json.dumps({"pace": pace, "peak": _peak()}))


async def _work(folder: str, prompt: str, at_once: int = 0) -> tuple[int, int]:
    """Run one session until its sub-agents have ended; returns how often it and they asked the model."""
    session = await open_session(Options(cwd=folder, model="claude-sonnet-4-5", allowed_tools=("Read",)))
    steps = most = 0

    def count(_: object, event: object) -> None:
        nonlocal steps, most
        steps += isinstance(event, MessageDone)
        most = max(most, len(session.agents.list_running()))

    session.agents.listeners.append(count)
    try:
        own = await _run(session.run(prompt))
        while await session.background.wait(LONGEST_WAIT):
            own += await _run(session.run_notices())
        assert most == at_once, f"{most} sub-agents at once instead of {at_once}"
        return own, steps
    finally:
        await session.close()


async def _run(turn: AsyncGenerator[Event, None]) -> int:
    steps = 0
    async with aclosing(turn) as events:
        async for event in events:
            steps += isinstance(event, MessageDone)
            assert not isinstance(event, RunDone) or event.ending == "completed", event
    return steps


def _peak() -> int:
    """The most memory that this process ever had, in bytes."""
    status = Path("/proc/self/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
