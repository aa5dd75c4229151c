"""The library of a session: the commands, skills, agents and plugins that apply in its directory, as far as it got."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from bobstay.assembly.start_context import StartContext
from bobstay.library.definition import CommandDefinition
from bobstay.library.discovery import LibrarySources, find_library
from bobstay.library.library import Library
from bobstay.library.listing import describe_withheld, list_agents, list_for_model

if TYPE_CHECKING:
    from bobstay.library.nested_skills import NestedSkills
    from bobstay.library.plugin import Plugin
    from bobstay.library.plugin_selection import FoundPlugins

SKILLS = "Skills and commands that you may call with the Skill tool:"
SKILLS_FOUND = "Skills for the folder of that file, which you may call with the Skill tool:"
AGENTS = "Types of agents that you may start with the Agent tool:"


class SessionLibrary:
    """Grows while the session reads files: skills of subfolders, and those that name paths, come into play."""

    def __init__(self, library: Library, sources: LibrarySources, plugins: "tuple[Plugin, ...]" = ()) -> None:
        self.current = library
        self.plugins = plugins
        self.active: set[str] = set()
        """Keys of skills with `paths` for which a matching file was read."""
        self.listeners: list[Callable[[CommandDefinition], None]] = []
        """Called with each command or skill that is called."""
        self._sources = sources
        self._nested: NestedSkills | None = None

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

    def activate(self, command: CommandDefinition) -> None:
        """A command or skill was called: what it brings holds from now on."""
        for listener in self.listeners:
            listener(command)

    def enter(self, path: str) -> str:
        """Note that a file was read. Returns the list of skills that apply since then; "" if there are none."""
        if not self._sources.commands:
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


def list_for_first_prompt(library: Library, *, skills: bool, agents: bool, only: Collection[str] | None = None) -> str:
    """Return the list of what the model may call by name; "" if there is nothing."""
    parts = []
    if agents and library.agents:
        parts.append(f"{AGENTS}\n{list_agents(library.agents)}")
    if skills and (listed := list_for_model(library.commands, only)):
        parts.append(f"{SKILLS}\n{listed}")
    return "\n\n".join(parts)


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
    plugins: tuple[Plugin, ...] = ()
    if (found := _find_plugins(start)) is not None:
        plugins = found.plugins
        start.warnings.extend(str(notice) for notice in found.notices)
    sources = library_sources(start)
    library = find_library(sources, tuple(plugin.definitions for plugin in plugins))
    start.warnings.extend(str(notice) for notice in library.notices)
    if withheld := describe_withheld(library):
        start.warnings.append(withheld)
    return SessionLibrary(library, sources, plugins)


def _find_plugins(start: StartContext) -> "FoundPlugins | None":
    from bobstay.library.plugin_presence import may_have_plugins

    paths, options = start.environment.paths, start.options
    if not may_have_plugins(paths, start.loaded, options.plugin_dirs):
        return None
    from bobstay.library.plugin_selection import PluginSources, find_plugins
    from bobstay.library.plugin_store import PluginStore

    user = options.setting_sources is None or "user" in options.setting_sources
    found = find_plugins(
        PluginSources(cwd=start.cwd, paths=paths, loaded=start.loaded, plugin_dirs=options.plugin_dirs, user=user)
    )
    if found.unrecorded:
        PluginStore(paths.bobstay).approve(found.unrecorded)
    return found
