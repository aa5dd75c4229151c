"""The command line of an external engine: flags from a session's configuration, and words that never become flags."""

import json
import os
from typing import Any

from msgspec import Struct

from bobstay.model.ids import new_id
from bobstay.model.session_events import SessionConfig
from bobstay.server.workflows import (
    BYPASS,
    READING,
    STARTING,
    allowed_tools,
    denied_tools,
    only_reads,
    system_text,
)

STREAM = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
LIVE = ("--input-format", "stream-json", "--replay-user-messages")
ASKING = ("--permission-prompt-tool", "stdio")
ASK_FIRST = json.dumps({"permissions": {"ask": ["Bash"]}})
"""Settings by which every command comes to us first: an ask rule is stronger than whatever allows, of any source."""
MCP_PREFIX = "mcp-"
MCP_SUFFIX = ".json"


class EngineConversation(Struct, frozen=True):
    """Which talk of the engine a process is to go on with."""

    resume: str = ""
    """Its id there; empty begins a new one."""
    fork: bool = False
    """Go on in a copy of it."""
    at: str = ""
    """The engine's entry after which that copy goes on."""
    new: str = ""
    """The id of a new one or of a copy, a UUID; the engine makes one up if empty."""


class EngineLaunch(Struct, frozen=True):
    """Everything a command line is made of."""

    config: SessionConfig
    talk: EngineConversation = EngineConversation()
    mode: str = ""
    """Permission mode to begin in."""
    mcp_file: str = ""
    own: tuple[str, ...] = ()
    """Flags that only this engine is given."""


def live_arguments(launch: EngineLaunch) -> tuple[str, ...]:
    """For a process that stays and takes prompts on its input (S003-2..4)."""
    return ("-p", *STREAM, *LIVE, *ASKING, *_talk(launch), *_settings(launch))


def one_shot_arguments(launch: EngineLaunch, query: str) -> tuple[str, ...]:
    """For a process that answers one prompt and ends: all flags first, then the prompt behind `--` (S000-3..7)."""
    form = launch.config.output_format
    output = STREAM if form == "stream-json" else ("--output-format", form)
    return (*output, *_talk(launch), *_settings(launch), "--print", "--", query)


def starting_mode(config: SessionConfig, mode: str, now: float) -> str:
    """The permission mode to start in: bypassing ends when its time is over (FM-39)."""
    wanted = mode or config.permission_mode
    return "default" if wanted == BYPASS and config.bypass_until <= now else wanted


def flag(name: str, value: str) -> tuple[str, ...]:
    """A flag with its value. A value that looks like a flag is joined to its name, so that it stays one (FM-48)."""
    return (f"{name}={value}",) if value.startswith("-") else (name, value)


def _talk(launch: EngineLaunch) -> tuple[str, ...]:
    talk = launch.talk
    found: tuple[str, ...] = ()
    if talk.resume:
        found = flag("--resume", talk.resume)
        if talk.fork:
            found += ("--fork-session",)
            if talk.at:
                found += flag("--resume-session-at", talk.at)
    if talk.new:
        found += flag("--session-id", talk.new)
    return (*found, "--no-session-persistence") if launch.config.ephemeral else found


def _settings(launch: EngineLaunch) -> tuple[str, ...]:
    config = launch.config
    found: tuple[str, ...] = ()
    if config.model:
        found += flag("--model", config.model)
    if launch.mode:
        found += flag("--permission-mode", launch.mode)
    if config.max_turns > 0:
        found += ("--max-turns", str(config.max_turns))
    if config.max_budget_usd is not None and config.max_budget_usd > 0:
        found += ("--max-budget-usd", f"{config.max_budget_usd:g}")
    if config.system_prompt:
        found += flag("--system-prompt", config.system_prompt)
    if words := system_text(config):
        found += flag("--append-system-prompt", words)
    if allowed := allowed_tools(config):
        found += flag("--allowedTools", ",".join(allowed))
    if denied := denied_tools(config):
        found += flag("--disallowedTools", ",".join(denied))
    if launch.mcp_file:
        found += flag("--mcp-config", launch.mcp_file)
    if only_reads(config):
        found += ("--tools", ",".join((*STARTING, *sorted(READING))), "--settings", ASK_FIRST)
    return (*found, *launch.own)


def write_mcp_config(config: dict[str, Any], directory: str) -> str:
    """Put a configuration of MCP servers, which may hold secrets, into a file only its owner can read (S000-7).

    Raises:
        OSError: it cannot be written.
    """
    os.makedirs(directory, 0o700, exist_ok=True)
    path = os.path.join(directory, f"{MCP_PREFIX}{new_id()}{MCP_SUFFIX}")
    servers = config if "mcpServers" in config else {"mcpServers": config}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(servers, file)
    return path


def clear_mcp_configs(directory: str) -> int:
    """Remove what processes of a server that crashed left behind. Returns how many there were."""
    try:
        names = os.listdir(directory)
    except OSError:
        return 0
    count = 0
    for name in names:
        if name.startswith(MCP_PREFIX) and name.endswith(MCP_SUFFIX):
            try:
                os.unlink(os.path.join(directory, name))
            except OSError:
                continue
            count += 1
    return count
