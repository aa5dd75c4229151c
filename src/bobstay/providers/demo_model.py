"""The offline demo model: plays a script through the real tools, needs no key, and says what it is."""

import asyncio
import re
from collections.abc import AsyncIterator

import msgspec

from bobstay.model.ids import new_id
from bobstay.model.message import Message, Text, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, Request
from bobstay.providers.demo_script import DemoStep, Replies, walk
from bobstay.providers.message_builder import MessageBuilder

_MOST_STEPS = 24
"""Of one turn; no walk is that long, so a history that looks longer is not of our making."""
_FIRST_WORDS = re.compile(r"\S+\s*")


class Demo:
    name = "demo"

    def __init__(self, *, pace: float = 0.0) -> None:
        """`pace` is how many seconds to wait between words, for those who want to watch."""
        self._pace = pace

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        step = _next_step(request)
        answer = MessageBuilder(request.model, self.name)
        sent = sum(_size(message) for message in request.messages) + sum(map(len, request.system))
        yield answer.begin("", usage=Usage(input=sent // 4))
        for word in _FIRST_WORDS.findall(step.text):
            for chunk in answer.add("text", word):
                yield chunk
            if self._pace:
                await asyncio.sleep(self._pace)
        for call in step.calls:
            text = msgspec.json.encode(call.input).decode()
            for chunk in answer.whole_call(f"demo_{new_id()}", call.tool, text):
                yield chunk
        said = len(step.text) + sum(len(str(call.input)) for call in step.calls)
        answer.usage = Usage(input=sent // 4, output=said // 4)
        for chunk in answer.end("end_turn", ""):
            yield chunk

    async def close(self) -> None:
        """There is nothing to let go of."""


def _next_step(request: Request) -> DemoStep:
    """Play the turn's script from its start, giving it the replies it got, up to the step that is not yet played."""
    start = max((place for place, message in enumerate(request.messages) if _is_prompt(message)), default=0)
    turn = request.messages[start:]
    said = [message for message in turn if message.role == "assistant"]
    if len(said) >= _MOST_STEPS:
        return DemoStep("My script ends here.")
    replies = {block.call_id: block for message in turn for block in message.blocks if isinstance(block, ToolReply)}
    first = not any(message.role == "assistant" for message in request.messages[:start])
    script = walk(_prompt(turn[:1]), frozenset(tool.name for tool in request.tools), first=first)
    step = next(script)
    for message in said:
        try:
            step = script.send(_replies_to(message, replies))
        except StopIteration:
            return DemoStep("My script has come to its end; there is nothing more I can do about this.")
    return step


def _replies_to(message: Message, replies: dict[str, ToolReply]) -> Replies:
    calls = [block for block in message.blocks if isinstance(block, ToolCall)]
    return tuple(
        replies.get(call.id, ToolReply(call.id, (Text("the call was not answered"),), is_error=True)) for call in calls
    )


def _is_prompt(message: Message) -> bool:
    """A person's words begin a turn; words that come along with tool results are said during one."""
    return (
        message.role == "user"
        and not any(isinstance(block, ToolReply) for block in message.blocks)
        and bool(_prompt((message,)))
    )


def _prompt(messages: tuple[Message, ...]) -> str:
    texts = [block.text for message in messages for block in message.blocks if isinstance(block, Text)]
    return "\n".join(text for text in texts if not text.lstrip().startswith("<system-reminder>")).strip()


def _size(message: Message) -> int:
    return sum(len(block.text) for block in message.blocks if isinstance(block, Text | ToolReply))
