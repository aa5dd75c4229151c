"""Whole conversations between a host and the real program, over pipes."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.installed_command import InstalledCommand
from tests.kit.program import BOBSTAY, Program, initialize, kind_of, prompt, request
from tests.kit.waiting import DEADLINE
from tests.modelserver import Call, Gate, ModelServer, Say, Step
from tests.wire.flows import FLOWS, allow, check, drive, say, wait_for

Start = Callable[..., Awaitable[Program]]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
async def start(command: InstalledCommand) -> AsyncIterator[Start]:
    running: list[Program] = []

    async def begin(*arguments: str, env: dict[str, str] | None = None, **more: Any) -> Program:
        command.variables |= env or {}
        running.append(await command.host(*arguments, **more))
        return running[-1]

    yield begin
    for program in running:
        await program.kill()


@pytest.mark.parametrize("name", FLOWS)
async def test_a_flow_is_golden(name: str, model: ModelServer, tmp_path: Path) -> None:
    check(name, await drive(BOBSTAY, name, model, tmp_path))


async def test_a_bare_prompt_works_without_initialize(model: ModelServer, start: Start) -> None:
    program = await start()
    program.send(prompt(model.play("t", say("Hi."))))
    assert (await program.until("result"))["result"] == "Hi."
    assert await program.end() == 0


async def test_no_state_is_told_to_who_did_not_ask(model: ModelServer, start: Start) -> None:
    program = await start(env={"CLAUDE_CODE_SDK_READS_SESSION_STATE": "0"})
    program.send(prompt(model.play("t", say("Hi."))))
    await program.until("result")
    assert await program.end() == 0
    assert [kind_of(frame) for frame in program.frames] == ["init", "assistant:text", "result"]


async def test_what_is_unknown_is_ignored(model: ModelServer, start: Start) -> None:
    program = await start()
    program.send({"type": "keep_alive"}, {"type": "mystery", "x": 1}, {"x": 1}, prompt(model.play("t", say("Hi."))))
    assert (await program.until("result"))["result"] == "Hi."


async def test_a_line_that_is_no_json_ends_the_program_with_a_word(start: Start) -> None:
    program = await start()
    program.write(b"this is not json\n")
    assert await program.end() == 1
    errors = await program.errors()
    assert "Error parsing streaming input line" in errors
    assert "Traceback" not in errors


async def test_the_end_of_input_lets_the_turn_finish(model: ModelServer, start: Start) -> None:
    gate = Gate()
    program = await start()
    program.send(prompt(model.play("t", Step(blocks=[Say("Finished.")], gate=gate))))
    await gate.reached()
    assert program.process.stdin is not None
    program.process.stdin.close()
    gate.open()
    assert (await program.until("result"))["result"] == "Finished."
    assert await program.end() == 0


async def test_sigterm_ends_an_idle_program_at_once(start: Start) -> None:
    program = await start()
    program.send(initialize())
    await program.until("answer:success")
    program.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        assert await program.process.wait() == 143
    assert await program.errors() == ""


async def test_sigterm_in_a_turn_still_tells_how_it_ended(model: ModelServer, start: Start) -> None:
    gate = Gate()
    program = await start()
    program.send(prompt(model.play("t", Step(blocks=[Say("half"), Say("never")], gate=gate, gate_after=1))))
    await gate.reached()
    program.process.send_signal(signal.SIGTERM)
    assert (await program.until("result"))["terminal_reason"] == "aborted_streaming"
    async with asyncio.timeout(DEADLINE):
        assert await program.process.wait() == 143
    gate.open()


async def test_a_bad_line_in_a_turn_ends_it_and_the_program(model: ModelServer, start: Start) -> None:
    gate = Gate()
    program = await start()
    program.send(prompt(model.play("t", Step(blocks=[Say("half"), Say("never")], gate=gate, gate_after=1))))
    await gate.reached()
    program.write(b"nonsense\n")
    assert (await program.until("result"))["is_error"] is True
    async with asyncio.timeout(DEADLINE):
        assert await program.process.wait() == 1
    gate.open()


async def test_a_host_that_stops_reading_in_a_turn_leaves_nothing_behind(
    model: ModelServer, start: Start, tmp_path: Path
) -> None:
    """F12: the tool that ran is gone with the program."""
    command = "echo $$ > pid; sleep 0.3; echo $$ > pid; exec sleep 60"
    program = await start("--allowedTools", "Bash,Edit", "--include-partial-messages")
    program.send(prompt(model.play("t", Step(blocks=[Call("Bash", {"command": command}, "t1")]), say("never"))))
    await wait_for(tmp_path / "work" / "pid")
    program.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]  # no public way to stop reading
    program.send(request(2, "interrupt"))
    async with asyncio.timeout(DEADLINE):
        await program.process.wait()
    assert "Traceback" not in await program.errors()
    pid = int((tmp_path / "work" / "pid").read_text() or "0")
    assert not pid or not Path(f"/proc/{pid}").exists()


async def test_a_question_to_a_host_that_hung_up_is_a_no(model: ModelServer, start: Start) -> None:
    program = await start("--permission-prompt-tool", "stdio")
    step = Step(blocks=[Call("Bash", {"command": "touch made.txt"}, "t1")])
    program.send(prompt(model.play("t", step, say("Done."))))
    await program.until("can_use_tool")
    assert await program.end() == 0
    (reply,) = [frame for frame in program.frames if kind_of(frame) == "user:tool_result"]
    assert "Tool permission request failed" in reply["message"]["content"][0]["content"]


async def test_images_of_many_megabytes_reach_the_model(model: ModelServer, start: Start) -> None:
    token = model.play("t", say("Saw it."))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    filler = {"type": "text", "text": "x" * 3_000_000}
    program = await start()
    program.send(prompt([{"type": "text", "text": token}, image, filler]))
    assert (await program.until("result"))["result"] == "Saw it."
    content = model.requests[0].body["messages"][0]["content"]
    assert "image" in [block["type"] for block in content]


async def test_content_we_cannot_read_is_named_to_the_model(model: ModelServer, start: Start) -> None:
    program = await start()
    document = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    program.send(prompt([{"type": "text", "text": model.play("t", say("Hm."))}, document]))
    await program.until("result")
    assert "content of type 'document' is not supported" in json.dumps(model.requests[0].body["messages"])


async def test_a_prompt_without_content_is_answered_with_an_error(start: Start) -> None:
    program = await start()
    program.send(prompt([]))
    assert (await program.until("result"))["is_error"] is True


async def test_a_prompt_during_an_answer_gets_a_turn_of_its_own(model: ModelServer, start: Start) -> None:
    gate = Gate()
    program = await start()
    program.send(prompt(model.play("a", Step(blocks=[Say("First.")], gate=gate))))
    await gate.reached()
    program.send(prompt(model.play("b", say("Second."))), request(9, "mcp_status"))
    await program.until("answer:success")
    gate.open()
    await program.until("result", 2)
    await program.until("idle")
    kinds = [kind_of(frame) for frame in program.frames if kind_of(frame) != "answer:success"]
    assert kinds == ["running", "init", "assistant:text", "result", "init", "assistant:text", "result", "idle"]
    assert [frame["result"] for frame in program.frames if frame["type"] == "result"] == ["First.", "Second."]


async def test_a_prompt_during_a_tool_is_folded_in(model: ModelServer, start: Start, tmp_path: Path) -> None:
    """H3-9: one result for both prompts, and the model receives the second together with the tool's output."""
    command = "touch started; until [ -e go ]; do sleep 0.05; done"
    steps = [Step(blocks=[Call("Bash", {"command": command}, "t1")]), say("Both seen.")]
    program = await start("--allowedTools", "Bash", "--replay-user-messages")
    program.send(prompt(model.play("t", *steps)))
    await wait_for(tmp_path / "work" / "started")
    program.send(prompt("ALSO-THIS", uuid="00000000-0000-4000-8000-0000000000aa"))
    await program.until("lifecycle:queued")
    (tmp_path / "work" / "go").touch()
    result = await program.until("result")
    assert await program.end() == 0
    assert result["user_message_uuids"] == ["00000000-0000-4000-8000-0000000000aa"]
    assert [kind_of(frame) for frame in program.frames if frame["type"] in ("user", "command_lifecycle", "result")] == [
        *("replay", "lifecycle:queued", "user:tool_result", "replay"),
        *("lifecycle:started", "lifecycle:completed", "result"),
    ]
    assert "ALSO-THIS" in json.dumps(model.requests[1].body["messages"][-1])


async def test_requests_are_answered_each_in_its_own_way(model: ModelServer, start: Start) -> None:
    program = await start()
    asked = [
        request(1, "initialize", hooks=None),
        request(2, "interrupt"),
        request(3, "set_permission_mode", mode="acceptEdits"),
        request(4, "set_permission_mode", mode="bogus"),
        request(5, "set_permission_mode", mode="bypassPermissions"),
        request(6, "set_model", model="claude-haiku-4-5"),
        request(7, "mcp_status"),
        request(8, "get_context_usage"),
        request(9, "rewind_files", user_message_id="x"),
        request(10, "stop_task", task_id="nope"),
        request(11, "no_such_subtype"),
        request(12, "mcp_reconnect", serverName="nope"),
        {"type": "control_request", "request_id": "req_13"},
    ]
    program.send(*asked)
    assert await program.end() == 0
    answers = {
        frame["response"]["request_id"]: frame["response"]
        for frame in program.frames
        if frame["type"] == "control_response"
    }
    assert len(answers) == len(asked)
    assert {"commands", "output_style", "available_output_styles", "models", "account", "pid"} <= (
        answers["req_1"]["response"].keys()
    )
    assert answers["req_1"]["response"]["hook_on_failure_supported"] is True
    assert answers["req_1"]["pending_permission_requests"] == []
    assert answers["req_2"]["response"] == {"still_queued": []}
    assert answers["req_3"]["response"] == {"mode": "acceptEdits"}
    assert answers["req_4"]["error_code"] == "invalid_mode"
    assert answers["req_5"]["error_code"] == "bypass_not_launched"
    assert answers["req_6"]["response"]["model"].startswith("claude-haiku-4-5")
    assert answers["req_7"]["response"] == {"mcpServers": []}
    assert {"categories", "totalTokens", "maxTokens", "percentage"} <= answers["req_8"]["response"].keys()
    assert "checkpointing" in answers["req_9"]["error"]
    assert answers["req_10"]["response"] == {}
    assert answers["req_11"]["error_code"] == "unsupported_request"
    assert "nope" in answers["req_12"]["error"]
    assert answers["req_13"]["subtype"] == "error"
    beside = [kind_of(frame) for frame in program.frames if frame["type"] != "control_response"]
    assert beside == ["status", "replay"]


async def test_a_matcher_that_is_no_pattern_is_refused(start: Start) -> None:
    program = await start()
    program.send(initialize(hooks={"PreToolUse": [{"matcher": "(", "hookCallbackIds": ["h"]}]}))
    answer = await program.until("answer:error")
    assert "not a valid pattern" in answer["response"]["error"]


async def test_an_unknown_session_is_a_result_before_any_answer(start: Start) -> None:
    program = await start("--resume=00000000-0000-4000-8000-000000000001")
    program.send(initialize())
    frame = await program.until("result")
    assert await program.end() == 1
    assert frame["errors"] == ["No conversation found with session ID: 00000000-0000-4000-8000-000000000001"]
    assert (frame["subtype"], frame["num_turns"]) == ("error_during_execution", 0)
    assert len(program.frames) == 1


async def test_an_interrupt_keeps_what_is_queued(model: ModelServer, start: Start) -> None:
    """F36: a message sent while busy survives the end of the turn it came in."""
    gate = Gate()
    program = await start("--include-partial-messages")
    program.send(prompt(model.play("a", Step(blocks=[Say("half"), Say("never")], gate=gate, gate_after=1))))
    await gate.reached()
    await program.until("content_block_delta")
    program.send(prompt(model.play("b", say("Next."))), request(2, "interrupt"))
    answer = await program.until("answer:success")
    assert len(answer["response"]["response"]["still_queued"]) == 1
    await program.until("result", 2)
    gate.open()
    first, second = [frame for frame in program.frames if frame["type"] == "result"]
    assert (first["terminal_reason"], second["result"]) == ("aborted_streaming", "Next.")
    events = [frame["event"]["type"] for frame in program.frames if frame["type"] == "stream_event"]
    assert events.count("message_start") == events.count("message_stop") == 2


async def test_many_questions_at_once_do_not_lock_up(model: ModelServer, start: Start) -> None:
    """F29: many questions at once are all asked and all answered, whoever writes much before reading."""
    calls: list[Any] = [Call("Bash", {"command": f"touch f{number}"}, f"t{number}") for number in range(12)]
    program = await start("--permission-prompt-tool", "stdio", answer=allow)
    program.send(*[request(number, "get_context_usage") for number in range(300)])
    program.send(prompt(model.play("t", Step(blocks=calls), say("All done."))))
    result = await program.until("result")
    assert (result["result"], result["num_turns"]) == ("All done.", 13)
    assert await program.end() == 0


async def test_no_line_is_longer_than_hosts_read(model: ModelServer, start: Start, tmp_path: Path) -> None:
    """F23: a big file edited: its whole content is in the display, and must not break the host."""
    path = tmp_path / "work" / "big.txt"
    path.write_text("start\n" + "a line of some length\n" * 80_000)
    steps = [
        Step(blocks=[Call("Read", {"file_path": str(path), "limit": 5}, "t1")]),
        Step(blocks=[Call("Edit", {"file_path": str(path), "old_string": "start", "new_string": "begin"}, "t2")]),
        say("Edited."),
    ]
    program = await start("--permission-mode", "acceptEdits")
    program.send(prompt(model.play("t", *steps)))
    assert (await program.until("result"))["result"] == "Edited."
    assert path.read_text().startswith("begin\n")
    assert max(len(json.dumps(frame, ensure_ascii=False)) for frame in program.frames) < 1024 * 1024


async def test_a_transcript_is_mirrored_before_the_result(model: ModelServer, start: Start) -> None:
    program = await start("--session-mirror")
    program.send(prompt(model.play("t", say("Mirrored."))))
    result = await program.until("result")
    assert await program.end() == 0
    kinds = [kind_of(frame) for frame in program.frames]
    assert kinds.index("transcript_mirror") < kinds.index("result")
    mirrored = [frame for frame in program.frames if frame["type"] == "transcript_mirror"]
    assert all(frame["filePath"].endswith(f"{result['session_id']}.jsonl") for frame in mirrored)
    entries = [entry for frame in mirrored for entry in frame["entries"]]
    shown = [entry for entry in entries if entry["type"] in ("user", "assistant") and not entry.get("isMeta")]
    assert [entry["type"] for entry in shown] == ["user", "assistant"]
    assert "Mirrored." in json.dumps(entries)
