"""The latest report of an engine about itself, its `init` message, parsed as untrusted data."""

from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select

from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import inventory_table
from bobstay.server.inventory.inventory_types import McpServer, NamedExtension, SlashCommand
from bobstay.server.workers.process.untrusted_fields import text


class EngineReport(Struct, frozen=True):
    at: float
    version: str
    tools: tuple[str, ...]
    commands: tuple[SlashCommand, ...]
    mcp_servers: tuple[McpServer, ...]
    skills: tuple[NamedExtension, ...]
    agents: tuple[NamedExtension, ...]


async def latest_report(database: Database, session_id: str) -> EngineReport | None:
    """The last report of a session's engine; None if there is none."""
    query = select(inventory_table.c.at, inventory_table.c.data).where(inventory_table.c.session_id == session_id)
    async with database.read_transaction() as connection:
        row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    try:
        data = msgspec.json.decode(row.data)
    except msgspec.DecodeError:
        return None
    return parse_report(data, row.at) if isinstance(data, dict) else None


def parse_report(data: dict[str, Any], at: float) -> EngineReport:
    described = {text(entry, "name"): entry for entry in _objects(data.get("commands"))}
    names = list(dict.fromkeys((*_strings(data.get("slash_commands")), *described)))
    return EngineReport(
        at,
        text(data, "claude_code_version"),
        tuple(_strings(data.get("tools"))),
        tuple(_command(name, described.get(name, {})) for name in names if name),
        tuple(
            McpServer(text(entry, "name"), text(entry, "status") or "unknown", "", "engine", True)
            for entry in _objects(data.get("mcp_servers"))
            if text(entry, "name")
        ),
        tuple(NamedExtension(name, "", "", "engine", True) for name in _strings(data.get("skills"))),
        tuple(NamedExtension(name, "", "", "engine", True) for name in _strings(data.get("agents"))),
    )


def _command(name: str, entry: dict[str, Any]) -> SlashCommand:
    return SlashCommand(name, text(entry, "description"), text(entry, "argumentHint"), "", "engine", True)


def _strings(given: Any) -> list[str]:
    return [entry for entry in given if isinstance(entry, str)] if isinstance(given, list) else []


def _objects(given: Any) -> list[dict[str, Any]]:
    return [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
