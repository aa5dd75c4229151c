"""Statistics of tool calls: counts and run time, grouped by day, model, project, session or tool."""

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
        """The sums under the field names of `Spent`."""
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
    """Sums by key, longest run time first; without a group all calls are summed under ""."""
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
    same_message = and_(messages.c.session_id == tool_calls.c.session_id, messages.c.id == tool_calls.c.message_id)
    source = tool_calls.join(sessions, sessions.c.id == tool_calls.c.session_id).outerjoin(messages, same_message)
    query = query.select_from(source).where(and_(*conditions))
    if group is not None:
        query = query.group_by(key).order_by(worked.desc(), key).limit(MOST)
    rows = (await connection.execute(query)).mappings().all()
    return {row["key"] or "": _sums(row) for row in rows if row["calls"]}


def _milliseconds() -> ColumnElement[Any]:
    """The duration the engine measured; else the time from call to result, less the time spent on interactions."""
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
    started = func.coalesce(tool_calls.c.started_at, tool_calls.c.called_at)
    passed = (tool_calls.c.result_at - started - waited) * 1000
    return case(
        (tool_calls.c.result_at.is_(None), 0.0),
        (tool_calls.c.duration_ms > 0, tool_calls.c.duration_ms + 0.0),
        (passed > 0, passed),
        else_=0.0,
    )


def _not_a_copy() -> ColumnElement[bool]:
    """A fork begins with the calls of its parent, which must count only once."""
    other = tool_calls.alias("of_parent")
    copied = exists().where(
        other.c.session_id == sessions.c.parent,
        other.c.call_id == tool_calls.c.call_id,
        other.c.called_at == tool_calls.c.called_at,
    )
    return not_(copied)


def _sums(row: Any) -> ToolSums:
    return ToolSums(row["calls"], int(row["errors"]), int(row["denied"]), round(row["milliseconds"]), row["sessions"])
