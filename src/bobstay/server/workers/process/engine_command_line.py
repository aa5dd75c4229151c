"""Builds the command line of an external engine from a session's configuration; values never become flags."""

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
    is_read_only,
    system_text,
)

STREAM = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
LIVE = ("--input-format", "stream-json", "--replay-user-messages")
ASKING = ("--permission-prompt-tool", "stdio")
ASK_FIRST = json.dumps({"permissions": {"ask": ["Bash"]}})
"""Settings that send every command to the console first: an ask rule is stronger than any allow rule."""
MCP_PREFIX = "mcp-"
MCP_SUFFIX = ".json"


class EngineConversation(Struct, frozen=True):
    """The conversation of the engine that a process resumes or begins."""

    resume: str = ""
    """The engine's id of it; empty begins a new one."""
    fork: bool = False
    """Continue in a copy of it."""
    at: str = ""
    """The engine's entry after which the copy continues."""
    new: str = ""
    """The id of a new conversation or copy, a UUID; if empty, the engine chooses one."""


class EngineLaunch(Struct, frozen=True):
    """The parameters of a command line."""

    config: SessionConfig
    conversation: EngineConversation = EngineConversation()
    mode: str = ""
    """Permission mode to start in."""
    mcp_file: str = ""
    own: tuple[str, ...] = ()
    """Flags for this engine only."""


def live_arguments(launch: EngineLaunch) -> tuple[str, ...]:
    """Arguments of a live process, which reads prompts from its input."""
    return ("-p", *STREAM, *LIVE, *ASKING, *_conversation(launch), *_settings(launch))


def one_shot_arguments(launch: EngineLaunch, query: str) -> tuple[str, ...]:
    """Arguments of a process for one prompt: all flags first, then the prompt after `--`."""
    form = launch.config.output_format
    output = STREAM if form == "stream-json" else ("--output-format", form)
    return (*output, *_conversation(launch), *_settings(launch), "--print", "--", query)


def starting_mode(config: SessionConfig, mode: str, now: float) -> str:
    """The permission mode to start in, without a bypass whose time is over."""
    wanted = mode or config.permission_mode
    return "default" if wanted == BYPASS and config.bypass_until <= now else wanted


def flag(name: str, value: str) -> tuple[str, ...]:
    """A flag with its value. A value that looks like a flag is joined to the name, so that it stays a value."""
    return (f"{name}={value}",) if value.startswith("-") else (name, value)


def _conversation(launch: EngineLaunch) -> tuple[str, ...]:
    conversation = launch.conversation
    found: tuple[str, ...] = ()
    if conversation.resume:
        found = flag("--resume", conversation.resume)
        if conversation.fork:
            found += ("--fork-session",)
            if conversation.at:
                found += flag("--resume-session-at", conversation.at)
    if conversation.new:
        found += flag("--session-id", conversation.new)
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
    if appended := system_text(config):
        found += flag("--append-system-prompt", appended)
    if allowed := allowed_tools(config):
        found += flag("--allowedTools", ",".join(allowed))
    if denied := denied_tools(config):
        found += flag("--disallowedTools", ",".join(denied))
    if launch.mcp_file:
        found += flag("--mcp-config", launch.mcp_file)
    if is_read_only(config):
        found += ("--tools", ",".join((*STARTING, *sorted(READING))), "--settings", ASK_FIRST)
    return (*found, *launch.own)


def write_mcp_config(config: dict[str, Any], directory: str) -> str:
    """Write a configuration of MCP servers, which may hold secrets, to a file that only its owner can read.

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
    """Remove the configuration files of a crashed server. Returns their number."""
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
