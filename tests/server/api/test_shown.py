"""What only the fold of a session remembers is shown nowhere; all else of a session is described."""

import asyncio
import json
from typing import Any

from bobstay.server.api.endpoints import current_document
from bobstay.server.rpc.rpc_server import NAME
from tests.kit.consoles import RunningConsole
from tests.kit.stream_client import stream_client
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
    async with stream_client(server.stream_url, additional_headers=server.headers) as client:
        for topic in ("app", f"session:{id}"):
            frame = (await client.follow(topic))["data"]
            seen[topic] = frame["session"] if topic != "app" else frame["sessions"][0]
        await server.ask("PATCH", where, {"title": "renamed"})
        seen["changed"] = (await client.wait("session.changed"))["data"]["session"]
    reader, writer = await asyncio.open_unix_connection(f"{server.options.state}/{NAME}")
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


def test_the_fields_that_do_not_explain_themselves_are_described() -> None:
    properties = current_document()["components"]["schemas"]["SessionView"]["properties"]
    for name in ("head", "elsewhere", "open_calls", "stored", "seq", "steps", "last_usage", "context", "activity"):
        assert properties[name]["description"].endswith("."), name
