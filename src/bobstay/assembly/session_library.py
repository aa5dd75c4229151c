"""The library of a session: the commands, skills, agents and plugins that apply in its directory, as far as it got."""

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from bobstay.assembly.session_hooks import SessionHooks, plugin_folder, read_hook_entries
from bobstay.assembly.start_context import StartContext
from bobstay.library.definition import AgentDefinition, CommandDefinition
from bobstay.library.discovery import LibrarySources, find_library
from bobstay.library.library import Library
from bobstay.library.listing import describe_withheld, list_agents, list_for_model
from bobstay.permissions.policy import Policy

if TYPE_CHECKING:
    from bobstay.library.definition import LibraryNotice, OutputStyle
    from bobstay.library.nested_skills import NestedSkills
    from bobstay.library.plugin import Plugin, PluginProblem
    from bobstay.library.plugin_selection import FoundPlugins

SKILLS = "Skills and commands that you may call with the Skill tool:"
SKILLS_FOUND = "Skills for the folder of that file, which you may call with the Skill tool:"
AGENTS = "Types of agents that you may start with the Agent tool:"


class SessionLibrary:
    """Grows while the session reads files: skills of subfolders, and those that name paths, come into play."""

    def __init__(self, library: Library, sources: LibrarySources, found: "FoundPlugins | None" = None) -> None:
        self.current = library
        self.plugins: tuple[Plugin, ...] = found.plugins if found is not None else ()
        self._problems: tuple[PluginProblem, ...] = found.problems if found is not None else ()
        self.active: set[str] = set()
        """Keys of skills with `paths` for which a matching file was read."""
        self.listeners: list[Callable[[CommandDefinition], None]] = []
        """Called with each command or skill that is called."""
        self._sources = sources
        self._nested: NestedSkills | None = None

    @property
    def plugin_errors(self) -> list[dict[str, str]]:
        """Why plugins are not used, as `init` lists it."""
        if not self._problems:
            return []
        from bobstay.library.plugin import encode_problems

        return encode_problems(self._problems)

    @property
    def plugin_rows(self) -> list[dict[str, str]]:
        """The plugins as `init` lists them."""
        return [
            {
                "name": each.name,
                "path": each.path,
                "source": each.id,
                **({"version": each.version} if each.version else {}),
            }
            for each in self.plugins
        ]

    def find_styles(self, start: StartContext) -> "tuple[OutputStyle, ...]":
        """Read which output styles there are now; what is wrong with one of them becomes a warning, once."""
        from bobstay.library.output_styles import find_styles

        notices: list[LibraryNotice] = []
        found = find_styles(self._sources, [plugin.definitions for plugin in self.plugins], notices)
        start.warnings.extend(text for text in map(str, notices) if text not in start.warnings)
        return found

    def reload(self, start: StartContext) -> None:
        """Read all definitions again, also those of plugins."""
        again = load_library(start)
        self.current, self.plugins, self._problems = again.current, again.plugins, again._problems  # noqa: SLF001 - of its own kind
        self._nested = None

    def activate(self, command: CommandDefinition) -> None:
        """A command or skill was called: what it brings holds from now on."""
        for listener in self.listeners:
            listener(command)

    def enter(self, path: str) -> str:
        """Note that a file was read. Returns the list of skills that apply since then; "" if there are none."""
        skills_by_path = [each for each in self.current.commands if each.paths]
        if not self._sources.commands or (os.path.dirname(path) == self._sources.cwd and not skills_by_path):
            return ""
        from bobstay.library.nested_skills import NestedSkills, matches_paths

        if self._nested is None:
            self._nested = NestedSkills(self._sources)
        found = self._nested.enter(path)
        if found:
            self.current = self.current.add_skills(found)
        matching = {
            each.key
            for each in self.current.commands
            if each.paths and each.key not in self.active and matches_paths(each, path, self._sources.cwd)
        }
        self.active |= matching
        new = {each.key for each in found} | matching
        listed = list_for_model([each for each in self.current.commands if each.key in new], active=self.active)
        return f"{SKILLS_FOUND}\n{listed}" if listed else ""


def read_prompt(definition: AgentDefinition) -> str:
    """Return the prompt of an agent.

    Raises:
        ValueError: its file cannot be read any more.
    """
    from bobstay.library.command_text import expand_variables
    from bobstay.library.definition_body import BodyUnreadableError, read_body

    try:
        return expand_variables(definition, read_body(definition).text)
    except BodyUnreadableError as error:
        raise ValueError(str(error)) from error


def skill_text(command: CommandDefinition) -> str:
    """Return the text of a skill that is told without being called; "" if it cannot be read."""
    from bobstay.library.command_text import expand_command
    from bobstay.library.definition_body import BodyUnreadableError, read_body
    from bobstay.library.shell_substitution import UnsafeInsertError

    try:
        text = "".join(
            piece for piece in expand_command(command, read_body(command).text).pieces if isinstance(piece, str)
        )
    except (BodyUnreadableError, UnsafeInsertError):
        return ""
    return f"Base directory for this skill: {command.folder}\n\n{text}" if command.folder else text


def list_for_first_prompt(library: Library, *, skills: bool, agents: bool, only: Collection[str] | None = None) -> str:
    """Return the list of what the model may call by name; "" if there is nothing."""
    parts = []
    if agents and library.agents:
        parts.append(f"{AGENTS}\n{list_agents(library.agents)}")
    if skills and (listed := list_for_model(library.commands, only)):
        parts.append(f"{SKILLS}\n{listed}")
    return "\n\n".join(parts)


def find_lead(start: StartContext, library: SessionLibrary) -> AgentDefinition | None:
    """Return the definition of the session's own agent, if one is chosen.

    Raises:
        ValueError: there is none of that name.
    """
    name = start.options.agent or start.loaded.settings.agent
    if not name:
        return None
    found = library.current.find_agent(name)
    if found is None:
        known = ", ".join(agent.name for agent in library.current.agents)
        raise ValueError(f"There is no agent {name!r}. Choose one of {known}.")
    return found


def add_plugin_hooks(start: StartContext, library: SessionLibrary, hooks: SessionHooks) -> None:
    for plugin in library.plugins:
        folder = plugin_folder(start, plugin.path)
        for each in plugin.hooks:
            found, notices = read_hook_entries(each.hooks, each.file, variables=plugin.variables, folder=folder)
            start.warnings.extend(notices)
            hooks.add(found)


def activate_skill(hooks: SessionHooks, policy: Policy, command: CommandDefinition) -> None:
    """Apply what a skill brings for the rest of the session: its hooks, and the tools it forbids."""
    if not command.origin.trusted:
        return
    if command.disallowed_tools:
        policy.forbid(command.disallowed_tools)
    if command.hooks:
        hooks.add(hooks.read(command))


def library_sources(start: StartContext) -> LibrarySources:
    """Where the definitions of a session are looked for."""
    options = start.options
    return LibrarySources(
        cwd=start.cwd,
        paths=start.environment.paths,
        setting_sources=options.setting_sources,
        add_dirs=options.add_dirs,
        trusted=start.loaded.trusted,
        trusted_for_run=options.trust,
        commands=not options.disable_slash_commands,
        flag_agents=options.agents,
    )


def load_library(start: StartContext) -> SessionLibrary:
    """Read the definitions of a session; what is wrong with one of them becomes a warning."""
    found = _find_plugins(start)
    plugins: tuple[Plugin, ...] = ()
    if found is not None:
        plugins = found.plugins
        start.warnings.extend(str(notice) for notice in found.notices)
    sources = library_sources(start)
    library = find_library(sources, tuple(plugin.definitions for plugin in plugins))
    start.warnings.extend(str(notice) for notice in library.notices)
    if withheld := describe_withheld(library):
        start.warnings.append(withheld)
    return SessionLibrary(library, sources, found)


def _find_plugins(start: StartContext) -> "FoundPlugins | None":
    if not _may_have_plugins(start):
        return None
    paths, options = start.environment.paths, start.options
    from bobstay.library.plugin_selection import PluginSources, find_plugins
    from bobstay.library.plugin_store import PluginStore

    user = options.setting_sources is None or "user" in options.setting_sources
    found = find_plugins(
        PluginSources(cwd=start.cwd, paths=paths, loaded=start.loaded, plugin_dirs=options.plugin_dirs, user=user)
    )
    if found.unrecorded:
        PluginStore(paths.bobstay).approve(found.unrecorded)
    return found


def _may_have_plugins(start: StartContext) -> bool:
    """Tell cheaply whether the command line, the user's records or the settings name a plugin."""
    if start.options.plugin_dirs or os.path.lexists(f"{start.environment.paths.bobstay}/plugins.json"):
        return True
    return any("enabledPlugins" in layer.settings.extra for layer in start.loaded.layers)
