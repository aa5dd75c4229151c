"""A terminal with a user: real shells, real pseudo-terminals, and a list as its log."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bobstay.model.event import Durable
from bobstay.server.workers.scrollback import ScrollbackSubscriber, TerminalExited, TerminalOutput
from bobstay.server.workers.terminal_worker import TerminalWorker
from tests.deadline import DEADLINE

SESSION = "11111111-2222-4333-8444-555555555555"


class Desk:
    def __init__(self, folder: Path, id: str = "term-1", **options: Any) -> None:
        self.log: list[Durable] = []
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "SHELL": "/bin/sh",
            "ANTHROPIC_API_KEY": "sk-ant-secret-of-the-server",
            "BOBSTAY_TOKEN": "token-of-the-server",
            **options.pop("environment", {}),
        }
        self.terminal = TerminalWorker(
            id, 1, SESSION, self.log.append, cwd=str(folder), environment=environment, **options
        )

    def read(self) -> "Reading":
        return Reading(self.terminal.subscribe())


class Reading:
    """Follows a terminal and knows all it said."""

    def __init__(self, follower: ScrollbackSubscriber) -> None:
        self.follower = follower
        self.text = b""
        self.others: list[Any] = []

    async def until(self, condition: Callable[[bytes], bool] | bytes) -> bytes:
        """Wait until what was said so far is as wanted, or holds these bytes."""
        wanted = condition if callable(condition) else lambda text: condition in text
        async with asyncio.timeout(DEADLINE):
            while not wanted(self.text):
                piece = await self.follower.next_piece()
                if isinstance(piece, TerminalOutput):
                    self.text += piece.data
                else:
                    self.others.append(piece)
        return self.text

    async def end(self) -> TerminalExited:
        async with asyncio.timeout(DEADLINE):
            while True:
                piece = await self.follower.next_piece()
                if isinstance(piece, TerminalExited):
                    return piece
                if isinstance(piece, TerminalOutput):
                    self.text += piece.data


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that nobody tells of."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.01)


def memory() -> int:
    """Bytes this process has in memory."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
