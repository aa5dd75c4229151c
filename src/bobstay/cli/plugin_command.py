"""`bobstay plugin`: adds, lists, enables, disables and removes plugins."""

import os
import sys
from typing import Any

import msgspec

from bobstay.config.environment import Environment
from bobstay.config.settings_files import BrokenSettings, load
from bobstay.library.marketplace import Marketplace, MarketplaceError
from bobstay.library.plugin import Plugin
from bobstay.library.plugin_changes import EnabledPlugin, PluginChangeError, add_folder, disable, enable, remove
from bobstay.library.plugin_selection import PluginLocator, PluginSources, PluginState, describe_change, list_states
from bobstay.library.plugin_store import PluginStore, PluginStoreError

USAGE = """\
Usage: bobstay plugin add FOLDER
       bobstay plugin list [--json]
       bobstay plugin enable|disable|remove NAME

add enables the plugin in a folder, or makes a marketplace in a folder known, whose plugins you then enable by name.
A plugin is enabled with the content it has now: when a file of it changes, it is not used until you enable it again.
disable holds whatever settings say; remove forgets, and deletes no file. NAME is name@marketplace, or the name alone if
only one plugin has it. See docs/extensions.md.
"""
_ACTIONS = {"add": 1, "list": 0, "enable": 1, "disable": 1, "remove": 1}
_SHOWN = 20


def run(arguments: list[str]) -> int:
    """Return 0 on success, 1 on failure, 2 for an invalid command line."""
    flags = {argument for argument in arguments if argument.startswith("-")}
    if flags & {"--help", "-h"}:
        sys.stdout.write(USAGE)
        return 0
    action, *names = [argument for argument in arguments if argument not in flags] or [""]
    allowed = {"--json"} if action == "list" else set[str]()
    if len(names) != _ACTIONS.get(action, -1) or not flags <= allowed:
        sys.stderr.write(USAGE)
        return 2
    try:
        sources = _read_sources()
        if action == "list":
            return _list(sources, as_json="--json" in flags)
        if action == "add":
            return _add(names[0], sources)
        if action == "enable":
            return _show_enabled(enable(names[0], sources), sources)
        changed = (disable if action == "disable" else remove)(names[0], sources)
        _write(f"{changed} is disabled." if action == "disable" else f"{changed} is removed.")
    except (PluginChangeError, PluginStoreError, BrokenSettings) as error:
        sys.stderr.write(f"{_printable(str(error))}\n")
        return 1
    return 0


def _read_sources() -> PluginSources:
    environment, cwd = Environment.read(), os.path.realpath(os.getcwd())
    return PluginSources(cwd=cwd, paths=environment.paths, loaded=load(cwd, environment.paths))


def _add(folder: str, sources: PluginSources) -> int:
    added = add_folder(folder, sources)
    if isinstance(added, EnabledPlugin):
        return _show_enabled(added, sources)
    _write(f"The marketplace {added.name} is known now. Its plugins:")
    _show_marketplace(added)
    return 0


def _show_enabled(enabled: EnabledPlugin, sources: PluginSources) -> int:
    _write(f"{enabled.id} is enabled as it is now, in {enabled.plugin.path}.")
    for line in _describe_parts(enabled.plugin):
        _write(f"  {line}")
    for problem in enabled.problems:
        sys.stderr.write(f"Warning: {_printable(problem)}\n")
    state = next((state for state in list_states(sources) if state.id == enabled.id), None)
    if state is not None and state.status == "disabled":
        sys.stderr.write(f"Warning: it is not used: {_printable(state.problem)}\n")
    return 0


def _list(sources: PluginSources, *, as_json: bool) -> int:
    states = list_states(sources)
    locator = PluginLocator(sources, PluginStore(sources.paths.bobstay).read())
    if as_json:
        rows = {"plugins": [_row(state) for state in states], "marketplaces": locator.folders}
        sys.stdout.write(f"{msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()}\n")
        return 0
    if not states:
        _write("No plugin is installed. Add one with: bobstay plugin add FOLDER")
    for state in states:
        _show_state(state)
    for name, folder in sorted(locator.folders.items()):
        _write(f"marketplace {name}: {folder}")
        try:
            _show_marketplace(locator.open(name))
        except MarketplaceError as error:
            _write(f"  {error}")
    return 0


def _show_state(state: PluginState) -> None:
    _write(f"{state.id}  {state.status}  {state.path}".rstrip())
    if state.status == "changed":
        text = describe_change(state)
        _write(f"  {text[:1].upper()}{text[1:]}")
    if state.problem:
        _write(f"  {state.problem}")
    if state.read is not None:
        for problem in state.read.problems:
            _write(f"  {problem.message}")
        if state.read.plugin is not None and state.status == "enabled":
            for line in _describe_parts(state.read.plugin):
                _write(f"  {line}")


def _show_marketplace(marketplace: Marketplace) -> None:
    for name, entry in sorted(marketplace.entries.items())[:200]:
        description = " ".join(str(entry.get("description") or "").split())[:120]
        _write(f"  {name}@{marketplace.name}  {description}".rstrip())
    if marketplace.entries:
        _write("  Enable one with: bobstay plugin enable NAME")


def _describe_parts(plugin: Plugin) -> list[str]:
    """What the plugin brings, first of all what it would run."""
    lines = [f"runs on {event}: {command}" for hooks in plugin.hooks for event, command in _hook_commands(hooks.hooks)]
    for server in plugin.servers:
        arguments = server.config.get("args")
        line = [server.config.get("command") or server.config.get("url") or ""]
        line += arguments if isinstance(arguments, list) else []
        lines.append(f"server {server.name}: {' '.join(map(str, line))[:200]}")
    found = plugin.definitions
    named = {
        "commands": [f"/{each.name}" for each in found.commands if each.kind == "command"],
        "skills": [f"/{each.name}" for each in found.commands if each.kind == "skill"],
        "agents": [each.name for each in found.agents],
        "output styles": [each.name for each in found.styles],
    }
    return [*lines, *(f"{kind}: {_join(names)}" for kind, names in named.items() if names)]


def _hook_commands(hooks: dict[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else []:
            for entry in (group.get("hooks") or []) if isinstance(group, dict) else []:
                if isinstance(entry, dict):
                    text = entry.get("command") or entry.get("url") or entry.get("prompt") or entry.get("type")
                    found.append((event, str(text)[:200]))
    return found[:_SHOWN]


def _row(state: PluginState) -> dict[str, Any]:
    plugin = state.read.plugin if state.read else None
    problems = [problem.message for problem in state.read.problems] if state.read else []
    return {
        "id": state.id,
        "status": state.status,
        "path": state.path,
        "version": plugin.version if plugin else "",
        "changes": list(state.changes),
        "problems": [*([state.problem] if state.problem else []), *problems],
    }


def _join(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _write(text: str) -> None:
    sys.stdout.write(f"{_printable(text)}\n")


def _printable(text: str) -> str:
    """Replace control characters: names that others chose must not control the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
