"""Progress of a running tool, as an iterator that ends when the tool does."""

import asyncio
from collections.abc import AsyncIterator

from bobstay.model.live_events import ToolProgress
from bobstay.redaction.redactor import Redactor
from bobstay.tools.base import Outcome
from bobstay.tools.output_limit import make_printable


class ProgressChannel:
    """Passes on what a tool reports while it runs, with secrets redacted."""

    def __init__(self, call_id: str, redactor: Redactor) -> None:
        self._call_id = call_id
        self._redacted = redactor.stream()
        self._pieces: list[str] = []
        self._task: asyncio.Future[Outcome] | None = None
        self._wake: asyncio.Event = asyncio.Event()

    def report(self, text: str) -> None:
        self._pieces.append(text)
        self._wake.set()

    def follow(self, task: "asyncio.Future[Outcome]") -> None:
        self._task = task
        task.add_done_callback(lambda _: self._wake.set())

    async def __aiter__(self) -> AsyncIterator[ToolProgress]:
        assert self._task is not None
        while not self._task.done() or self._pieces:
            if self._pieces:
                text, self._pieces = "".join(self._pieces), []
                if shown := self._redacted.feed(text):
                    yield ToolProgress(self._call_id, make_printable(shown))
                continue
            self._wake.clear()
            await self._wake.wait()
        if rest := self._redacted.flush():
            yield ToolProgress(self._call_id, make_printable(rest))
