"""Encodes a session's events under the names of the first two consoles.

From the first come `system`, `assistant`, `user`, `result`, `status_change` and `token_*`; from the second `text`,
`tool_use`, `tool_result`, `tool_output`, `tool_timeout`, `task_update`, `status`, `permission_request`, `mode_changed`,
`error` and `done`.
"""

from typing import Any

import msgspec

from bobstay.model.agent_events import AgentEvent
from bobstay.model.api_shape import block_json, reply_content
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    Advised,
    BlockDone,
    Durable,
    HookRan,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    PermissionsChanged,
    Prompted,
    Pruned,
    Raw,
    RunDone,
    Task,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import ToolCall, Usage
from bobstay.model.session_events import SessionEvent, WorkerExited, WorkerStarted
from bobstay.server.api.health_routes import CRITICAL_TEXT, WARNING_TEXT
from bobstay.server.compat.compat_shapes import TokenUsage
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.sessions.open_interactions import input_hash
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.wire.result_frame import RESULT_ROWS, failure_text

_TEXTS = {"warning": WARNING_TEXT, "critical": CRITICAL_TEXT}


class LegacyEventEncoder:
    """One per connection and session. It must get every frame from the first on; its output is in order."""

    def __init__(self, session_id: str, registry: SessionRegistry) -> None:
        self._id = session_id
        self._registry = registry
        self._last = Usage()
        """Usage of the last answer in the main conversation."""
        self._turn = Usage()
        self._cost = 0.0
        self._open: set[str] = set()
        self._held_tasks: list[Message] = []
        """Task updates of a running tool call, held back until its result is sent."""

    def messages(self, entry: FrameEntry) -> list[Message]:
        """The messages for a frame."""
        if not entry.seq:
            return self._transient(entry)
        event = entry.event
        messages = self._encode(event, entry)
        if entry.status is not None:
            messages.append(self._status_change(entry))
        if isinstance(event, RunDone) and not entry.parent_call:
            messages.append({"type": "done", "sessionId": self._id})
        return messages

    def _encode(self, event: Durable, entry: FrameEntry) -> list[Message]:  # noqa: PLR0911 - one row a kind of event
        match event:
            case TurnStarted(model=model, mode=mode):
                return self._turn_started(model, mode)
            case Prompted(origin="human", blocks=blocks):
                return [self._role_message("user", [block_json(block) for block in blocks], event.id)]
            case BlockDone():
                return self._block(event)
            case MessageDone():
                return self._token_usage(event, entry)
            case ToolDone():
                return self._tool_result(event)
            case TasksReplaced(tasks=tasks):
                return self._tasks(tasks)
            case InteractionOpened():
                return [self._permission_request(event)]
            case InteractionClosed(id=id, outcome=outcome, by=by):
                return [self._status("permission_resolved", id=id, outcome=outcome, by=by)]
            case ModeChanged(mode=mode):
                return [{"type": "mode_changed", "mode": mode, "sessionId": self._id}]
            case Noted(text=text, level=level):
                return [self._error(text) if level == "error" else self._status("notice", message=text, level=level)]
            case WorkerExited(error=error) if error:
                return [self._error(error)]
            case RunDone():
                return self._result(event)
            case Raw(data=data):
                return [{"type": "raw", "data": data, "sessionId": self._id}]
            case (
                SessionEvent()
                | BackgroundEvent()
                | AgentEvent()
                | Prompted()
                | InputQueued()
                | InputDropped()
                | Pruned()
                | Advised()
                | ToolStarted()
                | ModelChanged()
                | PermissionsChanged()
                | HookRan()
                | WorkerStarted()
                | WorkerExited()
            ):
                return []

    # ------------------------------------------------------------ stored

    def _turn_started(self, model: str, mode: str) -> list[Message]:
        cwd = self._registry.view(self._id).cwd
        self._turn = Usage()
        return [
            {"type": "system", "subtype": "init", "sessionId": self._id, "cwd": cwd, "model": model},
            self._status("init", model=model, permissionMode=mode, cwd=cwd),
        ]

    def _block(self, event: BlockDone) -> list[Message]:
        message = self._role_message("assistant", [block_json(event.block)], event.message_id, model=event.model)
        message["usage"] = TokenUsage.of(event.usage)
        if not isinstance(event.block, ToolCall):
            return [message]
        call = event.block
        self._open.add(call.id)
        return [
            message,
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input, "sessionId": self._id},
        ]

    def _token_usage(self, event: MessageDone, entry: FrameEntry) -> list[Message]:
        self._turn += event.usage
        self._cost += event.cost
        if entry.parent_call or event.broken == "lost":
            return []
        self._last = event.usage
        usage, limit = TokenUsage.of(self._last), self._registry.view(self._id).context_limit
        fields = {"tokenUsage": usage, "contextLimit": limit, "sessionId": self._id}
        messages: list[Message] = [{"type": "token_update", **fields}]
        if entry.threshold in _TEXTS:
            messages.append({"type": f"token_{entry.threshold}", **fields, "message": _TEXTS[entry.threshold]})
        return messages

    def _tool_result(self, event: ToolDone) -> list[Message]:
        reply = event.reply
        result: Message = {
            "type": "tool_result",
            "tool_use_id": reply.call_id,
            "content": reply_content(reply),
            "is_error": reply.is_error,
        }
        messages = [self._role_message("user", [result], reply.call_id), {**result, "sessionId": self._id}]
        if (limit := _exceeded_limit(event.display)) is not None:
            seconds = round(max(event.duration_ms, limit) / 1000, 3)  # external engines report no duration
            timeout = {"type": "tool_timeout", "tool_use_id": reply.call_id, "tool_name": event.name}
            messages.insert(0, {**timeout, "elapsed_seconds": seconds, "sessionId": self._id})
        self._open.discard(reply.call_id)
        return [*messages, *self._release_tasks()]

    def _tasks(self, tasks: tuple[Task, ...]) -> list[Message]:
        self._held_tasks = [{"type": "task_update", "session_id": self._id, "todos": [_todo(task) for task in tasks]}]
        return [] if self._open else self._release_tasks()

    def _release_tasks(self) -> list[Message]:
        held, self._held_tasks = self._held_tasks, []
        return held

    def _permission_request(self, event: InteractionOpened) -> Message:
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

    def _result(self, event: RunDone) -> list[Message]:
        row = RESULT_ROWS[event.ending]
        message: Message = {
            "type": "result",
            "subtype": row.subtype,
            "sessionId": self._id,
            "isError": row.is_error,
            "result": event.text,
            "costUsd": self._cost,
            "durationMs": event.duration_ms,
            "numTurns": event.turns,
            "usage": TokenUsage.of(self._turn),
        }
        self._open.clear()
        messages = [*self._release_tasks(), message]
        if row.is_error:
            message["error"] = failure_text(event)
            messages.append(self._error(failure_text(event)))
        return messages

    def _status_change(self, entry: FrameEntry) -> Message:
        assert entry.status is not None
        message: Message = {"type": "status_change", "status": entry.status.now, "sessionId": self._id}
        if entry.status.error:
            message["errorMessage"] = entry.status.error
        message["tokenUsage"] = TokenUsage.of(self._last)
        return message

    # ------------------------------------------------------------ transient

    def _transient(self, entry: FrameEntry) -> list[Message]:
        match entry.type:
            case "part.delta":
                message = msgspec.json.decode(entry.data, type=dict[str, Any])
                return [self._text_delta(message)] if message.get("kind") == "text" else []
            case "tool.output":
                payload = entry.payload
                message = {"tool_use_id": payload["call_id"], "offset": payload["offset"], "text": payload["text"]}
                return [{"type": "tool_output", **message, "sessionId": self._id}]
            case "model.retrying":
                return [self._status("retrying", **entry.payload)]
            case "stream.synchronized":
                return [self._text_delta(part) for part in entry.payload.get("parts", ()) if _has_text(part)]
            case "error":
                payload = entry.payload
                return [self._error(str(payload.get("message", "")), code=payload.get("code"))]
            case _:
                return []

    def _text_delta(self, part: Message) -> Message:
        """A part of the text that is being written; its offset says where it belongs."""
        message = {name: part[name] for name in ("message_id", "index", "offset", "text")}
        return {"type": "text", **message, "sessionId": self._id}

    # ------------------------------------------------------------ shapes

    def _role_message(self, role: str, content: list[Message], id: str, model: str = "") -> Message:
        message: Message = {
            "type": role,
            "sessionId": self._id,
            "message": {"id": id, "role": role, "content": content},
        }
        return {**message, "model": model} if model else message

    def _status(self, subtype: str, **fields: Any) -> Message:
        return {"type": "status", "subtype": subtype, **fields, "sessionId": self._id}

    def _error(self, text: str, **fields: Any) -> Message:
        return {"type": "error", "message": text, "error": text, **fields, "sessionId": self._id}


def _exceeded_limit(display: Any) -> int | None:
    """The exceeded timeout, in milliseconds, of a command that was stopped or moved to the background, or None."""
    limit = display.get("timedOutAfterMs") if isinstance(display, dict) else None
    return limit if isinstance(limit, int) else None


def _todo(task: Task) -> Message:
    return {"content": task.content, "status": task.status, "activeForm": task.active_form}


def _has_text(part: Message) -> bool:
    return part.get("kind") == "text" and bool(part.get("text"))
