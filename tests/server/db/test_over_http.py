"""Tasks, search, usage and audit over HTTP, on a whole server with either database."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bobstay.model.event import MessageDone, Noted, Prompted, Task, TasksReplaced
from bobstay.model.message import Text, Usage
from bobstay.server.db import state_tables
from bobstay.sessions.log import SessionMissing
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.api.place import Place


@pytest.fixture
async def place(url: str, model: ModelServer, tmp_path: Path) -> AsyncIterator[Place]:
    async with Place(model, tmp_path, database=url) as made:
        yield made


async def session(place: Place, *events: Any) -> str:
    """A session nobody works on, in which `events` happened."""
    id = await place.launch()
    for event in events:
        place.console.registry.open(id).record(event)
    return id


async def test_tasks_of_agents_are_read_and_those_of_people_changed(place: Place) -> None:
    """S002-2, S002-3, S002-9: what the agent said is there at once, whoever looks."""
    id = await session(place, TasksReplaced((Task("theirs", "in_progress", "Doing theirs"),)))
    listed = (await place.get(f"/api/v1/sessions/{id}/tasks")).json["tasks"]
    assert [(task["id"], task["title"], task["description"]) for task in listed] == [
        (f"sdk-{id}-0", "theirs", "Doing theirs")
    ]
    made = await place.post(f"/api/v1/sessions/{id}/tasks", {"title": "mine"})
    assert (made.status, made.json["source"], made.json["by"]) == (201, "user", "ada")
    changed = await place.ask("PATCH", f"/api/v1/tasks/{made.json['id']}", {"status": "completed", "sort_order": 7})
    assert (changed.status, changed.json["status"], changed.json["title"]) == (200, "completed", "mine")
    both = (await place.get(f"/api/v1/tasks?session_id={id}")).json["tasks"]
    assert [task["title"] for task in both] == ["theirs", "mine"]
    assert both == (await place.get("/api/v1/tasks")).json["tasks"]
    for method, body in (("PATCH", {"title": "x"}), ("DELETE", None)):
        refused = await place.ask(method, f"/api/v1/tasks/sdk-{id}-0", body)
        assert (refused.status, refused.json["error"]["code"]) == (409, "conflict")
    assert (await place.ask("DELETE", f"/api/v1/tasks/{made.json['id']}")).status == 204
    assert (await place.ask("DELETE", f"/api/v1/tasks/{made.json['id']}")).status == 404


async def test_bad_requests_about_tasks_say_what_is_wrong(place: Place) -> None:
    id = await session(place)
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
        reply = await place.ask(method, path, body)
        assert (reply.status, bool(reply.json["error"]["message"])) == (status, True), (method, path)


async def test_search_finds_what_was_just_said(place: Place) -> None:
    """S003-44."""
    id = await session(place, Prompted("p", (Text("where is the <b>octopus</b>?"),)))
    found = (await place.get(f"/api/v1/search?q=octopus&session_id={id}")).json
    hit = next(hit for hit in found["hits"] if hit["kind"] == "text")
    start, end = hit["excerpt"]["marks"][0]
    assert (hit["session_id"], hit["excerpt"]["text"][start:end]) == (id, "octopus")
    for query in ('"', "%27%20OR", quote("a:* & !b"), "%00", "%F0%9F%98%80", "x" * 900):
        assert (await place.get(f"/api/v1/search?q={query}")).status == 200
    for bad in ("limit=0", "limit=x", "q=" + "x" * 1_001, "q=a&cursor=b"):
        assert (await place.get(f"/api/v1/search?{bad}")).status == 422
    assert (await place.get("/api/v1/search?q=a&session_id=nowhere")).status == 404


async def test_usage_is_summed_up(place: Place) -> None:
    """S000-34."""
    id = await session(place, MessageDone("m", "sonnet", "end_turn", Usage(100_000, 10, 51_200), 0.25))
    await place.console.database.flushed(id, place.view(id).seq)
    by_session = (await place.get("/api/v1/usage?group=session")).json
    assert [(group["key"], group["cost"], group["level"]) for group in by_session["groups"]] == [(id, 0.25, "critical")]
    assert by_session["total"]["cache_hit_rate"] == 51_200 / 151_200
    assert (await place.get("/api/v1/usage?from=2001-01-01&to=2001-12-31")).json["groups"] == []
    for bad in ("group=colour", "from=yesterday", "to=2024-13-01"):
        assert (await place.get(f"/api/v1/usage?{bad}")).status == 422


async def test_the_audit_trail_is_for_admins(place: Place) -> None:
    id = await session(place)
    await place.post(f"/api/v1/sessions/{id}/tasks", {"title": "mine"})
    await place.console.database.audit.written()
    entries = (await place.get("/api/v1/audit?what=add_task")).json["entries"]
    assert [entry["who"] for entry in entries] == ["ada"]
    page = (await place.get("/api/v1/audit?limit=1")).json
    older = (await place.get(f"/api/v1/audit?limit=1&before={page['before']}")).json
    assert page["entries"][0]["id"] > older["entries"][0]["id"]
    reader = await place.token("read", "operate")
    assert (await place.get("/api/v1/audit", headers=reader)).status == 403
    assert (await place.get("/api/v1/tasks", headers=reader)).status == 200
    assert (await place.get("/api/v1/audit?before=0")).status == 422


async def test_variables_of_a_session_go_with_its_children_and_go_when_it_goes(
    place: Place, model: ModelServer
) -> None:
    """FM-56: a child is run as its parent was; of what was deleted no secret stays in the database."""

    def writing(name: str) -> str:
        call = Call("Bash", {"command": f'printf %s "$OWN_WORD" > {place.work / name}'}, name)
        return model.play(name, Step(blocks=[call]), Step(blocks=[Say("ok")]))

    config = {"env": {"OWN_WORD": "very private"}, "allowed_tools": ["Bash", "Edit"]}
    parent = await place.launch(writing("parent"), **config)
    await place.until_status(parent, "completed")
    children: list[str] = []
    for name, how in (("continued", "continue"), ("forked", "fork")):
        reply = await place.post(f"/api/v1/sessions/{parent}/{how}", {"prompt": writing(name)})
        assert reply.status == 201, reply.body
        children.append(reply.json["id"])
        await place.until_status(children[-1], "completed")
    assert [(place.work / name).read_text() for name in ("parent", "continued", "forked")] == ["very private"] * 3
    for id in (parent, *children):
        assert await state_tables.environment(place.console.database, id) == config["env"]
        assert (await place.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204
        assert await state_tables.environment(place.console.database, id) == {}


async def test_what_was_kept_of_a_deleted_session_for_those_who_follow_goes_too(place: Place) -> None:
    id = await session(place, *(Noted(f"{number}") for number in range(300)))
    history = place.built.streams.history
    page = await history.page(id, 0, 300)
    assert await history.page(id, 0, 300) is page
    assert (await place.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204
    with pytest.raises(SessionMissing):
        await history.page(id, 0, 300)
