"""The memory of a type of agent: a folder of notes that outlives sessions, named and quoted in its prompt."""

import os

from msgspec import Struct

from bobstay.assembly.start_context import StartContext
from bobstay.library.definition import AgentDefinition
from bobstay.system.safe_read import read_regular

TOOLS = ("Read", "Write", "Edit")
"""An agent with a memory has these, whichever others it has."""
INDEX = "MEMORY.md"
_FOLDERS = {"project": ".claude/agent-memory", "local": ".claude/agent-memory-local", "user": "agent-memory"}
_MOST_BYTES = 25_000
_MOST_LINES = 200
_TEXT = """\
# Memory

The folder {folder} is yours, and is kept from one task to the next. Look into it before you begin. When you learn \
what will help with later tasks (how this project works, what people prefer, mistakes not to repeat), write it into \
Markdown files there. Keep {index} short: it is the list of what you know, and you are told its first {lines} lines \
each time. Correct what turns out to be wrong.

{content}"""


class AgentMemory(Struct, frozen=True):
    folder: str
    text: str
    """For the system prompt."""


def open_memory(definition: AgentDefinition, start: StartContext) -> AgentMemory | None:
    """Make the folder if it does not exist, and read what the agent knows. None if the agent has no memory."""
    if not definition.memory:
        return None
    base = os.path.realpath(start.environment.paths.claude if definition.memory == "user" else start.cwd)
    name = definition.name.replace(":", "-")
    folder = os.path.join(base, _FOLDERS[definition.memory], name)
    problem = "it leads elsewhere" if os.path.realpath(folder) != folder else ""  # it would write somewhere else
    try:
        if not problem:
            os.makedirs(folder, exist_ok=True)
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        start.warnings.append(f"The agent {definition.name} works without its memory {folder}: {problem}.")
        return None
    shown = start.redactor.redact(_read_index(folder))
    content = f"{INDEX}:\n\n{shown}" if shown else f"{INDEX} is empty so far."
    return AgentMemory(folder, _TEXT.format(folder=folder, index=INDEX, lines=_MOST_LINES, content=content))


def select_tools(definition: AgentDefinition) -> tuple[str, ...] | None:
    """Return the names of an agent's tools, with those that its memory needs; None for all."""
    if definition.tools is None or not definition.memory:
        return definition.tools
    return (*definition.tools, *(name for name in TOOLS if name not in definition.tools))


def _read_index(folder: str) -> str:
    data = read_regular(os.path.join(folder, INDEX), _MOST_BYTES, follow=False) or b""
    return "\n".join(data.decode(errors="replace").splitlines()[:_MOST_LINES]).strip()
