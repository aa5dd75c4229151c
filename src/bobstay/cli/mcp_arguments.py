"""Arguments of `bobstay mcp`: parses what people type, in the form that `claude mcp add` has."""

import re
from typing import Any, get_args

import msgspec
from msgspec import Struct

from bobstay.cli.flag_parser import UsageError
from bobstay.config.mcp_files import McpScope

USAGE = """\
Usage: bobstay mcp add [--scope SCOPE] [--env NAME=VALUE ...] NAME -- COMMAND [ARGUMENT ...]
       bobstay mcp add --transport http|sse|ws [--scope SCOPE] [--header "NAME: VALUE" ...] NAME URL
       bobstay mcp add-json [--scope SCOPE] NAME JSON
       bobstay mcp list [--check] [--json]
       bobstay mcp get [--check] [--json] NAME
       bobstay mcp remove [--scope SCOPE] NAME
       bobstay mcp login [--no-browser] NAME
       bobstay mcp logout NAME
       bobstay mcp serve [--http [--port PORT]] [flags of bobstay -p]

Servers are kept per SCOPE: local (default; yours, in this folder), project (.mcp.json, for everybody who works on the
project) or user (yours, everywhere). --check connects to each server and says what came of it. serve offers the tools
and sessions of bobstay to other programs.
"""
_SHORT = {"-s": "--scope", "-t": "--transport", "-e": "--env", "-H": "--header"}
_WITH_VALUE = {
    "add": ("--scope", "--transport", "--env", "--header"),
    "add-json": ("--scope",),
    "remove": ("--scope",),
}
_SWITCHES = {"list": ("--check", "--json"), "get": ("--check", "--json"), "login": ("--no-browser",)}
_POSITIONAL = {"add-json": 2, "list": 0, "get": 1, "remove": 1, "login": 1, "logout": 1}
ACTIONS = ("add", *_POSITIONAL, "serve")
TRANSPORTS = ("stdio", "http", "sse", "ws")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:", re.ASCII)


class McpArguments(Struct):
    action: str
    positional: list[str] = []
    scope: McpScope | None = None
    transport: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    switches: set[str] = set()
    command: list[str] | None = None
    """What follows `--`."""


def parse_mcp_arguments(arguments: list[str]) -> McpArguments:
    """Parse everything but the arguments of `serve`.

    Raises:
        UsageError: with a text for a person.
    """
    if not arguments:
        raise UsageError(USAGE.rstrip())
    if arguments[0] not in ACTIONS:
        raise UsageError(f"bobstay mcp has no command {arguments[0]!r}.\n{USAGE}")
    if any("\ud800" <= letter <= "\udfff" for argument in arguments for letter in argument):
        raise UsageError("An argument is not valid UTF-8, so it cannot be stored as JSON.")
    parsed = McpArguments(arguments[0])
    rest = list(reversed(arguments[1:]))
    while rest:
        argument = rest.pop()
        if argument == "--" and parsed.action == "add":
            parsed.command = rest[::-1]
            break
        if argument.startswith("-") and len(argument) > 1:
            _read_flag(parsed, argument, rest)
        else:
            parsed.positional.append(argument)
    wanted = _POSITIONAL.get(parsed.action)
    if wanted is not None and len(parsed.positional) != wanted:
        raise UsageError(f"bobstay mcp {parsed.action} takes {wanted or 'no'} argument{'s' * (wanted != 1)}.\n{USAGE}")
    return parsed


def build_entry(parsed: McpArguments) -> tuple[str, dict[str, Any]]:
    """Return the name and the entry that `add` or `add-json` is to write. Raises `UsageError`."""
    if parsed.action == "add-json":
        name, text = parsed.positional
        return name, _decode_entry(text)
    if not parsed.positional:
        raise UsageError(f"Name the server.\n{USAGE}")
    name, *target = parsed.positional
    target += parsed.command or []
    if not target:
        raise UsageError(f"Name the command that starts {name}, or its URL.\n{USAGE}")
    if parsed.transport in ("", "stdio"):
        return name, _stdio_entry(parsed, name, target)
    if len(target) != 1 or parsed.env:
        raise UsageError(f"A server with the transport {parsed.transport} has one URL, and no command or --env.")
    entry: dict[str, Any] = {"type": parsed.transport, "url": target[0]}
    if parsed.headers:
        entry["headers"] = parsed.headers
    check_entry(entry)
    return name, entry


def check_entry(entry: dict[str, Any]) -> None:
    """Refuse an entry that no session could use. Raises `UsageError`."""
    kind = entry.get("type", "stdio" if "command" in entry else "http")
    if kind not in TRANSPORTS:
        raise UsageError(f"The type of the server must be one of {', '.join(TRANSPORTS)}.")
    if kind == "stdio":
        if not isinstance(entry.get("command"), str) or not entry["command"].strip():
            raise UsageError("A server of the type stdio needs a command.")
        if not _is_texts(entry.get("args", [])):
            raise UsageError("The args of a server are a list of texts.")
    else:
        url, schemes = entry.get("url"), ("ws", "wss") if kind == "ws" else ("http", "https")
        # An address may begin with a variable, which is replaced when the server is used.
        pattern = rf"(?i)(({'|'.join(schemes)})://[^\s/]\S*|\$\{{\S+)"
        if not isinstance(url, str) or not re.fullmatch(pattern, url):
            raise UsageError(f"The URL of a server of the type {kind} begins with {schemes[0]}:// or {schemes[1]}://.")
    for key in ("env", "headers"):
        value = entry.get(key, {})
        if not isinstance(value, dict) or not _is_texts(list(value.values())):
            raise UsageError(f"The {key} of a server are an object of texts.")


def _stdio_entry(parsed: McpArguments, name: str, target: list[str]) -> dict[str, Any]:
    if parsed.headers:
        raise UsageError("--header is for servers with a URL: name the --transport too.")
    if not parsed.transport and target[0].lower().startswith(("http://", "https://", "ws://", "wss://")):
        kind = "ws" if target[0].lower().startswith("ws") else "http"
        raise UsageError(
            f"{target[0]} is an address, not a command. Write: bobstay mcp add --transport {kind} {name} {target[0]}"
        )
    entry: dict[str, Any] = {"type": "stdio", "command": target[0], "args": target[1:]}
    if parsed.env:
        entry["env"] = parsed.env
    check_entry(entry)
    return entry


def _decode_entry(text: str) -> dict[str, Any]:
    try:
        entry = msgspec.json.decode(text.encode(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError('The server is not a JSON object, such as {"type": "http", "url": "https://…"}.') from error
    check_entry(entry)
    return entry


def _read_flag(parsed: McpArguments, argument: str, rest: list[str]) -> None:
    name, equals, value = argument.partition("=")
    name = _SHORT.get(name, name)
    if name in _SWITCHES.get(parsed.action, ()) and not equals:
        parsed.switches.add(name)
        return
    if name not in _WITH_VALUE.get(parsed.action, ()):
        hint = " Put -- before the command of the server." if parsed.action == "add" else ""
        raise UsageError(f"bobstay mcp {parsed.action} has no flag {argument.partition('=')[0]}.{hint}\n{USAGE}")
    if not equals:
        if not rest:
            raise UsageError(f"{name} needs a value.")
        value = rest.pop()
    match name:
        case "--scope":
            parsed.scope = _read_scope(value)
        case "--transport":
            if value not in TRANSPORTS:
                raise UsageError(f"--transport is one of {', '.join(TRANSPORTS)}.")
            parsed.transport = value
        case "--env":
            _read_pairs(parsed.env, value, rest, _ENV, "=", name)
        case _:
            _read_pairs(parsed.headers, value, rest, _HEADER, ":", name)


def _read_scope(value: str) -> McpScope:
    for scope in get_args(McpScope):
        if value == scope:
            found: McpScope = scope
            return found
    raise UsageError("--scope is local, project or user.")


def _read_pairs(
    pairs: dict[str, str], first: str, rest: list[str], pattern: "re.Pattern[str]", separator: str, flag: str
) -> None:
    """Read one pair, and those that follow it: `-e A=1 B=2 name`."""
    texts = [first]
    while rest and pattern.match(rest[-1]):
        texts.append(rest.pop())
    for text in texts:
        key, _, value = text.partition(separator)
        if not pattern.match(text) or any(letter in text for letter in "\r\n\0"):
            form = "NAME=VALUE" if flag == "--env" else '"NAME: VALUE"'
            raise UsageError(f"{flag} is given as {form}.")
        pairs[key] = value.strip() if separator == ":" else value


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and "\0" not in item for item in value)
