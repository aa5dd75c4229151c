"""Registry of the tools a session offers, built from a generated list so that tools are imported on first use."""

import os
from collections.abc import Collection, Container, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.tools.base import Need, Tool
from bobstay.tools.entry_points import load_installed_tools

_LIST = os.path.join(os.path.dirname(__file__), "builtin", "schemas.json")
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_MAX_NAME_LENGTH = 128


class ToolEntry(Struct, frozen=True):
    """One row of the generated list: what a session needs to know about a tool before it is called."""

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
    """Built-in tools, then all others, each sorted by name, so that the order is stable."""

    def __init__(
        self, entries: tuple[ToolEntry, ...], instances: dict[str, Tool[Any]], warnings: tuple[str, ...] = ()
    ) -> None:
        self.entries = entries
        self.warnings = warnings
        """Problems with tools of other packages, for people to read."""
        self._instances = instances
        self._exact = {alias: entry for entry in entries for alias in entry.aliases}
        self._exact |= {entry.name: entry for entry in entries}
        self._lowered = _index_by_lower_case(entries)

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
        """Select the tools a session offers.

        `available` are the needs this session meets; `schema`, if given, meets "schema" and becomes the schema of the
        tools that need it, regardless of `base`. `base` limits built-in and installed tools to those named (None: all);
        `extra` are tools of the embedding program, which only `removed` excludes.

        Raises:
            ValueError: a tool in `extra` is invalid.
        """
        offered = [
            _with_schema(entry, schema)
            for entry in builtin_entries()
            if _is_offered(entry, available, base, removed, schema)
        ]
        installed, warnings = load_installed_tools() if entry_points and base != () else ((), ())
        others: dict[str, tuple[ToolEntry, Tool[Any]]] = {}
        problems = list(warnings)
        for tool in extra:
            entry = describe_tool(tool)
            if not _is_removed(entry, removed):
                others.setdefault(entry.name, (entry, tool))
        for tool in installed:
            try:
                entry = describe_tool(tool)
            except (ValueError, TypeError, AttributeError) as error:
                problems.append(f"an installed tool was left out: {error}")
                continue
            if _is_offered(entry, available, base, removed, schema):
                others.setdefault(entry.name, (_with_schema(entry, schema), tool))
        taken = {entry.name for entry in offered}
        problems.extend(f"{name} was left out: a built-in tool has that name" for name in others if name in taken)
        added = [pair for name, pair in sorted(others.items()) if name not in taken]
        entries = (*offered, *(entry for entry, _ in added))
        return cls(entries, {entry.name: tool for entry, tool in added}, tuple(problems))

    def extended(self, tools: Sequence[Tool[Any]]) -> "ToolRegistry":
        """These tools and those of this registry; among several of one name, that of this registry."""
        taken = {entry.name for entry in self.entries}
        added = [(describe_tool(tool), tool) for tool in tools if tool.name not in taken]
        instances = {**self._instances, **{entry.name: tool for entry, tool in added}}
        return ToolRegistry((*self.entries, *(entry for entry, _ in added)), instances)

    def select(
        self, names: Sequence[str] | None, without: Container[str] = (), unmet: Container[Need] = ()
    ) -> "ToolRegistry":
        """The tools with these names, in this order (None: all), except those in `without` or with an `unmet` need.

        Unknown names are ignored. A name may have a pattern in parentheses, as in a permission rule, which is ignored.
        """
        wanted = self.entries if names is None else [self.entry(name.partition("(")[0].strip()) for name in names]
        kept = [
            entry
            for entry in wanted
            if entry is not None and not _is_removed(entry, without) and entry.needs not in unmet
        ]
        return ToolRegistry(tuple({entry.name: entry for entry in kept}.values()), self._instances)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries)

    @property
    def specs(self) -> tuple[ToolSpecification, ...]:
        return tuple(ToolSpecification(entry.name, entry.description, entry.schema) for entry in self.entries)

    def entry(self, name: str) -> ToolEntry | None:
        """The entry of a tool by its name or an alias; an exact match wins over one that ignores case."""
        return self._exact.get(name) or self._lowered.get(name.lower())

    def get(self, name: str) -> Tool[Any] | None:
        """The tool with this name, imported on first use; None if it is not offered."""
        entry = self.entry(name)
        if entry is None:
            return None
        if entry.name not in self._instances:
            instance = getattr(import_module(entry.module), entry.class_)()
            assert isinstance(instance, Tool)
            self._instances[entry.name] = instance
        return self._instances[entry.name]

    def closest_name(self, name: str) -> str | None:
        """The offered name most similar to `name`, or None if none is close."""
        from difflib import get_close_matches

        lowered = {known.lower(): known for known in self.names}
        close = get_close_matches(name[:64].lower(), list(lowered), n=1, cutoff=0.6)
        return lowered[close[0]] if close else None


@cache
def builtin_entries() -> tuple[ToolEntry, ...]:
    """All tools that come with bobstay, sorted by name; cached for the whole process."""
    with open(_LIST, "rb") as file:
        return msgspec.json.decode(file.read(), type=tuple[ToolEntry, ...])


def describe_tool(tool: type[Tool[Any]] | Tool[Any]) -> ToolEntry:
    """Make the entry of a tool. Its own `schema`, if it has one, takes precedence over one built from its `args`.

    Raises:
        ValueError: its name, description or input would be refused by a model.
        TypeError: its input cannot be described.
    """
    from bobstay.tools.schema import build_schema

    name = tool.name
    if not name or len(name) > _MAX_NAME_LENGTH or not _NAME_CHARACTERS.issuperset(name):
        raise ValueError(f"{name!r} is not a valid tool name: use at most {_MAX_NAME_LENGTH} letters, digits, - and _")
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
        schema=build_schema(tool.args) if schema is None else schema,
    )


def _is_offered(
    entry: ToolEntry,
    available: Collection[Need],
    base: tuple[str, ...] | None,
    removed: Container[str],
    schema: dict[str, Any] | None,
) -> bool:
    if _is_removed(entry, removed):
        return False
    if entry.needs == "schema":
        return schema is not None
    if entry.needs == "todos":
        if "tasks" in available:
            return False
    elif entry.needs and entry.needs not in available:
        return False
    return base is None or entry.name in base or any(alias in base for alias in entry.aliases)


def _is_removed(entry: ToolEntry, removed: Container[str]) -> bool:
    return entry.name in removed or any(alias in removed for alias in entry.aliases)


def _with_schema(entry: ToolEntry, schema: dict[str, Any] | None) -> ToolEntry:
    if schema is None or entry.needs != "schema":
        return entry
    return msgspec.structs.replace(entry, schema=schema)


def _index_by_lower_case(entries: tuple[ToolEntry, ...]) -> dict[str, ToolEntry]:
    """Tools by name or alias in lower case, without ambiguous names."""
    index: dict[str, ToolEntry] = {}
    ambiguous: set[str] = set()
    for entry in entries:
        for name in (entry.name, *entry.aliases):
            if index.setdefault(name.lower(), entry) is not entry:
                ambiguous.add(name.lower())
    return {name: entry for name, entry in index.items() if name not in ambiguous}
