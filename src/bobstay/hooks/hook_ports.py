"""Ports of hooks: how they ask a model or an agent and call a tool of a server. Assembly passes the functions."""

from typing import Any, Protocol

from msgspec import Struct

from bobstay.hooks.hook_event import HookCall
from bobstay.model.message import ModelSpend


class NoAnswerError(Exception):
    """There was no valid answer; the text says why."""


class PromptAnswer(Struct, frozen=True):
    """What a model says to the prompt of a hook."""

    ok: bool
    reason: str = ""
    spent: tuple[ModelSpend, ...] = ()


class PromptAsker(Protocol):
    async def __call__(self, prompt: str, model: str, call: HookCall) -> PromptAnswer:
        """Ask `model`, or a small one if that is "". Cancelled when the hook takes too long.

        Raises:
            NoAnswerError: it cannot be asked, or its answer is unusable.
        """
        ...


class ServerToolCaller(Protocol):
    async def __call__(self, server: str, tool: str, input: dict[str, Any]) -> str:
        """Call a tool of an MCP server and return the text of its result.

        Raises:
            NoAnswerError: no such server or tool, or the call failed.
        """
        ...


class HookPorts(Struct, frozen=True):
    """A hook whose port is missing fails, and the person is told."""

    ask_model: PromptAsker | None = None
    """One request without tools, for hooks of type `prompt`."""
    ask_agent: PromptAsker | None = None
    """An agent that may use tools, for hooks of type `agent`."""
    call_tool: ServerToolCaller | None = None
    """For hooks of type `mcp_tool`."""
