"""Health, metrics, settings, projects and workers over HTTP."""

import re
import time
from pathlib import Path

from bobstay.config.environment import Environment
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

LINE = re.compile(r'bobstay_\w+(\{\w+="[^"\n]*"\})? -?[\d.e+]+')


async def numbers(server: RunningConsole) -> dict[str, float]:
    reply = await server.get("/metrics")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in reply.text.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


async def test_health_tells_nobody_more_than_that(server: RunningConsole) -> None:
    for path in ("/health", "/api/v1/health"):
        reply = await server.get(path, headers={})
        assert (reply.status, reply.json) == (200, {"status": "ok"})


async def test_metrics_count_sessions_slots_questions_and_events(server: RunningConsole, model: ModelServer) -> None:
    gate = Gate()
    running = await server.launch(model.play("g", Step(blocks=[Say("x")], gate=gate)))
    await gate.reached()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"}, "c")]), Step(blocks=[Say("ok")]))
    asking = await server.launch(prompt)
    await server.until_status(asking, "waiting_input")
    before = await numbers(server)
    assert before['bobstay_sessions{status="running"}'] == 1
    assert before['bobstay_sessions{status="waiting_input"}'] == 1
    assert before['bobstay_sessions{status="failed"}'] == 0
    assert before["bobstay_interactions_open"] == 1
    assert before["bobstay_slots_running"] >= 1
    assert before["bobstay_slots_waiting"] == 0
    assert before["bobstay_clients_connected"] == 0
    assert before["bobstay_resident_memory_bytes"] > 10_000_000
    assert before["bobstay_database_up"] == 1
    gate.open()
    await server.until_status(running, "completed")
    after = await numbers(server)
    assert after["bobstay_events_appended_total"] > before["bobstay_events_appended_total"] > 5
    assert after['bobstay_session_transitions_total{status="completed"}'] == 1
    assert after["bobstay_uptime_seconds"] > 0


async def test_metrics_are_for_those_who_may_read(server: RunningConsole) -> None:
    approver = await server.token("approve")
    assert (await server.get("/metrics", headers={})).status == 401
    assert (await server.get("/metrics", headers=approver)).status == 403


async def test_a_page_is_told_all_it_must_keep_to(server: RunningConsole) -> None:
    """FM-4: both ends take their times from here. S000-34, S000-36, S000-37."""
    config = (await server.get("/api/v1/config")).json
    assert config["timing"]["silence"] > 2 * config["timing"]["heartbeat"]
    assert config["thresholds"] == {
        "warning": {"at": 0.6, "text": "Approaching context limit (60%)"},
        "critical": {"at": 0.9, "text": "Context nearly full (90%). Consider starting a new session."},
    }
    assert [mode["label"] for mode in config["workflows"]] == ["Chat", "Research", "Plan", "Review Plan", "Implement"]
    assert all(mode["description"] and mode["details"] for mode in config["workflows"])
    assert "bypassPermissions" in [mode["name"] for mode in config["permission_modes"]]
    assert {"opus", "sonnet", "haiku"} <= {model["alias"] for model in config["models"]}
    assert config["engines"] == ["native", "claude"]
    assert config["limits"]["running"] == 8
    assert config["default_max_turns"] == 100
    assert config["version"]
    assert len(config["server_id"]) > 8
    assert config["roots"] == [str(server.work.parent)]
    assert config["bypass"] == {"mode": "bypassPermissions", "default_minutes": 60, "most_minutes": 1440}
    assert config["limits"]["image_bytes"] * 4 / 3 < config["limits"]["body_bytes"]
    assert "image/png" in config["limits"]["image_types"]
    modes = {mode["name"]: mode for mode in config["permission_modes"]}
    assert all(mode["label"] != name and mode["description"].endswith(".") for name, mode in modes.items())
    assert [name for name, mode in modes.items() if mode["timed"]] == ["bypassPermissions"]
    assert modes["default"]["needs_approve"] is False
    assert modes["bypassPermissions"]["needs_approve"] is True


async def test_a_page_is_told_what_is_installed_and_what_has_a_key(model: ModelServer, tmp_path: Path) -> None:
    engines = {"here": ("sh",), "gone": ("no-such-program",)}
    async with RunningConsole(model, tmp_path, engines=engines) as server:
        config = (await server.get("/api/v1/config")).json
        assert config["engines"] == ["native", "here", "gone"]
        assert [engine["installed"] for engine in config["engine_options"]] == [True, True, False]
        assert "no-such-program" in config["engine_options"][2]["problem"]
        models = {each["alias"]: each for each in config["models"]}
        assert models["sonnet"]["available"] is True
        assert models["demo"]["available"] is True
        assert config["default_model"] == "sonnet"
    other = RunningConsole(model, tmp_path)
    other.environment = Environment.read({"HOME": str(tmp_path)})
    async with other as server:
        bare = (await server.get("/api/v1/config")).json
        without = {each["alias"]: each for each in bare["models"]}
        assert (without["sonnet"]["available"], without["demo"]["available"]) == (False, True)
        assert "ANTHROPIC_API_KEY" in without["sonnet"]["problem"]
        assert bare["default_model"] == ""


async def test_projects_and_recent_directories_are_those_of_sessions(
    server: RunningConsole, model: ModelServer
) -> None:
    other = server.work / "other"
    other.mkdir()
    first = await server.launch()
    await server.launch()
    await server.launch("", cwd=str(other))
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"}, "c")]), Step(blocks=[Say("ok")]))
    await server.until_status(await server.launch(prompt), "waiting_input")
    assert (await server.ask("PATCH", f"/api/v1/sessions/{first}", {"archived": True})).status == 200
    projects = {project["path"]: project for project in (await server.get("/api/v1/projects")).json["projects"]}
    here = projects[str(server.work)]
    counts = {name: here[name] for name in ("name", "sessions", "running", "waiting", "archived")}
    assert counts == {"name": "work", "sessions": 3, "running": 1, "waiting": 1, "archived": 1}
    assert projects[str(other)]["sessions"] == 1
    recent = (await server.get("/api/v1/recent-dirs")).json["directories"]
    assert [directory["path"] for directory in recent] == [str(server.work), str(other)]


async def test_a_worker_is_seen_stopped_and_started_anew(server: RunningConsole, model: ModelServer) -> None:
    """S003-25, S004-41: the same id, the next epoch; what it talked about is kept."""
    id = await server.launch(model.play("one", Step(blocks=[Say("First.")])))
    await server.until_status(id, "completed")
    (state,) = (await server.get(f"/api/v1/sessions/{id}/workers")).json["workers"]
    worker = state["worker"]["id"]
    assert (state["alive"], state["desired"], state["worker"]["kind"]) == (True, "running", "native")
    stopped = await server.post(f"/api/v1/sessions/{id}/workers/{worker}/stop")
    assert (stopped.status, stopped.json["alive"]) == (200, False)
    again = (await server.post(f"/api/v1/sessions/{id}/workers/{worker}/restart")).json
    assert (again["alive"], again["worker"]["id"], again["worker"]["epoch"]) == (True, worker, 2)
    body = {"content": model.play("two", Step(blocks=[Say("Second.")]))}
    assert (await server.post(f"/api/v1/sessions/{id}/messages", body)).status == 202
    await server.until(id, lambda view: view.turns == 2 and view.status == "completed")
    assert "First." in str(model.requests[-1].body["messages"])


async def test_the_record_of_an_agent_tells_what_it_does_and_what_it_should_do(
    server: RunningConsole, model: ModelServer
) -> None:
    """S003-25"""
    gate = Gate()
    todos = [
        {"content": "Look", "status": "completed", "activeForm": "Looking"},
        {"content": "Mend it", "status": "in_progress", "activeForm": "Mending it"},
    ]
    steps = Step(blocks=[Call("TodoWrite", {"todos": todos}, "t")]), Step(blocks=[Say("Mended.")], gate=gate)
    id = await server.launch(model.play("tasks", *steps))
    await gate.reached()
    began = time.time()
    await server.runner.reconcile(id)
    (state,) = (await server.get(f"/api/v1/sessions/{id}/workers")).json["workers"]
    assert (state["activity"], state["desired"], state["failures"]) == ("active", "running", 0)
    assert state["current_task"] == {"id": f"sdk-{id}-1", "title": "Mend it"}
    assert state["current_task"]["id"] in str((await server.get(f"/api/v1/sessions/{id}/tasks")).json)
    assert state["heartbeat"] >= began
    assert state["reconciled_at"] >= began
    gate.open()
    await server.until_status(id, "completed")
    (state,) = (await server.get(f"/api/v1/sessions/{id}/workers")).json["workers"]
    assert state["activity"] == "idle"


async def test_stopping_a_worker_interrupts_its_turn(server: RunningConsole, model: ModelServer) -> None:
    gate = Gate()
    id = await server.launch(model.play("g", Step(blocks=[Say("x")], gate=gate)))
    await gate.reached()
    worker = server.view(id).workers[0].id
    assert (await server.post(f"/api/v1/sessions/{id}/workers/{worker}/stop")).status == 200
    assert server.view(id).status == "interrupted"
    gate.open()


async def test_unknown_workers_are_not_found(server: RunningConsole) -> None:
    id = await server.launch()
    assert (await server.get("/api/v1/sessions/none/workers")).status == 404
    reply = await server.post(f"/api/v1/sessions/{id}/workers/none/restart")
    assert (reply.status, reply.json["error"]["code"]) == (404, "not_found")
    reader = await server.token("read")
    assert (await server.post(f"/api/v1/sessions/{id}/workers/none/stop", headers=reader)).status == 403


async def test_a_title_of_more_than_five_hundred_characters_is_refused(server: RunningConsole) -> None:
    """It is in every list that anybody loads."""
    body = {"cwd": str(server.work), "title": "t" * 501}
    refused = await server.post("/api/v1/sessions", body)
    assert (refused.status, refused.json["error"]["code"]) == (422, "invalid"), refused.body
    id = await server.launch(title="t" * 500)
    refused = await server.ask("PATCH", f"/api/v1/sessions/{id}", {"title": "t" * 501})
    assert (refused.status, refused.json["error"]["code"]) == (422, "invalid")
    assert server.view(id).title == "t" * 500
