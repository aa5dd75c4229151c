"""Estimates the memory that a queued entry holds, roughly and fast: enough to bound a queue."""

from typing import Any

from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    Advised,
    BlockDone,
    Durable,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    NoticeEvent,
    Prompted,
    Pruned,
    RunDone,
    SessionStarted,
    SettingsEvent,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Block, Image, Text, Thinking, ToolCall, ToolReply
from bobstay.model.session_events import ArtifactMade, Configured, InterruptAsked, SessionChanged, WorkerEvent

LEAST = 500


def weight(event: Durable) -> int:
    match event:
        case ToolDone(reply=reply):
            return LEAST + sum(_of_block(part) for part in reply.content)
        case BlockDone(block=block):
            return LEAST + _of_block(block)
        case Prompted(blocks=blocks):
            return LEAST + sum(_of_block(block) for block in blocks)
        case ToolStarted(input=input) | InteractionOpened(call=ToolCall(input=input)):
            return LEAST + _of_input(input)
        case ArtifactMade(text=text):
            return LEAST + len(text)
        case SettingsEvent() | WorkerEvent() | BackgroundEvent() | AgentEvent() | NoticeEvent():
            return LEAST
        case InputQueued() | InputDropped() | TurnStarted() | MessageDone() | Pruned() | RunDone():
            return LEAST
        case (
            InteractionClosed()
            | Advised()
            | TasksReplaced()
            | SessionStarted()
            | Configured()
            | SessionChanged()
            | InterruptAsked()
        ):
            return LEAST


def _of_block(block: Block) -> int:
    match block:
        case Text(text=text) | Thinking(text=text):
            return len(text)
        case Image(data=data):
            return len(data)
        case ToolCall(input=input, malformed=malformed):
            return _of_input(input) + len(malformed)
        case ToolReply(content=content):
            return sum(_of_block(part) for part in content)


def _of_input(input: dict[str, Any]) -> int:
    return sum(len(value) for value in input.values() if isinstance(value, str))
