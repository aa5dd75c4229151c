"""A first visit: the demo project, where the server was started, and directories that are added in the page."""

import json
import os
import subprocess
from pathlib import Path

from msgspec.structs import replace

from tests.kit.consoles import RunningConsole
from tests.modelserver.server import ModelServer


async def test_the_demo_asks_once_edits_once_and_ends_with_a_green_test(server: RunningConsole) -> None:
    started = await server.post("/api/v1/demo")
    assert started.status == 201, started.body
    id, folder = started.json["id"], Path(started.json["cwd"])
    assert folder.parent == server.work.parent
    assert subprocess.run(["python3", "test_greeting.py"], cwd=folder, capture_output=True, check=False).returncode
    waiting = await server.until_status(id, "waiting_input")
    (asked,) = waiting.interactions
    answered = await server.post(
        f"/api/v1/interactions/{asked.id}/decision", {"decision": "allow", "input_sha256": asked.input_sha256}
    )
    assert answered.status == 200, answered.body
    done = await server.until_status(id, "completed", "failed", "waiting_input")
    assert (done.status, done.interactions) == ("completed", ())
    events = [entry["event"] for entry in (await server.get(f"/api/v1/sessions/{id}/events")).json["events"]]
    assert len([event for event in events if event["type"] == "interaction_opened"]) == 1
    assert "passes now" in json.dumps(events)
    subprocess.run(["python3", "test_greeting.py"], cwd=folder, check=True, capture_output=True)
    files = (await server.get(f"/api/v1/sessions/{id}/diff")).json["files"]
    assert [file["path"] for file in files] == ["greeting.py"]


async def test_a_second_demo_has_a_directory_of_its_own(server: RunningConsole) -> None:
    first, second = [(await server.post("/api/v1/demo")).json["cwd"] for _ in range(2)]
    assert (os.path.basename(first), os.path.basename(second)) == ("bobstay-demo", "bobstay-demo-2")


async def test_a_demo_project_is_not_proposed_for_the_next_session(server: RunningConsole) -> None:
    demo = (await server.post("/api/v1/demo")).json
    await server.until_status(demo["id"], "waiting_input")
    assert (await server.get("/api/v1/recent-dirs")).json["directories"] == []
    await server.post("/api/v1/sessions", {"cwd": demo["cwd"], "model": "sonnet"})
    found = (await server.get("/api/v1/recent-dirs")).json["directories"]
    assert [each["path"] for each in found] == [demo["cwd"]]


async def test_sessions_begin_where_the_server_was_started(model: ModelServer, tmp_path: Path) -> None:
    async with RunningConsole(model, tmp_path) as server:
        config = (await server.get("/api/v1/config")).json
    assert config["start_directory"] == config["roots"][0]  # this very process was started elsewhere
    anywhere = RunningConsole(model, tmp_path)
    anywhere.options = replace(anywhere.options, roots=())
    async with anywhere as server:
        assert (await server.get("/api/v1/config")).json["start_directory"] == os.path.realpath(Path.cwd())


async def test_a_directory_that_was_added_can_be_worked_in_also_after_a_restart(
    model: ModelServer, tmp_path: Path
) -> None:
    beside = tmp_path / "other"
    beside.mkdir()
    inside = tmp_path / "home"
    inside.mkdir()
    async with RunningConsole(model, inside) as server:
        body = {"cwd": str(beside)}
        refused = await server.post("/api/v1/sessions", body)
        assert refused.status == 403
        assert "--" not in refused.json["error"]["message"]
        added = await server.post("/api/v1/roots", {"path": str(beside)})
        assert {"path": str(beside), "added": True} in added.json["roots"]
        assert (await server.post("/api/v1/sessions", body)).status == 201
        works = await server.post("/api/v1/sessions", {**body, "prompt": "hello", "model": "demo"})
        await server.until_status(works.json["id"], "completed")
    async with RunningConsole(model, inside) as again:
        assert (await again.post("/api/v1/sessions", body)).status == 201
        assert (await again.ask("DELETE", "/api/v1/roots", {"path": str(beside)})).status == 200
        assert (await again.post("/api/v1/sessions", body)).status == 403
        few = await again.token("read", "operate", "approve")
        assert (await again.post("/api/v1/roots", {"path": str(beside)}, headers=few)).status == 403
        for path, status in (
            ("relative", 422),
            (str(beside / "gone"), 404),
            ("/proc", 403),
            (again.options.state, 403),
        ):
            assert (await again.post("/api/v1/roots", {"path": path})).status == status, path
