"""Estimates of token counts, for answers that ended before the vendor reported its own."""

from msgspec.structs import replace

from bobstay.model.message import Block, Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import Request

CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 1_500


def usage_so_far(reported: Usage, request: Request, written: int) -> Usage:
    """Estimate the usage of an answer that broke off after `written` characters. Counts the vendor gave come first."""
    usage = replace(reported, output=max(reported.output, written // CHARACTERS_PER_TOKEN))
    if reported.input or reported.cache_read or reported.cache_write:
        return usage
    return replace(usage, input=request_tokens(request))


def request_tokens(request: Request) -> int:
    characters = sum(map(len, request.system))
    characters += sum(len(tool.name) + len(tool.description) + len(str(tool.schema)) for tool in request.tools)
    characters += sum(_size(block) for message in request.messages for block in message.blocks)
    return characters // CHARACTERS_PER_TOKEN


def _size(block: Block) -> int:
    match block:
        case Text(text=text) | Thinking(text=text):
            return len(text)
        case Image():
            return IMAGE_TOKENS * CHARACTERS_PER_TOKEN
        case ToolCall(name=name, input=input):
            return len(name) + len(str(input))
        case ToolReply(content=content):
            return sum(_size(part) for part in content)
