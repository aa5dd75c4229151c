"""Builds definitions from the fields of a file's front matter, or from JSON."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from bobstay.library.definition import AgentDefinition, CommandDefinition, DefinitionOrigin, LibraryNotice, OutputStyle
from bobstay.markdown.field_values import as_count, as_flag, as_line, as_list, as_map, as_text

LONGEST_NAME = 100
MOST_ARGUMENT_NAMES = 50
MEMORIES = ("user", "project", "local")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
PERMISSION_MODES = ("default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
_NOT_IN_NAMES = frozenset(" /@:\\`'\"<>$(){}[],;|&*?!")
_NOT_FIRST = frozenset(".-~^%=+#")
"""Names are typed behind a slash and stand in rules and file names: no blanks, no separators, nothing of a shell."""
_LONGEST_ARGUMENT = 40
_GRANTS_OF_COMMAND = ("allowed-tools", "hooks", "model", "effort")
_GRANTS_OF_AGENT = ("hooks", "mcpServers", "permissionMode", "memory", "model", "effort")
_NOT_FOR_PLUGINS = ("hooks", "mcpServers", "permissionMode")
"""Fields of agents that plugins cannot set: a plugin has hooks and servers of its own, which are shown before use."""


class FileFacts(Struct, frozen=True):
    """A file that defines something: its origin, its fields, and what its place says about it."""

    origin: DefinitionOrigin
    fields: Mapping[str, Any]
    stem: str
    """The name that its path gives it."""
    first_line: str = ""
    """The first line of the body."""
    prefix: str = ""
    """`plug:` for a plugin."""
    folder: str = ""
    """The folder of a skill."""
    variables: dict[str, str] = {}
    grants: bool = True
    """Whether its fields may grant anything: tools, hooks, servers, a model."""


def is_name(text: str) -> bool:
    """Whether a text can be the name of a command, a skill, an agent or a plugin."""
    if not 0 < len(text) <= LONGEST_NAME or not text.isprintable() or text[0] in _NOT_FIRST:
        return False
    return _NOT_IN_NAMES.isdisjoint(text)


def build_command(facts: FileFacts, notices: list[LibraryNotice], scope: str = "") -> CommandDefinition:
    """Build a command, or a skill if the file has a folder of its own."""
    fields = facts.fields
    name, aliases = facts.prefix + facts.stem, tuple[str, ...]()
    if facts.folder:
        own = as_line(fields.get("name"))
        if own and own != facts.stem and is_name(own):
            name, aliases = facts.prefix + own, (facts.prefix + facts.stem,)
        elif own and not is_name(own):
            notices.append(_notice(facts, f"the name {own[:60]!r} cannot be typed, so it is called {facts.stem}"))
    description = as_line(fields.get("description"))
    withheld = () if facts.grants else _withheld(facts, _GRANTS_OF_COMMAND)
    granted = _without(fields, withheld)
    return CommandDefinition(
        name=name,
        kind="skill" if facts.folder else "command",
        origin=facts.origin,
        aliases=aliases,
        description=description or facts.first_line,
        described=bool(description),
        when_to_use=as_line(fields.get("when_to_use") or fields.get("when-to-use")),
        argument_hint=as_line(fields.get("argument-hint")),
        arguments=_argument_names(facts, notices),
        allowed_tools=as_list(granted.get("allowed-tools")),
        disallowed_tools=as_list(fields.get("disallowed-tools")),
        model=_model(granted.get("model")),
        effort=_effort(facts, granted, notices),
        model_invocable=not as_flag(fields.get("disable-model-invocation")),
        user_invocable=as_flag(fields.get("user-invocable"), default=True),
        fork=as_line(fields.get("context")) == "fork",
        agent=as_line(fields.get("agent")),
        paths=as_list(fields.get("paths")),
        hooks=as_map(granted.get("hooks")),
        shell=_shell(facts, notices),
        folder=facts.folder,
        scope=scope,
        variables=facts.variables,
        withheld=withheld,
    )


def build_agent(facts: FileFacts, notices: list[LibraryNotice]) -> AgentDefinition | None:
    """Build an agent; None without a name and a description. Definitions from JSON have their prompt in the fields."""
    fields = facts.fields
    name, description = as_line(fields.get("name")), as_text(fields.get("description"))
    if not name or not description:
        if fields:
            missing = "a name" if not name else "a description"
            notices.append(_notice(facts, f"this agent has no {missing[2:]}, so it is not offered; add {missing}"))
        return None
    if not is_name(name):
        notices.append(_notice(facts, f"the name {name[:60]!r} cannot be used; choose letters, digits and hyphens"))
        return None
    refused = () if facts.grants else _GRANTS_OF_AGENT
    withheld = _withheld(facts, _NOT_FOR_PLUGINS if facts.origin.source == "plugin" else refused)
    granted = _without(fields, withheld)
    return AgentDefinition(
        name=facts.prefix + name,
        description=description,
        origin=facts.origin,
        prompt="" if facts.origin.file else str(fields.get("prompt") or "").encode(errors="replace").decode(),
        tools=_tools(fields),
        disallowed_tools=as_list(fields.get("disallowedTools")),
        model=_model(granted.get("model")),
        effort=_effort(facts, granted, notices),
        permission_mode=_choice(facts, granted, "permissionMode", PERMISSION_MODES, notices),
        skills=as_list(fields.get("skills")),
        max_turns=_max_turns(facts, notices),
        hooks=as_map(granted.get("hooks")),
        mcp_servers=_servers(granted.get("mcpServers")),
        worktree=_choice(facts, fields, "isolation", ("worktree",), notices) == "worktree",
        memory=cast("Any", _choice(facts, granted, "memory", MEMORIES, notices)),
        background=as_flag(fields["background"]) if "background" in fields else None,
        initial_prompt=as_text(fields.get("initialPrompt")),
        color=as_line(fields.get("color")),
        variables=facts.variables,
        withheld=withheld,
    )


def build_style(facts: FileFacts) -> OutputStyle | None:
    """Build an output style; None if nothing of its name can be shown."""
    candidates = (as_line(facts.fields.get("name"))[:LONGEST_NAME], as_line(facts.stem))
    name = next((each for each in candidates if each and each.isprintable()), "")
    if not name:
        return None
    return OutputStyle(
        name=facts.prefix + name,
        origin=facts.origin,
        description=as_line(facts.fields.get("description")) or facts.first_line,
        keep_coding_instructions=as_flag(facts.fields.get("keep-coding-instructions")),
        variables=facts.variables,
    )


def build_agents(given: Any, origin: DefinitionOrigin, notices: list[LibraryNotice]) -> list[AgentDefinition]:
    """Build agents from JSON: `{name: {description, prompt, ...}}`, as `--agents` and hosts give them."""
    label = {"flag": "--agents", "host": "initialize.agents"}.get(origin.source, origin.source)
    if not isinstance(given, dict):
        if given is not None:
            notices.append(LibraryNotice(label, 'expected an object: {"reviewer": {"description": …, "prompt": …}}'))
        return []
    found: list[AgentDefinition] = []
    for name, fields in given.items():
        if not isinstance(fields, dict):
            notices.append(LibraryNotice(label, f"{str(name)[:60]}: expected an object with description and prompt"))
            continue
        own: list[LibraryNotice] = []
        agent = build_agent(FileFacts(origin, {**fields, "name": str(name)}, str(name)), own)
        notices.extend(LibraryNotice(label, f"{str(name)[:60]}: {notice.text}") for notice in own)
        if agent is not None:
            found.append(agent)
    return found


def _withheld(facts: FileFacts, names: tuple[str, ...]) -> tuple[str, ...]:
    """The fields that the file sets in vain."""
    return tuple(name for name in names if facts.fields.get(name) and not _is_nothing(name, facts.fields[name]))


def _is_nothing(name: str, value: Any) -> bool:
    """Whether a field says what holds without it."""
    return name in ("model", "effort") and as_line(value) == "inherit"


def _without(fields: Mapping[str, Any], withheld: tuple[str, ...]) -> Mapping[str, Any]:
    return {name: value for name, value in fields.items() if name not in withheld} if withheld else fields


def _tools(fields: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The tools of an agent: absent or `*` means all of them, present and empty means none."""
    if "tools" not in fields:
        return None
    names = as_list(fields["tools"])
    return None if "*" in names else names


def _servers(value: Any) -> tuple[str | dict[str, Any], ...]:
    if isinstance(value, dict):  # a map by name instead of a list
        return tuple({str(name): config} for name, config in value.items())
    if isinstance(value, list):
        return tuple(item if isinstance(item, dict) else as_line(item) for item in value if item)
    return as_list(value)


def _model(value: Any) -> str:
    text = as_line(value)
    return "" if text == "inherit" else text


def _choice(
    facts: FileFacts, fields: Mapping[str, Any], name: str, allowed: tuple[str, ...], notices: list[LibraryNotice]
) -> str:
    """The value of a field that has a few; empty, with a notice, if it is another."""
    text = as_line(fields.get(name))
    if text and text not in allowed:
        expected = f"{'one of ' if len(allowed) > 1 else ''}{', '.join(allowed)}"
        notices.append(_notice(facts, f"{name} {text[:40]!r} is ignored; expected {expected}"))
        return ""
    return text


def _effort(facts: FileFacts, fields: Mapping[str, Any], notices: list[LibraryNotice]) -> str:
    return "" if as_line(fields.get("effort")) == "inherit" else _choice(facts, fields, "effort", EFFORTS, notices)


def _max_turns(facts: FileFacts, notices: list[LibraryNotice]) -> int | None:
    given = facts.fields.get("maxTurns")
    count = as_count(given)
    if count is None and as_line(given):
        notices.append(
            _notice(facts, f"maxTurns {as_line(given)[:40]!r} is ignored; expected a whole number from 1 on")
        )
    return count


def _shell(facts: FileFacts, notices: list[LibraryNotice]) -> str:
    text = as_line(facts.fields.get("shell")) or "bash"
    if text not in ("bash", "powershell"):
        notices.append(_notice(facts, f"shell {text[:40]!r} is unknown, so bash is used; expected bash or powershell"))
        return "bash"
    return text


def _argument_names(facts: FileFacts, notices: list[LibraryNotice]) -> tuple[str, ...]:
    names = as_list(facts.fields.get("arguments"))[:MOST_ARGUMENT_NAMES]
    if bad := [name for name in names if not _is_argument(name)]:
        notices.append(_notice(facts, f"the argument name {bad[0][:40]!r} cannot be used; choose letters and digits"))
    # A bad name keeps its position: the names behind it must not move.
    return tuple(name if _is_argument(name) else "" for name in names)


def _is_argument(name: str) -> bool:
    return len(name) <= _LONGEST_ARGUMENT and name.isascii() and name.replace("-", "_").isidentifier()


def _notice(facts: FileFacts, text: str) -> LibraryNotice:
    return LibraryNotice(facts.origin.file or facts.stem, text)
