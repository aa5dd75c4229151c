"""What sessions used: tokens and money by day, model, project or session, and how full their contexts are."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct
from sqlalchemy import ColumnElement, Select, and_, exists, func, not_, select

from bobstay.server.index.database import Database
from bobstay.server.index.tables import sessions, usage

Group: TypeAlias = Literal["day", "model", "project", "session"]
Level: TypeAlias = Literal["ok", "warning", "critical"]
WARNING, CRITICAL = 0.6, 0.9
"""S000-34: from here on the context is nearly full."""
MOST_GROUPS = 1_000


class Spent(Struct, frozen=True, omit_defaults=True):
    key: str
    calls: int
    """Of models."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: float
    """In US dollars."""
    cache_hit_rate: float
    """Which part of what was sent to models came from their cache, 0 to 1."""
    sessions: int
    title: str = ""
    context: int | None = None
    """Of a session: tokens before its model now, of how many, and how near that is to the end."""
    context_limit: int | None = None
    fullness: float | None = None
    level: Level | None = None


class Spending(Struct, frozen=True):
    group: Group
    groups: tuple[Spent, ...]
    """Days newest first, all others by cost."""
    total: Spent


async def spending(database: Database, group: Group, since: str = "", until: str = "") -> Spending:
    """Sums between two days of the calendar in UTC, both included; empty means no bound."""
    keys: dict[Group, ColumnElement[Any]] = {
        "day": usage.c.day,
        "model": usage.c.model,
        "project": sessions.c.project,
        "session": usage.c.session_id,
    }
    key = keys[group]
    conditions = [_not_a_copy()]
    if since:
        conditions.append(usage.c.day >= since)
    if until:
        conditions.append(usage.c.day <= until)
    order = key.desc() if group == "day" else func.sum(usage.c.cost).desc()
    async with database.reading() as connection:
        query = _sums(key, conditions).group_by(key).order_by(order, key).limit(MOST_GROUPS)
        rows = (await connection.execute(query)).mappings().all()
        total = (await connection.execute(_sums(func.max(""), conditions))).mappings().one()
        about: dict[str, Any] = {}
        if group == "session":
            asked = select(sessions.c.id, sessions.c.title, sessions.c.context, sessions.c.context_limit)
            asked = asked.where(sessions.c.id.in_([row["key"] for row in rows]))
            about = {row["id"]: row for row in (await connection.execute(asked)).mappings()}
    return Spending(group, tuple(_spent(row, about.get(row["key"])) for row in rows), _spent(total, None))


def level(fullness: float) -> Level:
    """S000-34."""
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
    """A fork begins with the entries of its parent: what they cost was paid once."""
    other = usage.alias("of_parent")
    copied = exists().where(other.c.session_id == sessions.c.parent, other.c.id == usage.c.id, other.c.at == usage.c.at)
    return not_(copied)


def _spent(row: Any, about: Any) -> Spent:
    sent = int(row["input"] + row["cache_read"] + row["cache_write"])
    rate = float(row["cache_read"]) / sent if sent else 0.0
    known = Spent(
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
    if about is None:
        return known
    from msgspec.structs import replace

    full = about["context"] / about["context_limit"] if about["context_limit"] else 0.0
    of_context = {"context": about["context"], "context_limit": about["context_limit"]}
    return replace(known, title=about["title"], fullness=full, level=level(full), **of_context)
