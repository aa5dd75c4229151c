"""Prompts of MCP servers as commands: `/mcp__SERVER__PROMPT a b`, with arguments by position."""

from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.mcp.clean_text import clean_line
from bobstay.mcp.result_content import ContentConverter
from bobstay.mcp.server_calls import get_prompt
from bobstay.mcp.server_connection import ServerConnection
from bobstay.mcp.server_listing import ListedPrompt
from bobstay.mcp.tool_names import tool_name
from bobstay.model.message import ReplyPart
from bobstay.tools.base import ToolError

if TYPE_CHECKING:
    from pathlib import Path


class PromptCommand(Struct, frozen=True):
    """A prompt as a list of commands shows it."""

    name: str
    """Without the slash."""
    description: str
    argument_hint: str
    server: str


def list_commands(connection: ServerConnection) -> list[PromptCommand]:
    """The commands of a server; of two prompts with one name the first counts."""
    found: dict[str, PromptCommand] = {}
    for prompt in connection.listing.prompts:
        name = tool_name(connection.config.called, prompt.name)
        found.setdefault(name, PromptCommand(name, prompt.description, _hint_arguments(prompt), connection.config.name))
    return sorted(found.values(), key=lambda command: command.name)


async def run_command(
    connection: ServerConnection, command: str, arguments: tuple[str, ...], spill: "Path"
) -> tuple[ReplyPart, ...]:
    """Get the messages of a prompt. `arguments` are assigned by position; the last one takes what is left.

    Raises:
        ToolError: there is no such prompt, an argument is missing, or the server fails.
    """
    for prompt in connection.listing.prompts:
        if tool_name(connection.config.called, prompt.name) == command:
            break
    else:
        raise ToolError(f"The MCP server {clean_line(connection.config.name, 80)} has no prompt /{command[:100]}.")
    result = await get_prompt(connection, prompt.name, assign_arguments(prompt, arguments))
    return ContentConverter(spill, command).convert(message.content for message in result.messages)


def assign_arguments(prompt: ListedPrompt, words: tuple[str, ...]) -> dict[str, str]:
    """Assign words to the arguments of a prompt, by position. Raises `ToolError` if a required one is missing."""
    names = [argument.name for argument in prompt.arguments]
    values = list(words[: len(names)])
    if values and len(words) > len(names):
        values[-1] = " ".join(words[len(names) - 1 :])
    missing = [argument.name for argument in prompt.arguments[len(values) :] if argument.required]
    if missing:
        raise ToolError(
            f"The prompt {clean_line(prompt.name, 80)} needs {', '.join(missing)}. It takes: {_hint_arguments(prompt)}"
        )
    return dict(zip(names, values, strict=False))


def _hint_arguments(prompt: ListedPrompt) -> str:
    names = [(clean_line(argument.name, 60), argument.required) for argument in prompt.arguments]
    return " ".join(f"<{name}>" if required else f"[{name}]" for name, required in names)
