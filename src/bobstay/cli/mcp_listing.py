"""Listing of MCP servers for people and programs, with secrets redacted."""

import re
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from bobstay.config.mcp_files import ListedServer, printable
from bobstay.redaction.redactor import Redactor

REDACTED = "[redacted]"
_ONLY_VARIABLES = re.compile(r"(?:Bearer )?(?:\$\{[^{}]+\})+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class ServerRow(Struct, frozen=True):
    """One server as it is shown."""

    server: ListedServer
    shadowed: bool = False
    """A server of the same name comes before it."""
    notes: tuple[str, ...] = ()
    state: str = ""


def describe_target(entry: dict[str, Any]) -> str:
    """The command line or address of a server on one line."""
    redactor = Redactor()
    if "url" in entry and entry.get("type") != "stdio":
        return f"{printable(redact_url(str(entry['url'])))} ({_kind(entry)})"
    arguments = entry.get("args")
    words = [str(entry.get("command", "")), *map(str, arguments if isinstance(arguments, list) else ())]
    return printable(redactor.redact(" ".join(words))).strip() or "(no command)"


def as_text(row: ServerRow) -> str:
    """All that is shown of one server."""
    server = row.server
    lines = [
        f"{printable(server.name)}:",
        f"  scope    {server.scope}",
        f"  file     {server.file}",
        f"  server   {describe_target(server.entry)}",
    ]
    for key, label in (("env", "variable"), ("headers", "header")):
        values = server.entry.get(key)
        for name, value in values.items() if isinstance(values, dict) else ():
            lines.append(f"  {label:<8} {printable(str(name))}: {redact_value(value)}")
    lines += [f"  note     {note}" for note in row.notes]
    if row.state:
        lines.append(f"  state    {row.state}")
    return "\n".join(lines) + "\n"


def as_json(row: ServerRow) -> dict[str, Any]:
    server, redactor = row.server, Redactor()
    entry: dict[str, Any] = {}
    for key, value in server.entry.items():
        if key in ("env", "headers"):
            entry[key] = {name: redact_value(each) for name, each in value.items()} if isinstance(value, dict) else {}
        else:
            entry[key] = redact_url(value) if key == "url" and isinstance(value, str) else redactor.redact_value(value)
    return {
        "name": server.name,
        "scope": server.scope,
        "file": server.file,
        "used": not row.shadowed,
        "entry": entry,
        "notes": list(row.notes),
        "state": row.state or None,
    }


def redact_value(value: Any) -> str:
    """A value of a variable or header may be a secret; a reference to a variable is none."""
    return value if isinstance(value, str) and _ONLY_VARIABLES.fullmatch(value) and value.isprintable() else REDACTED


def redact_url(url: str) -> str:
    """An address without the secrets that people put into it: a password, and the values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return REDACTED
    netloc = parts.netloc.rpartition("@")
    pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
    query = "&".join(f"{name}={REDACTED}" if equals else REDACTED for name, equals, _ in pairs)
    path = Redactor().redact(parts.path)
    shown = f"{REDACTED}@{netloc[2]}" if netloc[1] else netloc[2]
    head = f"{parts.scheme}://{shown}" if _SCHEME.match(url) else shown
    return f"{head}{path}{'?' + query if query else ''}"


def _kind(entry: dict[str, Any]) -> str:
    return printable(str(entry.get("type", "http")))[:20]
