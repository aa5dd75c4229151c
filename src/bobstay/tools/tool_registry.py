"""The tools one session offers: chosen from a generated list, so that none is imported before it is called."""

import os
from collections.abc import Collection, Container
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.tools.base import Need, Tool
from bobstay.tools.entry_points import installed_tools

_LIST = os.path.join(os.path.dirname(__file__), "builtin", "schemas.json")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_LONGEST_NAME = 128


class ToolEntry(Struct, frozen=True):
    """What a session must know of a tool before it is called: one row of the generated list."""

    name: str
    aliases: tuple[str, ...]
    module: str
    class_: str = msgspec.field(name="class")
    hint: str = ""
    needs: Need = ""
    cap: int = 30_000
    description: str = ""
    schema: dict[str, Any] = {}


class ToolSpecification(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


class ToolRegistry:
    """Built-in tools sorted by name, then all others sorted by name: the same set always in the same order."""

    def __init__(
        self, entries: tuple[ToolEntry, ...], made: dict[str, Tool[Any]], warnings: tuple[str, ...] = ()
    ) -> None:
        self.entries = entries
        self.warnings = warnings
        """What went wrong with tools that other packages brought, for people to read."""
        self._made = made
        self._exact = {alias: entry for entry in entries for alias in entry.aliases}
        self._exact |= {entry.name: entry for entry in entries}
        self._lowered = _lowered(entries)

    @classmethod
    def load(
        cls,
        *,
        available: Collection[Need] = (),
        base: tuple[str, ...] | None = None,
        removed: Container[str] = (),
        schema: dict[str, Any] | None = None,
        extra: tuple[Tool[Any], ...] = (),
        entry_points: bool = True,
    ) -> "ToolRegistry":
        """Choose what a session offers.

        `available` are the needs this session meets; `schema`, if given, meets "schema" and becomes the schema of the
        tools that need it, whatever `base` says. `base` limits built-in and installed tools to those named (None: all);
        `extra` are given by whoever runs the session, and only `removed` takes them away.

        Raises:
            ValueError: a tool in `extra` is not fit to be offered.
        """
        offered = [
            _with_schema(entry, schema)
            for entry in builtin_entries()
            if _wanted(entry, available, base, removed, schema)
        ]
        installed, warnings = installed_tools() if entry_points and base != () else ((), ())
        others: dict[str, tuple[ToolEntry, Tool[Any]]] = {}
        problems = list(warnings)
        for tool in extra:
            entry = entry_of(tool)
            if not _removed(entry, removed):
                others.setdefault(entry.name, (entry, tool))
        for tool in installed:
            try:
                entry = entry_of(tool)
            except (ValueError, TypeError, AttributeError) as error:
                problems.append(f"an installed tool was left out: {error}")
                continue
            if _wanted(entry, available, base, removed, schema):
                others.setdefault(entry.name, (_with_schema(entry, schema), tool))
        taken = {entry.name for entry in offered}
        problems.extend(f"{name} was left out: a built-in tool has that name" for name in others if name in taken)
        added = [pair for name, pair in sorted(others.items()) if name not in taken]
        entries = (*offered, *(entry for entry, _ in added))
        return cls(entries, {entry.name: tool for entry, tool in added}, tuple(problems))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries)

    @property
    def specs(self) -> tuple[ToolSpecification, ...]:
        return tuple(ToolSpecification(entry.name, entry.description, entry.schema) for entry in self.entries)

    def entry(self, name: str) -> ToolEntry | None:
        """The row of the tool called `name`: by its name or an alias, exactly, or else whatever its case."""
        return self._exact.get(name) or self._lowered.get(name.lower())

    def get(self, name: str) -> Tool[Any] | None:
        """The tool called `name`, imported now if this is its first use; None if no such tool is offered."""
        entry = self.entry(name)
        if entry is None:
            return None
        if entry.name not in self._made:
            made = getattr(import_module(entry.module), entry.class_)()
            assert isinstance(made, Tool)
            self._made[entry.name] = made
        return self._made[entry.name]

    def near(self, name: str) -> str | None:
        """The offered name most like `name`, if any is much like it."""
        from difflib import get_close_matches

        lowered = {known.lower(): known for known in self.names}
        close = get_close_matches(name[:64].lower(), list(lowered), n=1, cutoff=0.6)
        return lowered[close[0]] if close else None


@cache
def builtin_entries() -> tuple[ToolEntry, ...]:
    """All tools that come with bobstay, sorted by name. All sessions of a process share them."""
    with open(_LIST, "rb") as file:
        return msgspec.json.decode(file.read(), type=tuple[ToolEntry, ...])


def entry_of(tool: type[Tool[Any]] | Tool[Any]) -> ToolEntry:
    """Describe a tool as a row of the list. One that has a `schema` of its own needs none made from its `args`.

    Raises:
        ValueError: its name, description or input would be refused by a model.
        TypeError: its input cannot be described.
    """
    from bobstay.tools.schema import schema_of

    name = tool.name
    if not name or len(name) > _LONGEST_NAME or not _NAME.issuperset(name):
        raise ValueError(f"{name!r} is no name for a tool: use at most {_LONGEST_NAME} letters, digits, - and _")
    schema: dict[str, Any] | None = getattr(tool, "schema", None)
    return ToolEntry(
        name=name,
        aliases=tool.aliases,
        module=tool.__module__,
        class_=(tool if isinstance(tool, type) else type(tool)).__qualname__,
        hint=tool.hint,
        needs=tool.needs,
        cap=tool.cap,
        description=tool.description,
        schema=schema_of(tool.args) if schema is None else schema,
    )


def _wanted(
    entry: ToolEntry,
    available: Collection[Need],
    base: tuple[str, ...] | None,
    removed: Container[str],
    schema: dict[str, Any] | None,
) -> bool:
    if _removed(entry, removed):
        return False
    if entry.needs == "schema":
        return schema is not None
    if entry.needs and entry.needs not in available:
        return False
    return base is None or entry.name in base or any(alias in base for alias in entry.aliases)


def _removed(entry: ToolEntry, removed: Container[str]) -> bool:
    return entry.name in removed or any(alias in removed for alias in entry.aliases)


def _with_schema(entry: ToolEntry, schema: dict[str, Any] | None) -> ToolEntry:
    if schema is None or entry.needs != "schema":
        return entry
    return msgspec.structs.replace(entry, schema=schema)


def _lowered(entries: tuple[ToolEntry, ...]) -> dict[str, ToolEntry]:
    """Tools by name or alias in lower case, without words that would fit two of them."""
    found: dict[str, ToolEntry] = {}
    doubtful: set[str] = set()
    for entry in entries:
        for word in (entry.name, *entry.aliases):
            if found.setdefault(word.lower(), entry) is not entry:
                doubtful.add(word.lower())
    return {word: entry for word, entry in found.items() if word not in doubtful}
