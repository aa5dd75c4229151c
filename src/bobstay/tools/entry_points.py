"""Loads tools that installed packages provide through the entry point group `bobstay.tools`.

`importlib.metadata` takes 40 ms to import and scan; reading the few relevant files takes one.
"""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bobstay.tools.base import Tool

_GROUP = "[bobstay.tools]"


def load_installed_tools(paths: list[str] | None = None) -> tuple[tuple[Tool[Any], ...], tuple[str, ...]]:
    """Import the tools of installed packages. Return them, and warnings about those that could not be loaded."""
    tools: list[Tool[Any]] = []
    warnings: list[str] = []
    for text in _entry_point_files(sys.path if paths is None else paths):
        for label, target in _parse_targets(text):
            try:
                tools.extend(_load_target(target))
            except Exception as error:  # noqa: BLE001 - third-party code runs at import and may raise anything
                warnings.append(
                    f"the installed tool {label} ({target}) cannot be used: {type(error).__name__}: {error}"
                )
    return tuple(tools), tuple(warnings)


def _entry_point_files(paths: list[str]) -> Iterator[str]:
    """The text of each entry point file that mentions our group."""
    for folder in dict.fromkeys(paths):
        if not folder.endswith(("site-packages", "dist-packages")):
            continue
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            try:
                descriptor = os.open(f"{folder}/{name}/entry_points.txt", os.O_RDONLY)
            except OSError:
                continue
            try:
                content = os.read(descriptor, 100_000)
            except OSError:
                continue
            finally:
                os.close(descriptor)
            if _GROUP.encode() in content:
                yield content.decode("utf-8", "replace")


def _parse_targets(text: str) -> Iterator[tuple[str, str]]:
    """The names and targets in our group's section."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == _GROUP
        elif inside and "=" in line and not line.startswith(("#", ";")):
            label, _, target = line.partition("=")
            yield label.strip(), target.partition("[")[0].strip()


def _load_target(target: str) -> Iterator[Tool[Any]]:
    module, _, attribute = target.partition(":")
    value: Any = import_module(module)
    for part in filter(None, attribute.split(".")):
        value = getattr(value, part)
    for item in value if isinstance(value, list | tuple) else [value]:
        tool = item() if isinstance(item, type) else item
        if not isinstance(tool, Tool):
            raise TypeError(f"{item!r} is not a tool")
        yield tool
