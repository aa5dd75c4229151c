"""Messages and their blocks, in a form that belongs to no vendor."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True, tag="text"):
    text: str


class Thinking(Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning of a model. It may be sent back only to the vendor that signed it."""

    text: str
    signature: str = ""
    """Opaque signature or ciphertext; a vendor refuses its own thinking without it."""
    origin: str = ""
    """Name of the provider that made it, such as `anthropic`."""
    redacted: bool = False
    """The vendor encrypted the text: `signature` then holds all of it."""


class Image(Struct, frozen=True, tag="image"):
    media_type: str
    data: str
    """Base64, without line breaks."""


class ToolCall(Struct, frozen=True, tag="tool_call", omit_defaults=True):
    id: str
    name: str
    input: dict[str, Any]
    malformed: str = ""
    """The text the model sent if it is not a JSON object; `input` is then empty."""
    signature: str = ""
    """Opaque signature that some vendors want back together with the call."""


ReplyPart: TypeAlias = Text | Image


class ToolReply(Struct, frozen=True, tag="tool_reply", omit_defaults=True):
    call_id: str
    content: tuple[ReplyPart, ...]
    is_error: bool = False
    loads: tuple[str, ...] = ()
    """Names of deferred tools whose schemas it loads: a vendor that knows references gets them, others the content."""

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
        """Tokens in the model's context when it finished."""
        return self.input + self.cache_read + self.cache_write + self.output


class ModelSpend(Struct, frozen=True, omit_defaults=True):
    """What a model request beside the conversation cost."""

    model: str
    usage: Usage = Usage()
    cost: float = 0.0
    api_ms: int = 0


Stop: TypeAlias = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause"]


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of the conversation, as a provider sends it."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]
    id: str = ""


def text_of(blocks: tuple[Block, ...]) -> str:
    """Return the text blocks among `blocks`, joined by newlines."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text))
