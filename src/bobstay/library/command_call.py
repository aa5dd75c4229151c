"""Parses a prompt that calls a command: `/name arguments`."""

import re
from collections.abc import Sequence

from msgspec import Struct

from bobstay.model.message import Block, Text

CLEAR = "clear"
"""The command that begins a new conversation."""
_CALL = r"/(\S{1,300})(?:\s+|$)"


class CommandCall(Struct, frozen=True):
    name: str
    """Without the slash. Case matters."""
    arguments: str = ""


def parse_call(prompt: str) -> CommandCall | None:
    """Return the call if the first character of the prompt is a slash. Whether there is such a command is not known."""
    match = re.match(_CALL, prompt) if prompt.startswith("/") else None
    return CommandCall(match[1], prompt[match.end() :].strip()) if match else None


def parse_prompt(blocks: Sequence[Block]) -> CommandCall | None:
    """Return the call of a prompt whose first block is such a text."""
    first = blocks[0] if blocks else None
    return parse_call(first.text) if isinstance(first, Text) else None


def calls_clear(blocks: Sequence[Block]) -> bool:
    """Whether a prompt asks for a new conversation."""
    call = parse_prompt(blocks)
    return call is not None and call.name == CLEAR


def format_call(call: CommandCall) -> str:
    """Return the text that tells the model which command a person called; the body follows in a block of its own."""
    text = f"<command-message>{call.name}</command-message>\n<command-name>/{call.name}</command-name>"
    return f"{text}\n<command-args>{call.arguments}</command-args>" if call.arguments else text


def split_arguments(text: str) -> tuple[str, ...]:
    """Split arguments at blanks; quotes group, unless they are apostrophes or are not closed."""
    found: list[str] = []
    current: list[str] = []
    started = False
    position = 0
    while position < len(text):
        character = text[position]
        if character in "'\"" and (end := _quote_end(text, position)) >= 0:
            inner = text[position + 1 : end]
            current.append(re.sub(r'\\(["\\])', r"\1", inner) if character == '"' else inner)
            position, started = end + 1, True
        elif character == "\\" and text[position + 1 : position + 2] in ("'", '"', "\\", " "):
            current.append(text[position + 1])
            position, started = position + 2, True
        elif character.isspace():
            if started:
                found.append("".join(current))
            current, started = [], False
            position += 1
        else:
            current.append(character)
            position, started = position + 1, True
    return (*found, "".join(current)) if started else tuple(found)


def _quote_end(text: str, start: int) -> int:
    """The position of the quote that closes the one at `start`; -1 if that one opens nothing."""
    quote = text[start]
    if quote == "'" and start and text[start - 1].isalnum():
        return -1  # an apostrophe
    end = start
    while (end := text.find(quote, end + 1)) >= 0:
        if quote == "'" or text[end - 1] != "\\" or text[end - 2 : end] == "\\\\":
            return end
    return -1
