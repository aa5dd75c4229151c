"""Normaliser: converts the frames of a stream-json engine to events. Pure, and robust against any frame.

Unknown frames are kept as `Raw`. A frame is a JSON object of any shape.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from bobstay.model.api_shape import block_from_json, blocks_from_json, usage_from_json
from bobstay.model.event import (
    BlockDone,
    Durable,
    ModeChanged,
    ModelChanged,
    Noted,
    Prompted,
    Raw,
    TasksReplaced,
    ToolDone,
)
from bobstay.model.ids import new_id
from bobstay.model.live_events import Live
from bobstay.model.message import Block, Text, ToolCall, ToolReply
from bobstay.server.workers.process.engine_init import EngineSurface
from bobstay.server.workers.process.engine_notices import error_notice, notice, rate_limit
from bobstay.server.workers.process.engine_tasks import EngineTasks
from bobstay.server.workers.process.flat_frames import FlatPieces, find_decision, nest_frame
from bobstay.server.workers.process.message_tracker import MessageTracker, TrackedEvent
from bobstay.server.workers.process.partial_messages import PartialMessages, TokenCount
from bobstay.server.workers.process.turn_results import is_failure, parse_result
from bobstay.server.workers.process.untrusted_fields import amount, text

NO_RESULT = "No result received: the engine ended before the call did. Check its effects before trying again."
MOST_HELD = 1_000
"""Results that may be held until their calls arrive."""
CONTROL = frozenset({"control_request", "control_response", "control_cancel_request"})
SILENT = CONTROL | {"keep_alive", "transcript_mirror", "tool_progress"}
_LOCAL = "<local-command-stdout>"


class Normaliser:
    """Normaliser of one engine process. Feed it frames in order."""

    def __init__(self, model: str = "", mode: str = "", cost: float = 0.0) -> None:
        self.model = model
        self.mode = mode
        self.engine_session = ""
        """The engine's own id of this conversation, as soon as it is known."""
        self.queued: set[str] = set()
        """Prompts that the engine has queued."""
        self.sent: set[str] = set()
        """Prompts sent by the worker: their echo is ignored."""
        self.interrupting, self.surface = False, EngineSurface()
        self.open_calls: dict[str, TrackedEvent] = {}
        self._calls: dict[str, ToolCall] = {}
        self._early: dict[str, list[TrackedEvent]] = {}
        self._agents: dict[str, tuple[str, str]] = {}
        self._messages = MessageTracker(cost)
        self._partials: dict[str, PartialMessages] = {}
        self._flat: dict[str, FlatPieces] = {}
        self._tasks = EngineTasks()

    def feed(self, frame: dict[str, Any]) -> list[TrackedEvent]:
        frame = nest_frame(frame)
        parent, agent = self._sender(frame)
        found = [
            event if isinstance(event, TrackedEvent) else TrackedEvent(event, parent, agent)
            for event in self._events(frame, parent, agent)
        ]
        return found if parent else _with_engine_id(found, text(frame, "uuid"))

    def reset_cost(self) -> None:
        """A new process begins a new conversation, so its cost starts at 0."""
        self._messages = MessageTracker()

    def agent(self, agent_id: str) -> tuple[str, str]:
        """The name of a sub-agent and the call that started it."""
        return self._agents.get(agent_id, (agent_id, ""))

    def close_turn(self) -> list[TrackedEvent]:
        """Close everything that is open, when the engine ends during a turn."""
        return [*self._messages.all_done(), *self._orphans(), *self._unanswered()]

    def _events(self, frame: dict[str, Any], parent: str, agent: str) -> Iterator[Durable | Live | TrackedEvent]:
        match frame.get("type"):
            case "system":
                yield from self._system(frame)
            case "assistant":
                yield from self._assistant(frame, parent, agent)
            case "user":
                yield from self._user(frame, parent, agent)
            case "result":
                yield from self._result(frame)
            case "stream_event":
                yield from self._partial(frame, parent)
            case "tool_use":
                yield from self._lone_call(frame, parent, agent)
            case "tool_result":
                yield from self._lone_reply(frame, parent, agent)
            case "error":
                yield error_notice(frame)
            case "command_lifecycle":
                self._lifecycle(frame)
            case "rate_limit_event":
                if (event := rate_limit(frame)) is not None:
                    yield event
            case "conversation_reset":
                self.engine_session = text(frame, "new_conversation_id") or self.engine_session
                yield Noted("The engine started a new conversation: it no longer knows the earlier messages.")
            case kind if isinstance(kind, str) and kind in SILENT:
                return
            case _:
                yield Raw(frame)

    # ------------------------------------------------------------ the engine about itself

    def _system(self, frame: dict[str, Any]) -> Iterator[Durable | Live | TrackedEvent]:
        if frame.get("subtype") == "init":
            self.engine_session = text(frame, "session_id") or self.engine_session
            yield from self._track_changes(text(frame, "model"), text(frame, "permissionMode"))
            yield from self.surface.new_inventory(frame)
            return
        if frame.get("subtype") == "task_started" and (task := text(frame, "task_id")):
            self._agents[task] = (text(frame, "subagent_type") or task, text(frame, "tool_use_id"))
        yield from self._track_changes("", text(frame, "permissionMode"))
        if (event := notice(frame, self.model)) is not None:
            if isinstance(event, ModelChanged):
                self.model = event.model
            yield event

    def _track_changes(self, model: str, mode: str) -> Iterator[Durable]:
        if model and model != self.model:
            previous, self.model = self.model, model
            yield ModelChanged(model, previous=previous)
        if mode and mode != self.mode:
            self.mode = mode
            yield ModeChanged(mode)

    def _lifecycle(self, frame: dict[str, Any]) -> None:
        id = text(frame, "command_uuid")
        if frame.get("state") == "queued" and id in self.sent:
            self.queued.add(id)
        else:
            self.queued.discard(id)

    # ------------------------------------------------------------ the model

    def _assistant(self, frame: dict[str, Any], parent: str, agent: str) -> Iterator[Durable | Live | TrackedEvent]:
        message = frame.get("message")
        if not isinstance(message, dict):
            yield Raw(frame)
            return
        content = message.get("content")
        if message.get("model") == "<synthetic>":
            failed = bool(frame.get("error") or frame.get("is_api_error_message"))
            texts = [block.text for block in blocks_from_json(content) if isinstance(block, Text)]
            yield from (Noted(text, "error" if failed else "info") for text in texts)
            return
        flat = self._flat[parent].take_id() if parent in self._flat else ""
        id = text(message, "id") or flat or text(frame, "uuid") or new_id()
        yield from self._messages.begin(
            parent, agent, id, text(message, "model"), usage_from_json(message.get("usage"))
        )
        entries = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(entries, list):
            yield Raw(frame)
            return
        for entry in entries:
            yield from self._block(entry, frame, parent, agent)
        self._messages.stopped(parent, message.get("stop_reason"))

    def _block(self, entry: Any, frame: dict[str, Any], parent: str, agent: str) -> Iterator[Durable | TrackedEvent]:
        block = block_from_json(entry)
        if isinstance(block, ToolReply):
            yield from self._reply(block, frame, parent, agent, alone=False)
            return
        position = self._messages.next_block(parent, is_call=isinstance(block, ToolCall))
        if block is None:
            yield Raw({"type": "assistant", "message_id": position.message_id, "block": entry})
            return
        done = position.done(block, partial=frame.get("aborted") is True)
        if isinstance(block, ToolCall):
            yield from self._call(block, done, parent, agent)
        else:
            yield done

    def _call(self, call: ToolCall, done: BlockDone, parent: str, agent: str) -> Iterator[Durable | TrackedEvent]:
        if call.id in self._calls:
            return  # reported twice, as a block and as a frame
        self._calls[call.id] = call
        self.open_calls[call.id] = TrackedEvent(done, parent, agent)
        yield done
        for early in self._early.pop(call.id, ()):
            assert isinstance(early.event, ToolDone)
            yield from self._tool_done(early.event, parent or early.parent_call, agent or early.agent)

    def _lone_call(self, frame: dict[str, Any], parent: str, agent: str) -> Iterator[Durable | TrackedEvent]:
        """A call that is a frame of its own, as some engines send it."""
        inner = frame.get("tool_use")
        call = block_from_json({**(inner if isinstance(inner, dict) else frame), "type": "tool_use"})
        if not isinstance(call, ToolCall):
            yield Raw(frame)
            return
        id = text(frame, "message_id") or text(frame, "uuid") or f"call-{call.id}"
        yield from self._messages.begin(parent, agent, id, self.model)
        position = self._messages.next_block(parent, is_call=True)
        yield from self._call(call, position.done(call), parent, agent)

    def _partial(self, frame: dict[str, Any], parent: str) -> Iterator[Durable | Live | TrackedEvent]:
        event = frame.get("event")
        if not isinstance(event, dict):
            flat = self._flat.setdefault(parent, FlatPieces()).feed(frame, self.model)
            yield from flat or (Raw(frame),)
            return
        partial = self._partials.setdefault(parent, PartialMessages())
        piece = partial.feed(event, text(frame, "api_message_id"))
        if isinstance(piece, TokenCount):
            yield from self._messages.counted(parent, piece)
        elif piece is not None:
            yield piece

    # ------------------------------------------------------------ tools and people

    def _user(self, frame: dict[str, Any], parent: str, agent: str) -> Iterator[Durable | TrackedEvent]:
        message = frame.get("message")
        if not isinstance(message, dict):
            yield Raw(frame)
            return
        content = message.get("content")
        blocks = blocks_from_json(content)
        known = len(content) if isinstance(content, list) else len(blocks)
        if known != len(blocks) or not isinstance(content, str | list):
            yield Raw(frame)
        replies = [block for block in blocks if isinstance(block, ToolReply)]
        for reply in replies:
            yield from self._reply(reply, frame, parent, agent, alone=len(replies) == 1)
        content_blocks = tuple(block for block in blocks if not isinstance(block, ToolReply | ToolCall))
        if content_blocks:
            yield from self._user_message(frame, content_blocks, parent)

    def _user_message(self, frame: dict[str, Any], blocks: tuple[Block, ...], parent: str) -> Iterator[Durable]:
        id = text(frame, "uuid") or new_id()
        first = blocks[0].text if isinstance(blocks[0], Text) else ""
        if id in self.sent:
            self.queued.discard(id)
        elif first.startswith(_LOCAL):
            yield Noted(first.removeprefix(_LOCAL).removesuffix(_LOCAL.replace("<", "</")).strip() or "Done.")
        elif frame.get("isReplay") is True and not parent:
            yield Raw(frame)
        else:
            interrupted = first.startswith("[Request interrupted by user")
            why = "interrupt" if interrupted else "subagent" if parent else "engine"
            yield Prompted(id, blocks, "harness", why=why)

    def _lone_reply(self, frame: dict[str, Any], parent: str, agent: str) -> Iterator[Durable | TrackedEvent]:
        inner = frame.get("tool_result")
        reply = block_from_json({**(inner if isinstance(inner, dict) else frame), "type": "tool_result"})
        if isinstance(reply, ToolReply):
            yield from self._reply(reply, frame, parent, agent, alone=True)
        else:
            yield Raw(frame)

    def _reply(
        self, reply: ToolReply, frame: dict[str, Any], parent: str, agent: str, *, alone: bool
    ) -> Iterator[Durable | TrackedEvent]:
        display = frame.get("tool_use_result") if alone else None
        decided = find_decision(frame.get("tool_result_meta"), reply.call_id)
        done = ToolDone(
            reply,
            display=display,
            decided=decided,
            denied=decided is not None and decided.verdict == "reject",
            interrupted=isinstance(display, dict) and display.get("interrupted") is True,
        )
        if reply.call_id not in self._calls:
            if sum(map(len, self._early.values())) < MOST_HELD:
                self._early.setdefault(reply.call_id, []).append(TrackedEvent(done, parent, agent))
            else:
                yield Raw(frame)
            return
        yield from self._tool_done(done, parent, agent)

    def _tool_done(self, done: ToolDone, parent: str, agent: str) -> Iterator[Durable | TrackedEvent]:
        """Each result is recorded; the last one counts."""
        call = self._calls[done.reply.call_id]
        self.open_calls.pop(call.id, None)
        yield from self._messages.over(parent)
        yield TrackedEvent(replace(done, name=call.name), parent, agent)
        if not parent and not done.reply.is_error:
            tasks = self._tasks.after(call, done.display)
            if tasks is not None:
                yield TasksReplaced(tasks)

    # ------------------------------------------------------------ the end of a turn

    def _result(self, frame: dict[str, Any]) -> Iterator[Durable | TrackedEvent]:
        done = parse_result(frame, interrupting=self.interrupting)
        if not is_failure(frame) or frame.get("num_turns"):
            self.engine_session = text(frame, "session_id") or self.engine_session
        yield from self._messages.all_done(
            usage_from_json(frame.get("usage")), amount(frame, "total_cost_usd", "cost_usd")
        )
        yield from self._orphans()
        if done.ending != "deferred":
            yield from self._unanswered()
        self._calls.clear()
        self.open_calls.clear()
        self._partials.clear()
        self._flat.clear()
        yield done

    def _orphans(self) -> Iterator[TrackedEvent]:
        """Results without a call: kept, with a warning."""
        for call_id, replies in self._early.items():
            yield TrackedEvent(Noted(f"A result arrived for an unknown call: {call_id[:80]}", "warning"))
            yield from replies
        self._early.clear()

    def _unanswered(self) -> Iterator[TrackedEvent]:
        for call_id, tracked in self.open_calls.items():
            name = self._calls[call_id].name
            reply = ToolReply(call_id, (Text(NO_RESULT),), is_error=True)
            yield TrackedEvent(ToolDone(reply, name, interrupted=True), tracked.parent_call, tracked.agent)
        self.open_calls.clear()

    def _sender(self, frame: dict[str, Any]) -> tuple[str, str]:
        parent, agent_id = text(frame, "parent_tool_use_id"), text(frame, "agent_id")
        if not parent:
            return "", ""
        name = text(frame, "subagent_type") or agent_id or "agent"
        if agent_id:
            self._agents[agent_id] = (name, parent)
        return parent, name


def _with_engine_id(found: list[TrackedEvent], uuid: str) -> list[TrackedEvent]:
    """Give the first block of a frame the engine's own id, so that the conversation can be forked there."""
    if uuid:
        for position, tracked in enumerate(found):
            if isinstance(tracked.event, BlockDone):
                found[position] = replace(tracked, id=uuid)
                break
    return found


def unreadable_line(line: bytes) -> TrackedEvent:
    """A line that is not a frame, kept unchanged."""
    return TrackedEvent(Raw({"line": line.decode("utf-8", "replace")}))
