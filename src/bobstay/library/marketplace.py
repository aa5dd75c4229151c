"""Marketplaces: folders on this machine that list plugins, and the files in which Claude Code records them."""

import os
from typing import Any

from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.config.trust import is_inside
from bobstay.library.definition_fields import is_name
from bobstay.library.plugin_config import read_json_object
from bobstay.markdown.field_values import as_line, as_map

MARKETPLACE_FILES = (".claude-plugin/marketplace.json", ".bobstay-plugin/marketplace.json")
MOST_PLUGINS = 1_000


class MarketplaceError(Exception):
    """A marketplace, or a plugin of it, cannot be used. The text says why and what to do."""


class Marketplace(Struct, frozen=True):
    name: str
    path: str
    """A real path."""
    entries: dict[str, dict[str, Any]]
    """What it says about each plugin, by name."""
    root: str = ""
    """The folder that sources are relative to, below `path`."""

    def locate(self, name: str) -> str:
        """Return the folder of a plugin.

        Raises:
            MarketplaceError: there is no such plugin, or it is not in the marketplace's folder.
        """
        entry = self.entries.get(name)
        if entry is None:
            known = ", ".join(sorted(self.entries)[:20]) or "none"
            raise MarketplaceError(f"The marketplace {self.name} has no plugin {name[:60]!r}; it has: {known}.")
        source = entry.get("source", f"./{name}")
        if not isinstance(source, str) or "://" in source or "\0" in source:
            raise MarketplaceError(
                f"The plugin {name} of {self.name} is not on this machine. Download it, and add its folder with: "
                "bobstay plugin add FOLDER"
            )
        folder = os.path.realpath(os.path.join(self.path, self.root, source))
        if not is_inside(folder, self.path):
            raise MarketplaceError(f"The plugin {name} of {self.name} lies outside of the marketplace: {folder}.")
        return folder


def is_marketplace(folder: str) -> bool:
    return any(os.path.isfile(f"{folder}/{name}") for name in MARKETPLACE_FILES)


def read_marketplace(folder: str) -> Marketplace:
    """Read the list of a marketplace.

    Raises:
        MarketplaceError
    """
    path = os.path.realpath(folder)
    file = next((f"{path}/{name}" for name in MARKETPLACE_FILES if os.path.lexists(f"{path}/{name}")), "")
    if not file:
        raise MarketplaceError(f"{folder} is no marketplace: it has no {MARKETPLACE_FILES[0]}.")
    try:
        content = read_json_object(file, path)
    except ValueError as error:
        raise MarketplaceError(str(error)) from error
    name = as_line(content.get("name"))
    if not is_name(name):
        raise MarketplaceError(f"{file}: the name {name[:60]!r} cannot be used for a marketplace.")
    plugins = content.get("plugins")
    entries = [as_map(entry) for entry in plugins[:MOST_PLUGINS]] if isinstance(plugins, list) else []
    root = as_line(as_map(content.get("metadata")).get("pluginRoot"))
    named = {as_line(entry.get("name")): entry for entry in reversed(entries)}
    return Marketplace(name, path, {key: entry for key, entry in named.items() if is_name(key)}, root)


def known_marketplaces(paths: Paths) -> dict[str, str]:
    """Return the folders of the marketplaces that Claude Code knows, by name."""
    found: dict[str, str] = {}
    for name, value in _read_state(f"{paths.claude}/plugins/known_marketplaces.json").items():
        entry = as_map(value)
        folder = local_path(entry.get("source")) or as_line(entry.get("installLocation"))
        if folder and os.path.isabs(folder):
            found[name] = folder
    return found


def installed_folder(plugin: str, cwd: str, paths: Paths) -> str:
    """Return where Claude Code installed a plugin (`name@marketplace`); empty if it did not."""
    plugins = as_map(_read_state(f"{paths.claude}/plugins/installed_plugins.json").get("plugins"))
    installed = plugins.get(plugin)
    rows = [as_map(row) for row in (installed if isinstance(installed, list) else [installed])]
    # One that was installed for this project comes before one of the user.
    rows.sort(key=lambda row: as_line(row.get("projectPath")) != cwd)
    for row in rows:
        folder = as_line(row.get("installPath"))
        if os.path.isabs(folder) and as_line(row.get("projectPath")) in ("", cwd):
            return folder
    return ""


def local_path(source: Any) -> str:
    """Return the folder of a source such as `{"source": "directory", "path": …}`; empty if it is elsewhere."""
    if isinstance(source, str):
        return "" if "://" in source else as_line(source)
    fields = as_map(source)
    return as_line(fields.get("path")) if fields.get("source") in ("directory", "file", "local") else ""


def _read_state(file: str) -> dict[str, Any]:
    try:
        return read_json_object(file) if os.path.lexists(file) else {}
    except ValueError:
        return {}  # another program's file: it will say so itself
