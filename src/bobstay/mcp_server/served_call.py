"""Served call: one tool call of an MCP client, in a task of its own that outlives a request while a person is asked."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from msgspec import Struct

from bobstay.model.message import Image, Text

STOP_SECONDS = 20.0
PROGRESS_LENGTH = 500


class CallResult(Struct, frozen=True):
    """What the client gets."""

    content: tuple[Text | Image, ...]
    is_error: bool = False
    structured: dict[str, Any] | None = None


class CallProgress(Struct, frozen=True):
    text: str


class CallQuestion:
    """A question to the person at the client's side. `answer` wakes the call."""

    def __init__(self, message: str, schema: dict[str, Any]) -> None:
        self.message = message
        self.schema = schema
        self.answered: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()

    def answer(self, content: dict[str, Any] | None) -> None:
        """None: the person declined."""
        if not self.answered.done():
            self.answered.set_result(content)


Work: TypeAlias = Callable[["ServedCall"], Awaitable[CallResult]]
current_call: "ContextVar[ServedCall | None]" = ContextVar("current_call", default=None)
"""The call on whose behalf code runs; its approvals are asked there."""


class ServedCall:
    """Runs `work`. `step` tells what it needs or did next.

    The task belongs to no cancel scope of the SDK: those cancel every `await` of a cleanup again.
    """

    def __init__(self, work: Work, *, can_ask: bool) -> None:
        """`can_ask`: whether the client can put questions to a person."""
        self.can_ask = can_ask
        self.stop: Callable[[], Awaitable[object]] | None = None
        """Ends the work in an orderly way, if it can do that; else its task is cancelled."""
        self._wake = asyncio.Event()
        self._progress = ""
        self._questions: list[CallQuestion] = []
        self._task = asyncio.ensure_future(self._run(work))
        self._task.add_done_callback(lambda _: self._wake.set())

    async def _run(self, work: Work) -> CallResult:
        current_call.set(self)
        return await work(self)

    def when_done(self, callback: Callable[[], None]) -> None:
        self._task.add_done_callback(lambda _: callback())

    def report(self, text: str) -> None:
        """Tell the client how far it is; of several texts before the client takes one, the last counts."""
        self._progress = text[-PROGRESS_LENGTH:]
        self._wake.set()

    async def ask(self, message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """Put a question to the person; None if they declined."""
        question = CallQuestion(message, schema)
        self._questions.append(question)
        self._wake.set()
        return await question.answered

    async def step(self) -> CallResult | CallQuestion | CallProgress:
        """Wait for what comes next. Raises what the work raised."""
        while True:
            self._wake.clear()
            if self._task.done():
                return self._task.result()
            if self._questions:
                return self._questions.pop(0)
            if self._progress:
                text, self._progress = self._progress, ""
                return CallProgress(text)
            await self._wake.wait()

    async def cancel(self) -> None:
        """End the work, and wait until nothing of it is left."""
        if self.stop is not None and not self._task.done():
            await self.stop()
            await asyncio.wait([self._task], timeout=STOP_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()


def text_result(text: str, *, is_error: bool = False) -> CallResult:
    return CallResult((Text(text),), is_error)
