"""Builds the frames of the stream-json wire, one function per kind."""

import time
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.model.background_events import BackgroundStatus
from bobstay.model.event import Noted
from bobstay.model.ids import new_id, timestamp
from bobstay.model.live_events import Retrying
from bobstay.model.session_events import SessionChanged
from bobstay.version import PROTOCOL_LEVEL

Frame: TypeAlias = dict[str, Any]

CAPABILITIES = ("interrupt_receipt_v1", "msg_lifecycle_v1")
"""Features a host may rely on: interrupts report what is still queued; prompts with a uuid report their lifecycle."""


_MIRROR_SIZE = 512 * 1024
_encoder = msgspec.json.Encoder()


class Facts(Struct, frozen=True, kw_only=True):
    """Facts about the session in the first frame of every turn."""

    cwd: str
    tools: tuple[str, ...]
    model: str
    mode: str
    api_key_source: str
    output_style: str = "default"
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[dict[str, Any], ...] = ()
    plugins: tuple[dict[str, Any], ...] = ()
    plugin_errors: tuple[dict[str, str], ...] = ()


def system(session_id: str, subtype: str, **fields: Any) -> Frame:
    return {"type": "system", "subtype": subtype, **fields, "session_id": session_id, "uuid": new_id()}


def task_end(session_id: str, task_id: str, call_id: str, status: BackgroundStatus, **fields: Any) -> list[Frame]:
    """What hosts are told when a background command or a sub-agent ends; `fields` are those of the notification."""
    patch = {"status": "failed" if status == "lost" else status, "end_time": int(time.time() * 1000)}
    notified = "stopped" if status == "killed" else patch["status"]
    return [
        system(session_id, "task_updated", task_id=task_id, patch=patch),
        system(session_id, "task_notification", task_id=task_id, tool_use_id=call_id, status=notified, **fields),
    ]


def notice(session_id: str, event: Noted | SessionChanged) -> Frame:
    if isinstance(event, SessionChanged):
        return system(session_id, "session_title_changed", title=event.title)
    if event.tag == "agent_mcp_blocked":
        key = f"agent-mcp-blocked-{event.subject}"
        return system(session_id, "notification", key=key, text=event.text, priority="medium")
    tag = {"tag": event.tag} if event.tag else {}
    return system(session_id, "informational", content=event.text, level=event.level, **tag)


def init(session_id: str, facts: Facts) -> Frame:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": facts.cwd,
        "session_id": session_id,
        "tools": facts.tools,
        "mcp_servers": facts.mcp_servers,
        "model": facts.model,
        "permissionMode": facts.mode,
        "slash_commands": facts.commands,
        "apiKeySource": facts.api_key_source,
        "claude_code_version": PROTOCOL_LEVEL,
        "output_style": facts.output_style,
        "agents": facts.agents,
        "skills": facts.skills,
        "plugins": facts.plugins,
        **({"plugin_errors": facts.plugin_errors} if facts.plugin_errors else {}),
        "capabilities": CAPABILITIES,
        "uuid": new_id(),
    }


def assistant(session_id: str, message: Frame, *, uuid: str = "", **extra: Any) -> Frame:
    return {"type": "assistant", "message": message, **_message_fields(session_id, uuid), **extra}


def user(session_id: str, content: str | list[Frame], *, uuid: str = "", **extra: Any) -> Frame:
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, **_message_fields(session_id, uuid), **extra}


def stream_event(session_id: str, message_id: str, event: Frame) -> Frame:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": session_id,
        "parent_tool_use_id": None,
        "uuid": new_id(),
        "api_message_id": message_id,
    }


def conversation_reset(session_id: str, prompt: str) -> Frame:
    """Return the frame for `/clear`, which ends a session; `prompt` is the id of the prompt that asked for it."""
    id_ = new_id()
    return {
        "type": "conversation_reset",
        "new_conversation_id": id_,
        "trigger": "clear",
        **({"user_message_uuid": prompt} if prompt else {}),
        "timestamp": timestamp(),
        "session_id": session_id,
        "uuid": id_,
    }


def api_retry(session_id: str, event: Retrying) -> Frame:
    return system(
        session_id,
        "api_retry",
        attempt=event.attempt,
        max_retries=event.attempts,
        retry_delay_ms=round(event.delay * 1000),
        error_status=event.status,
        error="overloaded" if event.status == 529 else event.error,
    )


def lifecycle(session_id: str, command_uuid: str, state: str) -> Frame:
    return {
        "type": "command_lifecycle",
        "command_uuid": command_uuid,
        "state": state,
        "session_id": session_id,
        "uuid": new_id(),
    }


def mirror(path: str, entries: list[Frame]) -> Iterator[Frame]:
    """Yield lines of a transcript for a host that keeps its own copy, in as many frames as their size needs."""
    part: list[Frame] = []
    size = 0
    for entry in entries:
        length = len(_encoder.encode(entry))
        if part and size + length > _MIRROR_SIZE:
            yield {"type": "transcript_mirror", "filePath": path, "entries": part}
            part, size = [], 0
        part.append(entry)
        size += length + 1
    if part:
        yield {"type": "transcript_mirror", "filePath": path, "entries": part}


def synthetic(text: str, stop: str) -> Frame:
    """Return a message of ours in the shape of a model's message."""
    usage = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
    return {
        "id": new_id(),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": "",
        "usage": usage,
    }


def _message_fields(session_id: str, uuid: str) -> Frame:
    uuid = uuid or new_id()
    return {"parent_tool_use_id": None, "session_id": session_id, "uuid": uuid, "timestamp": timestamp()}
