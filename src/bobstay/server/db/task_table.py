"""Tasks of sessions: those of agents are projected from the log, those of people are edited here."""

import time
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from sqlalchemy import RowMapping, delete, insert, select, update

from bobstay.model.ids import new_id
from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import tasks
from bobstay.server.db.storable_values import clamp_integer, clean
from bobstay.server.errors import ApiError

TaskStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
MOST_LISTED = 2_000
MOST_OF_A_PERSON = 500
"""In one session."""


class TaskRow(Struct, frozen=True):
    id: str
    session_id: str
    source: Literal["sdk", "user"]
    """`sdk`: the agent's own list; `user`: a person's."""
    title: str
    status: TaskStatus
    description: str
    sort_order: int
    updated_at: float
    by: str


async def list_tasks(database: Database, session_id: str = "") -> list[TaskRow]:
    """The agent's tasks in order, then those of people; of all sessions if none is named."""
    query = select(tasks).order_by(tasks.c.session_id, tasks.c.source, tasks.c.sort_order, tasks.c.id)
    if session_id:
        query = query.where(tasks.c.session_id == session_id)
    async with database.read_transaction() as connection:
        rows = (await connection.execute(query.limit(MOST_LISTED))).mappings().all()
    return [_task(row) for row in rows]


async def add_task(
    database: Database, session_id: str, title: str, *, by: str, status: TaskStatus = "pending", description: str = ""
) -> TaskRow:
    """Append a task of a person.

    Raises:
        ApiError: `too_many` there are already.
    """
    async with database.read_transaction() as connection:
        query = select(tasks.c.sort_order).where(tasks.c.session_id == session_id, tasks.c.source == "user")
        orders = list(await connection.scalars(query))
    if len(orders) >= MOST_OF_A_PERSON:
        raise ApiError("too_many", f"A session may have {MOST_OF_A_PERSON} tasks of people. Remove some first.")
    row: dict[str, Any] = {"id": f"user-{new_id()}", "session_id": session_id, "source": "user"}
    row.update(title=clean(title), status=status, description=clean(description), updated_at=time.time(), by=clean(by))
    row["sort_order"] = max(orders, default=-1) + 1
    async with database.write_transaction() as connection:
        await connection.execute(insert(tasks).values(row))
    return TaskRow(**row)


async def change_task(database: Database, id: str, *, by: str, **given: Any) -> TaskRow:
    """Change a task of a person; fields that are None keep their value.

    Raises:
        ApiError: `not_found`; `conflict` for an agent's task.
    """
    values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in values.items():
        values[name] = clamp_integer(value) if isinstance(value, int) else clean(value)
    await _own(database, id)
    values.update(updated_at=time.time(), by=clean(by))
    async with database.write_transaction() as connection:
        await connection.execute(update(tasks).where(tasks.c.id == id, tasks.c.source == "user").values(values))
    return await _own(database, id)


async def remove_task(database: Database, id: str) -> TaskRow:
    """Remove a task of a person and return it.

    Raises:
        ApiError: `not_found`; `conflict` for an agent's task.
    """
    task = await _own(database, id)
    async with database.write_transaction() as connection:
        await connection.execute(delete(tasks).where(tasks.c.id == id, tasks.c.source == "user"))
    return task


async def _own(database: Database, id: str) -> TaskRow:
    async with database.read_transaction() as connection:
        row = (await connection.execute(select(tasks).where(tasks.c.id == clean(id)))).mappings().one_or_none()
    if row is None:
        raise ApiError("not_found", f"There is no task {id[:80]}.")
    if row["source"] != "user":
        text = (
            "This task belongs to the agent and changes only with its list. Ask the agent, or add a task of your own."
        )
        raise ApiError("conflict", text)
    return _task(row)


def _task(row: RowMapping) -> TaskRow:
    return TaskRow(**row)
