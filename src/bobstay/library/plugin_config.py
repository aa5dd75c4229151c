"""Hooks and servers of plugins: reads their JSON and puts the plugin's folder into it."""

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.config.trust import is_inside
from bobstay.library.shell_substitution import ShellValue, UnsafeInsertError, substitute_in_shell
from bobstay.markdown.field_values import as_map
from bobstay.system.safe_read import read_regular

LARGEST = 1 << 20
MOST_SERVERS = 50
_DEEPEST = 30


class PluginHooks(Struct, frozen=True):
    """Hooks of a plugin, in the form of settings: `{event: [{matcher, hooks}]}`."""

    plugin: str
    file: str
    hooks: dict[str, Any]


class PluginServer(Struct, frozen=True):
    name: str
    """`plugin:NAME:SERVER`"""
    plugin: str
    config: dict[str, Any]
    file: str


def read_json_object(file: str, confined: str = "") -> dict[str, Any]:
    """Read a JSON file that has an object.

    Raises:
        ValueError: it cannot be used; the text says why.
    """
    if confined and not is_inside(os.path.realpath(file), confined):
        raise ValueError(f"{file} links out of {confined}.")
    data = read_regular(file, LARGEST + 1)
    if data is None:
        raise ValueError(f"{file} cannot be read.")
    if len(data) > LARGEST:
        raise ValueError(f"{file} is larger than {LARGEST >> 20} MiB.")
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{file} is not a JSON object: {error}.") from error


def find_hooks(value: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the hooks of a file or manifest, with the plugin's variables put in."""
    hooks = value.get("hooks")
    events = hooks if isinstance(hooks, dict) else {name: item for name, item in value.items() if name != "description"}
    return {str(event): _fill(item, variables, _DEEPEST) for event, item in events.items() if isinstance(item, list)}


def find_servers(value: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the servers of a file or manifest, with the plugin's variables put in."""
    servers = value.get("mcpServers")
    named = servers if isinstance(servers, dict) else value
    found = {
        str(name): as_map(_fill(config, variables, _DEEPEST)) for name, config in list(named.items())[:MOST_SERVERS]
    }
    return {name: config for name, config in found.items() if config}


def _fill(value: Any, variables: Mapping[str, str], depth: int) -> Any:
    if depth <= 0:
        return None
    if isinstance(value, str):
        return _fill_text(value, variables)
    if isinstance(value, list):
        return [_fill(item, variables, depth - 1) for item in value]
    if isinstance(value, dict):
        is_shell = value.get("type") == "command" and "args" not in value
        return {
            name: _fill_shell(item, variables)
            if is_shell and name == "command" and isinstance(item, str)
            else _fill(item, variables, depth - 1)
            for name, item in value.items()
        }
    return value


def _fill_text(text: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def _fill_shell(command: str, variables: Mapping[str, str]) -> str:
    """Put the variables into a shell command, quoted; where that is not certain, the shell finds them itself."""
    forms = re.compile(rf"\$\{{(?P<name>{'|'.join(map(re.escape, variables))})\}}")
    try:
        return substitute_in_shell(command, forms, lambda match: ShellValue(variables[match["name"]]))
    except UnsafeInsertError:
        return command
