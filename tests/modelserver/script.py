"""Scripts of the test model, independent of vendors: scenarios are lists of steps, steps are lists of blocks."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from tests.kit.waiting import DEADLINE

TOKEN = re.compile(r"SCN:([A-Za-z0-9_\-]+)")

PHRASE = "said:"
"""Prefix of the name of a scenario that a phrase in the prompt selects, where a token would be in the way."""

BROKEN = "\ue000"
"""A placeholder character in a text: half of a UTF-8 sequence is sent instead."""


class Say(Struct, frozen=True, tag="say"):
    text: str


class Think(Struct, frozen=True, tag="think"):
    text: str
    signature: str = "c2lnbmF0dXJl"
    redacted: bool = False
    search: str = ""
    """The query of a web search that the vendor ran while thinking; only the Responses API reports it."""


class Call(Struct, frozen=True, tag="call"):
    name: str
    input: dict[str, Any] = {}
    id: str = ""
    """Empty: the server generates one."""
    raw: str = ""
    """Sent as the input's JSON text instead of `input`, malformed or not."""


Part: TypeAlias = Say | Think | Call


class Counts(Struct, frozen=True):
    """Tokens; the four never overlap."""

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0


class Gate:
    """A point in a stream where the server waits until the test opens it; the test can wait for the server to reach it.

    Works across threads and event loops.
    """

    def __init__(self) -> None:
        self._opened: Future[None] = _future()
        self._reached: Future[None] = _future()

    def open(self) -> None:
        _settle(self._opened)

    async def reached(self) -> None:
        """For the test: wait until the server has reached the gate."""
        await asyncio.wait_for(asyncio.wrap_future(self._reached), DEADLINE)

    def wait_reached(self) -> None:
        """The same for a test without an event loop."""
        self._reached.result(DEADLINE)

    async def passed(self) -> None:
        """For the server: report that the gate is reached, and wait until it is open."""
        _settle(self._reached)
        await asyncio.wrap_future(self._opened)


class Step(Struct, kw_only=True):
    """One answer of the model."""

    blocks: list[Part] = []
    stop: str = ""
    """A value of `bobstay.model.message.Stop`; empty: `tool_use` if there is a call, else `end_turn`."""
    usage: Counts = Counts()
    cost: float = 0
    """US dollars, as OpenRouter reports them with the usage."""

    delay: float = 0
    """Seconds before the first byte."""
    chunk_delay: float = 0
    """Seconds between events."""
    chunk: int = 0
    """Characters per delta; 0 splits each block in two."""
    slice: int = 0
    """Bytes per write to the socket; 0 writes event by event."""
    close_delimited: bool = False
    """End the body by closing the connection, with neither length nor chunks."""

    status: int = 0
    """An error response with this HTTP status instead of a stream."""
    error_type: str = ""
    """The vendor's name of the error; empty: the default for the status."""
    message: str = "scripted error"
    headers: dict[str, str] = {}
    """Added to the answer's head."""
    times: int = 0
    """How often this answer is given before `then`."""
    then: "Step | None" = None

    error_after: int | None = None
    """After so many blocks: an error inside the stream, of `status` (by then 200 has been sent) and `error_type`."""
    reset_after: int | None = None
    """After so many blocks: the connection is reset."""
    end_after: int | None = None
    """After so many blocks: the answer ends, properly for HTTP, without the vendor's closing event."""
    stall: Literal["", "silent", "pings", "half_event"] = ""
    """Accept the request and then send nothing, or endless pings, or (after `stall_after` blocks) half an event."""
    stall_after: int = 0
    pings: int = 0
    """At `stall_after` blocks: so many pings, 20 ms apart, before the answer continues."""
    ping: bytes = b""
    """The bytes of a ping; empty: that of the dialect."""
    gate: Gate | None = None
    gate_after: int = 0
    """Wait at the gate after so many blocks; 0: before the first byte."""
    raw: bytes | None = None
    """Sent as the whole body of a 200 event stream."""


Scenario: TypeAlias = "list[Step | Callable[[Any], Step]]"


class Turn(Struct):
    """The part of a message that is needed to choose a step."""

    role: Literal["user", "assistant"]
    text: str = ""


class Choice(Struct):
    scenario: str
    index: int


def choose(turns: list[Turn], known: "dict[str, Scenario]") -> Choice | None:
    """Return the scenario that the last token names, and the number of answers since."""
    name, at = "", -1
    for position, turn in enumerate(turns):
        if turn.role == "user":
            for found in TOKEN.finditer(turn.text):
                if found[1] in known:
                    name, at = found[1], position
            for scenario in known:
                if scenario.startswith(PHRASE) and scenario.removeprefix(PHRASE) in turn.text:
                    name, at = scenario, position
    if not name:
        return None
    answers, previous = 0, "user"
    for turn in turns[at + 1 :]:
        # Consecutive answers count as one: some adapters send one message per block.
        answers += turn.role == "assistant" and previous != "assistant"
        previous = turn.role
    return Choice(name, answers)


def pieces(text: str, chunk: int) -> list[str]:
    """Split `text` by a step's `chunk`."""
    size = chunk or max(1, (len(text) + 1) // 2)
    return [text[start : start + size] for start in range(0, len(text), size)]


def _future() -> "Future[None]":
    future: Future[None] = Future()
    # A running future cannot be cancelled, so that one waiter that gives up does not affect the others.
    future.set_running_or_notify_cancel()
    return future


def _settle(future: "Future[None]") -> None:
    if not future.done():
        future.set_result(None)
