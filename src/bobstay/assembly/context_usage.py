"""Context usage report: estimates what fills a model's window, in the stream-json format that hosts read."""

from typing import Any

import msgspec

from bobstay.engine.agent import Agent
from bobstay.engine.engine_ports import Route
from bobstay.engine.state import State
from bobstay.model.message import Block, Image, Text, Thinking, ToolCall, ToolReply

CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 1_600


def context_usage(state: State, agent: Agent, route: Route) -> dict[str, Any]:
    system = _estimate_tokens("".join(agent.system))
    tools = _estimate_tokens(msgspec.json.encode(agent.toolbox.specs).decode())
    messages = sum(_estimate_block(block) for message in state.messages for block in message.blocks)
    estimated = system + tools + messages
    total = max(state.context, estimated) if state.context else estimated
    free = max(route.window - total, 0)
    return {
        "categories": [
            {"name": "System prompt", "tokens": system, "color": "promptBorder", "kind": "system"},
            {"name": "System tools", "tokens": tools, "color": "inactive", "kind": "tools"},
            {"name": "Messages", "tokens": max(total - system - tools, 0), "color": "purple", "kind": "messages"},
            {"name": "Free space", "tokens": free, "color": "secondary", "kind": "free"},
        ],
        "totalTokens": total,
        "maxTokens": route.window,
        "rawMaxTokens": route.window,
        "percentage": round(100 * total / route.window) if route.window else 0,
        "model": route.name,
        "isAutoCompactEnabled": False,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "gridRows": [],
    }


def _estimate_tokens(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN


def _estimate_block(block: Block) -> int:
    match block:
        case Text(text=text) | Thinking(text=text):
            return _estimate_tokens(text)
        case Image():
            return IMAGE_TOKENS
        case ToolCall(input=given):
            return _estimate_tokens(msgspec.json.encode(given).decode())
        case ToolReply(content=content):
            return sum(_estimate_block(part) for part in content)
