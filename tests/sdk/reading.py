"""Queries over the SDK's messages."""

import json
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    UserMessage,
)


def texts(messages: list[Any]) -> list[str]:
    replies = [message for message in messages if isinstance(message, AssistantMessage)]
    return [block.text for message in replies for block in message.content if isinstance(block, TextBlock)]


def results(messages: list[Any]) -> list[ToolResultBlock]:
    user_messages = [
        message for message in messages if isinstance(message, UserMessage) and isinstance(message.content, list)
    ]
    return [block for message in user_messages for block in message.content if isinstance(block, ToolResultBlock)]


def result(messages: list[Any]) -> ResultMessage:
    return [message for message in messages if isinstance(message, ResultMessage)][-1]


def system(messages: list[Any], subtype: str) -> list[dict[str, Any]]:
    return [message.data for message in messages if isinstance(message, SystemMessage) and message.subtype == subtype]


def content(block: ToolResultBlock) -> str:
    return block.content if isinstance(block.content, str) else json.dumps(block.content)


async def turn(client: ClaudeSDKClient, prompt: str) -> list[Any]:
    await client.query(prompt)
    return [message async for message in client.receive_response()]
