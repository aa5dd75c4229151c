"""What is not stored: every frame a server sends is one of those the documents name, with no field more or less."""

import asyncio
from functools import cache
from typing import Any

import msgspec
from jsonschema import Draft202012Validator

from bobstay.model.event import ToolDone
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    MessageBegan,
    Requesting,
    Retrying,
    TextDelta,
    ToolProgress,
)
from bobstay.model.message import Text, ToolReply, Usage
from bobstay.server.api.openapi import stream_schema
from bobstay.server.streams.heartbeat import HeartbeatLoop
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.live_frames import AnyLive
from bobstay.server.streams.live_parts import LiveParts
from tests.kit.consoles import RunningConsole
from tests.kit.repositories import repository
from tests.kit.stream_client import StreamClient, stream_client
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

DECODER = msgspec.json.Decoder(AnyLive)


def checked(frame: bytes | str) -> Any:
    """A frame that is one of the types, and fits the schema that is handed out."""
    decoded = DECODER.decode(frame)
    validator().validate(msgspec.json.decode(frame))
    return decoded


@cache
def validator() -> Draft202012Validator:
    schema = stream_schema()
    return Draft202012Validator({"$ref": "#/components/schemas/LiveFrame", "components": schema["components"]})


def described(client: StreamClient) -> dict[str, dict[str, Any]]:
    """The last transient frame of each type; all that came are looked at."""
    frames = [frame for frame in client.frames if "seq" not in frame]
    for frame in frames:
        checked(msgspec.json.encode(frame))
    return {frame["type"]: frame for frame in frames}


async def until_types(client: StreamClient, *types: str) -> None:
    while not {*types} <= set(described(client)):
        await asyncio.wait_for(client.receive(), DEADLINE)


async def test_a_tab_gets_only_frames_that_are_described(server: RunningConsole, model: ModelServer) -> None:
    repository(server.work)
    headers = {**server.headers, "Origin": server.url}
    async with stream_client(server.stream_url, additional_headers=headers) as client:
        await client.say("subscribe", topic="app")
        step = Step(blocks=[Say("Thinking of it"), Call("Bash", {"command": "touch x"}, "c")])
        id = await server.launch(model.play("one", step, Step(blocks=[Say("Done.")])))
        await client.say("subscribe", topic=f"session:{id}", after=0)
        await client.say("subscribe", topic="*", after="old-1")
        await client.say("subscribe", topic=f"session:{id}", after=10**6, epoch="another")
        await client.say("subscribe", topic="nowhere", id="wrong")
        await client.say("ping", id="p1")
        await server.until_status(id, "waiting_input")
        (entry,) = server.view(id).interactions
        body = {"decision": "allow", "input_sha256": entry.input_sha256}
        assert (await server.post(f"/api/v1/interactions/{entry.id}/decision", body)).status == 200
        await server.until_status(id, "completed")
        assert (await server.post(f"/api/v1/sessions/{id}/tasks", {"title": "Mine"})).status == 201
        await until_types(client, "tasks.changed", "interaction.resolved", "pong", "error")
        await client.say("unsubscribe", topic="*")
        assert (await server.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204
        await until_types(client, "stream.left", "session.deleted")
    assert {
        *("server.hello", "stream.synchronized", "stream.reset", "session.changed", "session.deleted"),
        *("interaction.opened", "interaction.resolved", "tasks.changed", "stream.left", "pong", "error"),
    } <= set(described(client))
    assert described(client)["server.hello"]["data"]["version"]
    assert described(client)["error"]["topic"] == "nowhere"


async def test_pieces_of_what_is_said_are_described() -> None:
    sent: list[bytes] = []
    parts = LiveParts("s", sent.append, interval=0)
    parts.live(Requesting("sonnet"))
    parts.live(MessageBegan("m", "sonnet", Usage()))
    parts.live(BlockBegan("m", 0, "text"))
    parts.live(TextDelta("m", 0, "Hel"))
    parts.live(BlockBegan("m", 1, "tool_call", "c", "Bash"))
    parts.live(InputDelta("m", 1, '{"a'))
    parts.live(ToolProgress("c", "out"))
    snapshot = parts.snapshot()
    parts.live(Retrying(1, 3, 0.5, 529, "busy"))
    parts.stored(ToolDone(ToolReply("c", (Text("done"),))))
    types = [msgspec.json.decode(frame)["type"] for frame in sent]
    for frame in sent:
        checked(frame)
    assert set(types) == {
        *("model.requested", "model.retrying", "part.began", "part.delta", "part.dropped", "tool.output"),
    }
    state = {"topic": "session:s", "seq": 1, "epoch": "e", "parts": snapshot}
    checked(
        msgspec.json.encode({"type": "stream.synchronized", "topic": "session:s", "session_id": "s", "data": state})
    )
    assert len(snapshot) == 3


async def test_news_of_a_work_tree_are_described(server: RunningConsole) -> None:
    repository(server.work)
    id = await server.launch()
    headers = {**server.headers, "Origin": server.url}
    async with stream_client(server.stream_url, additional_headers=headers) as client:
        await client.say("subscribe", topic=f"session:{id}", after=0)
        await until_types(client, "stream.synchronized")
        await server.auxiliary_workers.watch(id)
        (server.work / "new").write_text("x\n")
        await until_types(client, "diff.changed")
        assert described(client)["diff.changed"]["data"]["files"] == [
            {"path": "new", "status": "untracked", "added": 1, "removed": 0}
        ]


async def test_heartbeats_are_described() -> None:
    client = HubClient("ada")
    heartbeats = HeartbeatLoop(client, 0.01)
    async with asyncio.timeout(DEADLINE):
        frames = await client.next_batch()
    heartbeats.cancel()
    assert msgspec.json.decode(frames[0])["type"] == "server.heartbeat"
    for frame in frames:
        checked(frame)


def test_every_type_has_a_schema_of_its_own() -> None:
    schemas = stream_schema()["components"]["schemas"]
    named = [server["$ref"].rpartition("/")[2] for server in schemas["LiveFrame"]["anyOf"]]
    types = [schemas[name]["properties"]["type"]["enum"] for name in named]
    assert len(types) == len({name for (name,) in types}) == 21
    assert schemas["LiveFrame"]["discriminator"]["propertyName"] == "type"
    assert "seq" not in schemas["StreamState"]["required"]
    assert "default" not in schemas["StreamState"]["properties"]["seq"]
