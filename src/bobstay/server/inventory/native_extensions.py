"""Commands, skills, agents and MCP servers that a session of bobstay's own engine has, without starting anything."""

import os

from msgspec import Struct

from bobstay.assembly.local_commands import BUILT_IN
from bobstay.config.environment import Environment
from bobstay.config.settings_files import LoadedSettings
from bobstay.library.definition import CommandDefinition, DefinitionOrigin
from bobstay.library.discovery import LibrarySources, find_library
from bobstay.library.plugin import Plugin
from bobstay.library.plugin_content import is_of_project
from bobstay.library.plugin_selection import PluginSources, find_plugins
from bobstay.mcp.config_sources import BadMcpConfigError, McpSources, PluginServers, collect_servers
from bobstay.mcp.server_config import McpServerConfig
from bobstay.server.inventory.inventory_types import Level, NamedExtension, SlashCommand

LONGEST_DESCRIPTION = 300
_LEVELS: dict[str, Level] = {
    "managed": "managed",
    "user": "user",
    "project": "project",
    "added": "project",
    "plugin": "plugin",
    "host": "session",
    "flag": "session",
    "bundled": "bundled",
}


class NativeExtensions(Struct, frozen=True):
    commands: tuple[SlashCommand, ...] = ()
    """All that a person may call with a slash: commands, skills, and those answered without the model."""
    skills: tuple[NamedExtension, ...] = ()
    agents: tuple[NamedExtension, ...] = ()
    servers: tuple[McpServerConfig, ...] = ()
    problems: tuple[str, ...] = ()
    """What is wrong with files that cannot be used, or only in part; each names its file."""


def read_extensions(
    cwd: str, environment: Environment, loaded: LoadedSettings, session_servers: str = ""
) -> NativeExtensions:
    """Read what applies in a directory. Reads files only, so it may run in a thread.

    `session_servers` is the configuration of MCP servers of one session, as JSON.
    """
    cwd, paths = os.path.realpath(cwd), environment.paths
    found = find_plugins(PluginSources(cwd=cwd, paths=paths, loaded=loaded))
    plugins = found.plugins
    problems = [str(notice) for notice in found.notices]
    sources = LibrarySources(cwd=cwd, paths=paths, trusted=loaded.trusted)
    library = find_library(sources, tuple(plugin.definitions for plugin in plugins))
    problems += [str(notice) for notice in library.notices]
    servers, notices = _read_servers(cwd, environment, loaded, plugins, session_servers)
    callable_by_people = (each for each in library.commands if each.user_invocable and not each.paths)
    return NativeExtensions(
        (*(_command(each) for each in callable_by_people), *_built_in()),
        tuple(_extension(each.key, each.description, each.origin) for each in library.commands if each.kind == "skill"),
        tuple(_extension(each.name, each.description, each.origin) for each in library.agents),
        servers,
        (*problems, *notices),
    )


def _read_servers(
    cwd: str, environment: Environment, loaded: LoadedSettings, plugins: tuple[Plugin, ...], session_servers: str
) -> tuple[tuple[McpServerConfig, ...], tuple[str, ...]]:
    sources = McpSources(
        cwd=cwd,
        paths=environment.paths,
        trusted=loaded.trusted,
        layers=tuple(loaded.layers),
        mcp_config=(session_servers,) if session_servers else (),
        plugins=tuple(
            PluginServers(
                plugin.name,
                {server.name.rpartition(":")[2]: server.config},
                server.file,
                is_of_project=is_of_project(plugin.path, cwd, environment.paths),
            )
            for plugin in plugins
            for server in plugin.servers
        ),
        variables=environment.all_variables,
        is_model_key=environment.is_model_key,
    )
    try:
        found = collect_servers(sources)
    except BadMcpConfigError as error:
        return (), (str(error),)
    # Why a server was not started is said at the server itself.
    return found.servers, tuple(notice for notice in found.notices if ": not started: " not in notice)


def _command(each: CommandDefinition) -> SlashCommand:
    origin = each.origin
    return SlashCommand(
        each.key,
        each.description[:LONGEST_DESCRIPTION],
        each.argument_hint[:LONGEST_DESCRIPTION],
        origin.file,
        _LEVELS[origin.source],
        origin.trusted,
        each.kind,
    )


def _built_in() -> tuple[SlashCommand, ...]:
    return tuple(SlashCommand(name, about, "", "", "bundled", True, "builtin") for name, about in BUILT_IN.items())


def _extension(name: str, description: str, origin: DefinitionOrigin) -> NamedExtension:
    text = description[:LONGEST_DESCRIPTION]
    return NamedExtension(name, text, origin.file, _LEVELS[origin.source], origin.trusted)
