"""Collects the MCP servers of a session from files, settings, the command line and plugins."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.config.settings_files import SettingsLayer
from bobstay.config.trust import is_trust_list_outside
from bobstay.mcp.approval_store import ApprovalStore, ApprovalStoreError
from bobstay.mcp.server_config import BadServer, McpServerConfig, Scope, parse_server
from bobstay.mcp.variable_expansion import Variables
from bobstay.system.safe_read import read_regular

_MAX_FILE = 1 << 20
_MAX_GLOBAL_FILE = 64 << 20
"""The other program keeps much else in its global file."""
_MAX_SERVERS = 200
_MAX_DEPTH = 64
_FOLDER_SOURCES = ("project", "local")


class BadMcpConfigError(ValueError):
    """`--mcp-config` cannot be used. The text is for the person who typed it."""


class PluginServers(Struct, frozen=True):
    """The servers of one plugin; the plugin's own variables are replaced already."""

    plugin: str
    servers: dict[str, Any]
    origin: str = ""
    is_of_project: bool = False
    """The plugin is a part of the project: its servers get what those of a project get."""


class McpSources(Struct, frozen=True):
    """Where the servers of a session may come from."""

    cwd: str
    paths: Paths
    trusted: bool = False
    """Whether `cwd` is trusted."""
    layers: tuple[SettingsLayer, ...] = ()
    """The settings, in order of precedence; those of a folder that is not trusted are restricted already."""
    setting_sources: tuple[str, ...] | None = None
    """Which of user, project and local to read; None for all."""
    mcp_config: tuple[str, ...] = ()
    """The values of `--mcp-config`: JSON texts or paths."""
    strict: bool = False
    """Use those of `--mcp-config` only."""
    plugins: tuple[PluginServers, ...] = ()
    variables: Mapping[str, str] = {}
    """For `${VAR}`."""
    is_model_key: Callable[[str], bool] | None = None
    """Tells the variables that a project's file must not get."""
    is_trusted_folder: Callable[[str], bool] | None = None
    """Whether another folder is trusted, for a `.mcp.json` above `cwd`."""


class McpConfiguration(Struct, frozen=True):
    servers: tuple[McpServerConfig, ...] = ()
    """Also those that are disabled or must not be started; each name once."""
    notices: tuple[str, ...] = ()
    """What is wrong with the others; each for a person."""

    @property
    def has_dynamic(self) -> bool:
        """Whether the command line names servers, so that the first turn waits for them."""
        return any(server.scope in ("dynamic", "sdk") for server in self.servers)


def collect_servers(sources: McpSources) -> McpConfiguration:
    """Collect the servers: those of the command line come first, then local, project, user and plugin servers.

    Raises:
        BadMcpConfigError: `--mcp-config` names a file that does not exist, or is not JSON.
    """
    collector = _Collector(sources)
    collector.add_command_line()
    if not sources.strict:
        collector.add_settings("managed", "cli")
        collector.add_global_file_of_folder()
        collector.add_settings("local")
        collector.add_project_files()
        collector.add_settings("project")
        collector.add_settings("user")
        collector.add_global_file_of_user()
        collector.add_plugins()
    return McpConfiguration(tuple(collector.servers.values()), tuple(collector.notices))


class _Collector:
    def __init__(self, sources: McpSources) -> None:
        self.servers: dict[str, McpServerConfig] = {}
        self.notices: list[str] = []
        self._sources = sources
        self._settings = [layer.settings for layer in sources.layers]
        self._global: dict[str, dict[str, Any]] = {}
        self._blocked: dict[str, list[str]] = {}

    def add_command_line(self) -> None:
        for text in self._sources.mcp_config:
            if text.lstrip().startswith("{"):
                origin, data = "--mcp-config", text.encode("utf-8", "surrogatepass")
            else:
                path = os.path.join(self._sources.cwd, os.path.expanduser(text))
                origin, found = path, read_regular(path, _MAX_FILE + 1)
                if found is None:
                    raise BadMcpConfigError(f"Error: the MCP configuration was not found: {path} (--mcp-config).")
                data = found
            raw = _decode(data)
            if raw is None or not isinstance(raw.get("mcpServers"), dict):
                raise BadMcpConfigError(
                    f'Error: {origin} is not an MCP configuration: expected {{"mcpServers": {{"name": {{...}}}}}}.'
                )
            self._add(raw["mcpServers"], "dynamic", origin)

    def add_settings(self, *wanted: str) -> None:
        for layer in self._sources.layers:
            if layer.source in wanted and layer.settings.mcp_servers:
                scope: Scope = "user"
                if layer.source in _FOLDER_SOURCES:
                    scope = "project"
                elif layer.source == "cli":
                    scope = "dynamic"
                folder = self._sources.cwd if scope == "project" else ""
                self._add(layer.settings.mcp_servers, scope, layer.file, folder)

    def add_project_files(self) -> None:
        """Add the `.mcp.json` of the folder and of those above it; the nearest comes first."""
        if not self._wants("project"):
            return
        for folder in _with_parents(self._sources.cwd):
            file = os.path.join(folder, ".mcp.json")
            raw = self._read(file, _MAX_FILE)
            if raw is not None:
                self._add(self._servers_in(raw, file), "project", file, folder)
        for file, names in self._blocked.items():
            listed = ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")
            why = self.servers[names[0]].blocked
            self.notices.append(f"{file}: not started: {listed}. {why}")

    def add_global_file_of_folder(self) -> None:
        for file in self._global_files if self._wants("local") else ():
            self._add(self._servers_in(self._project_entry(file), file), "local", file)

    def add_global_file_of_user(self) -> None:
        for file in self._global_files if self._wants("user") else ():
            self._add(self._servers_in(self._read_global(file), file), "user", file)

    def add_plugins(self) -> None:
        known = {server.signature for server in self.servers.values()}
        for plugin in self._sources.plugins:
            for name, raw in plugin.servers.items():
                full_name = f"plugin:{plugin.plugin}:{name}"
                server = self._parse(full_name, raw, "plugin", plugin.origin, withheld=plugin.is_of_project)
                if server is not None and server.signature not in known:
                    known.add(server.signature)
                    self._keep(server)

    @property
    def _global_files(self) -> tuple[str, ...]:
        """The files with servers of the user and of single folders: our own, and that of Claude Code."""
        return (os.path.join(self._sources.paths.bobstay, "mcp.json"), self._sources.paths.global_file)

    def _read_global(self, file: str) -> dict[str, Any]:
        if file not in self._global:
            self._global[file] = self._read(file, _MAX_GLOBAL_FILE) or {}
        return self._global[file]

    def _project_entry(self, file: str) -> dict[str, Any]:
        projects = self._read_global(file).get("projects")
        if not isinstance(projects, dict):
            return {}
        for name in (self._sources.cwd, os.path.realpath(self._sources.cwd)):
            if isinstance(projects.get(name), dict):
                entry: dict[str, Any] = projects[name]
                return entry
        return {}

    def _wants(self, source: str) -> bool:
        return self._sources.setting_sources is None or source in self._sources.setting_sources

    def _read(self, file: str, most: int) -> dict[str, Any] | None:
        data = read_regular(file, most + 1)
        if data is None or not data.strip():
            return None
        raw = _decode(data) if len(data) <= most else None
        if raw is None:
            why = "it is not a JSON object" if len(data) <= most else f"it is larger than {most >> 20} MiB"
            self.notices.append(f"{file}: its MCP servers are ignored, because {why}.")
        return raw

    def _servers_in(self, raw: Mapping[str, Any], file: str) -> dict[str, Any]:
        servers = raw.get("mcpServers")
        if servers is None:
            return {}
        if not isinstance(servers, dict):
            self.notices.append(f"{file}: its MCP servers are ignored, because mcpServers is not an object.")
            return {}
        return servers

    def _add(self, entries: Mapping[str, Any], scope: Scope, origin: str, folder: str = "") -> None:
        """Add entries. `folder` is where a project's file lies: its servers need trust and an approval."""
        for name, raw in entries.items():
            if name in self.servers and not self._yields(self.servers[name]):
                continue
            server = self._parse(name, raw, scope, origin, folder)
            if server is not None:
                self._keep(server)
                is_kept = self.servers.get(name) is server
                if is_kept and server.blocked and not server.disabled:
                    self._blocked.setdefault(origin, []).append(name)

    def _parse(
        self, name: str, raw: Any, scope: Scope, origin: str, folder: str = "", *, withheld: bool = False
    ) -> McpServerConfig | None:
        """Parse an entry. `withheld`: it gets no model keys, like those of a project's files."""
        is_project = scope == "project"
        is_model_key = self._sources.is_model_key if is_project or withheld else None
        variables = Variables(self._sources.variables, is_model_key)
        where = f"{origin}: the MCP server {name[:80]!r}"
        try:
            server = parse_server(name, raw, scope, origin, variables)
            if is_project and server.transport == "sdk":
                raise BadServer("only the program that runs this session can offer servers of the type sdk")  # noqa: TRY301 - one text for all problems of an entry
        except BadServer as error:
            self.notices.append(f"{where} is ignored: {error}.")
            return None
        if variables.refused:
            self.notices.append(
                f"{where}: ${{{variables.refused[0]}}} was not replaced: a project cannot have your model key."
            )
        if variables.missing:
            self.notices.append(f"{where}: ${{{variables.missing[0]}}} was not replaced, as it is not set.")
        return self._restrict(server, folder) if is_project else server

    def _restrict(self, server: McpServerConfig, folder: str) -> McpServerConfig:
        entries = [self._project_entry(file) for file in self._global_files] if self._wants("local") else []
        lists = [entry.get(key) for entry in entries for key in ("disabledMcpjsonServers", "disabledMcpServers")]
        disabled = any(server.name in settings.disabled_mcpjson_servers for settings in self._settings)
        disabled = disabled or any(isinstance(names, list) and server.name in names for names in lists)
        return msgspec.structs.replace(server, disabled=disabled, blocked=self._why_blocked(server, folder))

    def _why_blocked(self, server: McpServerConfig, folder: str) -> str:
        sources = self._sources
        if not sources.trusted:
            return "This folder is not trusted; look at the file, then trust the folder with `bobstay trust add`."
        if _is_approved(server, folder, sources.paths):
            return ""
        is_bound = folder == sources.cwd or (
            sources.is_trusted_folder is not None and sources.is_trusted_folder(os.path.realpath(folder))
        )
        enabled = any(settings.enable_all_project_mcp_servers for settings in self._settings) or any(
            server.name in settings.enabled_mcpjson_servers for settings in self._settings
        )
        if is_bound and enabled:
            return ""
        return (
            "Servers of a project need your approval: approve them in the console, or name them in "
            "enabledMcpjsonServers of your own settings."
            if is_bound
            else f"The folder {folder} is not trusted itself: trust it, or approve the server."
        )

    def _yields(self, server: McpServerConfig) -> bool:
        """Whether it is one of a folder that nobody trusts: it must not take the place of the person's own."""
        return bool(server.blocked) and not self._sources.trusted

    def _keep(self, server: McpServerConfig) -> None:
        if not server.blocked:
            same = [each for each in self.servers.values() if each.called == server.called and self._yields(each)]
            for each in same:
                del self.servers[each.name]
        if server.name in self.servers:
            return
        taken = next((other for other in self.servers.values() if other.called == server.called), None)
        if taken is not None:
            self.notices.append(
                f"{server.origin}: the MCP server {server.name[:80]!r} is ignored: its tools would be named as "
                f"those of {taken.name[:80]!r}; give it another name."
            )
        elif sum(self._yields(each) == self._yields(server) for each in self.servers.values()) >= _MAX_SERVERS:
            if not any(notice.startswith("Only the first") for notice in self.notices):
                self.notices.append(f"Only the first {_MAX_SERVERS} MCP servers are used.")
        else:
            self.servers[server.name] = server


def parse_host_servers(
    entries: Mapping[str, Any], variables: Mapping[str, str]
) -> tuple[list[McpServerConfig], dict[str, str]]:
    """Parse servers that a host sets while the session runs; returns them, and what is wrong with the others."""
    found: list[McpServerConfig] = []
    errors: dict[str, str] = {}
    for name, raw in entries.items():
        try:
            found.append(parse_server(name, raw, "dynamic", "mcp_set_servers", Variables(variables)))
        except BadServer as error:
            errors[name] = f"the MCP server {name[:80]!r} is ignored: {error}"
    return found, errors


def _is_approved(server: McpServerConfig, folder: str, paths: Paths) -> bool:
    if not is_trust_list_outside(paths, os.path.realpath(folder)):
        return False  # the folder itself could have brought the list
    try:
        return ApprovalStore(paths.bobstay).approved(folder).get(server.name) == server.digest
    except ApprovalStoreError:
        return False


def _decode(data: bytes) -> dict[str, Any] | None:
    try:
        raw = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return raw if isinstance(raw, dict) and not _is_too_deep(raw.values(), 0) else None


def _is_too_deep(values: Iterable[Any], depth: int) -> bool:
    if depth > _MAX_DEPTH:
        return True
    inner = (value.values() if isinstance(value, dict) else value for value in values if isinstance(value, dict | list))
    return any(_is_too_deep(each, depth + 1) for each in inner)


def _with_parents(folder: str) -> Iterator[str]:
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder
