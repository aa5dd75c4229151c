"""A terminal with a user: real shells, real pseudo-terminals, and a list as its log."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bobstay.model.event import Durable
from bobstay.server.workers.scrollback import ScrollbackSubscriber, TerminalExited, TerminalOutput
from bobstay.server.workers.terminal_worker import TerminalWorker
from tests.kit.waiting import DEADLINE

SESSION = "11111111-2222-4333-8444-555555555555"


class TerminalSession:
    def __init__(
        self, folder: Path, id: str = "term-1", record: Callable[[Durable], object] | None = None, **options: Any
    ) -> None:
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
            id, 1, SESSION, record or self.log.append, cwd=str(folder), environment=environment, **options
        )

    def read(self) -> "TerminalReader":
        return TerminalReader(self.terminal.subscribe())


class TerminalReader:
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
