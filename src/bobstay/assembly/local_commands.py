"""Built-in commands that are answered without the model: what fills the context, what it cost, another model."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.session_totals import Totals
from bobstay.engine.prompt_expansion import ExpandedPrompt
from bobstay.library.command_call import CommandCall, format_call
from bobstay.library.listing import command_rows, slash_names
from bobstay.model.message import Text

ELSEWHERE = frozenset(
    (
        *("help", "permissions", "memory", "hooks", "status", "resume", "export", "add-dir", "plan", "tasks", "theme"),
        *("statusline", "skills", "plugin", "rewind", "diff", "login", "logout", "exit", "bug", "doctor", "vim"),
    )
)
"""Commands that need a terminal or the console."""


class CommandTarget(Protocol):
    """What built-in commands need of a session."""

    @property
    def model(self) -> str: ...

    @property
    def effort(self) -> str: ...

    @property
    def output_style(self) -> str: ...

    async def set_model(self, model: str | None) -> str: ...

    def set_effort(self, level: str) -> None: ...

    def set_output_style(self, name: str) -> str: ...

    def rename(self, title: str) -> None: ...

    def context_usage(self) -> dict[str, Any]: ...

    def totals(self) -> Totals: ...

    def info(self) -> dict[str, Any]: ...


class LocalAnswer(Struct, frozen=True):
    text: str
    command: str = ""
    """Its name for programs; "" for one that is not available."""


async def answer_locally(session: CommandTarget, call: CommandCall) -> LocalAnswer | None:
    """Carry out a built-in command; None if there is none of that name."""
    if call.name == "model":
        return LocalAnswer(await _set_model(session, call.arguments), "model")
    if (change := _CHANGES.get(call.name)) is not None:
        return LocalAnswer(change(session, call.arguments), call.name)
    if (describe := _REPORTS.get(call.name)) is not None:
        return LocalAnswer(describe(session), call.name)
    if call.name in ELSEWHERE:
        return LocalAnswer(f"/{call.name} is not available in this environment: it needs the terminal or the console.")
    return None


def as_local_answer(call: CommandCall, answer: LocalAnswer) -> ExpandedPrompt:
    """Return the prompt of a command that was answered without the model, which reads of it with the next prompt."""
    told = Text(f"<local-command-stdout>{answer.text}</local-command-stdout>")
    command = answer.command.replace("-", "_")
    return ExpandedPrompt((Text(format_call(call)), told), answer=answer.text, local_command=command)


def name_commands(library: SessionLibrary, prompts: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the names of all commands that a person may call; `prompts` are those of MCP servers."""
    own = slash_names(library.current, library.active)
    return tuple(sorted({*own, *BUILT_IN, *(row["name"] for row in prompts)}))


def list_commands(library: SessionLibrary, prompts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return them as the answer to `initialize` lists them."""
    return [*command_rows(library.current, library.active), *prompts, *BUILT_IN_ROWS]


async def _set_model(session: CommandTarget, name: str) -> str:
    if not name:
        return f"The model is {session.model}."
    try:
        return f"Set model to {await session.set_model(name)}."
    except ValueError as error:
        return f"The model was not changed: {error}"


def _set_effort(session: CommandTarget, level: str) -> str:
    if not level:
        return f"The effort is {session.effort or 'that of the model'}."
    try:
        session.set_effort(level)
    except ValueError as error:
        return str(error)
    return f"Set effort to {level}."


def _set_style(session: CommandTarget, name: str) -> str:
    if not name:
        return f"The output style is {session.output_style}."
    try:
        return f"Set output style to {session.set_output_style(name)}."
    except ValueError as error:
        return str(error)


def _rename(session: CommandTarget, title: str) -> str:
    if not title:
        return "Give the new title: /rename TITLE"
    session.rename(title)
    return f"Renamed the session to {title}."


def _describe_context(session: CommandTarget) -> str:
    usage = session.context_usage()
    lines = [f"{each['name']}: {each['tokens']:,} tokens" for each in usage.get("categories", ())]
    return "\n".join((f"{usage['model']}: {usage['totalTokens']:,} of {usage['maxTokens']:,} tokens", *lines))


def _describe_cost(session: CommandTarget) -> str:
    totals = session.totals()
    lines = [
        f"{name}: {each.usage.input:,} input, {each.usage.output:,} output, {each.usage.cache_read:,} cache read, "
        f"{each.usage.cache_write:,} cache write (${each.cost:.4f})"
        for name, each in totals.models.items()
    ]
    return "\n".join((f"Total cost: ${totals.cost_usd:.4f}", f"API time: {totals.api_ms / 1000:.1f} s", *lines))


def _describe_agents(session: CommandTarget) -> str:
    return "\n".join(f"{row['name']}: {row['description']}" for row in session.info()["agents"]) or "There are none."


_CHANGES: dict[str, Callable[[CommandTarget, str], str]] = {
    "effort": _set_effort,
    "output-style": _set_style,
    "rename": _rename,
}
_REPORTS: dict[str, Callable[[CommandTarget], str]] = {
    "agents": _describe_agents,
    "context": _describe_context,
    "cost": _describe_cost,
    "usage": _describe_cost,
}
BUILT_IN = {
    "agents": "list the types of agents",
    "context": "show what fills the context window",
    "cost": "show what the session has cost",
    "effort": "set how much the model thinks",
    "model": "use another model",
    "output-style": "use another output style",
    "rename": "give the session another title",
    "usage": "show what the session has used",
}
"""Names and descriptions, for lists."""
BUILT_IN_ROWS = [
    {"name": name, "description": text, "argumentHint": "", "builtin": True} for name, text in BUILT_IN.items()
]
"""The same as rows."""
