"""Files that list MCP servers: reads all of them, and changes the project's `.mcp.json` and the user's own file."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.system.file_lock import hold_lock
from bobstay.system.safe_read import read_regular

McpScope: TypeAlias = Literal["local", "project", "user"]
SCOPES: tuple[McpScope, ...] = ("local", "project", "user")
"""In order of precedence: the first that has a name wins."""
MAX_SIZE = 1 << 20
MAX_CLAUDE_SIZE = 64 << 20
"""The other program keeps much else in its file."""
MAX_NAME_LENGTH = 64
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_LOCK_SECONDS = 5.0


class McpFilesError(Exception):
    """A file cannot be read or changed, or an entry is refused. The text says why and what to do."""


class ListedServer(Struct, frozen=True):
    name: str
    scope: McpScope
    file: str
    entry: dict[str, Any]
    """As it is written: nothing in it is checked or expanded."""
    own: bool = True
    """Whether it is in a file that bobstay writes."""


class McpFiles:
    """The servers of one folder. The user's own file is `{"mcpServers", "projects": {FOLDER: {"mcpServers"}}}`."""

    def __init__(self, paths: Paths, cwd: str) -> None:
        self.folder = os.path.realpath(cwd)
        self.user_file = f"{paths.bobstay}/mcp.json"
        self.project_file = f"{self.folder}/.mcp.json"
        usual = paths.claude == f"{paths.home}/.claude"
        self.claude_file = f"{paths.home if usual else paths.claude}/.claude.json"
        self._home = paths.bobstay

    def list_servers(self) -> tuple[list[ListedServer], list[str]]:
        """Return all servers, those that win first, and what is wrong with files that cannot be read."""
        problems: list[str] = []
        own = self._read_or_report(self.user_file, MAX_SIZE, problems)
        claude = self._read_or_report(self.claude_file, MAX_CLAUDE_SIZE, problems)
        found = [
            *_servers(_project_entry(own, self.folder), "local", self.user_file),
            *_servers(_project_entry(claude, self.folder), "local", self.claude_file, own=False),
        ]
        for folder in _with_parents(self.folder):
            file = f"{folder.rstrip('/')}/.mcp.json"
            raw = self._read_or_report(file, MAX_SIZE, problems)
            found += _servers(raw, "project", file, own=folder == self.folder)
        found += _servers(own, "user", self.user_file)
        found += _servers(claude, "user", self.claude_file, own=False)
        return found, problems

    def file_of(self, scope: McpScope) -> str:
        return self.project_file if scope == "project" else self.user_file

    def add(self, scope: McpScope, name: str, entry: dict[str, Any]) -> None:
        """Add a server.

        Raises:
            McpFilesError: the name is unusable or taken, or the file cannot be changed.
        """
        check_name(name)

        def change(raw: dict[str, Any]) -> None:
            servers = self._servers_to_change(raw, scope)
            taken = next((other for other in servers if _tool_prefix(other) == _tool_prefix(name)), None)
            if taken is not None:
                raise McpFilesError(
                    f"{self.file_of(scope)} already has an MCP server {printable(taken)}. Choose another name, or "
                    f"remove it first: bobstay mcp remove {printable(taken)} --scope {scope}"
                )
            servers[name] = entry

        self._change(scope, change)

    def remove(self, scope: McpScope, name: str) -> None:
        """Remove a server; nothing happens if there is none of that name. Raises `McpFilesError`."""

        def change(raw: dict[str, Any]) -> None:
            self._servers_to_change(raw, scope).pop(name, None)

        self._change(scope, change)

    def _servers_to_change(self, raw: dict[str, Any], scope: McpScope) -> dict[str, Any]:
        holder = raw
        if scope == "local":
            holder = _object_in(_object_in(raw, "projects", self.user_file), self.folder, self.user_file)
        return _object_in(holder, "mcpServers", self.file_of(scope))

    def _change(self, scope: McpScope, change: Callable[[dict[str, Any]], None]) -> None:
        from bobstay.system.atomic_file import replace_content

        file = self.file_of(scope)
        if scope == "project" and os.path.islink(file):
            raise McpFilesError(f"{file} is a link, and a repository may have made it. Change the file it leads to.")
        try:
            os.makedirs(self._home, mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with hold_lock(os.open(f"{self.user_file}.lock", flags, 0o600), _LOCK_SECONDS):
                raw = _read(file, MAX_SIZE)
                change(raw)
                data = msgspec.json.format(msgspec.json.encode(raw), indent=2) + b"\n"
                replace_content(
                    os.path.realpath(file), data, mode=_mode_of(file, 0o644 if scope == "project" else 0o600)
                )
        except BlockingIOError as error:
            raise McpFilesError(f"{file} is being changed by another process. Try again.") from error
        except OSError as error:
            raise McpFilesError(f"{file} cannot be changed: {error.strerror}.") from error

    def _read_or_report(self, file: str, most: int, problems: list[str]) -> dict[str, Any]:
        try:
            return _read(file, most)
        except McpFilesError as error:
            problems.append(str(error))
            return {}


def check_name(name: str) -> None:
    """Refuse a name that cannot be part of the names of tools. Raises `McpFilesError`."""
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH or "__" in name:
        raise McpFilesError(
            f"{printable(name)!r} cannot be the name of a server. Use at most {MAX_NAME_LENGTH} letters, digits, "
            "hyphens and single underscores."
        )


def printable(text: str) -> str:
    """A text of a file without control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:500])


def _read(file: str, most: int) -> dict[str, Any]:
    """Return the object in a file; an empty one if there is no file. Raises `McpFilesError`."""
    data = read_regular(file, most + 1)
    if data is None and os.path.lexists(file):
        raise McpFilesError(f"{file} cannot be read, so the MCP servers in it are not known.")
    if not data or not data.strip():
        return {}
    if len(data) > most:
        raise McpFilesError(f"{file} is larger than {most >> 20} MiB, so the MCP servers in it are not read.")
    try:
        raw = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise McpFilesError(f"{file} is not valid JSON. Correct it first; nothing was changed.") from error
    if not isinstance(raw, dict):
        raise McpFilesError(f"{file} is not a JSON object. Correct it first; nothing was changed.")
    return raw


def _servers(raw: dict[str, Any], scope: McpScope, file: str, *, own: bool = True) -> Iterator[ListedServer]:
    servers = raw.get("mcpServers")
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        yield ListedServer(name, scope, file, entry if isinstance(entry, dict) else {}, own)


def _project_entry(raw: dict[str, Any], folder: str) -> dict[str, Any]:
    projects = raw.get("projects")
    entry = projects.get(folder) if isinstance(projects, dict) else None
    return entry if isinstance(entry, dict) else {}


def _object_in(holder: dict[str, Any], key: str, file: str) -> dict[str, Any]:
    found = holder.setdefault(key, {})
    if not isinstance(found, dict):
        raise McpFilesError(f"{file}: {printable(key)} is not an object. Correct it first; nothing was changed.")
    return found


def _tool_prefix(name: str) -> str:
    """What stands for a server in the names of its tools; two servers cannot share it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _mode_of(file: str, default: int) -> int:
    try:
        return stat.S_IMODE(os.stat(file).st_mode) & 0o777
    except OSError:
        return default


def _with_parents(folder: str) -> Iterator[str]:
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder
