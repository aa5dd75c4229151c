"""The library of a session: the commands, skills, agents and plugins that apply in its directory."""

from typing import TYPE_CHECKING

from bobstay.assembly.start_context import StartContext
from bobstay.library.discovery import LibrarySources, find_library
from bobstay.library.library import Library

if TYPE_CHECKING:
    from bobstay.library.plugin import Plugin
    from bobstay.library.plugin_selection import FoundPlugins


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


def load_library(start: StartContext) -> "tuple[Library, tuple[Plugin, ...]]":
    """Read the definitions of a session; what is wrong with one of them becomes a warning."""
    plugins: tuple[Plugin, ...] = ()
    if (found := _find_plugins(start)) is not None:
        plugins = found.plugins
        start.warnings.extend(str(notice) for notice in found.notices)
    library = find_library(library_sources(start), tuple(plugin.definitions for plugin in plugins))
    start.warnings.extend(str(notice) for notice in library.notices)
    return library, plugins


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
