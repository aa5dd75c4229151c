"""Usage of sessions: tokens, cost and tool time, grouped by day, model, project, session or tool."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Select, and_, exists, func, not_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import sessions, usage
from bobstay.server.db.tool_time import NO_TOOLS, Group, ToolSums, tool_sums
from bobstay.server.sessions.context_threshold import CRITICAL, WARNING

Level: TypeAlias = Literal["ok", "warning", "critical"]
MOST_GROUPS = 1_000


class Spent(Struct, frozen=True):
    key: str
    calls: int
    """Requests to models."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: float
    """In US dollars."""
    cache_hit_rate: float
    """The fraction of input tokens that were read from the models' caches, 0 to 1."""
    sessions: int
    tool_calls: int = 0
    tool_errors: int = 0
    tool_denied: int = 0
    """Denied by a person or a rule; these are not errors."""
    tool_ms: int = 0
    """Run time of tools, without the time spent waiting for approval. Parallel calls each count in full."""
    title: str = ""
    context: int | None = None
    """Of a session: tokens in its context now; below, the size of the window and how full it is."""
    context_limit: int | None = None
    fullness: float | None = None
    level: Level | None = None


class Spending(Struct, frozen=True):
    group: Group
    groups: tuple[Spent, ...]
    """Days newest first, tools by their time, all others by cost."""
    total: Spent


async def spending(database: Database, group: Group, since: str = "", until: str = "") -> Spending:
    """Sums between two days of the calendar in UTC, both included; empty means no bound."""
    keys: dict[Group, ColumnElement[Any]] = {
        "day": usage.c.day,
        "model": usage.c.model,
        "project": sessions.c.project,
        "session": usage.c.session_id,
    }
    conditions = [_not_a_copy()]
    if since:
        conditions.append(usage.c.day >= since)
    if until:
        conditions.append(usage.c.day <= until)
    async with database.read_transaction() as connection:
        found: dict[str, Spent] = {}
        if (key := keys.get(group)) is not None:
            order = key.desc() if group == "day" else func.sum(usage.c.cost).desc()
            query = _sums(key, conditions).group_by(key).order_by(order, key).limit(MOST_GROUPS)
            rows = (await connection.execute(query)).mappings().all()
            found = {row["key"] or "": _spent(row) for row in rows}
        total = _spent((await connection.execute(_sums(func.max(""), conditions))).mappings().one())
        tools = await tool_sums(connection, group, since, until)
        used = await tool_sums(connection, None, since, until)
        groups = _with_tools(found, tools, group)
        if group == "session":
            groups = [_about(spent, about) for spent, about in await _sessions(connection, groups)]
    return Spending(group, tuple(groups), replace(total, **used.get("", NO_TOOLS).fields()))


def _with_tools(found: dict[str, Spent], tools: dict[str, ToolSums], group: Group) -> list[Spent]:
    """Merge usage of models and tools: a group may have only one of them."""
    nothing = Spent("", 0, 0, 0, 0, 0, 0.0, 0.0, 0)
    keys = list(dict.fromkeys((*found, *tools)))[:MOST_GROUPS]
    joined = [
        replace(found.get(key) or replace(nothing, key=key, sessions=tools[key].sessions), **tools[key].fields())
        if key in tools
        else found[key]
        for key in keys
    ]
    return sorted(joined, key=lambda spent: spent.key, reverse=True) if group == "day" else joined


async def _sessions(connection: AsyncConnection, groups: list[Spent]) -> list[tuple[Spent, Any]]:
    asked = select(sessions.c.id, sessions.c.title, sessions.c.context, sessions.c.context_limit)
    asked = asked.where(sessions.c.id.in_([spent.key for spent in groups]))
    about = {row["id"]: row for row in (await connection.execute(asked)).mappings()}
    return [(spent, about.get(spent.key)) for spent in groups]


def level(fullness: float) -> Level:
    """The warning level for a context that is full to this fraction."""
    return "critical" if fullness >= CRITICAL else "warning" if fullness >= WARNING else "ok"


def _sums(key: ColumnElement[Any], conditions: list[ColumnElement[bool]]) -> Select[Any]:
    counted = [func.coalesce(func.sum(usage.c[name]), 0).label(name) for name in COUNTED]
    query = select(
        key.label("key"),
        func.count().label("calls"),
        func.count(usage.c.session_id.distinct()).label("sessions"),
        *counted,
    )
    return query.select_from(usage.join(sessions, sessions.c.id == usage.c.session_id)).where(and_(*conditions))


COUNTED = ("input", "output", "cache_read", "cache_write", "cost")


def _not_a_copy() -> ColumnElement[bool]:
    """A fork begins with the entries of its parent, whose cost must count only once."""
    other = usage.alias("of_parent")
    copied = exists().where(other.c.session_id == sessions.c.parent, other.c.id == usage.c.id, other.c.at == usage.c.at)
    return not_(copied)


def _spent(row: Any) -> Spent:
    sent = int(row["input"] + row["cache_read"] + row["cache_write"])
    rate = float(row["cache_read"]) / sent if sent else 0.0
    return Spent(
        key=row["key"] or "",
        calls=row["calls"],
        input=int(row["input"]),
        output=int(row["output"]),
        cache_read=int(row["cache_read"]),
        cache_write=int(row["cache_write"]),
        cost=float(row["cost"]),
        cache_hit_rate=rate,
        sessions=row["sessions"],
    )


def _about(spent: Spent, about: Any) -> Spent:
    if about is None:
        return spent
    full = about["context"] / about["context_limit"] if about["context_limit"] else 0.0
    of_context = {"context": about["context"], "context_limit": about["context_limit"]}
    return replace(spent, title=about["title"], fullness=full, level=level(full), **of_context)
