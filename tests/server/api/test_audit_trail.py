"""Who did what is written down, by whichever way it came; and who was refused, but not without end."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bobstay.server.auth.audit_port import MOST_REFUSALS, Refusals
from bobstay.server.rpc.rpc_server import NAME
from tests.deadline import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.api.place import Place

API = "/api/v1"
STRANGER = {"Authorization": "Bearer wrong"}


async def entries(place: Place, query: str = "") -> list[Any]:
    reply = await place.get(f"{API}/audit?limit=200&{query}")
    assert reply.status == 200
    return list(reply.json["entries"])


async def test_what_was_done_to_a_session_is_found_by_it(place: Place, model: ModelServer) -> None:
    call = Call("Bash", {"command": "touch x"}, "c")
    prompt = model.play("audited", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    id = await place.launch(prompt)
    entry = (await place.until_status(id, "waiting_input")).interactions[0]
    body = {"decision": "allow", "input_sha256": entry.input_sha256}
    assert (await place.post(f"{API}/interactions/{entry.id}/decision", body)).status == 200
    await place.until_status(id, "completed")
    assert (await place.ask("PATCH", f"{API}/sessions/{id}", {"title": "x"})).status == 200
    found = [(entry["what"], entry["who"]) for entry in await entries(place, f"session_id={id}")]
    assert found == [("change", "ada"), ("decide", "ada"), ("create", "ada")]


async def test_what_becomes_of_a_session_afterwards_is_found_by_it_too(place: Place) -> None:
    id = await place.launch()
    child = (await place.post(f"{API}/sessions/{id}/fork", {})).json["id"]
    terminal = (await place.post(f"{API}/sessions/{id}/terminals", {})).json["id"]
    assert (await place.ask("DELETE", f"{API}/terminals/{terminal}")).status == 204
    assert (await place.ask("DELETE", f"{API}/sessions/{id}")).status == 204
    assert (await place.post(f"{API}/trash/{id}/restore")).status == 200
    found = await entries(place, f"session_id={id}")
    names = ["restore_trash", "delete", "close_terminal", "open_terminal", "fork", "create"]
    assert [entry["what"] for entry in found] == names
    assert [entry["detail"].get("made") for entry in found] == [None, None, None, None, child, id]


async def test_refusals_are_written_down(place: Place) -> None:
    reader = await place.token("read")
    id = await place.launch()
    assert (await place.post(f"{API}/sessions/{id}/interrupt", headers=reader)).status == 403
    assert (await place.get(f"{API}/sessions", headers={"Authorization": "Bearer wrong"})).status == 401
    lifting = {"cwd": str(place.work), "permission_mode": "acceptEdits"}
    operate = await place.token("operate")
    assert (await place.post(f"{API}/sessions", lifting, headers=operate)).status == 403
    found = await entries(place, "what=refused")
    assert [entry["detail"]["code"] for entry in found] == ["forbidden", "unauthorized", "forbidden"]
    assert (found[0]["who"], found[2]["session_id"]) == ("ada", id)


async def test_who_is_refused_at_a_socket_is_written_down(place: Place) -> None:
    id = await place.launch()
    terminal = (await place.post(f"{API}/sessions/{id}/terminals", {})).json["id"]
    paths = ("/api/v1/ws", f"/api/v1/workers/{terminal}/pty", "/ws/app", f"/ws/session/{id}/worker/{terminal}")
    for path in paths:
        with pytest.raises(InvalidStatus, match="HTTP 401"):
            async with connect(f"ws://{place.host}{path}", additional_headers=STRANGER, proxy=None):
                pass
    found = await entries(place, "what=refused")
    assert [entry["detail"]["path"] for entry in reversed(found)] == list(paths)
    assert {entry["detail"]["code"] for entry in found} == {"unauthorized"}
    reader = await place.token("read")
    with pytest.raises(InvalidStatus, match="HTTP 403"):
        async with connect(f"ws://{place.host}{paths[1]}", additional_headers=reader, proxy=None):
            pass
    assert (await entries(place, "what=refused"))[0]["detail"]["code"] == "forbidden"
    await place.console.crew.leave(id)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/ws/agent?agentId={id}", {"type": "user_input", "text": "hello"}),
        ("/ws/session/{id}/worker/agent", {"type": "user-message", "content": "hello"}),
    ],
)
async def test_what_is_refused_on_a_compatible_socket_is_written_down(place: Place, path: str, said: Any) -> None:
    id = await place.launch()
    reader = await place.token("read")
    url = f"ws://{place.host}{path.format(id=id)}"
    async with asyncio.timeout(DEADLINE), connect(url, additional_headers=reader, proxy=None) as socket:
        await socket.send(json.dumps(said))
        while json.loads(await socket.recv())["type"] != "error":
            pass
    (entry,) = await entries(place, "what=refused")
    assert (entry["who"], entry["session_id"], entry["detail"]["code"]) == ("ada", id, "forbidden")
    assert place.view(id).queued == ()


def test_only_so_many_refusals_a_minute_are_listed_and_the_rest_counted() -> None:
    book: list[tuple[str, dict[str, Any]]] = []
    now = [0.0]

    class Book:
        def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
            book.append((what, detail))

    refusals = Refusals(lambda: now[0])
    for _ in range(MOST_REFUSALS + 40):
        refusals.record(Book(), "", "GET x", {})
    assert len(book) == MOST_REFUSALS
    now[0] = 61.0
    refusals.record(Book(), "", "GET x", {})
    assert book[MOST_REFUSALS] == ("refused", {"not_listed": 40})
    assert len(book) == MOST_REFUSALS + 2


async def test_calls_over_the_unix_socket_are_written_down(place: Place) -> None:
    id = await place.launch()
    reader, writer = await asyncio.open_unix_connection(f"{place.config.state}/{NAME}")
    params = {"path": {"id": id}, "body": {"title": "renamed"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "PATCH /sessions/{id}", "params": params}
    writer.write(json.dumps(request).encode() + b"\n")
    assert b"renamed" in await reader.readline()
    body = {"cwd": str(place.work), "env": {"LD_PRELOAD": "x"}}
    refused = {"jsonrpc": "2.0", "id": 2, "method": "POST /sessions", "params": {"body": body}}
    writer.write(json.dumps(refused).encode() + b"\n")
    assert b"forbidden" in await reader.readline()
    writer.close()
    entry = (await entries(place, f"session_id={id}"))[0]
    assert (entry["who"], entry["what"], entry["detail"]["by"]) == ("owner", "change", "rpc")
    (entry,) = await entries(place, "what=refused")
    assert (entry["who"], entry["detail"]["code"]) == ("owner", "forbidden")


async def test_what_is_done_by_a_compatible_route_is_written_down(place: Place, model: ModelServer) -> None:
    prompt = model.play("compat", Step(blocks=[Say("ok")]))
    reply = await place.post("/api/sessions", {"query": prompt, "workingDir": str(place.work)})
    id = reply.json["id"]
    await place.until_status(id, "completed")
    (entry,) = await entries(place, f"session_id={id}")
    assert (entry["who"], entry["what"], entry["detail"]["path"]) == ("ada", "launch", "/api/sessions")


@pytest.mark.parametrize(
    ("path", "said", "what"),
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
    place: Place, path: str, said: Any, what: tuple[str, str]
) -> None:
    id = await place.launch(model="demo")
    url = f"ws://{place.host}{path.format(id=id)}"
    async with asyncio.timeout(DEADLINE), connect(url, additional_headers=place.headers, proxy=None) as socket:
        await socket.send(json.dumps(said))
        while (found := await entries(place, f"session_id={id}"))[0]["what"] == "create":
            await socket.recv()
    assert (found[0]["what"], found[0]["detail"]["path"]) == what
