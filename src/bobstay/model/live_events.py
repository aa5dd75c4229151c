"""Live events: shown as they happen, but never stored."""

from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.model.message import Usage


class Requesting(Struct, frozen=True, tag="requesting"):
    """A request is about to be sent to the model."""

    model: str


class MessageBegan(Struct, frozen=True, tag="message_began"):
    """The model began to answer. `usage` is what it had counted until then."""

    message_id: str
    model: str
    usage: Usage


class BlockBegan(Struct, frozen=True, tag="block_began", omit_defaults=True):
    message_id: str
    index: int
    kind: Literal["text", "thinking", "tool_call"]
    call_id: str = ""
    name: str = ""


class TextDelta(Struct, frozen=True, tag="text_delta"):
    message_id: str
    index: int
    text: str


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    message_id: str
    index: int
    text: str


class InputDelta(Struct, frozen=True, tag="input_delta"):
    """A piece of the JSON text of a call's input."""

    message_id: str
    index: int
    json: str


class ToolProgress(Struct, frozen=True, tag="tool_progress"):
    """Output of a call that is still running."""

    call_id: str
    text: str


class Retrying(Struct, frozen=True, tag="retrying"):
    """A model request failed and will be sent again after `delay` seconds."""

    attempt: int
    attempts: int
    delay: float
    status: int | None
    error: str
    reason: str = ""
    """What happened, for a person."""


Live: TypeAlias = (
    Requesting | MessageBegan | BlockBegan | TextDelta | ThinkingDelta | InputDelta | ToolProgress | Retrying
)

LIVE = (Requesting, MessageBegan, BlockBegan, TextDelta, ThinkingDelta, InputDelta, ToolProgress, Retrying)
