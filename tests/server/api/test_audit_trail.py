"""Who did what is written down, by whichever way it came; and who was refused, but not without end."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bobstay.server.auth.audit_port import MOST_REFUSALS, Refusals
from bobstay.server.rpc.rpc_server import NAME
from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"
STRANGER = {"Authorization": "Bearer wrong"}


async def entries(server: RunningConsole, query: str = "") -> list[Any]:
    reply = await server.get(f"{API}/audit?limit=200&{query}")
    assert reply.status == 200
    return list(reply.json["entries"])


async def test_what_was_done_to_a_session_is_found_by_it(server: RunningConsole, model: ModelServer) -> None:
    call = Call("Bash", {"command": "touch x"}, "c")
    prompt = model.play("audited", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    id = await server.launch(prompt)
    entry = (await server.until_status(id, "waiting_input")).interactions[0]
    body = {"decision": "allow", "input_sha256": entry.input_sha256}
    assert (await server.post(f"{API}/interactions/{entry.id}/decision", body)).status == 200
    await server.until_status(id, "completed")
    assert (await server.ask("PATCH", f"{API}/sessions/{id}", {"title": "x"})).status == 200
    found = [(entry["what"], entry["who"]) for entry in await entries(server, f"session_id={id}")]
    assert found == [("change", "ada"), ("decide", "ada"), ("create", "ada")]


async def test_what_becomes_of_a_session_afterwards_is_found_by_it_too(server: RunningConsole) -> None:
    id = await server.launch()
    child = (await server.post(f"{API}/sessions/{id}/fork", {})).json["id"]
    terminal = (await server.post(f"{API}/sessions/{id}/terminals", {})).json["id"]
    assert (await server.ask("DELETE", f"{API}/terminals/{terminal}")).status == 204
    assert (await server.ask("DELETE", f"{API}/sessions/{id}")).status == 204
    assert (await server.post(f"{API}/trash/{id}/restore")).status == 200
    found = await entries(server, f"session_id={id}")
    names = ["restore_trash", "delete", "close_terminal", "open_terminal", "fork", "create"]
    assert [entry["what"] for entry in found] == names
    assert [entry["detail"].get("made") for entry in found] == [None, None, None, None, child, id]


async def test_refusals_are_written_down(server: RunningConsole) -> None:
    reader = await server.token("read")
    id = await server.launch()
    assert (await server.post(f"{API}/sessions/{id}/interrupt", headers=reader)).status == 403
    assert (await server.get(f"{API}/sessions", headers={"Authorization": "Bearer wrong"})).status == 401
    lifting = {"cwd": str(server.work), "permission_mode": "acceptEdits"}
    operate = await server.token("operate")
    assert (await server.post(f"{API}/sessions", lifting, headers=operate)).status == 403
    found = await entries(server, "what=refused")
    assert [entry["detail"]["code"] for entry in found] == ["forbidden", "unauthorized", "forbidden"]
    assert (found[0]["who"], found[2]["session_id"]) == ("ada", id)


async def test_who_is_refused_at_a_socket_is_written_down(server: RunningConsole) -> None:
    id = await server.launch()
    terminal = (await server.post(f"{API}/sessions/{id}/terminals", {})).json["id"]
    paths = ("/api/v1/ws", f"/api/v1/workers/{terminal}/pty", "/ws/app", f"/ws/session/{id}/worker/{terminal}")
    for path in paths:
        with pytest.raises(InvalidStatus, match="HTTP 401"):
            async with connect(f"ws://{server.host}{path}", additional_headers=STRANGER, proxy=None):
                pass
    found = await entries(server, "what=refused")
    assert [entry["detail"]["path"] for entry in reversed(found)] == list(paths)
    assert {entry["detail"]["code"] for entry in found} == {"unauthorized"}
    reader = await server.token("read")
    with pytest.raises(InvalidStatus, match="HTTP 403"):
        async with connect(f"ws://{server.host}{paths[1]}", additional_headers=reader, proxy=None):
            pass
    assert (await entries(server, "what=refused"))[0]["detail"]["code"] == "forbidden"
    await server.auxiliary_workers.stop_session(id)


@pytest.mark.parametrize(
    ("path", "frame"),
    [
        ("/ws/agent?agentId={id}", {"type": "user_input", "text": "hello"}),
        ("/ws/session/{id}/worker/agent", {"type": "user-message", "content": "hello"}),
    ],
)
async def test_what_is_refused_on_a_compatible_socket_is_written_down(
    server: RunningConsole, path: str, frame: Any
) -> None:
    id = await server.launch()
    reader = await server.token("read")
    url = f"ws://{server.host}{path.format(id=id)}"
    async with asyncio.timeout(DEADLINE), connect(url, additional_headers=reader, proxy=None) as socket:
        await socket.send(json.dumps(frame))
        while json.loads(await socket.recv())["type"] != "error":
            pass
    (entry,) = await entries(server, "what=refused")
    assert (entry["who"], entry["session_id"], entry["detail"]["code"]) == ("ada", id, "forbidden")
    assert server.view(id).queued == ()


def test_only_so_many_refusals_a_minute_are_listed_and_the_rest_counted() -> None:
    recorded: list[tuple[str, dict[str, Any]]] = []
    now = [0.0]

    class AuditRecorder:
        def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
            recorded.append((what, detail))

    refusals = Refusals(AuditRecorder(), lambda: now[0])
    for _ in range(MOST_REFUSALS + 40):
        refusals.record("", "GET x", {})
    assert len(recorded) == MOST_REFUSALS
    now[0] = 61.0
    refusals.record("", "GET x", {})
    assert recorded[MOST_REFUSALS] == ("refused", {"not_listed": 40})
    assert len(recorded) == MOST_REFUSALS + 2


async def test_calls_over_the_unix_socket_are_written_down(server: RunningConsole) -> None:
    id = await server.launch()
    reader, writer = await asyncio.open_unix_connection(f"{server.options.state}/{NAME}")
    params = {"path": {"id": id}, "body": {"title": "renamed"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "PATCH /sessions/{id}", "params": params}
    writer.write(json.dumps(request).encode() + b"\n")
    assert b"renamed" in await reader.readline()
    body = {"cwd": str(server.work), "env": {"LD_PRELOAD": "x"}}
    refused = {"jsonrpc": "2.0", "id": 2, "method": "POST /sessions", "params": {"body": body}}
    writer.write(json.dumps(refused).encode() + b"\n")
    assert b"forbidden" in await reader.readline()
    writer.close()
    entry = (await entries(server, f"session_id={id}"))[0]
    assert (entry["who"], entry["what"], entry["detail"]["by"]) == ("owner", "change", "rpc")
    (entry,) = await entries(server, "what=refused")
    assert (entry["who"], entry["detail"]["code"]) == ("owner", "forbidden")


async def test_what_is_done_by_a_compatible_route_is_written_down(server: RunningConsole, model: ModelServer) -> None:
    prompt = model.play("compat", Step(blocks=[Say("ok")]))
    reply = await server.post("/api/sessions", {"query": prompt, "workingDir": str(server.work)})
    id = reply.json["id"]
    await server.until_status(id, "completed")
    (entry,) = await entries(server, f"session_id={id}")
    assert (entry["who"], entry["what"], entry["detail"]["path"]) == ("ada", "launch", "/api/sessions")


@pytest.mark.parametrize(
    ("path", "frame", "what"),
    [
        ("/ws/agent?agentId={id}", {"type": "start_process"}, ("StartProcess", "/ws/agent")),
        (
            "/ws/session/{id}/worker/agent",
            {"type": "user-message", "content": "hello"},
            ("UserMessage", "/ws/session/{sid}/worker/{wid}"),
        ),
    ],
)
async def test_what_is_said_over_a_compatible_socket_is_written_down(
    server: RunningConsole, path: str, frame: Any, what: tuple[str, str]
) -> None:
    id = await server.launch(model="demo")
    url = f"ws://{server.host}{path.format(id=id)}"
    async with asyncio.timeout(DEADLINE), connect(url, additional_headers=server.headers, proxy=None) as socket:
        await socket.send(json.dumps(frame))
        while (found := await entries(server, f"session_id={id}"))[0]["what"] == "create":
            await socket.recv()
    assert (found[0]["what"], found[0]["detail"]["path"]) == what
