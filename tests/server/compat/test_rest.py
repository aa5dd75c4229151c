"""The routes of the first console, word by word (S000-44..48, S000-93; S002-3)."""

from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Call, Counts, Gate, Say, Step
from tests.modelserver.server import ModelServer

TOKENS = {
    "inputTokens",
    "outputTokens",
    "cacheReadInputTokens",
    "cacheCreationInputTokens",
    "effectiveContextTokens",
}


async def test_a_session_is_launched_as_its_first_page_did_it(server: RunningConsole, model: ModelServer) -> None:
    """S000-44, S000-47, S000-31, S000-32: in camelCase, with all the fields that page's types name."""
    step = Step(blocks=[Say("hello")], usage=Counts(100, 20, 30, 40))
    query = model.play("one", step)
    body = {
        "query": query,
        "workflowMode": "research",
        "model": "sonnet",
        "workingDir": str(server.work),
        "maxTurns": 7,
    }
    reply = await server.post("/api/sessions", body)
    session = reply.json
    assert reply.status == 200
    assert session["status"] in ("starting", "running")
    assert session["config"]["query"] == query
    assert session["config"]["workflowMode"] == "research"
    assert session["config"]["workingDir"] == str(server.work)
    assert (session["config"]["maxTurns"], session["config"]["outputFormat"]) == (7, "stream-json")
    assert session["startTime"].endswith("Z")
    assert "errorMessage" not in session
    await server.until_status(session["id"], "completed")
    after = (await server.get(f"/api/sessions/{session['id']}")).json
    assert after["status"] == "completed"
    assert after["completedAt"] >= after["startTime"]
    assert set(after["tokenUsage"]) == TOKENS
    assert after["tokenUsage"]["effectiveContextTokens"] == 190
    assert (after["tokenUsage"]["inputTokens"], after["tokenUsage"]["cacheReadInputTokens"]) == (100, 30)
    assert after["contextLimit"] > 0
    assert after["numTurns"] == 1


async def test_the_other_spelling_is_understood_too(server: RunningConsole, model: ModelServer) -> None:
    query = model.play("one", Step(blocks=[Say("hello")]))
    body = {"query": query, "workflow_mode": "plan", "working_dir": str(server.work), "max_turns": 3}
    config = (await server.post("/api/sessions", body)).json["config"]
    assert (config["workflowMode"], config["workingDir"], config["maxTurns"]) == ("plan", str(server.work), 3)


async def test_what_is_not_said_has_the_defaults_of_the_seed(server: RunningConsole, model: ModelServer) -> None:
    """S000-30, S000-37: a hundred turns, chat; a place sessions may work in."""
    config = (await server.post("/api/sessions", {"query": model.play("one", Step(blocks=[Say("hi")]))})).json["config"]
    assert (config["workflowMode"], config["maxTurns"]) == ("chat", 100)
    assert config["workingDir"] == str(server.work.parent)


async def test_going_on_makes_a_child_and_the_list_shows_leaves(server: RunningConsole, model: ModelServer) -> None:
    """S000-45, S000-48, S000-27..29."""
    first = (
        await server.post("/api/sessions", {"query": model.play("one", Step(blocks=[Say("1")])), "maxTurns": 5})
    ).json
    await server.until_status(first["id"], "completed")
    reply = await server.post(
        f"/api/sessions/{first['id']}/continue", {"query": model.play("two", Step(blocks=[Say("2")]))}
    )
    child = reply.json
    assert reply.status == 200
    assert (child["parentSessionId"], child["id"] != first["id"]) == (first["id"], True)
    assert child["config"]["maxTurns"] == 100, "not inherited (S000-28)"
    await server.until_status(child["id"], "completed")
    assert [entry["id"] for entry in (await server.get("/api/sessions")).json] == [child["id"]]
    assert {entry["id"] for entry in (await server.get("/api/sessions?leaves=false")).json} == {
        first["id"],
        child["id"],
    }


async def test_an_interrupt_answers_success(server: RunningConsole, model: ModelServer) -> None:
    """S000-46, S000-25."""
    gate = Gate()
    query = model.play("long", Step(blocks=[Say("wait")], gate=gate))
    id = (await server.post("/api/sessions", {"query": query})).json["id"]
    await gate.reached()
    reply = await server.ask("POST", f"/api/sessions/{id}/interrupt")
    assert (reply.status, reply.json) == (200, {"success": True})
    await server.until_status(id, "interrupted")
    gate.open()


async def test_errors_are_words_under_error_with_the_right_status(server: RunningConsole, model: ModelServer) -> None:
    """S000-93 D: never a 500; S000-47: the very words of the seed."""
    missing = await server.get("/api/sessions/none")
    assert (missing.status, missing.json["error"]) == (404, "Session not found")
    parent = await server.post("/api/sessions/none/continue", {"query": "x"})
    assert (parent.status, parent.json["error"]) == (404, "Parent session not found")
    stopped = await server.ask("POST", "/api/sessions/none/interrupt")
    assert (stopped.status, stopped.json["error"]) == (404, "Session not found or not running")
    gate = Gate()
    id = (await server.post("/api/sessions", {"query": model.play("g", Step(blocks=[Say("x")], gate=gate))})).json["id"]
    await gate.reached()
    early = await server.post(f"/api/sessions/{id}/continue", {"query": "more"})
    assert (early.status, early.json["error"]) == (409, "Cannot continue session with status running")
    gate.open()
    await server.until_status(id, "completed")
    late = await server.ask("POST", f"/api/sessions/{id}/interrupt")
    assert (late.status, late.json["error"]) == (409, "Session not found or not running")


async def test_bad_bodies_are_refused_with_words(server: RunningConsole) -> None:
    for body, status in (
        (b"{", 400),
        ({}, 422),
        ({"query": "  "}, 422),
        ({"query": 3}, 422),
        ({"query": "x", "workflowMode": "dance"}, 422),
        ({"query": "x", "maxTurns": -1}, 422),
        ({"query": "x", "workingDir": "/etc"}, 403),
        ({"query": "x", "workingDir": str(server.work / "none")}, 404),
    ):
        reply = await server.post("/api/sessions", body)
        assert (reply.status, isinstance(reply.json["error"], str)) == (status, True), (body, reply.body)
    plain = await server.post("/api/sessions", {"query": "x"}, headers={**server.headers, "Content-Type": "text/plain"})
    assert plain.status == 415
    assert not server.registry.views, "nothing was begun"


async def test_the_doors_are_the_same(server: RunningConsole) -> None:
    """FM-40, FM-44: no route of the seeds is open, and reading is not operating."""
    reader = await server.token("read")
    for method, path in (("GET", "/api/sessions"), ("GET", "/api/tasks"), ("POST", "/api/sessions")):
        assert (await server.ask(method, path, headers={})).status == 401
    assert (await server.get("/api/sessions", headers=reader)).status == 200
    refused = await server.post("/api/sessions", {"query": "x"}, headers=reader)
    assert (refused.status, isinstance(refused.json["error"], str)) == (403, True)


async def test_tasks_have_the_names_of_the_bridge(server: RunningConsole, model: ModelServer) -> None:
    """S002-3..6: ids with the whole session id and the index; content, activeForm and order by its columns."""
    todos = [
        {"content": "Look", "status": "completed", "activeForm": "Looking"},
        {"content": "Leap", "status": "pending", "activeForm": "Leaping"},
    ]
    query = model.play("todo", Step(blocks=[Call("TodoWrite", {"todos": todos}, "t")]), Step(blocks=[Say("ok")]))
    id = (await server.post("/api/sessions", {"query": query})).json["id"]
    await server.until_status(id, "completed")
    rows = (await server.get(f"/api/tasks?session_id={id}")).json["tasks"]
    assert rows == [
        {
            "id": f"sdk-{id}-{index}",
            "session_id": id,
            "source": "sdk",
            "title": todo["content"],
            "status": todo["status"],
            "description": todo["activeForm"],
            "sort_order": index,
        }
        for index, todo in enumerate(todos)
    ]
    assert (await server.get("/api/tasks?session_id=none")).status == 404
    assert len((await server.get("/api/tasks")).json["tasks"]) == 2
