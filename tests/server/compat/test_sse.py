"""The stream of the first console, and the event names of the second, literally (S000-35, 36, 49..53; S002-14, 15)."""

import asyncio
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.model.event import HookRan, TasksReplaced, ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.server.compat.frame_entry import FrameEntry
from bobstay.server.compat.legacy_events import LegacyEventEncoder
from bobstay.sessions.log_codec import to_json
from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Counts, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.compat.compat_clients import Message, of_type, sse

DONE = of_type("done")


def types(events: Iterable[Message]) -> list[str]:
    return [event["type"] for event in events]


def only(events: Iterable[Message], name: str) -> list[Message]:
    return [event for event in events if event["type"] == name]


async def launched(server: RunningConsole, query: str, **more: Any) -> str:
    reply = await server.post("/api/sessions", {"query": query, **more})
    assert reply.status == 200, reply.body
    return str(reply.json["id"])


async def test_headers_and_frames_are_those_of_the_seed(server: RunningConsole, model: ModelServer) -> None:
    """S000-49: flushed at once; each frame is `data: `, JSON on one line, and an empty line."""
    gate = Gate()
    id = await launched(server, model.play("one", Step(blocks=[Say("two\nlines")], gate=gate)))
    await gate.reached()
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        assert stream.status == 200
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["cache-control"] == "no-cache"
        gate.open()
        await stream.until(DONE)
        for block in stream.blocks:
            name, _, rest = block.partition(": ")
            assert name in ("data", "id"), block
            assert "\n" not in rest
            assert name == "id" or isinstance(json.loads(rest)["type"], str)


async def test_every_transition_is_told(server: RunningConsole, model: ModelServer) -> None:
    """S000-52 D: not only how it ended; each with the token counts, a failure with its words."""
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"}, "c")]), Step(blocks=[Say("ok")]))
    id = await launched(server, prompt)
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        asked = (await stream.until(of_type("permission_request")))[-1]
        answer = {"decision": "allow", "input_sha256": asked["input_sha256"]}
        assert (await server.post(f"/api/v1/interactions/{asked['id']}/decision", answer)).status == 200
        await stream.until(DONE)
    async with sse(server, f"/api/sessions/{id}/stream?until=done") as again:
        events = await again.rest()
    changes = only(events, "status_change")
    statuses = ["starting", "running", "waiting_input", "running", "completed"]
    assert [change["status"] for change in changes] == statuses
    assert all("effectiveContextTokens" in change["tokenUsage"] for change in changes)
    assert all("errorMessage" not in change for change in changes)
    assert asked["tool_name"] == "Bash"
    assert asked["tool_use_id"] == "c"
    assert asked["input"] == {"command": "touch x"}


async def test_a_failure_is_told_with_its_words(server: RunningConsole, model: ModelServer) -> None:
    """S000-23, S000-84; S002-15: error, then done, once."""
    id = await launched(server, model.play("bad", Step(status=400, message="no such thing")))
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        events = await stream.until(DONE)
    (result,) = only(events, "result")
    failed = only(events, "status_change")[-1]
    assert result["isError"] is True
    assert "no such thing" in result["error"]
    assert (failed["status"], "no such thing" in failed["errorMessage"]) == ("failed", True)
    assert "no such thing" in only(events, "error")[0]["message"]
    assert types(events)[-1] == "done"


async def test_messages_of_a_turn_have_the_seeds_shape(server: RunningConsole, model: ModelServer) -> None:
    """S000-11, S000-12, S002-14: blocks as the first page reads them, and flat as the second does."""
    (server.work / "a.txt").write_text("content of a")
    prompt = model.play(
        "read",
        Step(blocks=[Say("I look."), Call("Read", {"file_path": str(server.work / "a.txt")}, "r")]),
        Step(blocks=[Say("Done.")]),
    )
    id = await launched(server, prompt, workingDir=str(server.work))
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        events = await stream.until(DONE)
    system = only(events, "system")[0]
    assert (system["subtype"], system["sessionId"], system["cwd"]) == ("init", id, str(server.work))
    contents = [event["message"]["content"][0] for event in only(events, "assistant")]
    assert contents[0] == {"type": "text", "text": "I look."}
    call = {"id": "r", "name": "Read", "input": {"file_path": str(server.work / "a.txt")}}
    assert contents[1] == {"type": "tool_use", **call}
    assert only(events, "tool_use")[0] | call == only(events, "tool_use")[0]
    (result,) = only(events, "tool_result")
    assert (result["tool_use_id"], result["is_error"]) == ("r", False)
    assert "content of a" in str(result["content"])
    (inner,) = only(events, "user")[1:]
    assert inner["message"]["content"][0]["tool_use_id"] == "r"
    last = only(events, "result")[0]
    assert (last["isError"], last["result"], last["numTurns"]) == (False, "Done.", 2)
    assert last["usage"]["inputTokens"] == 200
    assert last["costUsd"] > 0
    assert types(events).count("done") == 1


async def test_text_comes_as_it_is_said(server: RunningConsole, model: ModelServer) -> None:
    """S002-15: `text` is a delta; put together by offset they are what was said."""
    gate = Gate()
    step = Step(blocks=[Say("one two three"), Say("!")], chunk=3, gate=gate, gate_after=1)
    id = await launched(server, model.play("talk", step))
    await gate.reached()
    async with sse(server, f"/api/sessions/{id}/stream?after=now") as stream, asyncio.timeout(DEADLINE):
        opening = asyncio.create_task(stream.until(of_type("text")))
        async with sse(server, f"/api/sessions/{id}/stream") as other:
            await other.until(of_type("assistant"))
        gate.open()
        events = await opening + await stream.until(DONE)
    text = "".join(event["text"] for event in only(events, "text") if event["index"] == 1)
    assert text == "!"
    assert "one two three" not in str(only(events, "assistant")), "that was before now"


async def test_marks_are_crossed_once_with_the_seeds_words(server: RunningConsole, model: ModelServer) -> None:
    """S000-34..36 and the D of 35: an update for each answer, a warning only when a mark is crossed."""
    prompt = model.play(
        "fill",
        *(
            Step(blocks=[Call("Glob", {"pattern": "*"}, f"g{n}")], usage=Counts(input=n * 1000, output=0))
            for n in (50, 105, 110, 155)
        ),
        Step(blocks=[Say("full")], usage=Counts(input=160_000, output=0)),
    )
    id = await launched(server, prompt, model="claude-haiku-4-5")
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        events = await stream.until(DONE)
    limit = server.view(id).context_limit
    assert limit == 200_000
    assert [event["tokenUsage"]["effectiveContextTokens"] for event in only(events, "token_update")] == [
        50_000, 105_000, 110_000, 155_000, 160_000,
    ]  # fmt: skip
    crossed = [event for event in events if event["type"] in ("token_warning", "token_critical")]
    expected: list[tuple[str, str]] = []
    mark = 0.0
    for used in (50_000, 105_000, 110_000, 155_000, 160_000):
        if mark < 0.9 <= used / limit:
            expected.append(("token_critical", "Context nearly full (90%). Consider starting a new session."))
        elif mark < 0.6 <= used / limit:
            expected.append(("token_warning", "Approaching context limit (60%)"))
        mark = used / limit
    assert [(event["type"], event["message"]) for event in crossed] == expected
    assert expected
    assert all(event["contextLimit"] == limit and "tokenUsage" in event for event in crossed)


async def test_tasks_output_and_time_outs_have_their_events(server: RunningConsole, model: ModelServer) -> None:
    """S002-1, S002-14, S002-15: task_update after the result of the call, raw output, a time-out."""
    todos = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]
    printed = "printf 'Command timed out after 2m\\nNot done after 3s: moved\\n'"
    prompt = model.play(
        "all",
        Step(blocks=[Call("TodoWrite", {"todos": todos}, "t")]),
        Step(blocks=[Call("Bash", {"command": "echo here; sleep 100", "timeout": 300}, "b")]),
        Step(blocks=[Call("Bash", {"command": printed}, "p")]),
        Step(blocks=[Say("ok")]),
    )
    id = await server.launch(prompt, allowed_tools=["Bash"])
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        events = await stream.until(DONE)
    order = [(event["type"], event.get("tool_use_id")) for event in events]
    assert order.index(("tool_result", "t")) < order.index(("task_update", None))
    (update,) = only(events, "task_update")
    assert (update["session_id"], update["todos"]) == (id, todos)
    (timeout,) = only(events, "tool_timeout")  # and none for a command that only prints such words
    assert (timeout["tool_use_id"], timeout["tool_name"]) == ("b", "Bash")
    assert timeout["elapsed_seconds"] >= 0.3
    output = only(events, "tool_output")
    assert "here" in "".join(event["text"] for event in output if event["tool_use_id"] == "b")


async def test_a_time_out_told_by_an_external_engine_has_its_event(server: RunningConsole) -> None:
    """S002-15: with what the official command (2.1) says about a call in `tool_use_result`; it tells no duration."""
    display = {"stdout": "here", "stderr": "", "interrupted": False, "backgroundTaskId": "b1", "timedOutAfterMs": 1500}
    done = ToolDone(ToolReply("c", (Text("moved to the background"),)), "Bash", display)
    entry = FrameEntry("tool_done", msgspec.Raw(to_json(done)), seq=1)
    timeout, *_ = LegacyEventEncoder("s", server.registry).messages(entry)
    assert (timeout["type"], timeout["tool_use_id"], timeout["elapsed_seconds"]) == ("tool_timeout", "c", 1.5)


async def test_a_change_of_mode_is_told(server: RunningConsole, model: ModelServer) -> None:
    """S002-15: mode_changed."""
    gate = Gate()
    id = await launched(server, model.play("m", Step(blocks=[Say("ok")], gate=gate)))
    await gate.reached()
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        reply = await server.ask("PATCH", f"/api/v1/sessions/{id}", {"permission_mode": "acceptEdits"})
        assert reply.status == 200, reply.body
        changed = (await stream.until(of_type("mode_changed")))[-1]
        assert changed["mode"] == "acceptEdits"
        gate.open()
        await stream.until(DONE)


async def test_a_reader_that_comes_back_misses_nothing(server: RunningConsole, model: ModelServer) -> None:
    """FM-1, S000-56: what a browser sends as Last-Event-ID is where it goes on; sums are those of the whole session."""
    prompt = model.play(
        "many",
        *(Step(blocks=[Call("Glob", {"pattern": "*"}, f"g{n}")]) for n in range(5)),
        Step(blocks=[Say("ok")]),
    )
    id = await launched(server, prompt)
    async with sse(server, f"/api/sessions/{id}/stream?until=done") as stream:
        whole = await stream.rest()
    durable = [event for event in whole if event["type"] not in ("text", "tool_output")]
    seen: list[Message] = []
    cursor = ""
    while not seen or seen[-1]["type"] != "done":
        headers = {"Last-Event-ID": cursor} if cursor else {}
        async with sse(server, f"/api/sessions/{id}/stream", headers) as stream, asyncio.timeout(DEADLINE):
            block = ""
            while not block.startswith("id: "):
                block = await stream.block() or ""
                if block.startswith("data: "):
                    seen.append(json.loads(block.removeprefix("data: ")))
            cursor = stream.cursor
    assert [event for event in seen if event["type"] not in ("text", "tool_output")] == durable


async def test_only_the_asked_session_and_types_are_told(server: RunningConsole, model: ModelServer) -> None:
    """S000-51."""
    gate = Gate()
    first = await launched(server, model.play("a", Step(blocks=[Say("first")], gate=gate)))
    await gate.reached()
    async with sse(server, f"/api/stream/events?session_id={first}&types=assistant,done") as stream:
        second = await launched(server, model.play("b", Step(blocks=[Say("second")])))
        await server.until_status(second, "completed")
        gate.open()
        events = await stream.until(DONE)
    assert types(events) == ["assistant", "done"]
    assert {event["sessionId"] for event in events} == {first}


async def test_a_heartbeat_can_be_seen(model: ModelServer, tmp_path: Path) -> None:
    """S000-50 D, FM-4: the seed's comment, and beside it an event."""
    async with RunningConsole(model, tmp_path, heartbeat=0.05) as server:
        id = await server.launch()
        async with sse(server, f"/api/sessions/{id}/stream") as stream, asyncio.timeout(DEADLINE):
            while (block := await stream.block()) != ": keepalive":
                assert block is not None
            assert await stream.block() == 'event: heartbeat\ndata: {"type":"heartbeat"}'


async def test_an_unknown_session_is_not_followed(server: RunningConsole) -> None:
    reply = await server.get("/api/sessions/none/stream")
    assert (reply.status, reply.json["error"]) == (404, "Session not found")
    assert (await server.get("/api/stream/events")).status == 422
    assert (await server.get("/api/sessions/none/stream", headers={})).status == 401


async def test_a_cursor_that_means_nothing_is_answered_with_everything(
    server: RunningConsole, model: ModelServer
) -> None:
    """S004-29 D."""
    id = await launched(server, model.play("one", Step(blocks=[Say("hello")])))
    await server.until_status(id, "completed")
    for cursor in ("999999", "-1", "nonsense", "00000000-0000-4000-8000-000000000000"):
        async with sse(server, f"/api/sessions/{id}/stream?until=done", {"Last-Event-ID": cursor}) as stream:
            events = await stream.rest()
        assert types(events)[0] == "reset"
        assert types(events)[-1] == "done"


async def test_nothing_is_left_of_readers_that_went(server: RunningConsole) -> None:
    """S000-53."""
    id = await server.launch()
    for _ in range(50):
        async with sse(server, f"/api/sessions/{id}/stream"):
            assert server.hub.clients()
    await until(lambda: not server.hub.clients())
    assert not server.hub.is_wanted(f"session:{id}")


async def test_revoking_a_token_ends_its_streams(server: RunningConsole) -> None:
    """FM-46."""
    id = await server.launch()
    client, secret = await server.auth.clients.create("token", "bob", ("read",), label="x", by="test", lifetime=None)
    async with sse(server, f"/api/sessions/{id}/stream", {"Authorization": f"Bearer {secret}"}) as stream:
        await server.auth.revoke(client.id, "ada")
        async with asyncio.timeout(DEADLINE):
            await stream.rest()


async def test_each_step_of_a_list_of_tasks_can_be_seen(
    server: RunningConsole, model: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """S002-17: the hook, the event on the wire, the run of the sync; the page shows what is in the log."""
    settings = Path(server.environment.paths.bobstay) / "settings.json"
    hook = {"matcher": "TodoWrite", "hooks": [{"type": "command", "command": "true"}]}
    settings.write_text(json.dumps({"hooks": {"PostToolUse": [hook]}}))
    todos = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]
    gate = Gate()
    steps = (Step(blocks=[Call("TodoWrite", {"todos": todos}, "t")], gate=gate), Step(blocks=[Say("ok")]))
    with caplog.at_level(logging.DEBUG, "bobstay"):
        id = await launched(server, model.play("tasks", *steps))
        async with sse(server, f"/api/sessions/{id}/stream") as stream:
            await stream.until(of_type("status_change", status="running"))
            gate.open()
            (update,) = only(await stream.until(DONE), "task_update")
        await server.database.wait_until_indexed(id, server.view(id).seq)
    assert update["todos"][0]["content"] == "Look"
    events = [envelope.event for envelope in server.registry.reader(id).read()]
    assert [event.hook for event in events if isinstance(event, HookRan)] == ["PostToolUse:TodoWrite"]
    (entry,) = [seq for seq, event in enumerate(events, 1) if isinstance(event, TasksReplaced)]
    logged = [record.getMessage() for record in caplog.records if id in record.getMessage()]
    assert f"session {id}: 1 tasks in entry {entry}, sent to subscribers" in logged
    assert f"session {id}: replaced its tasks by 1" in logged
