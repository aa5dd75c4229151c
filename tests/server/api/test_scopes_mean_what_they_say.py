"""What each scope lets one do, by whichever way: approving, going on from others' sessions, watching, stopping."""

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import InputQueued, ModeChanged, RunDone, SessionStarted
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.model.session_events import Configured, SessionConfig
from bobstay.server import auxiliary_workers
from bobstay.sessions.log_store import LogStore
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"


async def asking(server: RunningConsole, model: ModelServer) -> Any:
    """The interaction of a session that asks to run `touch harmless`."""
    call = Call("Bash", {"command": "touch harmless"}, "c")
    prompt = model.play(f"ask-{new_id()}", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    return (await server.until_status(await server.launch(prompt), "waiting_input")).interactions[0]


@pytest.mark.parametrize(
    ("more", "needed"),
    [
        ({"input": {"command": "touch other"}}, "operate"),
        ({"scope": "user"}, "admin"),
        ({"scope": "project"}, "admin"),
    ],
)
async def test_a_phone_that_only_approves_neither_changes_a_call_nor_keeps_a_rule(
    server: RunningConsole, model: ModelServer, tmp_path: Path, more: dict[str, Any], needed: str
) -> None:
    phone = await server.token("read", "approve")
    entry = await asking(server, model)
    where = f"{API}/interactions/{entry.id}/decision"
    body = {"decision": "allow", "input_sha256": entry.input_sha256}
    refused = await server.post(where, {**body, **more}, headers=phone)
    assert (refused.status, refused.json["error"]["details"]["needed"]) == (403, needed)
    assert (await server.post(where, {**body, "scope": "session"}, headers=phone)).status == 200
    assert not (tmp_path / "bobstay" / "settings.json").exists()
    assert not (server.work / "other").exists()


async def test_a_request_for_permission_takes_no_answers_along(server: RunningConsole, model: ModelServer) -> None:
    """They would become part of the call's input, which takes more than approving."""
    phone = await server.token("read", "approve")
    entry = await asking(server, model)
    body = {"decision": "allow", "input_sha256": entry.input_sha256, "answers": {"command": "touch other"}}
    refused = await server.post(f"{API}/interactions/{entry.id}/decision", body, headers=phone)
    assert (refused.status, refused.json["error"]["code"]) == (422, "invalid")


async def test_the_same_input_sent_back_is_no_change(server: RunningConsole, model: ModelServer) -> None:
    phone = await server.token("read", "approve")
    entry = await asking(server, model)
    body = {"decision": "allow", "input_sha256": entry.input_sha256, "input": {"command": "touch harmless"}}
    assert (await server.post(f"{API}/interactions/{entry.id}/decision", body, headers=phone)).status == 200


@pytest.mark.parametrize(
    "config",
    [{"permission_mode": "bypassPermissions"}, {"allowed_tools": ["Bash"]}, {"env": {"MY_FLAGS": "x"}}],
    ids=str,
)
async def test_going_on_from_a_session_that_asks_less_needs_approve(
    server: RunningConsole, config: dict[str, Any]
) -> None:
    operate = await server.token("read", "operate")
    await going_on_needs_approve(server, await server.launch(**config), operate)


async def ended(server: RunningConsole, id: str) -> None:
    session = await server.registry.acquire(id)
    session.record(RunDone("completed"))
    server.runner.release(id)


async def going_on_needs_approve(server: RunningConsole, id: str, operate: dict[str, str]) -> None:
    await ended(server, id)
    for where in (f"{API}/sessions/{id}/fork", f"{API}/sessions/{id}/continue"):
        refused = await server.post(where, {}, headers=operate)
        assert (refused.status, refused.json["error"]["details"]["needed"]) == (403, "approve"), where
        assert (await server.post(where, {})).status == 201
    old = await server.post(f"/api/sessions/{id}/continue", {"query": "go"}, headers=operate)
    assert (old.status, old.json["code"]) == (403, "forbidden")


async def test_going_on_from_a_session_with_mcp_servers_needs_approve(model: ModelServer, tmp_path: Path) -> None:
    """They are programs that somebody chose, and the child starts them too."""
    async with RunningConsole(model, tmp_path, engines={"other": ("true",)}) as server:
        operate = await server.token("read", "operate")
        id = await server.launch(engine="other", mcp_config={"mine": {"command": "a-server"}})
        assert server.view(id).config.mcp_servers == ("mine",)
        await going_on_needs_approve(server, id, operate)


@pytest.mark.parametrize("mode", ["acceptEdits", "auto"])
async def test_going_on_from_a_session_that_came_to_ask_less_needs_approve(server: RunningConsole, mode: str) -> None:
    """An agent changes its mode itself, when a plan is approved for example: what was configured says nothing of it."""
    operate = await server.token("read", "operate")
    id = await server.launch(permission_mode="plan")
    session = await server.registry.acquire(id)
    session.record(ModeChanged(mode))
    assert (server.view(id).config.permission_mode, server.view(id).permission_mode) == ("plan", mode)
    await going_on_needs_approve(server, id, operate)


async def test_who_only_operates_goes_on_in_a_mode_that_asks_more(server: RunningConsole) -> None:
    operate = await server.token("read", "operate")
    id = await server.launch(permission_mode="acceptEdits")
    await ended(server, id)
    where = f"{API}/sessions/{id}/continue"
    made = await server.post(where, {"permission_mode": "default"}, headers=operate)
    assert made.status == 201
    await ended(server, made.json["id"])
    for mode in ("acceptEdits", "auto", "bypassPermissions"):
        again = await server.post(
            f"{API}/sessions/{made.json['id']}/continue", {"permission_mode": mode}, headers=operate
        )
        assert (again.status, again.json["error"]["details"]["needed"]) == (403, "approve"), mode


async def test_a_plain_session_is_gone_on_from_with_operate(server: RunningConsole) -> None:
    operate = await server.token("read", "operate")
    id = await server.launch()
    assert (await server.post(f"{API}/sessions/{id}/fork", {}, headers=operate)).status == 201


async def test_a_session_that_only_reads_is_let_write_by_those_who_approve(server: RunningConsole) -> None:
    operate = await server.token("read", "operate")
    where = f"{API}/sessions/{await server.launch(workflow='research')}"
    assert (await server.ask("PATCH", where, {"workflow": "implement"}, operate)).status == 403
    assert (await server.post(where + "/continue", {"workflow": "implement"}, headers=operate)).status == 403
    assert (await server.ask("PATCH", where, {"workflow": "plan"}, operate)).status == 200
    assert (await server.ask("PATCH", where, {"workflow": "implement"})).status == 200
    assert (await server.ask("PATCH", where, {"workflow": "research"}, operate)).status == 200


async def test_no_agent_is_set_to_work_outside_the_roots(model: ModelServer, tmp_path: Path) -> None:
    """A session of the command line may have been held anywhere."""
    (tmp_path / "inside").mkdir()
    outside, id = tmp_path.parent / f"{tmp_path.name}-outside", new_id()
    outside.mkdir()
    log = LogStore(str(tmp_path / "inside" / "bobstay" / "sessions")).create(id, SessionStarted(str(outside), "1", ""))
    log.append(Configured(SessionConfig()))
    log.append(RunDone("completed"))
    log.close()
    async with RunningConsole(model, tmp_path / "inside") as server:
        for where, body in (
            (f"{API}/sessions/{id}/continue", {"prompt": "hi"}),
            (f"{API}/sessions/{id}/fork", {"prompt": "hi"}),
            (f"{API}/sessions/{id}/messages", {"content": "hi"}),
            (f"/api/sessions/{id}/continue", {"query": "hi"}),
        ):
            assert (await server.post(where, body)).status == 403, where
    assert model.requests == []


async def test_a_session_outside_the_roots_is_not_taken_up_by_a_new_server(model: ModelServer, tmp_path: Path) -> None:
    """An earlier server may have had other roots."""
    (tmp_path / "inside").mkdir()
    outside, id = tmp_path.parent / f"{tmp_path.name}-outside", new_id()
    outside.mkdir()
    log = LogStore(str(tmp_path / "inside" / "bobstay" / "sessions")).create(id, SessionStarted(str(outside), "1", ""))
    log.append(Configured(SessionConfig()))
    log.append(InputQueued(new_id(), (Text(model.play("outside", Step(blocks=[Say("ok")]))),), "queue"))
    log.close()
    async with RunningConsole(model, tmp_path / "inside") as server:
        view = await server.until_status(id, "failed")
        assert "outside the directories" in view.workers[-1].error
        restarted = await server.post(f"{API}/sessions/{id}/workers/{view.workers[-1].id}/restart")
        assert restarted.json["error"]["code"] == "cannot_start"
        assert view.queued, "there is something to try again"
        retried = await server.post(f"{API}/sessions/{id}/retry")
        assert (retried.status, retried.json["error"]["code"]) == (403, "forbidden")
    assert model.requests == []


async def test_watching_changes_writes_nothing(server: RunningConsole) -> None:
    reader = await server.token("read")
    subprocess.run(["git", "init", "-q", str(server.work)], check=True)
    id = await server.launch()
    before = server.view(id)
    assert (await server.post(f"{API}/sessions/{id}/watch", headers=reader)).status == 200
    assert server.view(id) == before
    assert server.registry.get_open(id) is None, "its log is not held"


async def test_of_many_terminals_opened_at_once_only_so_many_come_up(server: RunningConsole, monkeypatch: Any) -> None:
    monkeypatch.setattr(auxiliary_workers, "MOST_TERMINALS", 3)
    id = await server.launch()
    made = await asyncio.gather(*(server.post(f"{API}/sessions/{id}/terminals", {}) for _ in range(8)))
    assert sorted(reply.status for reply in made) == [201] * 3 + [429] * 5
    await server.auxiliary_workers.stop_session(id)


async def test_a_terminal_is_stopped_with_the_same_scope_by_both_ways(server: RunningConsole) -> None:
    operate, terminal = await server.token("read", "operate"), await server.token("read", "terminal")
    id = await server.launch()
    opened = (await server.post(f"{API}/sessions/{id}/terminals", {})).json["id"]
    stop = f"{API}/sessions/{id}/workers/{opened}/stop"
    assert (await server.post(stop, headers=operate)).status == 403
    assert (await server.ask("DELETE", f"{API}/terminals/{opened}", headers=operate)).status == 403
    assert (await server.post(stop, headers=terminal)).status == 200


async def test_an_agent_is_stopped_by_those_who_operate_and_not_by_those_who_have_a_terminal(
    server: RunningConsole,
) -> None:
    operate, terminal = await server.token("read", "operate"), await server.token("read", "terminal")
    id = await server.launch("hello", model="demo")
    (agent,) = (await server.until_status(id, "completed")).workers
    stop = f"{API}/sessions/{id}/workers/{agent.id}/stop"
    refused = await server.post(stop, headers=terminal)
    assert (refused.status, refused.json["error"]["details"]["needed"]) == (403, "operate")
    assert (await server.post(stop, headers=operate)).status == 200


async def test_a_bypass_that_is_over_lifts_nothing(server: RunningConsole) -> None:
    operate = await server.token("read", "operate")
    id = await server.launch(permission_mode="bypassPermissions", bypass_minutes=0.0001)
    while server.view(id).config.bypass_until > time.time():
        await asyncio.sleep(0.001)
    assert (await server.post(f"{API}/sessions/{id}/fork", {}, headers=operate)).status == 201
