"""Reads the hooks and MCP servers that the settings of a directory name, without starting anything."""

import os
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.merge import are_hooks_disabled
from bobstay.config.paths import Paths, local_settings, project_settings
from bobstay.config.settings import Settings
from bobstay.config.settings_files import BrokenSettings, read_file
from bobstay.hooks.hook_settings import read_hooks
from bobstay.server.inventory.inventory_types import HookEntry, Level, McpServer
from bobstay.server.inventory.redacted_commands import redact_command
from bobstay.system.safe_read import read_regular

FileLevel: TypeAlias = Literal["managed", "user", "project", "local"]
OF_FOLDER = frozenset({"project", "local"})
MOST = 500
LONGEST_FILE = 1 << 20
LONGEST_COMMAND = 4_000


class SettingsFile(Struct, frozen=True):
    level: FileLevel
    path: str
    settings: Settings


def files_of(cwd: str, paths: Paths, problems: list[str], *, external: bool) -> list[SettingsFile]:
    """The settings files in force in `cwd`, highest precedence first; an external engine reads only some of them."""
    named: list[tuple[FileLevel, Sequence[str]]] = [
        ("managed", (paths.managed,)),
        ("local", local_settings(cwd)),
        ("project", project_settings(cwd)),
        ("user", paths.user_settings),
    ]
    found: list[SettingsFile] = []
    seen: set[str] = set()
    for level, names in named:
        for name in names[1:] if external else names:  # external engines read only the second one
            real = os.path.realpath(name)
            if real in seen:
                continue
            seen.add(real)
            try:
                settings = read_file(name)
            except BrokenSettings as error:
                problems.append(str(error)[:500])
                continue
            if settings is not None:
                found.append(SettingsFile(level, name, settings))
    return found


def hooks_of(files: list[SettingsFile], problems: list[str], *, trusted: bool) -> tuple[HookEntry, ...]:
    """The hooks in the settings. Those of an untrusted directory are listed, but not in force."""
    found: list[HookEntry] = []
    counting = [file for file in files if trusted or file.level not in OF_FOLDER]
    disabling = {file.level for file in counting if file.settings.disable_all_hooks}
    for file in files:
        mine = file in counting
        runs = mine and not are_hooks_disabled(file.level, disabling)

        def notice(_: str, what: str, path: str = file.path) -> None:
            problems.append(f"{path}: {what}"[:500])

        for hook in read_hooks(file.settings.hooks, file.path, notice):
            command = redact_command(hook.text[:LONGEST_COMMAND])
            found.append(HookEntry(hook.event, hook.pattern, command, file.path, file.level, mine, runs))
    return tuple(found[:MOST])


def servers_of(files: list[SettingsFile], cwd: str, state: str, *, trusted: bool) -> tuple[McpServer, ...]:
    """Servers named in the settings and the directory's `.mcp.json`; names only, as their commands may hold secrets."""
    found: dict[str, McpServer] = {}
    for file in files:
        for name in file.settings.mcp_servers:
            mine = trusted or file.level not in OF_FOLDER
            found.setdefault(name, McpServer(name[:300], state, file.path, file.level, mine))
    path = f"{cwd}/.mcp.json"
    for name in _server_names(path):
        found.setdefault(name, McpServer(name[:300], state, path, "project", trusted))
    return tuple(found.values())[:MOST]


def servers_of_session(names: tuple[str, ...], state: str) -> tuple[McpServer, ...]:
    """Servers of one session."""
    level: Level = "session"
    return tuple(McpServer(name, state, "", level, True) for name in names[:MOST])


def _server_names(path: str) -> Iterator[str]:
    data = read_regular(path, LONGEST_FILE, follow=False)
    try:
        found = msgspec.json.decode(data) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if isinstance(servers, dict):
        yield from list(servers)[:MOST]
