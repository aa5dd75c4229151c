"""Background commands in print mode: the run waits for them before it ends (H1-12)."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.kit.installed_command import InstalledCommand, Started
from tests.kit.program import Frame, initialize, kind_of, prompt, request
from tests.modelserver import Call, Gate, ModelServer, Say, Step
from tests.wire.flows import AWAIT_FILE, say, wait_for

BYPASS = "--dangerously-skip-permissions"
Start: TypeAlias = Callable[..., Started]


def background(command: str, **more: Any) -> Step:
    return Step(blocks=[Call("Bash", {"command": command, "run_in_background": True, **more}, "toolu_1")])


@pytest.fixture
def work(command: InstalledCommand) -> Path:
    return command.work


@pytest.fixture
def start(command: InstalledCommand) -> Start:
    def run(*arguments: str, wait: str = "600000") -> Started:
        return command.start(*arguments, BYPASS, CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS=wait, IS_SANDBOX="1")

    return run


def ended(process: Started) -> tuple[str, str, int]:
    out, err = process.communicate(timeout=200)
    return out, err, process.returncode


@pytest.mark.parametrize("given", [{"run_in_background": True}, {"timeout": 100}])
def test_text_is_the_answer_given_after_the_command_ended(
    model: ModelServer, start: Start, work: Path, given: dict[str, Any]
) -> None:
    """Also for a command that outlasted its call."""
    gate = Gate()
    call = Step(blocks=[Call("Bash", {"command": AWAIT_FILE, **given}, "toolu_1")])
    token = model.play("t", call, say("I will report.", gate=gate), say("PASSED"))
    process = start("-p", token)
    gate.wait_reached()
    gate.open()
    (work / "go").touch()
    assert ended(process) == ("PASSED\n", "", 0)
    assert "<task-notification>" in str(model.requests[-1].body["messages"][-1])


def test_json_is_the_result_of_the_last_turn(model: ModelServer, start: Start, work: Path) -> None:
    gate = Gate()
    token = model.play("t", background(AWAIT_FILE), say("I will report.", gate=gate), say("PASSED"))
    process = start("-p", token, "--output-format", "json")
    gate.wait_reached()
    gate.open()
    (work / "go").touch()
    out, _, code = ended(process)
    assert (json.loads(out)["result"], code) == ("PASSED", 0)


def test_a_stream_tells_of_the_task_and_of_both_turns(model: ModelServer, start: Start, work: Path) -> None:
    """The frames and their fields are those of trace 29_background_bash of the first implementation (2.1.325)."""
    gate = Gate()
    token = model.play(
        "t", background(AWAIT_FILE, description="Background job"), say("Started it.", gate=gate), say("It finished.")
    )
    process = start("-p", token, "--output-format", "stream-json", "--verbose")
    gate.wait_reached()
    gate.open()
    assert process.stdout is not None
    frames: list[Frame] = []
    for line in process.stdout:
        frames.append(json.loads(line))
        if kind_of(frames[-1]) == "result":
            (work / "go").touch()
    _, err, code = ended(process)
    assert (err, code) == ("", 0)
    assert [kind_of(frame) for frame in frames] == [
        *("init", "assistant:tool_use", "background_tasks_changed", "task_started", "user:tool_result"),
        *("assistant:text", "result", "task_updated", "task_notification", "background_tasks_changed"),
        *("init", "assistant:text", "result"),
    ]
    by_kind = {kind_of(frame): frame for frame in reversed(frames)}
    started, notice = by_kind["task_started"], by_kind["task_notification"]
    assert (started["tool_use_id"], started["description"]) == ("toolu_1", "Background job")
    assert (started["is_backgrounded"], started["task_type"]) == (True, "local_bash")
    lists = [frame["tasks"] for frame in frames if kind_of(frame) == "background_tasks_changed"]
    assert [[task["task_id"] for task in tasks] for tasks in lists] == [[started["task_id"]], []]
    assert by_kind["task_updated"]["patch"]["status"] == "completed"
    assert (notice["task_id"], notice["tool_use_id"], notice["status"]) == (started["task_id"], "toolu_1", "completed")
    assert notice["summary"] == 'Background command "Background job" completed (exit code 0)'
    assert Path(notice["output_file"]).read_text() == "late\n"
    first, second = (frame for frame in frames if frame["type"] == "result")
    assert "origin" not in first
    assert second["origin"]["kind"] == "task-notification"
    assert second["result"] == "It finished."


def test_what_still_runs_when_the_time_is_over_is_ended_and_named(model: ModelServer, start: Start) -> None:
    token = model.play("t", background("sleep 300", description="watch files"), say("It runs."))
    out, err, code = ended(start("-p", token, wait="50"))
    assert (out, code) == ("It runs.\n", 0)
    assert err == 'Warning: still running in the background, ended with the session: "watch files"\n'


def test_the_time_of_a_run_is_over_for_what_it_waits_for_too(model: ModelServer, start: Start) -> None:
    token = model.play("t", background("sleep 307"), say("It runs."))
    out, err, code = ended(start("-p", token, "--max-seconds", "3"))
    assert (out, code, "sleep 307" in err) == ("It runs.\n", 0, True)


def test_what_a_command_left_running_is_not_waited_for(model: ModelServer, start: Start) -> None:
    """`npm run dev &` in print mode."""
    token = model.play("t", Step(blocks=[Call("Bash", {"command": "sleep 301 & echo up"}, "a")]), say("It is up."))
    out, err, code = ended(start("-p", token))
    assert (out, code) == ("It is up.\n", 0)
    assert "sleep 301 & echo up" in err


def test_a_run_that_a_limit_ended_waits_for_nothing(model: ModelServer, start: Start) -> None:
    token = model.play("t", background("sleep 302"), say("never"))
    out, err, code = ended(start("-p", token, "--max-turns", "1"))
    assert (code, "max turns" in out, "sleep 302" in err) == (1, True, True)


def test_a_signal_ends_the_waiting(model: ModelServer, start: Start, work: Path) -> None:
    token = model.play("t", background("touch up; sleep 303"), say("It runs."))
    process = start("-p", token, "--output-format", "stream-json", "--verbose")
    assert process.stdout is not None
    for line in process.stdout:
        if kind_of(json.loads(line)) == "result":
            break
    os.kill(process.pid, signal.SIGTERM)
    _, _, code = ended(process)
    assert code == 143


def test_a_resumed_session_is_told_what_became_of_its_commands(model: ModelServer, start: Start) -> None:
    token = model.play("t", background("sleep 304"), say("It runs."))
    ended(start("-p", token, wait="50"))
    assert ended(start("-p", "-c", model.play("again", say("I see."))))[0] == "I see.\n"
    assert "was stopped" in str(model.requests[-1].body["messages"])


async def test_a_host_may_stop_a_task(model: ModelServer, work: Path, command: InstalledCommand) -> None:
    token = model.play("t", background("sleep 305"), say("It runs."))
    program = await command.host("--allowedTools", "Bash")
    try:
        program.send(initialize())
        program.send(prompt(token))
        started = await program.until("task_started")
        await program.until("idle")
        program.send(request(2, "stop_task", task_id="unknown"), request(3, "stop_task", task_id=started["task_id"]))
        notice = await program.until("task_notification")
        assert (notice["task_id"], notice["status"]) == (started["task_id"], "stopped")
        await program.until("answer:success", 3)
        assert await program.end() == 0
    finally:
        await program.kill()
    assert [kind_of(frame) for frame in program.frames].count("result") == 1


async def test_a_host_that_closed_its_end_still_gets_the_turn_of_a_command(
    model: ModelServer, work: Path, command: InstalledCommand
) -> None:
    token = model.play("t", background(f"touch up; {AWAIT_FILE}"), say("It runs."), say("It ended."))
    program = await command.host("--allowedTools", "Bash")
    try:
        program.send(initialize())
        program.send(prompt(token))
        await program.until("idle")
        await wait_for(work / "up")
        assert program.process.stdin is not None
        program.process.stdin.close()
        (work / "go").touch()
        assert (await program.until("result", 2))["result"] == "It ended."
        assert await program.end() == 0
    finally:
        await program.kill()


async def test_what_still_runs_when_a_host_has_closed_its_end_is_ended_and_named(
    model: ModelServer, work: Path, command: InstalledCommand
) -> None:
    token = model.play("t", background("sleep 306", description="watch files"), say("It runs."))
    flags = ("--allowedTools", "Bash", "--max-seconds", "3")
    program = await command.host(*flags)
    try:
        program.send(initialize())
        program.send(prompt(token))
        await program.until("idle")
        assert await program.end() == 0
        assert (await program.until("task_notification"))["status"] == "stopped"
        assert '"watch files"' in await program.errors()
    finally:
        await program.kill()


async def test_a_prompt_while_a_command_runs_is_answered_at_once(
    model: ModelServer, work: Path, command: InstalledCommand
) -> None:
    token = model.play("t", background(AWAIT_FILE), say("It runs."))
    program = await command.host("--allowedTools", "Bash")
    try:
        program.send(initialize())
        program.send(prompt(token))
        await program.until("idle")
        program.send(prompt(model.play("other", Step(blocks=[Say("Yes?")]), Step(blocks=[Say("It ended.")]))))
        await program.until("idle", 2)
        (work / "go").touch()
        assert (await program.until("result", 3))["result"] == "It ended."
        assert await program.end() == 0
    finally:
        await program.kill()


@pytest.mark.parametrize(
    ("limit", "output"),
    [
        (("--max-turns", "3"), "Error: Reached max turns (3)"),
        (("--max-tokens", "300"), "Error: Reached maximum number of tokens (300): 360 used"),
    ],
)
def test_limits_hold_for_all_turns_of_a_prompt(
    model: ModelServer, start: Start, work: Path, limit: tuple[str, str], output: str
) -> None:
    """Three calls of 120 tokens each: two before the command ended and one after."""
    gate = Gate()
    last = Step(blocks=[Call("Bash", {"command": "true"}, "toolu_2")])
    token = model.play("t", background(AWAIT_FILE), say("I will report.", gate=gate), last, say("MORE"))
    process = start("-p", token, *limit)
    gate.wait_reached()
    gate.open()
    (work / "go").touch()
    out, _, code = ended(process)
    assert (out, code) == (f"{output}\n", 1)
    assert len(model.requests) == 3


def test_limits_hold_for_a_command_that_ended_during_the_answer(model: ModelServer, start: Start, work: Path) -> None:
    gate = Gate()
    token = model.play("t", background(AWAIT_FILE), say("I will report.", gate=gate), say("never"))
    process = start("-p", token, "--max-turns", "2", "--output-format", "stream-json", "--verbose")
    assert process.stdout is not None
    gate.wait_reached()
    (work / "go").touch()
    for line in process.stdout:
        if kind_of(json.loads(line)) == "task_notification":
            break
    gate.open()
    out, _, code = ended(process)
    assert (json.loads(out.splitlines()[-1])["subtype"], code, len(model.requests)) == ("error_max_turns", 1, 2)
