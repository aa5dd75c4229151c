"""Adds, enables, disables and removes plugins on a person's request."""

import os

from msgspec import Struct

from bobstay.config.digest import DigestLimitError
from bobstay.library.definition_fields import is_name
from bobstay.library.marketplace import Marketplace, MarketplaceError, is_marketplace, read_marketplace
from bobstay.library.plugin import Plugin, read_plugin
from bobstay.library.plugin_content import digest_plugin
from bobstay.library.plugin_selection import (
    LOCAL,
    PluginLocator,
    PluginSources,
    data_folder,
    list_states,
)
from bobstay.library.plugin_store import PluginRecords, PluginStore

_RESERVED = frozenset({LOCAL, "inline"})


class PluginChangeError(Exception):
    """The change cannot be made. The text says why and what to do."""


class EnabledPlugin(Struct, frozen=True):
    id: str
    plugin: Plugin
    problems: tuple[str, ...] = ()
    """Parts of it that are not used."""


def add_folder(folder: str, sources: PluginSources) -> EnabledPlugin | Marketplace:
    """Add a plugin and enable it as it is now, or add a marketplace.

    Raises:
        PluginChangeError, PluginStoreError
    """
    path = os.path.realpath(folder)
    if not os.path.isdir(path):
        raise PluginChangeError(f"{folder} is not a folder.")
    if is_marketplace(path):
        return _add_marketplace(path, sources)
    read = read_plugin(path, data_folder(sources.paths), LOCAL)
    if read.plugin is None:
        raise PluginChangeError(" ".join(problem.message for problem in read.problems))
    plugin, store = read.plugin, PluginStore(sources.paths.bobstay)
    _check_taken(
        store.read().added.get(plugin.name, ""), path, f"A plugin named {plugin.name}", f"{plugin.name}@{LOCAL}"
    )
    parts = _digest(path)

    def record(records: PluginRecords) -> None:
        records.added[plugin.name] = path
        records.enabled[plugin.id] = True

    store.change(record)
    store.approve({plugin.id: parts})
    return EnabledPlugin(plugin.id, plugin, tuple(problem.message for problem in read.problems))


def enable(name: str, sources: PluginSources) -> EnabledPlugin:
    """Enable a plugin with the content it has now. `name` is its id, or its name if only one has it.

    Raises:
        PluginChangeError, PluginStoreError
    """
    store = PluginStore(sources.paths.bobstay)
    locator = PluginLocator(sources, store.read())
    plugin = resolve_id(name, sources, locator)
    try:
        folder, read = locator.read(plugin)
    except MarketplaceError as error:
        raise PluginChangeError(str(error)) from error
    if read.plugin is None:
        raise PluginChangeError(" ".join(problem.message for problem in read.problems))
    parts = _digest(os.path.realpath(folder))

    def record(records: PluginRecords) -> None:
        records.enabled[plugin] = True

    store.change(record)
    store.approve({plugin: parts})
    return EnabledPlugin(plugin, read.plugin, tuple(problem.message for problem in read.problems))


def disable(name: str, sources: PluginSources) -> str:
    """Disable a plugin, whatever settings say, and return its id. Raises `PluginChangeError`, `PluginStoreError`."""
    store = PluginStore(sources.paths.bobstay)
    plugin = resolve_id(name, sources, PluginLocator(sources, store.read()))

    def record(records: PluginRecords) -> None:
        records.enabled[plugin] = False

    store.change(record)
    return plugin


def remove(name: str, sources: PluginSources) -> str:
    """Forget a plugin or a marketplace that was added, and return its name. Its files stay where they are.

    Raises:
        PluginChangeError, PluginStoreError
    """
    store = PluginStore(sources.paths.bobstay)
    records = store.read()
    if name in records.marketplaces:
        ending = f"@{name}"
        ids = [plugin for plugin in {*records.enabled, *records.contents} if plugin.endswith(ending)]
    else:
        name = resolve_id(name, sources, PluginLocator(sources, records))
        ids = [name]
        if name not in records.enabled and name not in records.contents:
            raise PluginChangeError(f"{name} was not added here. Settings name it; see: bobstay plugin list")

    def forget(records: PluginRecords) -> None:
        records.marketplaces.pop(name, None)
        for plugin in ids:
            records.enabled.pop(plugin, None)
            records.contents.pop(plugin, None)
            if plugin.endswith(f"@{LOCAL}"):
                records.added.pop(plugin.rpartition("@")[0], None)

    store.change(forget)
    return name


def resolve_id(name: str, sources: PluginSources, locator: PluginLocator) -> str:
    """Return the id of a plugin that a person named. Raises `PluginChangeError`, `PluginStoreError`."""
    if 0 < name.find("@") < len(name) - 1:
        return name
    ids = {state.id for state in list_states(sources) if state.id.rpartition("@")[0] == name}
    for market in locator.folders:
        try:
            ids.update(f"{name}@{market}" for known in locator.open(market).entries if known == name)
        except MarketplaceError:
            continue
    if len(ids) == 1:
        return ids.pop()
    if not ids:
        raise PluginChangeError(f"There is no plugin {name[:60]!r}. See: bobstay plugin list")
    raise PluginChangeError(f"There are several plugins {name[:60]!r}: {', '.join(sorted(ids))}. Give the whole name.")


def _add_marketplace(path: str, sources: PluginSources) -> Marketplace:
    try:
        marketplace = read_marketplace(path)
    except MarketplaceError as error:
        raise PluginChangeError(str(error)) from error
    name, store = marketplace.name, PluginStore(sources.paths.bobstay)
    if name in _RESERVED or not is_name(name):
        raise PluginChangeError(f"A marketplace cannot be named {name!r}. Rename it in its marketplace.json.")
    _check_taken(store.read().marketplaces.get(name, ""), path, f"A marketplace named {name}", name)

    def record(records: PluginRecords) -> None:
        records.marketplaces[name] = path

    store.change(record)
    return marketplace


def _check_taken(other: str, path: str, what: str, name: str) -> None:
    if other and other != path:
        raise PluginChangeError(f"{what} was added from {other}. Remove it first with: bobstay plugin remove {name}")


def _digest(path: str) -> dict[str, str]:
    try:
        return digest_plugin(path)
    except DigestLimitError as error:
        raise PluginChangeError(f"The plugin cannot be checked, and so cannot be enabled: {error}.") from error
