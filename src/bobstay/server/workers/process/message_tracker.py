"""Tracks the current model answer of each conversation of an engine, and when it is complete.

An engine reports an answer block by block, and its cost only at the end of the turn, as a sum since the session began.
The last answer of a turn therefore waits for that, and cost that cannot be assigned to it goes to the next one.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.api_shape import stop_from_json
from bobstay.model.event import BlockDone, Durable, MessageDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import Live
from bobstay.model.message import Block, Stop, Usage
from bobstay.server.workers.process.partial_messages import TokenCount

NO_USAGE = Usage()


class TrackedEvent(Struct, frozen=True):
    """An event, and which sub-agent it came from."""

    event: Durable | Live
    parent_call: str = ""
    agent: str = ""
    id: str = ""
    """The engine's own id of it, if it has one."""


class _Message(Struct):
    id: str
    model: str
    agent: str
    usage: Usage = Usage()
    blocks: int = 0
    calls: bool = False
    stop: Stop | None = None
    counted: bool = False
    """Its final token count is known."""


class BlockPosition(Struct, frozen=True):
    """The position of the next block."""

    index: int
    message_id: str
    model: str
    usage: Usage

    def done(self, block: Block, *, partial: bool = False) -> BlockDone:
        return BlockDone(self.message_id, self.index, block, self.model, self.usage, partial)


class MessageTracker:
    """Current answers by the call that started a sub-agent; the main conversation has an empty key."""

    def __init__(self, cost: float = 0.0) -> None:
        self._current: dict[str, _Message] = {}
        self._blocks: dict[str, int] = {}
        """Number of blocks of each answer in this turn: an answer may continue after another one."""
        self._cost = cost
        self._output = 0
        """Output tokens of the main conversation reported in this turn."""

    def begin(self, parent: str, agent: str, id: str, model: str, usage: Usage = NO_USAGE) -> Iterator[TrackedEvent]:
        """The answer `id` begins or continues: a previous answer with another id is complete."""
        current = self._current.get(parent)
        if current is not None and current.id == id:
            return
        yield from self._done(parent)
        self._current[parent] = _Message(id, model, agent, usage, self._blocks.get(id, 0))

    def next_block(self, parent: str, *, is_call: bool) -> BlockPosition:
        message = self._current[parent]
        index = message.blocks
        message.blocks += 1
        message.calls = message.calls or is_call
        self._blocks[message.id] = message.blocks
        return BlockPosition(index, message.id, message.model, message.usage)

    def stopped(self, parent: str, reason: Any) -> None:
        if (stop := stop_from_json(reason)) is not None:
            self._current[parent].stop = stop

    def counted(self, parent: str, count: TokenCount) -> Iterator[TrackedEvent]:
        message = self._current.get(parent)
        if message is None or message.id != count.message_id:
            return
        message.usage, message.counted = count.usage, True
        message.stop = count.stop or message.stop
        if message.stop == "tool_use":
            yield from self._done(parent)

    def over(self, parent: str) -> Iterator[TrackedEvent]:
        """A call of this conversation has a result: an answer whose token count is known is complete."""
        message = self._current.get(parent)
        if message is not None and message.counted:
            yield from self._done(parent)

    def all_done(self, usage: Usage | None = None, cost: float = 0.0) -> Iterator[TrackedEvent]:
        """The turn is over; `usage` is that of the main conversation, `cost` the sum since the session began."""
        for parent in [parent for parent in self._current if parent]:
            yield from self._done(parent)
        last = self._current.get("")
        if last is not None:
            if usage is not None and not last.counted:
                output = max(usage.output - self._output, last.usage.output)
                last.usage = replace(last.usage, output=output)
            yield from self._done("", self._more(cost))
            self._cost = cost
        elif (more := self._more(cost)) > 0:
            # Cost without an answer, or after the last answer was complete.
            counted = NO_USAGE if self._output or usage is None else usage
            yield TrackedEvent(MessageDone(new_id(), "", "end_turn", counted, more, broken="lost"))
            self._cost = cost
        self._blocks.clear()
        self._output = 0

    def _more(self, cost: float) -> float:
        """Cost since the last turn; a smaller sum than before means that the engine restarted its count."""
        return cost - self._cost if cost >= self._cost else cost

    def _done(self, parent: str, cost: float = 0.0) -> Iterator[TrackedEvent]:
        message = self._current.pop(parent, None)
        if message is None:
            return
        if not parent:
            self._output += message.usage.output
        stop: Stop = message.stop or ("tool_use" if message.calls else "end_turn")
        done = MessageDone(message.id, message.model, stop, message.usage, cost)
        yield TrackedEvent(done, parent, message.agent)
