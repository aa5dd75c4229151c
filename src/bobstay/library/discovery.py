"""Finds the definitions that apply in a directory: those of the user, the project and others, by precedence."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.config.paths import FOLDERS, Paths
from bobstay.config.trust import check_trust, is_inside
from bobstay.git_files.git_directory import find_repository
from bobstay.library.bundled_definitions import BUNDLED_AGENTS, BUNDLED_COMMANDS
from bobstay.library.definition import (
    AgentDefinition,
    CommandDefinition,
    DefinitionFolder,
    DefinitionOrigin,
    LibraryNotice,
)
from bobstay.library.library import Library, PluginDefinitions, choose_commands, choose_named

MOST_PARENTS = 64
_PARTS = ("commands", "skills", "agents", "output-styles")


class LibrarySources(Struct, frozen=True, kw_only=True):
    """Where to look for definitions."""

    cwd: str
    """A real path."""
    paths: Paths
    setting_sources: tuple[str, ...] | None = None
    """Which of `user` and `project` to read; None for all."""
    add_dirs: tuple[str, ...] = ()
    trusted: bool = False
    """Whether the directory is trusted."""
    trusted_for_run: bool = False
    """Trusted by a flag for this run: not bound to content, so that folders above, below and beside it count too."""
    commands: bool = True
    """False for a session without commands and skills."""
    host_agents: Any = None
    """Agents as a host program gives them: `{name: {description, prompt, ...}}`."""
    flag_agents: Any = None
    """The same, from the command line."""

    def wants(self, source: str) -> bool:
        return self.setting_sources is None or source in self.setting_sources


def find_library(sources: LibrarySources, plugins: tuple[PluginDefinitions, ...] = ()) -> Library:
    """Read the front matter of all definitions that apply. Reads files only, so it may run in a thread."""
    own = (*managed_folders(sources), *user_folders(sources))
    project = tuple(project_folders(sources))
    if own or project or plugins or sources.host_agents is not None or sources.flag_agents is not None:
        return _read_library(sources, plugins, own, project)
    return Library(BUNDLED_COMMANDS if sources.commands else (), BUNDLED_AGENTS)


def _read_library(
    sources: LibrarySources,
    plugins: tuple[PluginDefinitions, ...],
    own: tuple[DefinitionFolder, ...],
    project: tuple[DefinitionFolder, ...],
) -> Library:
    # Imported here: most sessions have nothing but what bobstay brings.
    from bobstay.library.definition_fields import build_agents
    from bobstay.library.definition_folder import read_agents

    notices: list[LibraryNotice] = []
    managed = [folder for folder in own if folder.source == "managed"]
    user = [folder for folder in own if folder.source == "user"]
    trusted = [folder for folder in project if folder.trusted]
    # Folders that nobody trusts come last: they must not replace what the user, a plugin or bobstay provides.
    last = [folder for folder in project if not folder.trusted]
    commands: list[CommandDefinition] = []
    if sources.commands:
        commands += _read_commands((*own, *trusted), notices)
        commands += [each for plugin in plugins for each in plugin.commands]
        commands += BUNDLED_COMMANDS
        commands += _read_commands(last, notices)
    agents: list[AgentDefinition] = [agent for folder in managed for agent in read_agents(folder, notices)]
    agents += build_agents(sources.host_agents, DefinitionOrigin("host"), notices)
    agents += build_agents(sources.flag_agents, DefinitionOrigin("flag"), notices)
    agents += [agent for folder in (*trusted, *user) for agent in read_agents(folder, notices)]
    agents += [each for plugin in plugins for each in plugin.agents]
    agents += BUNDLED_AGENTS
    agents += [agent for folder in last for agent in read_agents(folder, notices)]
    return Library(choose_commands(commands), choose_named(agents), tuple(notices))


def add_host_agents(library: Library, given: Any) -> Library:
    """Return a library with the agents of a host program, which come before all but managed ones."""
    from bobstay.library.definition_fields import build_agents

    notices: list[LibraryNotice] = []
    agents = build_agents(given, DefinitionOrigin("host"), notices)
    managed = [agent for agent in library.agents if agent.origin.source == "managed"]
    chosen = choose_named((*managed, *agents, *library.agents))
    return replace(library, agents=chosen, notices=(*library.notices, *notices))


def project_top(cwd: str) -> str:
    """Return the top of the repository that contains `cwd`; empty if it is in none."""
    entry = find_repository(cwd)
    return os.path.dirname(entry) if entry else ""


def project_folder(folder: str, sources: LibrarySources, top: str, name: str) -> DefinitionFolder:
    """Return one settings folder of a project's directory, with what its files may do."""
    own = folder == sources.cwd
    granted = sources.trusted and (own or sources.trusted_for_run or _is_trusted(folder, sources.paths))
    above = is_inside(sources.cwd, folder) and not own
    return DefinitionFolder(
        f"{folder}/{name}",
        "project",
        confined=os.path.realpath(top if top and is_inside(folder, top) else folder),
        trusted=sources.trusted,
        grants=granted,
        owners=_own_users(sources.cwd) if above else (),
        scope=os.path.relpath(folder, sources.cwd) if is_inside(folder, sources.cwd) and not own else "",
    )


def _read_commands(folders: Iterable[DefinitionFolder], notices: list[LibraryNotice]) -> Iterator[CommandDefinition]:
    from bobstay.library.definition_folder import read_commands, read_skills

    for folder in folders:
        yield from read_skills(folder, notices)
        yield from read_commands(folder, notices)


def managed_folders(sources: LibrarySources) -> Iterator[DefinitionFolder]:
    """The folder of the machine's owner, if it has definitions."""
    folder = os.path.dirname(sources.paths.managed)
    if _has_parts(folder):
        yield DefinitionFolder(folder, "managed")


def user_folders(sources: LibrarySources) -> Iterator[DefinitionFolder]:
    """The settings folders of the user that have definitions."""
    if sources.wants("user"):
        for folder in dict.fromkeys((sources.paths.bobstay, sources.paths.claude)):
            if _has_parts(folder):
                yield DefinitionFolder(folder, "user")


def project_folders(sources: LibrarySources) -> Iterator[DefinitionFolder]:
    """The settings folders of the directory, of those above it up to the top of the project, and of added ones."""
    if not sources.wants("project"):
        return
    seen = {os.path.realpath(path) for path in (sources.paths.bobstay, sources.paths.claude)}
    top = project_top(sources.cwd)
    for folder in _list_parents(sources.cwd, top):
        for name in FOLDERS:
            path = f"{folder}/{name}"
            # In the home directory the project's folders are the user's own.
            if _has_parts(path) and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield project_folder(folder, sources, top, name)
    for added in sources.add_dirs:
        folder = os.path.realpath(os.path.join(sources.cwd, added))
        for name in FOLDERS:
            path = f"{folder}/{name}"
            if _has_parts(path) and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                grants = sources.trusted_for_run or _is_trusted(folder, sources.paths)
                trusted = sources.trusted or grants
                yield DefinitionFolder(path, "added", confined=folder, trusted=trusted, grants=grants)


def _list_parents(cwd: str, top: str) -> list[str]:
    """The directory and those above it up to `top`, or up to the root if there is no repository; nearest first."""
    found = [cwd]
    while found[-1] != top and os.path.dirname(found[-1]) != found[-1] and len(found) < MOST_PARENTS:
        found.append(os.path.dirname(found[-1]))
    return found


def _has_parts(path: str) -> bool:
    return any(os.path.lexists(f"{path}/{part}") for part in _PARTS)


def _is_trusted(folder: str, paths: Paths) -> bool:
    return check_trust(os.path.realpath(folder), paths).trusted


def _own_users(cwd: str) -> tuple[int, ...]:
    try:
        return tuple({os.geteuid(), 0, os.stat(cwd).st_uid})
    except OSError:
        return (os.geteuid(), 0)
