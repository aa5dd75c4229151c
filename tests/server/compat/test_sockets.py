"""The WebSockets of the third and fourth console, message by message (S003-20..24; S004-8, 13..19, 29, 30)."""

import asyncio
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.compat.compat_clients import Message, of_type, socket

IDLE = of_type("activity", state="idle")


def is_result(message: Message) -> bool:
    return bool(message["type"] == "sdk-message" and message["message"]["type"] == "result")


async def test_a_worker_speaks_in_structured_messages(server: RunningConsole, model: ModelServer) -> None:
    """S004-13, S004-14, S004-10, S004-15..18: active before the first word, idle after the result; each has a uuid."""
    id = await server.launch()
    async with socket(server, f"/ws/session/{id}/worker/agent") as page:
        assert await page.until(IDLE) == [{"type": "activity", "state": "idle"}]
        (server.work / "a.txt").write_text("content of a")
        prompt = model.play(
            "read",
            Step(blocks=[Say("I look."), Call("Read", {"file_path": str(server.work / "a.txt")}, "r")], chunk=3),
            Step(blocks=[Say("Done.")]),
        )
        await page.send({"type": "user-message", "content": prompt})
        received = await page.until(IDLE)
    messages = [message["message"] for message in received if message["type"] == "sdk-message"]
    kinds = [message["type"] for message in messages]
    assert kinds.index("system") < kinds.index("stream_event") < kinds.index("assistant") < kinds.index("result")
    assert received.index({"type": "activity", "state": "active"}) < next(
        index
        for index, message in enumerate(received)
        if message["type"] == "sdk-message" and message["message"]["type"] == "system"
    )
    assert is_result(received[-2])
    assert all(message["uuid"] for message in messages), "S004-27"
    assert len({message["uuid"] for message in messages}) == len(messages)
    blocks = [message["message"]["content"][0] for message in messages if message["type"] == "assistant"]
    assert [block["type"] for block in blocks] == ["text", "tool_use", "text"]
    deltas = [
        message["event"]["delta"] for message in messages if message.get("event", {}).get("delta", {}).get("text")
    ]
    assert "".join(delta["text"] for delta in deltas) == "I look.Done."
    result = messages[-1]
    assert (result["subtype"], result["result"], result["session_id"]) == ("success", "Done.", id)
    (reply,) = [
        block
        for message in messages
        if message["type"] == "user" and isinstance(message["message"]["content"], list)
        for block in message["message"]["content"]
        if block["type"] == "tool_result"
    ]
    assert "content of a" in str(reply["content"])


async def test_a_question_is_asking(server: RunningConsole, model: ModelServer) -> None:
    """S004-19: an approval that waits is `asking`; S004-11: cancelled, it is idle and no failure of the socket."""
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"}, "c")]), Step(blocks=[Say("ok")]))
    id = await server.launch(prompt)
    view = await server.until_status(id, "waiting_input")
    async with socket(server, f"/ws/session/{id}/worker/{view.workers[0].id}") as page:
        await page.until(of_type("activity", state="asking"))
        await page.send({"type": "cancel"})
        received = await page.until(IDLE)
    assert not [message for message in received if message["type"] in ("error", "exit")]
    assert (await server.until_status(id, "interrupted")).status == "interrupted"
    assert not (server.work / "x").exists()


async def test_a_page_that_comes_back_names_the_last_uuid(server: RunningConsole, model: ModelServer) -> None:
    """S004-29, S003-37: everything after it, and nothing before."""
    id = await server.launch(model.play("one", Step(blocks=[Say("first")])))
    await server.until_status(id, "completed")
    path = f"/ws/session/{id}/worker/agent"
    async with socket(server, path) as page:
        whole = [message["message"] for message in await page.until(IDLE) if message["type"] == "sdk-message"]
    assistant = next(message for message in whole if message["type"] == "assistant")
    async with socket(server, f"{path}?after={assistant['uuid']}") as page:
        after = [message["message"]["uuid"] for message in await page.until(IDLE) if message["type"] == "sdk-message"]
    assert after == [message["uuid"] for message in whole[whole.index(assistant) + 1 :]]
    async with socket(server, f"{path}?after=00000000-0000-4000-8000-000000000000") as page:
        assert (await page.until(IDLE))[0] == {"type": "reset", "reason": "unknown_cursor"}


async def test_a_worker_that_is_stopped_exits(server: RunningConsole, model: ModelServer) -> None:
    """S004-13: exitCode and signal in the seed's spelling."""
    id = await server.launch(model.play("one", Step(blocks=[Say("first")])))
    view = await server.until_status(id, "completed")
    worker = view.workers[0].id
    async with socket(server, f"/ws/session/{id}/worker/{worker}") as page:
        await page.until(IDLE)
        assert (await server.post(f"/api/v1/sessions/{id}/workers/{worker}/stop")).status == 200
        ended = (await page.until(of_type("exit")))[-1]
    assert ended == {"type": "exit", "exitCode": 0, "signal": None}


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid_json"),
        ('"x"', "invalid"),
        ('{"type":"dance"}', "invalid"),
        ('{"type":"user-message"}', "invalid"),
        ('{"type":"user-message","content":" "}', "invalid"),
        ('{"type":"cancel"}', "wrong_state"),
        ('{"type":"input","data":"ls"}', "not_supported"),
        ('{"type":"resize","cols":80,"rows":25}', "not_supported"),
        ('{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}', "not_supported"),
    ],
)
async def test_nothing_a_page_says_ends_its_socket(server: RunningConsole, frame: str, code: str) -> None:
    """S003-22, S004-8, S004-43: an enumerated code, and the connection stays."""
    id = await server.launch()
    async with socket(server, f"/ws/session/{id}/worker/agent") as page:
        await page.send(frame)
        assert (await page.until(of_type("error")))[-1]["code"] == code
        await page.send({"type": "cancel"})
        await page.until(of_type("error", code="wrong_state"))


async def test_lists_are_told_of_sessions_and_workers(server: RunningConsole, model: ModelServer) -> None:
    """S004-30: `/ws/app`."""
    first = await server.launch()
    async with socket(server, "/ws/app") as page:
        (sync,) = await page.until(of_type("sessions-sync"))
        assert [session["id"] for session in sync["sessions"]] == [first]
        gate = Gate()
        second = await server.launch(model.play("g", Step(blocks=[Say("x")], gate=gate)))
        created = (await page.until(of_type("session-created")))[-1]
        assert created["session"]["id"] == second
        await page.until(of_type("worker-activity", activityState="active", sessionId=second))
        gate.open()
        idle = (await page.until(of_type("worker-activity", activityState="idle", sessionId=second)))[-1]
        assert idle["workerId"] == server.view(second).workers[0].id
        assert (await server.ask("DELETE", f"/api/v1/sessions/{first}")).status == 204
        await page.until(of_type("session-deleted", sessionId=first))


async def test_an_agent_is_started_spoken_to_and_killed(server: RunningConsole, model: ModelServer) -> None:
    """S003-20, S003-21, S003-28, S003-29: status at once, then what the engine says, and how its process ended."""
    async with socket(server, "/ws/agent?agentId=worker-abc") as page:
        assert await page.until(of_type("status")) == [{"type": "status", "running": False, "sessionId": None}]
        await page.send({"type": "user_input", "text": "too early"})
        assert "start_process" in (await page.until(of_type("error")))[-1]["message"]
        await page.send(
            {"type": "start_process", "workingDir": str(server.work), "systemPrompt": "Be brief.", "model": "sonnet"}
        )
        begun = (await page.until(of_type("status")))[-1]
        id = begun["sessionId"]
        assert begun["running"] is True
        assert server.view(id).config.append_system_prompt == "Be brief."
        (server.work / "a.txt").write_text("content of a")
        call = {"file_path": str(server.work / "a.txt")}
        text = model.play("r", Step(blocks=[Call("Read", call, "r")]), Step(blocks=[Say("Hello")], chunk=2))
        await page.send({"type": "user_input", "text": text})
        received = await page.until(
            lambda message: message["type"] == "claude_message" and message["data"]["type"] == "result"
        )
        await page.send({"type": "kill_process"})
        ended = (await page.until(of_type("process_exit")))[-1]
    data_frames = [message["data"] for message in received if message["type"] == "claude_message"]
    assert {"type": "tool_use", "tool": "Read", "input": call, "id": "r"} in data_frames, "as the seed's card reads it"
    (result,) = [data for data in data_frames if data["type"] == "tool_result"]
    assert (result["tool_use_id"], "content of a" in str(result["result"])) == ("r", True)
    pieces = [data for data in data_frames if data["type"] == "stream_event" and data.get("event_type") == "text_delta"]
    assert "".join(piece["delta"] for piece in pieces) == "Hello"
    last = data_frames[-1]
    assert last["session_id"] == id
    assert last["num_turns"] > 0
    assert last["total_cost_usd"] > 0
    assert {"input_tokens", "output_tokens"} <= set(last["usage"])
    assert ended == {"type": "process_exit", "code": None, "sessionId": id}
    async with socket(server, "/ws/agent?agentId=worker-abc") as page:
        again = (await page.until(of_type("status")))[-1]
        assert again == {"type": "status", "running": False, "sessionId": id}
        await page.send({"type": "kill_process"})
        assert (await page.until(of_type("error")))[-1]["code"] == "wrong_state"
        await page.send({"type": "start_process", "sessionId": id})
        await page.until(of_type("status", running=True, sessionId=id))


async def test_all_sockets_of_an_agent_hear_the_same_and_no_others(server: RunningConsole, model: ModelServer) -> None:
    """S003-23, S003-24."""
    one, other = await server.launch(), await server.launch()
    async with (
        socket(server, f"/ws/agent?agentId={one}") as first,
        socket(server, f"/ws/agent?agentId={one}") as second,
        socket(server, f"/ws/agent?agentId={other}") as third,
    ):
        for page in (first, second, third):
            await page.until(of_type("status"))
        await first.send({"type": "user_input", "text": model.play("x", Step(blocks=[Say("heard by two")]))})
        is_last = lambda message: message["type"] == "claude_message" and message["data"]["type"] == "result"  # noqa: E731
        mine, theirs = await first.until(is_last), await second.until(is_last)
        durable = [message for message in mine if message["data"]["type"] in ("assistant", "user")]
        assert [message["data"]["uuid"] for message in durable] == [
            message["data"]["uuid"] for message in theirs if message["data"]["type"] in ("assistant", "user")
        ]
        await third.send("{")
        assert [message["type"] for message in await third.until(of_type("error", message="Invalid JSON"))] == ["error"]
    await until(lambda: not server.hub.clients())


async def test_pages_that_wait_for_the_same_agent_are_told_when_it_begins(
    server: RunningConsole, model: ModelServer
) -> None:
    """S003-23: whichever of them began it."""
    async with (
        socket(server, "/ws/agent?agentId=new") as first,
        socket(server, "/ws/agent?agentId=new") as second,
        socket(server, "/ws/agent?agentId=other") as third,
    ):
        for page in (first, second, third):
            await page.until(of_type("status", running=False))
        await first.send({"type": "start_process", "workingDir": str(server.work)})
        begun = [(await page.until(of_type("status", running=True)))[-1] for page in (first, second)]
        assert begun[0] == begun[1]
        await second.send({"type": "user_input", "text": model.play("x", Step(blocks=[Say("heard")]))})
        await first.until(lambda message: message["type"] == "claude_message" and message["data"]["type"] == "result")
        await third.send("{")
        assert [message["type"] for message in await third.until(of_type("error"))] == ["error"]


async def test_a_place_outside_the_roots_is_refused(server: RunningConsole) -> None:
    """S003-21 D."""
    async with socket(server, "/ws/agent?agentId=x") as page:
        await page.send({"type": "start_process", "workingDir": "/etc"})
        assert (await page.until(of_type("error")))[-1]["code"] == "forbidden"
        await page.send({"type": "start_process"})
        assert (await page.until(of_type("error")))[-1]["code"] == "invalid"
        await page.send({"type": "start_process", "sessionId": "none"})
        assert (await page.until(of_type("error")))[-1]["code"] == "not_found"


async def test_the_sockets_doors_are_the_same(server: RunningConsole) -> None:
    """FM-42, FM-44: nobody unknown, no unknown session, and whoever may read only reads."""
    id = await server.launch()
    reader = await server.token("read")
    for path in ("/ws/app", f"/ws/agent?agentId={id}", f"/ws/session/{id}/worker/agent"):
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server, path, {}):
                pass
        assert refused.value.response.status_code == 401
        with pytest.raises(InvalidStatus) as foreign:
            async with socket(server, path, {**server.headers, "Origin": "http://evil.example"}):
                pass
        assert foreign.value.response.status_code == 403
    for path in ("/ws/session/none/worker/agent", f"/ws/session/{id}/worker/none"):
        with pytest.raises(InvalidStatus) as missing:
            async with socket(server, path):
                pass
        assert missing.value.response.status_code == 404
        assert isinstance(json.loads(missing.value.response.body)["error"], str)
    async with socket(server, f"/ws/session/{id}/worker/agent", reader) as page:
        await page.send({"type": "user-message", "content": "do it"})
        assert (await page.until(of_type("error")))[-1]["code"] == "forbidden"
    async with socket(server, f"/ws/agent?agentId={id}", reader) as page:
        await page.send({"type": "user_input", "text": "do it"})
        assert (await page.until(of_type("error")))[-1]["code"] == "forbidden"
    assert server.view(id).status == "draft"


async def read_to_end(page: Any) -> None:
    """Take in what is still on its way; ends with the connection."""
    async with asyncio.timeout(DEADLINE):
        while True:
            await page.connection.recv()


async def test_revoking_a_token_closes_its_socket(server: RunningConsole) -> None:
    """FM-46: within a second, with a code."""
    id = await server.launch()
    client, secret = await server.auth.clients.create("token", "bob", ("read",), label="x", by="test", lifetime=None)
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        socket(server, f"/ws/session/{id}/worker/agent", headers) as page,
        socket(server, "/ws/app", headers) as lists,
        socket(server, "/ws/agent?agentId=nothing-yet", headers) as early,
    ):
        await page.until(IDLE)
        await lists.until(of_type("sessions-sync"))
        await early.until(of_type("status"))
        await server.auth.revoke(client.id, "ada")
        for one in (page, lists, early):
            with pytest.raises(ConnectionClosed) as closed:
                await read_to_end(one)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4001
