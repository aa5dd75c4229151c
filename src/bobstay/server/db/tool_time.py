"""How often tools were called and how long they worked: sums over calls, by whatever one wants to know."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, case, exists, func, literal, not_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bobstay.server.db.projected_tables import interactions, messages, sessions, tool_calls

Group: TypeAlias = Literal["day", "model", "project", "session", "tool"]
MOST = 1_000


class ToolSums(Struct, frozen=True):
    calls: int
    errors: int
    denied: int
    milliseconds: int
    sessions: int

    def fields(self) -> dict[str, Any]:
        """As `Spent` names them."""
        return {
            "tool_calls": self.calls,
            "tool_errors": self.errors,
            "tool_denied": self.denied,
            "tool_ms": self.milliseconds,
        }


NO_TOOLS = ToolSums(0, 0, 0, 0, 0)


async def tool_sums(
    connection: AsyncConnection, group: Group | None, since: str = "", until: str = ""
) -> dict[str, ToolSums]:
    """By key, those that took longest first; with no group all of them under ""."""
    keys: dict[Group, ColumnElement[Any]] = {
        "day": tool_calls.c.day,
        "model": messages.c.model,
        "project": sessions.c.project,
        "session": tool_calls.c.session_id,
        "tool": tool_calls.c.name,
    }
    key = keys[group] if group is not None else literal("")
    conditions = [tool_calls.c.called_seq.is_not(None), _not_a_copy()]
    if since:
        conditions.append(tool_calls.c.day >= since)
    if until:
        conditions.append(tool_calls.c.day <= until)
    refused = tool_calls.c.denied.is_(True)
    worked = func.coalesce(func.sum(_milliseconds()), 0)
    query = select(
        key.label("key"),
        func.count().label("calls"),
        func.sum(case((and_(tool_calls.c.is_error.is_(True), not_(func.coalesce(refused, False))), 1), else_=0)).label(
            "errors"
        ),
        func.sum(case((refused, 1), else_=0)).label("denied"),
        worked.label("milliseconds"),
        func.count(tool_calls.c.session_id.distinct()).label("sessions"),
    )
    said = and_(messages.c.session_id == tool_calls.c.session_id, messages.c.id == tool_calls.c.message_id)
    source = tool_calls.join(sessions, sessions.c.id == tool_calls.c.session_id).outerjoin(messages, said)
    query = query.select_from(source).where(and_(*conditions))
    if group is not None:
        query = query.group_by(key).order_by(worked.desc(), key).limit(MOST)
    rows = (await connection.execute(query)).mappings().all()
    return {row["key"] or "": _sums(row) for row in rows if row["calls"]}


def _milliseconds() -> ColumnElement[Any]:
    """What the engine measured; else the time between call and result, less the time a person was asked."""
    waited = (
        select(func.coalesce(func.sum(interactions.c.closed_at - interactions.c.opened_at), 0.0))
        .where(
            interactions.c.session_id == tool_calls.c.session_id,
            interactions.c.call_id == tool_calls.c.call_id,
            interactions.c.closed_at.is_not(None),
        )
        .correlate(tool_calls)
        .scalar_subquery()
    )
    begun = func.coalesce(tool_calls.c.started_at, tool_calls.c.called_at)
    passed = (tool_calls.c.result_at - begun - waited) * 1000
    return case(
        (tool_calls.c.result_at.is_(None), 0.0),
        (tool_calls.c.duration_ms > 0, tool_calls.c.duration_ms + 0.0),
        (passed > 0, passed),
        else_=0.0,
    )


def _not_a_copy() -> ColumnElement[bool]:
    """A fork begins with the calls of its parent: they were made once."""
    other = tool_calls.alias("of_parent")
    copied = exists().where(
        other.c.session_id == sessions.c.parent,
        other.c.call_id == tool_calls.c.call_id,
        other.c.called_at == tool_calls.c.called_at,
    )
    return not_(copied)


def _sums(row: Any) -> ToolSums:
    return ToolSums(row["calls"], int(row["errors"]), int(row["denied"]), round(row["milliseconds"]), row["sessions"])
