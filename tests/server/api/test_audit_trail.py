"""Who did what is written down, by whichever way it came; and who was refused, but not without end."""

import asyncio
import json
from typing import Any

from websockets.asyncio.client import connect

from bobstay.server.doors.audit import MOST_REFUSALS, Refusals
from bobstay.server.rpc.server import NAME
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.api.place import Place

API = "/api/v1"


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
    assert found == [("change", "ada"), ("decide", "ada")]


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
    writer.close()
    (entry,) = await entries(place, f"session_id={id}")
    assert (entry["who"], entry["what"], entry["detail"]["by"]) == ("owner", "change", "rpc")


async def test_what_is_said_over_a_compatible_socket_is_written_down(place: Place) -> None:
    id = await place.launch()
    url = f"ws://{place.host}/ws/agent?agentId={id}"
    async with connect(url, additional_headers=place.headers, proxy=None) as socket:
        await socket.recv()
        await socket.send(json.dumps({"type": "start_process"}))
        while not (found := await entries(place, f"session_id={id}")):
            await socket.recv()
    assert (found[0]["what"], found[0]["detail"]["path"]) == ("StartProcess", "/ws/agent")
