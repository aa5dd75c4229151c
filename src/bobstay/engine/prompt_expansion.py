"""Port for prompts that call a command: what the model reads instead, and what holds for that turn."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from msgspec import Struct

from bobstay.model.event import Durable
from bobstay.model.message import Block
from bobstay.providers.thinking import Effort


class ExpandedPrompt(Struct, frozen=True):
    blocks: tuple[Block, ...]
    """What the model reads instead of the prompt."""
    before: tuple[Durable, ...] = ()
    """Stored before it: reminders, and files it mentions."""
    rules: tuple[str, ...] = ()
    """Permission rules that allow calls in this turn."""
    model: str = ""
    """Another model for this turn."""
    effort: Effort | None = None
    answer: str | None = None
    """The answer, if the command was carried out without the model."""
    local_command: str = ""
    """The built-in command that gave it, for programs."""


ExpandPrompt: TypeAlias = Callable[[tuple[Block, ...]], Coroutine[Any, Any, ExpandedPrompt | None]]
"""Returns what a prompt stands for; None for a plain one."""
