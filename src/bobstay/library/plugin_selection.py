"""Selects the plugins of a session: folders of the command line, added ones, and those that settings enable."""

import os
from typing import Literal

from msgspec import Struct

from bobstay.config.digest import DigestLimitError
from bobstay.config.paths import Paths
from bobstay.config.settings_files import LoadedSettings
from bobstay.config.trust import describe_changes
from bobstay.library.definition import LibraryNotice
from bobstay.library.marketplace import (
    Marketplace,
    MarketplaceError,
    installed_folder,
    known_marketplaces,
    local_path,
    read_marketplace,
)
from bobstay.library.plugin import Plugin, PluginProblem, ReadPlugin, read_plugin
from bobstay.library.plugin_content import digest_plugin
from bobstay.library.plugin_store import PluginRecords, PluginStore, PluginStoreError
from bobstay.markdown.field_values import as_line, as_map

LOCAL = "local"
"""The marketplace of single plugins that were added."""
_PERSONAL = ("managed", "cli", "user")
"""Settings that a person vouches for wherever they work."""


class PluginSources(Struct, frozen=True, kw_only=True):
    cwd: str
    paths: Paths
    loaded: LoadedSettings
    """The settings. An untrusted folder's part has no plugins."""
    plugin_dirs: tuple[str, ...] = ()
    user: bool = True
    """False for a session without the user's own settings, and so without the plugins that the user added."""


class PluginState(Struct, frozen=True):
    """An installed plugin and whether it is used."""

    id: str
    status: Literal["enabled", "disabled", "changed", "missing"]
    path: str = ""
    read: ReadPlugin | None = None
    parts: dict[str, str] = {}
    """Digests of its content, if it is enabled."""
    changes: tuple[str, ...] = ()
    problem: str = ""
    first_use: bool = False
    """Enabled by settings, and its content was never recorded."""
    vouched: bool = True
    """Enabled by somebody whose word holds beyond this run."""


class FoundPlugins(Struct, frozen=True):
    plugins: tuple[Plugin, ...] = ()
    problems: tuple[PluginProblem, ...] = ()
    notices: tuple[LibraryNotice, ...] = ()
    unrecorded: dict[str, dict[str, str]] = {}
    """Content of plugins that settings enable and that are used for the first time, by id: record it with `approve`
    of the store, so that later changes are noticed."""


def find_plugins(sources: PluginSources) -> FoundPlugins:
    """Read the plugins of a session. Nothing is run or written, so it may run in a thread."""
    problems: list[PluginProblem] = []
    notices: list[LibraryNotice] = []
    chosen: dict[str, Plugin] = {}
    for folder in dict.fromkeys(sources.plugin_dirs):
        read = read_plugin(os.path.join(sources.cwd, folder), data_folder(sources.paths))
        _choose(read, chosen, problems, notices)
    unrecorded: dict[str, dict[str, str]] = {}
    try:
        states = list_states(sources)
    except PluginStoreError as error:
        store = PluginStore(sources.paths.bobstay).path
        return FoundPlugins(tuple(chosen.values()), tuple(problems), (*notices, LibraryNotice(store, str(error))))
    for state in states:
        if state.status == "enabled" and state.read is not None:
            _choose(state.read, chosen, problems, notices)
            if state.first_use and state.vouched:
                unrecorded[state.id] = state.parts
        elif state.status == "changed":
            notices.append(LibraryNotice(state.path, describe_change(state)))
        elif state.status == "missing":
            problems.append(PluginProblem(state.id, "path-not-found", state.problem, state.path))
    return FoundPlugins(tuple(chosen.values()), tuple(problems), tuple(notices), unrecorded)


def list_states(sources: PluginSources) -> list[PluginState]:
    """Return the state of every plugin that is added, enabled or disabled, by id.

    Raises:
        PluginStoreError: the user's records cannot be used.
    """
    records = PluginStore(sources.paths.bobstay).read() if sources.user else PluginRecords()
    wanted = _wanted_by_settings(sources.loaded)
    locator = PluginLocator(sources, records)
    ids = {f"{name}@{LOCAL}" for name in records.added} | records.enabled.keys() | wanted.keys()
    return [_find_state(plugin, records, wanted.get(plugin), locator) for plugin in sorted(ids)]


def describe_change(state: PluginState) -> str:
    shown = ", ".join(state.changes[:8]) + (f" and {len(state.changes) - 8} more" if len(state.changes) > 8 else "")
    return (
        f"the plugin {state.id} has changed since it was enabled ({shown}), so it is not used. "
        f"Look at it, and enable it again with: bobstay plugin enable {state.id}"
    )


def data_folder(paths: Paths) -> str:
    """Return the folder in which plugins keep their data, which Claude Code uses too."""
    return f"{paths.claude}/plugins/data"


class PluginLocator:
    """Finds the folder of a plugin by its id."""

    def __init__(self, sources: PluginSources, records: PluginRecords) -> None:
        self._sources = sources
        self._added = records.added
        self.folders = _marketplace_folders(sources, records)
        self._marketplaces: dict[str, Marketplace] = {}

    def open(self, name: str) -> Marketplace:
        """Read a marketplace. Raises `MarketplaceError`."""
        if name not in self.folders:
            known = ", ".join(sorted(self.folders)[:20]) or "none"
            raise MarketplaceError(
                f"There is no marketplace {name[:60]!r} on this machine; there are: {known}. "
                "Add its folder with: bobstay plugin add FOLDER"
            )
        if name not in self._marketplaces:
            self._marketplaces[name] = read_marketplace(self.folders[name])
        return self._marketplaces[name]

    def read(self, plugin: str) -> tuple[str, ReadPlugin]:
        """Return the folder of a plugin, and what is in it. Raises `MarketplaceError`."""
        name, _, market = plugin.rpartition("@")
        data = data_folder(self._sources.paths)
        if market == LOCAL:
            folder = self._added.get(name, "")
            if not folder:
                raise MarketplaceError(f"No plugin {name[:60]!r} was added. Add it with: bobstay plugin add FOLDER")
            return folder, read_plugin(folder, data, market)
        if market not in self.folders and (folder := installed_folder(plugin, self._sources.cwd, self._sources.paths)):
            return folder, read_plugin(folder, data, market)
        marketplace = self.open(market)
        folder = marketplace.locate(name)
        return folder, read_plugin(folder, data, market, marketplace.entries[name])


def _find_state(
    plugin: str, records: PluginRecords, wanted: tuple[bool, bool] | None, locator: PluginLocator
) -> PluginState:
    by_user = records.enabled.get(plugin)
    if by_user is False or (wanted is not None and not wanted[0]):
        why = "by bobstay plugin disable" if by_user is False else "by `enabledPlugins` in the settings"
        return PluginState(plugin, "disabled", problem=f"It is disabled {why}.")
    try:
        folder, read = locator.read(plugin)
    except MarketplaceError as error:
        return PluginState(plugin, "missing", problem=str(error))
    if read.plugin is None:
        return PluginState(plugin, "enabled", folder, read)
    try:
        parts = digest_plugin(read.plugin.path)
    except DigestLimitError as error:
        return PluginState(plugin, "missing", folder, problem=f"The plugin cannot be checked: {error}.")
    known = records.contents.get(plugin)
    if known is not None and (changes := describe_changes(known.parts, parts)):
        return PluginState(plugin, "changed", folder, read, parts, changes)
    vouched = by_user is True or (wanted is not None and wanted[1])
    return PluginState(plugin, "enabled", folder, read, parts, first_use=known is None, vouched=vouched)


def _choose(
    read: ReadPlugin, chosen: dict[str, Plugin], problems: list[PluginProblem], notices: list[LibraryNotice]
) -> None:
    """Use a plugin, unless one of its name is used already: both would give the same names to their parts."""
    problems.extend(read.problems)
    plugin = read.plugin
    if plugin is None:
        return
    other = chosen.setdefault(plugin.name, plugin)
    if other is plugin:
        notices.extend(read.notices)
    elif other.path != plugin.path:
        text = f"There are two plugins named {plugin.name}; the one in {other.path} is used. Disable one of them."
        problems.append(PluginProblem(plugin.name, "generic-error", text, plugin.path))


def _wanted_by_settings(loaded: LoadedSettings) -> dict[str, tuple[bool, bool]]:
    """What `enabledPlugins` says, by id: whether it is enabled, and whether that word holds beyond this run."""
    found: dict[str, tuple[bool, bool]] = {}
    for layer in loaded.layers:
        for plugin, value in as_map(layer.settings.extra.get("enabledPlugins")).items():
            if isinstance(value, bool) and 0 < plugin.find("@") < len(plugin) - 1:
                found.setdefault(plugin, (value, layer.source in _PERSONAL or loaded.stored))
    return found


def _marketplace_folders(sources: PluginSources, records: PluginRecords) -> dict[str, str]:
    """Marketplaces by name. A project cannot redefine one of the user: it would replace the user's plugins."""
    found: dict[str, str] = {}
    layers = sources.loaded.layers
    personal = [layer for layer in layers if layer.source in _PERSONAL]
    for layer in (*personal, *(layer for layer in layers if layer not in personal)):
        if layer.source not in _PERSONAL:
            _add_known(found, sources, records)
        for name, value in as_map(layer.settings.extra.get("extraKnownMarketplaces")).items():
            path = local_path(as_map(value).get("source"))
            if path:
                found.setdefault(as_line(name), _expand(path, sources))
    _add_known(found, sources, records)
    found.pop(LOCAL, None)
    return found


def _add_known(found: dict[str, str], sources: PluginSources, records: PluginRecords) -> None:
    for name, folder in records.marketplaces.items():
        found.setdefault(name, folder)
    if sources.user:
        for name, folder in known_marketplaces(sources.paths).items():
            found.setdefault(name, folder)


def _expand(path: str, sources: PluginSources) -> str:
    expanded = sources.paths.home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.join(sources.cwd, expanded)
