"""Tasks over HTTP: read those of agents, add and change those of people."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db import task_table
from bobstay.server.db.task_table import TaskRow, TaskStatus
from bobstay.server.streams.stream_frames import live, session_topic

Title = Annotated[str, Meta(min_length=1, max_length=2_000)]
Description = Annotated[str, Meta(max_length=20_000)]
Order = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]


class TasksQuery(Struct, frozen=True):
    session_id: str = ""
    """Only the tasks of this session; empty for all."""


class TaskListing(Struct, frozen=True):
    tasks: tuple[TaskRow, ...]


class NewTask(Struct, frozen=True, forbid_unknown_fields=True):
    title: Title
    status: TaskStatus = "pending"
    description: Description = ""


class TaskChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Missing or null fields stay unchanged."""

    title: Title | None = None
    status: TaskStatus | None = None
    description: Description | None = None
    sort_order: Order | None = None


async def list_tasks(call: ApiCall) -> TaskListing:
    """List the tasks of one session or of all."""
    if call.query.session_id:
        return await _of_session(call, call.query.session_id)
    return TaskListing(tuple(await task_table.list_tasks(call.services.database)))


async def list_session_tasks(call: ApiCall) -> TaskListing:
    """List the tasks of a session: those of the agent, then those of people."""
    return await _of_session(call, call.path["id"])


async def add_task(call: ApiCall) -> TaskRow:
    """Add a task to a session."""
    view = call.services.registry.view(call.path["id"])
    body: NewTask = call.body
    task = await task_table.add_task(
        call.services.database,
        view.id,
        body.title,
        by=call.principal.name,
        status=body.status,
        description=body.description,
    )
    await _publish_tasks(call, view.id)
    return task


async def change_task(call: ApiCall) -> TaskRow:
    """Change a task of a person."""
    body: TaskChange = call.body
    given = {"title": body.title, "status": body.status, "description": body.description, "sort_order": body.sort_order}
    task = await task_table.change_task(call.services.database, call.path["id"], by=call.principal.name, **given)
    await _publish_tasks(call, task.session_id)
    return task


async def remove_task(call: ApiCall) -> None:
    """Remove a task of a person."""
    task = await task_table.remove_task(call.services.database, call.path["id"])
    await _publish_tasks(call, task.session_id)


async def _of_session(call: ApiCall, session_id: str) -> TaskListing:
    """Waits for the tables, so that the agent's last change is included."""
    view = call.services.registry.view(session_id)
    await call.services.database.wait_until_indexed(view.id, view.seq)
    return TaskListing(tuple(await task_table.list_tasks(call.services.database, view.id)))


async def _publish_tasks(call: ApiCall, session_id: str) -> None:
    """Publish the current tasks to the session's subscribers."""
    topic = session_topic(session_id)
    if call.services.streams.hub.is_wanted(topic):
        tasks = await task_table.list_tasks(call.services.database, session_id)
        call.services.streams.hub.publish(topic, live("tasks.changed", {"tasks": tasks}, session_id))


ENDPOINTS = (
    Endpoint("GET", "/tasks", list_tasks, query=TasksQuery, returns=TaskListing, errors=("not_found",)),
    Endpoint("GET", "/sessions/{id}/tasks", list_session_tasks, returns=TaskListing, errors=("not_found",)),
    Endpoint(
        "POST",
        "/sessions/{id}/tasks",
        add_task,
        scope="operate",
        body=NewTask,
        returns=TaskRow,
        status=201,
        errors=("not_found", "too_many"),
    ),
    Endpoint(
        "PATCH",
        "/tasks/{id}",
        change_task,
        scope="operate",
        body=TaskChange,
        returns=TaskRow,
        errors=("not_found", "conflict"),
    ),
    Endpoint("DELETE", "/tasks/{id}", remove_task, scope="operate", status=204, errors=("not_found", "conflict")),
)
