"""Plugins: a folder with commands, skills, agents, hooks and servers, read with its manifest."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bobstay.config.trust import is_inside
from bobstay.library.definition import (
    AgentDefinition,
    CommandDefinition,
    DefinitionFolder,
    LibraryNotice,
    OutputStyle,
)
from bobstay.library.definition_fields import is_name
from bobstay.library.definition_folder import read_agents, read_commands, read_skills, read_styles
from bobstay.library.library import PluginDefinitions
from bobstay.library.plugin_config import PluginHooks, PluginServer, find_hooks, find_servers, read_json_object
from bobstay.markdown.field_values import as_line

MANIFESTS = (".claude-plugin/plugin.json", ".bobstay-plugin/plugin.json")
MOST_PATHS = 50


class PluginProblem(Struct, frozen=True, rename={"kind": "type"}):
    """Why a plugin, or a part of it, is not used; as `init` lists it."""

    plugin: str
    kind: Literal["generic-error", "path-not-found"]
    message: str
    path: str


class Plugin(Struct, frozen=True, kw_only=True):
    name: str
    id: str
    """`name@marketplace`; `name@inline` for a folder named on the command line."""
    path: str
    """A real path."""
    data: str
    """The folder in which the plugin may keep files of its own; it need not exist."""
    version: str = ""
    description: str = ""
    definitions: PluginDefinitions = PluginDefinitions()
    hooks: tuple[PluginHooks, ...] = ()
    servers: tuple[PluginServer, ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """Variables of its texts and configurations, also for the environment of its hooks and servers."""
        return plugin_variables(self.path, self.data)


class ReadPlugin(Struct, frozen=True):
    """A plugin that was read; None if it cannot be used."""

    plugin: Plugin | None
    problems: tuple[PluginProblem, ...] = ()
    notices: tuple[LibraryNotice, ...] = ()


def plugin_variables(path: str, data: str) -> dict[str, str]:
    return {"CLAUDE_PLUGIN_ROOT": path, "CLAUDE_PLUGIN_DATA": data}


def read_plugin(
    folder: str, data_folder: str, marketplace: str = "inline", entry: Mapping[str, Any] | None = None
) -> ReadPlugin:
    """Read a plugin's manifest and parts; nothing of it is run.

    Args:
        folder: Its path.
        data_folder: The folder that has the data of all plugins.
        marketplace: Where it comes from; a part of its id.
        entry: What a marketplace says about it, for a plugin without a manifest.
    """
    label = os.path.basename(folder.rstrip("/")) or folder
    if not os.path.isdir(folder):
        return _refuse(label, "path-not-found", f"There is no folder {folder}.", folder)
    path = os.path.realpath(folder)
    try:
        manifest = {**(entry or {}), **_read_manifest(path)}
    except ValueError as error:
        return _refuse(label, "generic-error", str(error), folder)
    name = as_line(manifest.get("name")) or os.path.basename(path)
    if not is_name(name):
        text = f"The name {name[:60]!r} cannot be used for a plugin. Give it one of letters, digits and hyphens."
        return _refuse(label, "generic-error", text, folder)
    reader = _PluginReader(name, path, f"{data_folder}/{name}-{marketplace}", manifest)
    plugin = Plugin(
        name=name,
        id=f"{as_line((entry or {}).get('name')) or name}@{marketplace}",
        path=path,
        data=reader.data,
        version=as_line(manifest.get("version")),
        description=as_line(manifest.get("description")),
        definitions=reader.read_definitions(),
        hooks=reader.read_hooks(),
        servers=reader.read_servers(),
    )
    return ReadPlugin(plugin, tuple(reader.problems), tuple(reader.notices))


class _PluginReader:
    def __init__(self, name: str, path: str, data: str, manifest: Mapping[str, Any]) -> None:
        self.data = data
        self.problems: list[PluginProblem] = []
        self.notices: list[LibraryNotice] = []
        self._name, self._path, self._manifest = name, path, manifest
        self._variables = plugin_variables(path, data)
        self._folder = DefinitionFolder(path, "plugin", confined=path, plugin=name, variables=self._variables)

    def read_definitions(self) -> PluginDefinitions:
        commands: list[CommandDefinition] = []
        agents: list[AgentDefinition] = []
        styles: list[OutputStyle] = []
        for path in self._paths("skills", "skills"):
            commands += read_skills(self._folder, self.notices, path, itself=True)
        for path in self._paths("commands", "commands", replaces=True):
            commands += read_commands(self._folder, self.notices, path)
        for path in self._paths("agents", "agents", replaces=True):
            agents += read_agents(self._folder, self.notices, path)
        for path in self._paths("outputStyles", "output-styles"):
            styles += read_styles(self._folder, self.notices, path)
        return PluginDefinitions(tuple(commands), tuple(agents), tuple(styles))

    def read_hooks(self) -> tuple[PluginHooks, ...]:
        found: list[PluginHooks] = []
        for file, value in self._configurations("hooks", "hooks/hooks.json"):
            if hooks := find_hooks(value, self._variables):
                found.append(PluginHooks(self._name, file, hooks))
        return tuple(found)

    def read_servers(self) -> tuple[PluginServer, ...]:
        found: dict[str, PluginServer] = {}
        for file, value in self._configurations("mcpServers", ".mcp.json"):
            for name, config in find_servers(value, self._variables).items():
                found[name] = PluginServer(f"plugin:{self._name}:{name}", self._name, config, file)
        return tuple(found.values())

    def _paths(self, key: str, default: str, *, replaces: bool = False) -> Iterator[str]:
        """The paths of a part, relative to the plugin: the default one, and those of the manifest."""
        given = self._manifest.get(key)
        if given is None or not replaces:
            yield default
        values = given if isinstance(given, list) else [given]
        for value in values[:MOST_PATHS]:
            if isinstance(value, str) and (path := self._check_path(key, value)):
                yield path
            elif value is not None and not isinstance(value, str):
                self._report("generic-error", f"{key}: expected a path or a list of paths.", self._path)

    def _configurations(self, key: str, default: str) -> Iterator[tuple[str, Any]]:
        """The files and inline values of a part, with the file each comes from."""
        if os.path.lexists(f"{self._path}/{default}") and (value := self._read_json(default)) is not None:
            yield f"{self._path}/{default}", value
        given = self._manifest.get(key)
        for each in (given if isinstance(given, list) else [given])[:MOST_PATHS]:
            if isinstance(each, dict):
                yield f"{self._path}/{MANIFESTS[0]}", each
                continue
            path = self._check_path(key, each) if isinstance(each, str) else ""
            if path and path != default and (value := self._read_json(path)) is not None:
                yield f"{self._path}/{path}", value

    def _check_path(self, key: str, value: str) -> str:
        path = os.path.normpath(value) if value and "\0" not in value else ".."
        full = f"{self._path}/{path}"
        if (
            os.path.isabs(path)
            or path == ".."
            or path.startswith("../")
            or not is_inside(os.path.realpath(full), self._path)
        ):
            self._report("generic-error", f"{key}: {value[:200]!r} leads out of the plugin's folder.", full)
            return ""
        if not os.path.exists(full):
            self._report("path-not-found", f"{key}: there is no {value[:200]!r} in the plugin.", full)
            return ""
        return path

    def _read_json(self, path: str) -> dict[str, Any] | None:
        try:
            return read_json_object(f"{self._path}/{path}", self._path)
        except ValueError as error:
            self._report("generic-error", str(error), f"{self._path}/{path}")
            return None

    def _report(self, kind: Literal["generic-error", "path-not-found"], message: str, path: str) -> None:
        self.problems.append(PluginProblem(self._name, kind, message, path))


def _read_manifest(path: str) -> dict[str, Any]:
    """Return the manifest; empty if there is none. Raises `ValueError` if it cannot be used."""
    for name in MANIFESTS:
        if os.path.lexists(f"{path}/{name}"):
            return read_json_object(f"{path}/{name}", path)
    return {}


def _refuse(name: str, kind: Literal["generic-error", "path-not-found"], message: str, path: str) -> ReadPlugin:
    return ReadPlugin(None, (PluginProblem(name, kind, message, path),))


def encode_problems(problems: tuple[PluginProblem, ...]) -> list[dict[str, str]]:
    """Return problems as `init.plugin_errors` lists them."""
    rows: list[dict[str, str]] = msgspec.to_builtins(list(problems))
    return rows
