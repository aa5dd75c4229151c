"""Listings of commands, skills and agents: for the model, and for hosts."""

from collections.abc import Collection, Iterable
from typing import Any

from bobstay.library.definition import AgentDefinition, CommandDefinition
from bobstay.library.library import Library

LONGEST_LINE = 1_500
LONGEST_LIST = 40_000
"""Characters of the whole list, about 10 000 tokens; what comes after them is named without its description."""
MOST_LINES = 1_000


def describe_command(command: CommandDefinition) -> str:
    """Return the line that tells a model of a command or skill."""
    name = command.key if command.key == command.name else f"{command.key} ({command.name})"
    text = " - ".join(part for part in (command.description, command.when_to_use) if part)
    if command.scope:
        instead = command.name.removeprefix(f"{command.scope}:")
        rival = f", instead of {instead}" if instead != command.name else ""
        text = f"{text} (for files below {command.scope}/{rival})".lstrip()
    return _cut(f"- {name}: {text}" if text else f"- {name}", LONGEST_LINE)


def describe_agent(agent: AgentDefinition) -> str:
    """Return the line that tells a model of a type of agent."""
    description = " ".join(agent.description.split())
    tools = f"(Tools: {_describe_tools(agent)})"
    return f"{_cut(f'- {agent.name}: {description}', LONGEST_LINE)} {tools}"


def list_for_model(
    commands: Iterable[CommandDefinition], only: Collection[str] | None = None, active: Collection[str] = ()
) -> str:
    """Return the lines of what a model may call.

    Args:
        commands: Those of the library, or some that were added later.
        only: Limits them to these names, if it is given.
        active: Keys of commands with `paths` for which a matching file was read; the others are not listed yet.
    """
    chosen = (
        each
        for each in commands
        if each.model_invocable and _is_listed(each, active) and (only is None or each.name in only or each.key in only)
    )
    return _join((f"- {each.key}", describe_command(each)) for each in chosen)


def list_agents(agents: Iterable[AgentDefinition]) -> str:
    return _join((f"- {each.name}", describe_agent(each)) for each in agents)


def slash_names(library: Library, active: Collection[str] = ()) -> list[str]:
    """Return the names that people may call, as `init` lists them: skills by their folder."""
    return [each.key for each in library.commands if each.user_invocable and _is_listed(each, active)]


def skill_names(library: Library, active: Collection[str] = ()) -> list[str]:
    """Return the skills as `init` lists them: by folder, without those that are not described."""
    listed = (each for each in library.commands if each.kind == "skill" and _is_listed(each, active))
    return [each.key for each in listed if each.described and each.user_invocable]


def command_rows(library: Library, active: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the commands as the answer to `initialize` lists them."""
    return [
        {
            "name": each.name,
            "description": _with_label(each),
            "argumentHint": each.argument_hint,
            **({"aliases": list(each.aliases)} if each.aliases else {}),
            **({"builtin": True} if each.origin.source == "bundled" else {}),
        }
        for each in library.commands
        if each.user_invocable and _is_listed(each, active)
    ]


def agent_rows(library: Library) -> list[dict[str, str]]:
    """Return the agents as the answer to `initialize` lists them."""
    return [
        {"name": each.name, "description": each.description, **({"model": each.model} if each.model else {})}
        for each in library.agents
    ]


def describe_withheld(library: Library) -> str:
    """Return the notice about fields that count only in a trusted folder; empty if there are none."""
    definitions: tuple[CommandDefinition | AgentDefinition, ...] = (*library.commands, *library.agents)
    ignored = [
        f"{each.origin.file} ({', '.join(each.withheld)})"
        for each in definitions
        if each.withheld and each.origin.source in ("project", "added")
    ]
    if not ignored:
        return ""
    more = f" and {len(ignored) - 8} more" if len(ignored) > 8 else ""
    text = (
        f"Fields that grant something are ignored, because the folder of these files is not trusted: "
        f"{', '.join(ignored[:8])}{more}. If you know what is in it: bobstay trust add"
    )
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _is_listed(command: CommandDefinition, active: Collection[str]) -> bool:
    return not command.paths or command.key in active


def _with_label(command: CommandDefinition) -> str:
    if command.origin.source == "bundled":
        return command.description
    if command.origin.plugin:
        return f"({command.origin.plugin}) {command.description}".rstrip()
    return f"{command.description} ({command.origin.label})".lstrip()


def _describe_tools(agent: AgentDefinition) -> str:
    if agent.tools is None:
        excepted = f" except {', '.join(agent.disallowed_tools)}" if agent.disallowed_tools else ""
        return _cut(f"All tools{excepted}", LONGEST_LINE)
    left = [name for name in agent.tools if name not in agent.disallowed_tools]
    return _cut(", ".join(left) or "None", LONGEST_LINE)


def _join(lines: Iterable[tuple[str, str]]) -> str:
    found: list[str] = []
    length = 0
    for number, (name, line) in enumerate(lines):
        if number >= MOST_LINES:
            break
        found.append(line if length + len(line) <= LONGEST_LIST else _cut(name, LONGEST_LINE))
        length += len(found[-1]) + 1
    return "\n".join(found)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
