"""Functions that call the scripted model in tests of adapters."""

from typing import Any

from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.message import Block, Message, Text
from bobstay.providers.base import Chunk, Provider, Request


def request(prompt: str, **changes: Any) -> Request:
    fields = {"model": "claude-x", "system": ("Be good.",), "messages": (Message("user", (Text(prompt),)),), **changes}
    return Request(**fields)


async def chunks_of(provider: Provider, sent: Request) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(sent)]


def blocks_of(chunks: list[Chunk]) -> list[Block]:
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockDone)]


def ending_of(chunks: list[Chunk]) -> MessageDone:
    last = chunks[-1]
    assert isinstance(last, MessageDone)
    return last
