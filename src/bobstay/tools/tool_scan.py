"""Finds the tool classes of a package by importing all its modules; used by the generator and tests only."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from bobstay.tools.base import Tool


def discover(package: ModuleType) -> Iterator[type[Tool[Any]]]:
    """Yield every concrete `Tool` class defined in a module of `package`, in order of module name."""
    for info in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        module = import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if _is_tool(value) and value.__module__ == module.__name__:
                yield value


def _is_tool(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Tool) and not inspect.isabstract(value)
