"""What events are made of: their groups, how a turn may end, and one task of a session's task list."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

Stopped: TypeAlias = Literal[
    "interrupted_streaming",
    "interrupted_tools",
    "hook_stopped",
    "stop_hook_prevented",
    "prompt_blocked",
    "deferred",
]
Limit: TypeAlias = Literal["max_turns", "max_cost", "max_tokens", "max_time", "max_output", "max_structured_retries"]
Fault: TypeAlias = Literal["api_error", "prompt_too_long", "refused", "repeating", "auto_denied", "failed"]
Ending: TypeAlias = Literal["completed", Stopped, Limit, Fault]


class Task(Struct, frozen=True, omit_defaults=True):
    content: str
    status: Literal["pending", "in_progress", "completed"]
    active_form: str = ""
    id: str = ""
    """Given to a task that is created by itself; "" in a list that is only replaced as a whole."""
    description: str = ""
    owner: str = ""
    """The agent that works on it."""
    blocks: tuple[str, ...] = ()
    """Ids of the tasks that wait for this one."""
    blocked_by: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


# Groups of events: a `match` that ignores a whole group names its class, which the type checkers follow.


class ConversationEvent(Struct, frozen=True):
    """Group of the events of prompts, turns and answers."""


class InteractionEvent(Struct, frozen=True):
    """Group of the events about permission for a call and about questions to a person."""


class ToolEvent(Struct, frozen=True):
    """Group of the events of tool calls."""


class SettingsEvent(Struct, frozen=True):
    """Group of the changes of mode, model and permissions."""


class NoticeEvent(Struct, frozen=True):
    """Group of the events that are only reported."""
