"""Configuration of one MCP server: parses an entry of `mcpServers` and says what is wrong with it."""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from bobstay.config.secret_variables import header_secrets, secret_values
from bobstay.mcp.tool_names import BadServerName, normalise_server
from bobstay.mcp.variable_expansion import Variables

TransportName: TypeAlias = Literal["stdio", "http", "sse", "ws", "sdk"]
Scope: TypeAlias = Literal["local", "project", "user", "dynamic", "plugin", "sdk"]
_TRANSPORTS: dict[str, TransportName] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "sse": "sse",
    "ws": "ws",
    "websocket": "ws",
    "sdk": "sdk",
}
_SCHEMES: dict[TransportName, tuple[str, ...]] = {
    "http": ("http", "https"),
    "sse": ("http", "https"),
    "ws": ("ws", "wss"),
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_ITEMS = 1_000


class BadServer(ValueError):  # noqa: N818 - it says what the entry is
    """An entry cannot be used. The text says why, without naming the server."""


class McpServerConfig(Struct, frozen=True):
    """One server, with the variables in its values expanded."""

    name: str
    """As it is written in the configuration; plugin servers are called `plugin:PLUGIN:NAME`."""
    called: str
    """The name inside tool names."""
    transport: TransportName
    scope: Scope
    origin: str = ""
    """The file or flag it comes from."""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    always_load: bool = False
    """Its tools are never deferred."""
    tool_timeout: float | None = None
    """Seconds that one call may take, if the entry says so."""
    raw: dict[str, Any] = {}
    """The entry as it is written, with no variable expanded."""
    disabled: bool = False
    blocked: str = ""
    """Why it must not be started, such as a missing approval; a sentence for a person."""

    @property
    def signature(self) -> tuple[str, ...]:
        """What it connects to: two servers with the same signature are the same server."""
        if self.transport == "stdio":
            return ("stdio", self.command, *self.args)
        return (self.transport, self.url) if self.url else (self.transport, self.name)

    @property
    def digest(self) -> str:
        """Digest of the name and the entry as it is written; an approval is bound to it."""
        from hashlib import sha256

        content = msgspec.json.encode([self.name, self.raw], order="deterministic")
        return sha256(content).hexdigest()

    @property
    def secrets(self) -> dict[str, str]:
        """Values that must not be stored or shown, by a name for each."""
        label = f"MCP server {self.name}"
        found = {f"{label} {name}": value for name, value in secret_values(self.env).items()}
        return {**found, **header_secrets(label, self.headers)}

    @property
    def public(self) -> dict[str, Any]:
        """What may be shown of it: as it is written, so without the values of variables, and without headers or env."""
        shown: dict[str, Any] = {"type": self.transport}
        for name in ("command", "args", "url", "name"):
            if name in self.raw:
                shown[name] = self.raw[name]
        return shown


def parse_server(name: str, raw: Any, scope: Scope, origin: str, variables: Variables) -> McpServerConfig:
    """Parse one entry of `mcpServers`.

    Raises:
        BadServer: it cannot be used.
    """
    try:
        called = normalise_server(name)
    except BadServerName as error:
        raise BadServer(str(error)) from None
    if not isinstance(raw, dict):
        raise BadServer("its entry is not an object")
    transport = _transport_of(raw)
    common: dict[str, Any] = {
        "always_load": raw.get("alwaysLoad") is True,
        "tool_timeout": _read_timeout(raw.get("timeout")),
        "raw": raw,
    }
    if transport == "sdk":
        return McpServerConfig(name, called, "sdk", "sdk", origin, **common)
    if transport == "stdio":
        command = variables.expand(_read_text(raw, "command"))
        if not command.strip():
            raise BadServer("it names no command to start")
        return McpServerConfig(
            name,
            called,
            transport,
            scope,
            origin,
            command=command,
            args=variables.expand_list(_read_list(raw, "args")),
            env=variables.expand_values(_read_mapping(raw, "env")),
            **common,
        )
    url = variables.expand(_read_text(raw, "url")).strip()
    _check_url(url, transport)
    headers = variables.expand_values(_read_mapping(raw, "headers"))
    _check_headers(headers)
    return McpServerConfig(name, called, transport, scope, origin, url=url, headers=headers, **common)


def _transport_of(raw: Mapping[str, Any]) -> TransportName:
    named = raw.get("type")
    if named is None:
        if "command" in raw:
            return "stdio"
        url = raw.get("url")
        if isinstance(url, str):
            return "ws" if url.lower().startswith(("ws://", "wss://")) else "http"
        raise BadServer("it names neither a command nor a url")
    transport = _TRANSPORTS.get(named.lower()) if isinstance(named, str) else None
    if transport is None:
        raise BadServer(f"its type {str(named)[:40]!r} is not known; use stdio, http, sse or ws")
    return transport


def _read_text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise BadServer(f"its {key} is not a text")
    return _check_text(value, key)


def _read_list(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MAX_ITEMS or not all(isinstance(item, str) for item in value):
        raise BadServer(f"its {key} is not a list of texts")
    return tuple(_check_text(item, key) for item in value)


def _read_mapping(raw: Mapping[str, Any], key: str) -> dict[str, str]:
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > _MAX_ITEMS:
        raise BadServer(f"its {key} is not an object of texts")
    found: dict[str, str] = {}
    for name, item in value.items():
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise BadServer(f"its {key} has a value that is not a text ({name[:40]!r})")
        if not name or "=" in name:
            raise BadServer(f"its {key} has a name that cannot be used ({name[:40]!r})")
        found[_check_text(name, key)] = _check_text(str(item), key)
    return found


def _check_text(text: str, key: str) -> str:
    if "\0" in text:
        raise BadServer(f"its {key} holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadServer(f"its {key} holds text that is not valid Unicode") from None
    return text


def _check_url(url: str, transport: TransportName) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadServer(f"its url {url[:200]!r} is not a URL") from None
    schemes = _SCHEMES[transport]
    if parts.scheme not in schemes or not parts.hostname or any(ord(letter) < 33 for letter in url):
        expected = " or ".join(f"{scheme}://" for scheme in schemes)
        raise BadServer(f"its url {url[:200]!r} is not an address that begins with {expected}")


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or any(letter in value for letter in "\r\n"):
            raise BadServer(f"its header {name[:40]!r} cannot be sent")


def _read_timeout(value: Any) -> float | None:
    """Read milliseconds; a value that makes no sense is ignored."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return None
    return value / 1000
