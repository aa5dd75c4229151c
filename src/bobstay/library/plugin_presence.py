"""Tells cheaply whether a session can have plugins, before the modules that read them are imported."""

import os

from bobstay.config.paths import Paths
from bobstay.config.settings_files import LoadedSettings


def may_have_plugins(paths: Paths, loaded: LoadedSettings, plugin_dirs: tuple[str, ...]) -> bool:
    """Whether the command line, the user's records or the settings name a plugin."""
    if plugin_dirs or os.path.lexists(f"{paths.bobstay}/plugins.json"):
        return True
    return any("enabledPlugins" in layer.settings.extra for layer in loaded.layers)
