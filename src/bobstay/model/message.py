"""What people, models and tools say to each other, in words of no particular vendor."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True, tag="text"):
    text: str


class Thinking(Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning a model showed. It may be sent back only to the vendor that signed it."""

    text: str
    signature: str = ""
    """Opaque proof or ciphertext; a vendor refuses its own thinking without it."""
    origin: str = ""
    """Name of the provider that made it, such as `anthropic`."""
    redacted: bool = False
    """The vendor hid the words: `signature` then holds all there is."""


class Image(Struct, frozen=True, tag="image"):
    media_type: str
    data: str
    """Base64, without line breaks."""


class ToolCall(Struct, frozen=True, tag="tool_call", omit_defaults=True):
    id: str
    name: str
    input: dict[str, Any]
    malformed: str = ""
    """The text the model sent where it is not a JSON object; `input` is then empty."""
    signature: str = ""
    """Opaque proof some vendors want back together with the call."""


ReplyPart: TypeAlias = Text | Image


class ToolReply(Struct, frozen=True, tag="tool_reply", omit_defaults=True):
    call_id: str
    content: tuple[ReplyPart, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


Block: TypeAlias = Text | Thinking | Image | ToolCall | ToolReply


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model call, or of many added up. The four counts never overlap."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    @property
    def context(self) -> int:
        """How many tokens the model had before it when it finished."""
        return self.input + self.cache_read + self.cache_write + self.output


Stop: TypeAlias = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause"]


class Message(Struct, frozen=True, omit_defaults=True):
    """One side's contribution to the exchange, as a provider is asked to send it."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]
    id: str = ""


def text_of(blocks: tuple[Block, ...]) -> str:
    """The plain text among `blocks`, joined by newlines."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text))
