"""Tasks, search, usage and audit over HTTP, on a whole server with either database."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import select

from bobstay.model.event import MessageDone, Noted, Prompted, Task, TasksReplaced
from bobstay.model.message import Text, Usage
from bobstay.server.db.own_tables import session_env
from bobstay.sessions.log import SessionMissing
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
async def server(url: str, model: ModelServer, tmp_path: Path) -> AsyncIterator[RunningConsole]:
    async with RunningConsole(model, tmp_path, database=url) as made:
        yield made


async def environment_of(server: RunningConsole, session_id: str) -> dict[str, str]:
    async with server.database.read_transaction() as connection:
        rows = await connection.execute(select(session_env).where(session_env.c.session_id == session_id))
        return {row.name: row.value for row in rows}


async def session(server: RunningConsole, *events: Any) -> str:
    """A session nobody works on, in which `events` happened."""
    id = await server.launch()
    for event in events:
        server.registry.open(id).record(event)
    return id


async def test_tasks_of_agents_are_read_and_those_of_people_changed(server: RunningConsole) -> None:
    """S002-2, S002-3, S002-9: what the agent said is there at once, whoever looks."""
    id = await session(server, TasksReplaced((Task("theirs", "in_progress", "Doing theirs"),)))
    listed = (await server.get(f"/api/v1/sessions/{id}/tasks")).json["tasks"]
    assert [(task["id"], task["title"], task["description"]) for task in listed] == [
        (f"sdk-{id}-0", "theirs", "Doing theirs")
    ]
    made = await server.post(f"/api/v1/sessions/{id}/tasks", {"title": "mine"})
    assert (made.status, made.json["source"], made.json["by"]) == (201, "user", "ada")
    changed = await server.ask("PATCH", f"/api/v1/tasks/{made.json['id']}", {"status": "completed", "sort_order": 7})
    assert (changed.status, changed.json["status"], changed.json["title"]) == (200, "completed", "mine")
    both = (await server.get(f"/api/v1/tasks?session_id={id}")).json["tasks"]
    assert [task["title"] for task in both] == ["theirs", "mine"]
    assert both == (await server.get("/api/v1/tasks")).json["tasks"]
    for method, body in (("PATCH", {"title": "x"}), ("DELETE", None)):
        refused = await server.ask(method, f"/api/v1/tasks/sdk-{id}-0", body)
        assert (refused.status, refused.json["error"]["code"]) == (409, "conflict")
    assert (await server.ask("DELETE", f"/api/v1/tasks/{made.json['id']}")).status == 204
    assert (await server.ask("DELETE", f"/api/v1/tasks/{made.json['id']}")).status == 404


async def test_bad_requests_about_tasks_say_what_is_wrong(server: RunningConsole) -> None:
    id = await session(server)
    for method, path, body, status in (
        ("GET", "/api/v1/tasks?session_id=nowhere", None, 404),
        ("GET", "/api/v1/sessions/nowhere/tasks", None, 404),
        ("POST", "/api/v1/sessions/nowhere/tasks", {"title": "x"}, 404),
        ("POST", f"/api/v1/sessions/{id}/tasks", {"title": ""}, 422),
        ("POST", f"/api/v1/sessions/{id}/tasks", {"title": "x" * 3_000}, 422),
        ("POST", f"/api/v1/sessions/{id}/tasks", {"title": "x", "status": "odd"}, 422),
        ("POST", f"/api/v1/sessions/{id}/tasks", {"title": "x", "source": "sdk"}, 422),
        ("PATCH", "/api/v1/tasks/nothing%00here", {"title": "x"}, 404),
        ("PATCH", "/api/v1/tasks/nothing", {"sort_order": 10**30}, 422),
    ):
        reply = await server.ask(method, path, body)
        assert (reply.status, bool(reply.json["error"]["message"])) == (status, True), (method, path)


async def test_search_finds_what_was_just_said(server: RunningConsole) -> None:
    """S003-44."""
    id = await session(server, Prompted("p", (Text("where is the <b>octopus</b>?"),)))
    found = (await server.get(f"/api/v1/search?q=octopus&session_id={id}")).json
    hit = next(hit for hit in found["hits"] if hit["kind"] == "text")
    start, end = hit["excerpt"]["marks"][0]
    assert (hit["session_id"], hit["excerpt"]["text"][start:end]) == (id, "octopus")
    for query in ('"', "%27%20OR", quote("a:* & !b"), "%00", "%F0%9F%98%80", "x" * 900):
        assert (await server.get(f"/api/v1/search?q={query}")).status == 200
    for bad in ("limit=0", "limit=x", "q=" + "x" * 1_001, "q=a&cursor=b"):
        assert (await server.get(f"/api/v1/search?{bad}")).status == 422
    assert (await server.get("/api/v1/search?q=a&session_id=nowhere")).status == 404


async def test_usage_is_summed_up(server: RunningConsole) -> None:
    """S000-34."""
    id = await session(server, MessageDone("m", "sonnet", "end_turn", Usage(100_000, 10, 51_200), 0.25))
    await server.database.wait_until_indexed(id, server.view(id).seq)
    by_session = (await server.get("/api/v1/usage?group=session")).json
    assert [(group["key"], group["cost"], group["level"]) for group in by_session["groups"]] == [(id, 0.25, "critical")]
    assert by_session["total"]["cache_hit_rate"] == 51_200 / 151_200
    assert (await server.get("/api/v1/usage?from=2001-01-01&to=2001-12-31")).json["groups"] == []
    for bad in ("group=colour", "from=yesterday", "to=2024-13-01"):
        assert (await server.get(f"/api/v1/usage?{bad}")).status == 422


async def test_the_audit_trail_is_for_admins(server: RunningConsole) -> None:
    id = await session(server)
    await server.post(f"/api/v1/sessions/{id}/tasks", {"title": "mine"})
    await server.database.audit.wait_until_written()
    entries = (await server.get("/api/v1/audit?what=add_task")).json["entries"]
    assert [entry["who"] for entry in entries] == ["ada"]
    page = (await server.get("/api/v1/audit?limit=1")).json
    older = (await server.get(f"/api/v1/audit?limit=1&before={page['before']}")).json
    assert page["entries"][0]["id"] > older["entries"][0]["id"]
    reader = await server.token("read", "operate")
    assert (await server.get("/api/v1/audit", headers=reader)).status == 403
    assert (await server.get("/api/v1/tasks", headers=reader)).status == 200
    assert (await server.get("/api/v1/audit?before=0")).status == 422


async def test_variables_of_a_session_go_with_its_children_and_go_when_it_goes(
    server: RunningConsole, model: ModelServer
) -> None:
    """FM-56: a child is run as its parent was; of what was deleted no secret stays in the database."""

    def writing(name: str) -> str:
        call = Call("Bash", {"command": f'printf %s "$OWN_WORD" > {server.work / name}'}, name)
        return model.play(name, Step(blocks=[call]), Step(blocks=[Say("ok")]))

    config = {"env": {"OWN_WORD": "very private"}, "allowed_tools": ["Bash", "Edit"]}
    parent = await server.launch(writing("parent"), **config)
    await server.until_status(parent, "completed")
    children: list[str] = []
    for name, how in (("continued", "continue"), ("forked", "fork")):
        reply = await server.post(f"/api/v1/sessions/{parent}/{how}", {"prompt": writing(name)})
        assert reply.status == 201, reply.body
        children.append(reply.json["id"])
        await server.until_status(children[-1], "completed")
    assert [(server.work / name).read_text() for name in ("parent", "continued", "forked")] == ["very private"] * 3
    for id in (parent, *children):
        assert await environment_of(server, id) == config["env"]
        assert (await server.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204
        assert await environment_of(server, id) == {}


async def test_what_was_kept_of_a_deleted_session_for_those_who_follow_goes_too(server: RunningConsole) -> None:
    id = await session(server, *(Noted(f"{number}") for number in range(300)))
    history = server.streams.history
    page = await history.page(id, 0, 300)
    assert await history.page(id, 0, 300) is page
    assert (await server.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204
    with pytest.raises(SessionMissing):
        await history.page(id, 0, 300)
