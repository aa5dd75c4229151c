"""What the settings of a directory name: hooks and servers, file by file. Read as words; nothing is started."""

import os
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.merge import hooks_disabled
from bobstay.config.paths import Paths, local_settings, project_settings
from bobstay.config.settings import Settings
from bobstay.config.settings_files import BrokenSettings, read_file
from bobstay.hooks.hook_settings import read_hooks
from bobstay.server.inventory.inventory_types import HookEntry, Level, McpServer
from bobstay.server.inventory.redacted_commands import concealed
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
    """The settings files that count in `cwd`, strongest first; an external engine reads only some of them."""
    named: list[tuple[FileLevel, Sequence[str]]] = [
        ("managed", (paths.managed,)),
        ("local", local_settings(cwd)),
        ("project", project_settings(cwd)),
        ("user", paths.user_settings),
    ]
    found: list[SettingsFile] = []
    seen: set[str] = set()
    for level, names in named:
        for name in names[1:] if external else names:  # the second is the one that others read too
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
    """The commands that settings name. Those of a directory nobody trusts are listed, and not in force."""
    found: list[HookEntry] = []
    counting = [file for file in files if trusted or file.level not in OF_FOLDER]
    disabling = {file.level for file in counting if file.settings.disable_all_hooks}
    for file in files:
        mine = file in counting
        runs = mine and not hooks_disabled(file.level, disabling)

        def notice(_: str, what: str, path: str = file.path) -> None:
            problems.append(f"{path}: {what}"[:500])

        for hook in read_hooks(file.settings.hooks, file.path, notice):
            command = concealed(hook.text[:LONGEST_COMMAND])
            found.append(HookEntry(hook.event, hook.pattern, command, file.path, file.level, mine, runs))
    return tuple(found[:MOST])


def servers_of(files: list[SettingsFile], cwd: str, state: str, *, trusted: bool) -> tuple[McpServer, ...]:
    """Servers named in settings and in the directory's `.mcp.json`. How they are started may be secret: names only."""
    found: dict[str, McpServer] = {}
    for file in files:
        for name in file.settings.mcp_servers:
            mine = trusted or file.level not in OF_FOLDER
            found.setdefault(name, McpServer(name[:300], state, file.path, file.level, mine))
    path = f"{cwd}/.mcp.json"
    for name in _named_in(path):
        found.setdefault(name, McpServer(name[:300], state, path, "project", trusted))
    return tuple(found.values())[:MOST]


def of_session(names: tuple[str, ...], state: str) -> tuple[McpServer, ...]:
    """Servers that were given to one session."""
    level: Level = "session"
    return tuple(McpServer(name, state, "", level, True) for name in names[:MOST])


def _named_in(path: str) -> Iterator[str]:
    data = read_regular(path, LONGEST_FILE, follow=False)
    try:
        found = msgspec.json.decode(data) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if isinstance(servers, dict):
        yield from list(servers)[:MOST]
