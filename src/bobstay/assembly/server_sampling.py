"""Lets MCP servers use the model (sampling), each time after the person was asked."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from bobstay.assembly.model_question import QuestionCost, collect_reply
from bobstay.assembly.start_context import StartContext
from bobstay.engine.engine_ports import Route
from bobstay.engine.journal import Journal
from bobstay.engine.toolbox import Toolbox
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.message import Block, Image, Message, ModelSpend, Text, text_of
from bobstay.providers.base import ProviderError, Request
from bobstay.providers.thinking import fit_thinking

_MAX_MESSAGES = 200
_MAX_CHARACTERS = 200_000
_SHOWN = 2_000
"""Characters of the server's request that the person reads."""
Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]


class ServerSampling:
    """The `sample` of `McpPorts`. What a server sends is sent as it is: nothing of the session is added."""

    def __init__(self, start: StartContext, journal: Journal, toolbox: Toolbox, ask: Ask) -> None:
        """`ask` puts a question of a server to the person."""
        self._start = start
        self._journal = journal
        self._toolbox = toolbox
        self._ask = ask

    async def __call__(self, server: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of `sampling/createMessage`; None if the person does not want it.

        Raises:
            ValueError: the request makes no sense, or no model can be reached.
            ProviderError: the model failed.
        """
        messages = _read_messages(params.get("messages"))
        system = params.get("systemPrompt")
        if not await self._agrees(server, messages, system if isinstance(system, str) else ""):
            return None
        route = self._start.routes.route(self._journal.state.model or self._start.model)
        limit = params.get("maxTokens")
        thinking, effort = fit_thinking("off", None, route.thinks, route.efforts)
        request = Request(
            route.model,
            (system,) if isinstance(system, str) and system.strip() else (),
            messages,
            max_tokens=max(1, min(limit if isinstance(limit, int) else 4_096, route.max_output)),
            thinking=thinking,
            thinks=route.thinks,
            effort=effort,
        )
        return await self._complete(server, route, request)

    async def _agrees(self, server: str, messages: tuple[Message, ...], system: str) -> bool:
        said = "\n".join(filter(None, (system, *(text_of(message.blocks) for message in messages))))
        shown = said if len(said) <= _SHOWN else f"{said[:_SHOWN]} [...]"
        answer = await self._ask(
            {
                "mcp_server_name": server,
                "message": f"The MCP server {server} wants to use the model, at your cost, with this text:\n\n{shown}",
                "mode": "form",
                "requested_schema": {"type": "object", "properties": {}},
                "property_order": [],
            }
        )
        return isinstance(answer, dict) and answer.get("action") == "accept"

    async def _complete(self, server: str, route: Route, request: Request) -> dict[str, Any]:
        spent, began = QuestionCost(), time.monotonic()
        try:
            reply = await collect_reply(route, request, spent)
        except ProviderError as error:
            raise ValueError(f"The model failed: {error}") from error
        finally:
            took = int((time.monotonic() - began) * 1000)
            # Stored as what a hook spent: it counts towards the cost and the budget of the session.
            spend = ModelSpend(route.name, spent.usage, spent.price(route), took)
            self._toolbox.notes.add(HookOutcome(label=f"Sampling:{server[:80]}", spent=(spend,)))
        text = self._start.redactor.redact(text_of(tuple(reply.blocks)))
        stop = "endTurn" if reply.complete else "maxTokens"
        return {
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": route.name,
            "stopReason": stop,
        }


def _read_messages(given: Any) -> tuple[Message, ...]:
    """Read the messages of a server; neighbours of one role become one message, and the user is first and last."""
    found: list[Message] = []
    for each in given[:_MAX_MESSAGES] if isinstance(given, list) else ():
        if not isinstance(each, dict) or each.get("role") not in ("user", "assistant"):
            continue
        content = each.get("content")
        parts = content if isinstance(content, list) else [content]
        blocks = tuple(block for block in map(_read_part, parts) if block is not None)
        if not blocks:
            continue
        if found and found[-1].role == each["role"]:
            found[-1] = Message(each["role"], (*found[-1].blocks, *blocks))
        else:
            found.append(Message(each["role"], blocks))
    if not found or found[0].role != "user" or found[-1].role != "user":
        raise ValueError("The messages must begin and end with the user's, and have text.")
    if sum(len(text_of(message.blocks)) for message in found) > _MAX_CHARACTERS:
        raise ValueError(f"The messages have more than {_MAX_CHARACTERS:,} characters.")
    return tuple(found)


def _read_part(part: Any) -> Block | None:
    if not isinstance(part, dict):
        return None
    text, data, kind = part.get("text"), part.get("data"), part.get("mimeType")
    if part.get("type") == "text" and isinstance(text, str) and text.strip():
        return Text(text)
    if part.get("type") == "image" and isinstance(data, str) and isinstance(kind, str):
        return Image(kind, data)
    return None
