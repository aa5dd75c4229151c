"""What only the fold of a session remembers is shown nowhere; all else of a session is described."""

import asyncio
import json
from typing import Any

from websockets.asyncio.client import connect

from bobstay.server.api.openapi import current_document
from bobstay.server.rpc.rpc_server import NAME
from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"
INTERNAL = {"memory", "standing", "steps_before"}


async def test_no_way_to_a_session_shows_what_its_fold_remembers(server: RunningConsole, model: ModelServer) -> None:
    id = await server.launch(model.play("one", Step(blocks=[Say("hello")])))
    await server.until_status(id, "completed")
    where = f"{API}/sessions/{id}"
    seen: dict[str, Any] = {
        "list": (await server.get(f"{API}/sessions")).json["sessions"][0],
        "one": (await server.get(where)).json,
        "snapshot": (await server.get(f"{where}/snapshot")).json["session"],
        "export": (await server.get(f"{where}/export?format=json")).json["session"],
    }
    async with connect(f"ws://{server.host}{API}/ws", additional_headers=server.headers, proxy=None) as socket:
        for topic in ("app", f"session:{id}"):
            await socket.send(json.dumps({"type": "subscribe", "topic": topic}))
            frame = await synchronized(socket, topic)
            seen[topic] = frame["session"] if topic != "app" else frame["sessions"][0]
        await server.ask("PATCH", where, {"title": "renamed"})
        seen["changed"] = (await until(socket, "session.changed"))["session"]
    reader, writer = await asyncio.open_unix_connection(f"{server.config.state}/{NAME}")
    for method in (f"GET /sessions/{id}", "GET /sessions"):
        writer.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n")
        result = json.loads(await reader.readline())["result"]
        seen[method] = result["sessions"][0] if "sessions" in result else result
    writer.close()
    shape = set(current_document()["components"]["schemas"]["SessionView"]["properties"])
    for way, view in seen.items():
        assert view["id"] == id, way
        assert set(view) == shape, way
    assert not shape & INTERNAL


async def synchronized(socket: Any, topic: str) -> Any:
    while (frame := await until(socket, "stream.synchronized"))["topic"] != topic:
        pass
    return frame


async def until(socket: Any, kind: str) -> Any:
    async with asyncio.timeout(DEADLINE):
        while True:
            for frame in json.loads(await socket.recv()):
                if frame["type"] == kind:
                    return frame["data"]


def test_the_fields_that_do_not_explain_themselves_are_described() -> None:
    properties = current_document()["components"]["schemas"]["SessionView"]["properties"]
    for name in ("head", "elsewhere", "open_calls", "stored", "seq", "steps", "last_usage", "context", "activity"):
        assert properties[name]["description"].endswith("."), name
