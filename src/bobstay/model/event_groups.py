"""Groups of events: a `match` that ignores a whole group names its class, which the type checkers follow."""

from msgspec import Struct


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
