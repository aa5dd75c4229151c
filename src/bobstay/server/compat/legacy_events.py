"""A session's events by the names of the first two consoles: what their pages switch on, in their spelling.

From the first come `system`, `assistant`, `user`, `result`, `status_change` and `token_*`; from the second `text`,
`tool_use`, `tool_result`, `tool_output`, `tool_timeout`, `task_update`, `status`, `permission_request`, `mode_changed`,
`error` and `done`.
"""

from typing import Any

import msgspec

from bobstay.model.api_shape import block_json, reply_content
from bobstay.model.event import (
    BlockDone,
    Durable,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    Noted,
    Prompted,
    Raw,
    RunDone,
    Task,
    TasksReplaced,
    ToolDone,
    TurnStarted,
)
from bobstay.model.message import ToolCall, Usage
from bobstay.model.session_events import WorkerExited
from bobstay.server.api.health_routes import CRITICAL_TEXT, WARNING_TEXT
from bobstay.server.compat.compat_shapes import TokenUsage
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import input_hash
from bobstay.wire.result_frame import VERDICTS, failure_text

_TEXTS = {"warning": WARNING_TEXT, "critical": CRITICAL_TEXT}


class LegacyEventEncoder:
    """One for a connection and session. Feed it every frame from the first on; what it returns is in order."""

    def __init__(self, session_id: str, registry: SessionRegistry) -> None:
        self._id = session_id
        self._registry = registry
        self._last = Usage()
        """Of the newest answer in the main talk (S000-32)."""
        self._turn = Usage()
        self._cost = 0.0
        self._open: set[str] = set()
        self._held: list[Message] = []
        """Lists of tasks that a call has just made: its result is told first (S002-1)."""

    def messages(self, entry: FrameEntry) -> list[Message]:
        """What a frame is to a client."""
        if not entry.seq:
            return self._transient(entry)
        event = entry.event
        told = self._told(event, entry)
        if entry.status is not None:
            told.append(self._status_change(entry))
        if isinstance(event, RunDone) and not entry.parent_call:
            told.append({"type": "done", "sessionId": self._id})
        return told

    def _told(self, event: Durable, entry: FrameEntry) -> list[Message]:  # noqa: PLR0911 - one row a kind of event
        match event:
            case TurnStarted(model=model, mode=mode):
                return self._began(model, mode)
            case Prompted(origin="human", blocks=blocks):
                return [self._spoken("user", [block_json(block) for block in blocks], event.id)]
            case BlockDone():
                return self._block(event)
            case MessageDone():
                return self._counted(event, entry)
            case ToolDone():
                return self._answered(event)
            case TasksReplaced(tasks=tasks):
                return self._tasks(tasks)
            case InteractionOpened():
                return [self._asked(event)]
            case InteractionClosed(id=id, outcome=outcome, by=by):
                return [self._status("permission_resolved", id=id, outcome=outcome, by=by)]
            case ModeChanged(mode=mode):
                return [{"type": "mode_changed", "mode": mode, "sessionId": self._id}]
            case Noted(text=text, level=level):
                return [self._error(text) if level == "error" else self._status("notice", message=text, level=level)]
            case WorkerExited(error=error) if error:
                return [self._error(error)]
            case RunDone():
                return self._ended(event)
            case Raw(data=data):
                return [{"type": "raw", "data": data, "sessionId": self._id}]
            case _:
                return []

    # ------------------------------------------------------------ stored

    def _began(self, model: str, mode: str) -> list[Message]:
        cwd = self._registry.view(self._id).cwd
        self._turn = Usage()
        return [
            {"type": "system", "subtype": "init", "sessionId": self._id, "cwd": cwd, "model": model},
            self._status("init", model=model, permissionMode=mode, cwd=cwd),
        ]

    def _block(self, event: BlockDone) -> list[Message]:
        said = self._spoken("assistant", [block_json(event.block)], event.message_id, model=event.model)
        said["usage"] = TokenUsage.of(event.usage)
        if not isinstance(event.block, ToolCall):
            return [said]
        call = event.block
        self._open.add(call.id)
        return [
            said,
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input, "sessionId": self._id},
        ]

    def _counted(self, event: MessageDone, entry: FrameEntry) -> list[Message]:
        self._turn += event.usage
        self._cost += event.cost
        if entry.parent_call or event.broken == "lost":
            return []
        self._last = event.usage
        usage, limit = TokenUsage.of(self._last), self._registry.view(self._id).context_limit
        fields = {"tokenUsage": usage, "contextLimit": limit, "sessionId": self._id}
        told: list[Message] = [{"type": "token_update", **fields}]
        if entry.threshold in _TEXTS:
            told.append({"type": f"token_{entry.threshold}", **fields, "message": _TEXTS[entry.threshold]})
        return told

    def _answered(self, event: ToolDone) -> list[Message]:
        reply = event.reply
        result: Message = {
            "type": "tool_result",
            "tool_use_id": reply.call_id,
            "content": reply_content(reply),
            "is_error": reply.is_error,
        }
        told = [self._spoken("user", [result], reply.call_id), {**result, "sessionId": self._id}]
        if (limit := _exceeded_limit(event.display)) is not None:
            seconds = round(max(event.duration_ms, limit) / 1000, 3)  # external engines tell no duration
            timeout = {"type": "tool_timeout", "tool_use_id": reply.call_id, "tool_name": event.name}
            told.insert(0, {**timeout, "elapsed_seconds": seconds, "sessionId": self._id})
        self._open.discard(reply.call_id)
        return [*told, *self._released()]

    def _tasks(self, tasks: tuple[Task, ...]) -> list[Message]:
        self._held = [{"type": "task_update", "session_id": self._id, "todos": [_todo(task) for task in tasks]}]
        return [] if self._open else self._released()

    def _released(self) -> list[Message]:
        held, self._held = self._held, []
        return held

    def _asked(self, event: InteractionOpened) -> Message:
        return {
            "type": "permission_request",
            "id": event.id,
            "kind": event.kind,
            "tool_name": event.call.name,
            "tool_use_id": event.call.id,
            "input": event.call.input,
            "input_sha256": input_hash(event.call),
            "suggestions": event.suggestions,
            "reason": event.reason,
            "description": event.description,
            "sessionId": self._id,
        }

    def _ended(self, event: RunDone) -> list[Message]:
        verdict = VERDICTS[event.ending]
        said: Message = {
            "type": "result",
            "subtype": verdict.subtype,
            "sessionId": self._id,
            "isError": verdict.is_error,
            "result": event.text,
            "costUsd": self._cost,
            "durationMs": event.duration_ms,
            "numTurns": event.turns,
            "usage": TokenUsage.of(self._turn),
        }
        self._open.clear()
        told = [*self._released(), said]
        if verdict.is_error:
            said["error"] = failure_text(event)
            told.append(self._error(failure_text(event)))
        return told

    def _status_change(self, entry: FrameEntry) -> Message:
        assert entry.status is not None
        said: Message = {"type": "status_change", "status": entry.status.now, "sessionId": self._id}
        if entry.status.error:
            said["errorMessage"] = entry.status.error
        said["tokenUsage"] = TokenUsage.of(self._last)
        return said

    # ------------------------------------------------------------ transient

    def _transient(self, entry: FrameEntry) -> list[Message]:
        match entry.type:
            case "part.delta":
                said = msgspec.json.decode(entry.data, type=dict[str, Any])
                return [self._text(said)] if said.get("kind") == "text" else []
            case "tool.output":
                words = entry.words
                said = {"tool_use_id": words["call_id"], "offset": words["offset"], "text": words["text"]}
                return [{"type": "tool_output", **said, "sessionId": self._id}]
            case "model.retrying":
                return [self._status("retrying", **entry.words)]
            case "stream.synchronized":
                return [self._text(part) for part in entry.words.get("parts", ()) if _has_text(part)]
            case "error":
                words = entry.words
                return [self._error(str(words.get("message", "")), code=words.get("code"))]
            case _:
                return []

    def _text(self, part: Message) -> Message:
        """S002-15: a piece of what is being said; by its offset a client knows where it goes."""
        said = {name: part[name] for name in ("message_id", "index", "offset", "text")}
        return {"type": "text", **said, "sessionId": self._id}

    # ------------------------------------------------------------ shapes

    def _spoken(self, role: str, content: list[Message], id: str, model: str = "") -> Message:
        said: Message = {"type": role, "sessionId": self._id, "message": {"id": id, "role": role, "content": content}}
        return {**said, "model": model} if model else said

    def _status(self, subtype: str, **fields: Any) -> Message:
        return {"type": "status", "subtype": subtype, **fields, "sessionId": self._id}

    def _error(self, text: str, **fields: Any) -> Message:
        return {"type": "error", "message": text, "error": text, **fields, "sessionId": self._id}


def _exceeded_limit(display: Any) -> int | None:
    """The milliseconds after which a command was stopped, or moved to the background; None if it was in time."""
    limit = display.get("timedOutAfterMs") if isinstance(display, dict) else None
    return limit if isinstance(limit, int) else None


def _todo(task: Task) -> Message:
    return {"content": task.content, "status": task.status, "activeForm": task.active_form}


def _has_text(part: Message) -> bool:
    return part.get("kind") == "text" and bool(part.get("text"))
