"""The offline demo model: plays a script through the real tools, without a key."""

import asyncio
import re
from collections.abc import AsyncIterator

import msgspec

from bobstay.model.ids import new_id
from bobstay.model.message import Message, Text, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, Request
from bobstay.providers.demo_script import DemoStep, Replies, play_script
from bobstay.providers.message_builder import MessageBuilder

_MAX_STEPS = 24
"""Steps of one turn. No script is that long, so a longer history was not made by this model."""
_WORD = re.compile(r"\S+\s*")


class Demo:
    name = "demo"

    def __init__(self, *, pace: float = 0.0) -> None:
        """`pace` is the pause between words in seconds, for watching the stream."""
        self._pace = pace

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        step = _next_step(request)
        answer = MessageBuilder(request.model, self.name)
        sent = sum(_text_length(message) for message in request.messages) + sum(map(len, request.system))
        yield answer.begin("", usage=Usage(input=sent // 4))
        for word in _WORD.findall(step.text):
            for chunk in answer.add("text", word):
                yield chunk
            if self._pace:
                await asyncio.sleep(self._pace)
        for call in step.calls:
            text = msgspec.json.encode(call.input).decode()
            for chunk in answer.add_call(f"demo_{new_id()}", call.tool, text):
                yield chunk
        written = len(step.text) + sum(len(str(call.input)) for call in step.calls)
        answer.usage = Usage(input=sent // 4, output=written // 4)
        for chunk in answer.end("end_turn", ""):
            yield chunk

    async def close(self) -> None:
        """There is nothing to close."""


def _next_step(request: Request) -> DemoStep:
    """Replay the turn's script from its start with the replies so far, up to the next step."""
    start = max((index for index, message in enumerate(request.messages) if _is_prompt(message)), default=0)
    turn = request.messages[start:]
    answers = [message for message in turn if message.role == "assistant"]
    if len(answers) >= _MAX_STEPS:
        return DemoStep("My script ends here.")
    replies = {block.call_id: block for message in turn for block in message.blocks if isinstance(block, ToolReply)}
    first = not any(message.role == "assistant" for message in request.messages[:start])
    script = play_script(_prompt_text(turn[:1]), frozenset(tool.name for tool in request.tools), first=first)
    step = next(script)
    for message in answers:
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
    """Whether a message begins a turn: text that comes with tool results was sent during one."""
    return (
        message.role == "user"
        and not any(isinstance(block, ToolReply) for block in message.blocks)
        and bool(_prompt_text((message,)))
    )


def _prompt_text(messages: tuple[Message, ...]) -> str:
    texts = [block.text for message in messages for block in message.blocks if isinstance(block, Text)]
    return "\n".join(text for text in texts if not text.lstrip().startswith("<system-reminder>")).strip()


def _text_length(message: Message) -> int:
    return sum(len(block.text) for block in message.blocks if isinstance(block, Text | ToolReply))
