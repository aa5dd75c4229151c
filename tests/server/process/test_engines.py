"""Real engines as workers, end to end: the official command of the SDK, and bobstay in its own process."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import BlockDone, InteractionClosed, MessageDone, Prompted, RunDone, ToolDone, TurnStarted
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Text, ToolCall
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.server.workers.process.resume_point import engine_session
from tests.kit.process_sessions import ProcessSession, ProcessSessions
from tests.kit.program import BOBSTAY, ORACLE
from tests.kit.waiting import until
from tests.modelserver import Call, ModelServer, Say, Step

pytestmark = pytest.mark.skipif(not os.path.exists(ORACLE), reason=f"the SDK's wheel brought no program at {ORACLE}")
ENGINES = [pytest.param((ORACLE,), id="claude"), pytest.param((BOBSTAY,), id="bobstay")]
TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Create a file"}, "toolu_1")
WAIT = "touch started; python3 -c 'import time; time.sleep(100)'"


async def up(sessions: ProcessSessions, command: tuple[str, ...], **config: Any) -> ProcessSession:
    case = sessions.create(command, config=config)
    await case.worker.start()
    return case


def say(text: str) -> Step:
    return Step(blocks=[Say(text)])


@pytest.mark.parametrize("command", ENGINES)
async def test_an_approval_lets_a_call_run(real: ProcessSessions, model: ModelServer, command: tuple[str, ...]) -> None:
    """S003-2, S003-13, S004-5, S004-9, S004-10, S004-19"""
    prompt = model.play("approve", Step(blocks=[Say("Making it."), TOUCH]), say("Made."))
    case = await up(real, command)
    case.say(f"{prompt} go")
    opened = await case.asked()
    assert (opened.kind, opened.call.id, opened.call.name) == ("permission", "toolu_1", "Bash")
    assert (case.view.status, case.view.activity) == ("waiting_input", "asking")
    assert not (real.cwd / "made.txt").exists()
    await case.answer(opened, Answer(True, by="ada"))
    done = await case.until(RunDone)
    assert (done.ending, done.text) == ("completed", "Made.")
    assert (real.cwd / "made.txt").exists()
    assert case.events(InteractionClosed)[0].by == "ada"
    (tool,) = case.events(ToolDone)
    assert (tool.reply.call_id, tool.name, tool.reply.is_error) == ("toolu_1", "Bash", False)
    calls = [event.block for event in case.events(BlockDone) if isinstance(event.block, ToolCall)]
    assert [call.id for call in calls] == ["toolu_1"]
    assert "".join(event.text for event in case.shown if isinstance(event, TextDelta)) == "Making it.Made."
    assert [message.usage.output for message in case.events(MessageDone)] == [20, 20]
    assert case.view.usage.input == 200
    assert len(case.events(Prompted)) == 1, "the echo of a prompt is not another one"
    assert case.view.workers[0].engine_session


async def test_a_denial_tells_the_model_why(real: ProcessSessions, model: ModelServer) -> None:
    prompt = model.play("deny", Step(blocks=[TOUCH]), say("Then not."))
    case = await up(real, (BOBSTAY,))
    case.say(f"{prompt} go")
    await case.answer(await case.asked(), Answer(False, "not in this directory"))
    assert (await case.until(RunDone)).text == "Then not."
    (tool,) = case.events(ToolDone)
    assert "not in this directory" in tool.reply.text
    assert not (real.cwd / "made.txt").exists()


async def test_a_question_of_the_official_command_is_answered(real: ProcessSessions, model: ModelServer) -> None:
    """S004-19, S004-21, S004-23, S004-24"""
    options = [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cold"}]
    asked = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    call = Call("AskUserQuestion", {"questions": [asked]}, "toolu_q")
    prompt = model.play("question", Step(blocks=[call]), say("Blue it is."))
    case = await up(real, (ORACLE,))
    case.say(f"{prompt} go")
    opened = await case.asked()
    assert opened.kind == "question"
    await case.answer(opened, Answer(True, input={**opened.call.input, "answers": {"Which colour?": "Blue"}}))
    assert (await case.until(RunDone)).text == "Blue it is."
    assert "Blue" in case.events(ToolDone)[0].reply.text


async def test_a_question_of_the_official_command_comes_by_the_hook(real: ProcessSessions, model: ModelServer) -> None:
    """S004-21, S004-22, S004-23"""
    options = [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cold"}]
    asked = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    call = Call("AskUserQuestion", {"questions": [asked]}, "toolu_q")
    prompt = model.play("hooked", Step(blocks=[call]), say("Red it is."))
    case = real.create((ORACLE,), questions="hook")
    await case.worker.start()
    case.say(f"{prompt} go")
    opened = await case.asked()
    assert opened.kind == "question"
    await case.answer(opened, Answer(True, input={**opened.call.input, "answers": {"Which colour?": "Red"}}))
    assert (await case.until(RunDone)).text == "Red it is."
    assert "Which colour?: Red" in case.events(ToolDone)[0].reply.text


@pytest.mark.parametrize("command", ENGINES)
async def test_an_interrupt_ends_the_turn_and_the_session_goes_on(
    real: ProcessSessions, model: ModelServer, command: tuple[str, ...]
) -> None:
    """S000-19, S004-6, S004-11, FM-11, FM-31"""
    call = Call("Bash", {"command": WAIT, "description": "Wait", "timeout": 600_000}, "toolu_1")
    prompt = model.play("wait", Step(blocks=[call]), say("No."))
    after = model.play("after", say("Still here."))
    case = await up(real, command, allowed_tools=("Bash",))
    case.say(f"{prompt} go")
    await case.holds(lambda: bool(case.view.open_calls))
    await appears(real.cwd / "started")
    await case.interrupt()
    (done,) = case.events(RunDone)
    assert done.ending in ("interrupted_tools", "interrupted_streaming")
    assert case.status == "interrupted"
    assert case.worker.alive()
    assert (await case.turn(f"{after} go")).text == "Still here."
    assert case.status == "completed"


@pytest.mark.parametrize("command", ENGINES)
async def test_a_session_is_resumed_by_another_process_with_all_it_knew(
    real: ProcessSessions, model: ModelServer, command: tuple[str, ...]
) -> None:
    """S000-29, S003-30, S004-7, S004-12, S004-35"""
    first = model.play("first", say("The word is heron."))
    second = model.play("second", say("Heron."))
    case = await up(real, command)
    await case.turn(f"{first} remember")
    await case.worker.stop("asleep")
    known = engine_session(case.session)
    assert known
    again = real.around(case.session, command)
    again.say(f"{second} which word?")
    await again.worker.start()
    assert (await again.until(RunDone, 2)).text == "Heron."
    assert "The word is heron." in str(model.requests[-1].body["messages"])
    assert engine_session(case.session) == known
    assert again.view.turns == 2


async def test_what_is_said_in_a_terminal_of_the_official_command_is_in_both_histories(
    real: ProcessSessions, model: ModelServer
) -> None:
    """S004-35, S004-36: the same talk from the console, from a terminal, and from the console again."""
    texts = [model.play(name, say(f"This is {name}.")) for name in ("console", "terminal", "again")]
    case = await up(real, (ORACLE,))
    await case.turn(f"{texts[0]} go")
    await case.worker.stop("asleep")
    known = engine_session(case.session)
    case.session.record(WorkerStarted("terminal-1", "terminal", engine_session=known))
    command = [ORACLE, "--resume", known, "-p", f"{texts[1]} go"]
    environment = {**real.environment.children, **real.environment.keys}
    ran = subprocess.run(command, cwd=real.cwd, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "This is terminal."
    case.session.record(WorkerExited("terminal-1", "terminal"))
    again = real.around(case.session, (ORACLE,))
    again.say(f"{texts[2]} go")
    await again.worker.start()
    await again.until(RunDone, 3)
    messages = [event.block.text for event in again.events(BlockDone) if isinstance(event.block, Text)]
    assert messages == ["This is console.", "This is terminal.", "This is again."]
    assert [turn.turn for turn in again.events(TurnStarted)] == [1, 2, 3]
    assert [done.ending for done in again.events(RunDone)] == ["completed"] * 3
    assert len(again.events(Prompted)) == 3
    assert "This is terminal." in str(model.requests[-1].body["messages"])


@pytest.mark.parametrize("command", ENGINES)
async def test_words_sent_while_a_tool_runs_reach_the_running_turn(
    real: ProcessSessions, model: ModelServer, command: tuple[str, ...]
) -> None:
    """Steering: one turn, two prompts."""
    wait = "touch started; while [ ! -e go ]; do python3 -c 'import time; time.sleep(0.1)'; done"
    call = Call("Bash", {"command": wait, "description": "Wait"}, "toolu_1")
    prompt = model.play("steer", Step(blocks=[call]), say("Both done."))
    case = await up(real, command, allowed_tools=("Bash",))
    case.say(f"{prompt} go")
    await appears(real.cwd / "started")
    case.say("and also this", "steer")
    assert not case.view.queued
    (real.cwd / "go").touch()
    assert (await case.until(RunDone)).text == "Both done."
    assert "and also this" in str(model.requests[-1].body["messages"])
    assert len(case.events(Prompted)) == 2
    assert case.view.turns == 1


async def test_a_child_session_goes_on_from_a_copy_of_the_talk(real: ProcessSessions, model: ModelServer) -> None:
    """S000-29, S003-4: the talk of the parent stays as it was."""
    texts = [model.play(name, say(f"This is {name}.")) for name in ("one", "two", "three")]
    case = await up(real, (ORACLE,))
    await case.turn(f"{texts[0]} go")
    at = next(entry.id for entry in case.entries() if isinstance(entry.event, RunDone))
    await case.turn(f"{texts[1]} go")
    await case.worker.stop()
    child = real.around(await real.registry.branch_off(case.session.id, at, case.view.config), (ORACLE,))
    child.say(f"{texts[2]} go")
    await child.worker.start()
    assert (await child.until(RunDone, 2)).text == "This is three."
    asked = str(model.requests[-1].body["messages"])
    assert "This is one." in asked
    assert "This is two." not in asked
    assert engine_session(child.session) not in ("", engine_session(case.session))


async def test_the_official_command_answers_once_and_ends(real: ProcessSessions, model: ModelServer) -> None:
    """S000-3, S000-4, S000-21"""
    prompt = model.play("once", say("Only once."))
    case = real.create((ORACLE,), config={"live": False})
    case.say(f"--help me {prompt}")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    assert case.events(RunDone)[0].text == "Only once."
    assert "--help me" in str(model.requests[-1].body["messages"])
    assert case.status == "completed"


async def test_the_official_command_keeps_nothing_of_an_ephemeral_session(
    real: ProcessSessions, model: ModelServer
) -> None:
    """S000-2, S003-4, S003-40: here in the shortest form it has."""
    prompt = model.play("ephemeral", say("Nobody will know."))
    case = real.create((ORACLE,), config={"live": False, "output_format": "text", "ephemeral": True})
    case.say(f"{prompt} go")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    assert case.events(RunDone)[0].text == "Nobody will know."
    assert case.status == "completed"
    assert not list((real.directory / "home").glob(".claude/projects/*/*.jsonl"))


async def test_a_failing_model_fails_the_turn_and_the_next_one_may_succeed(
    real: ProcessSessions, model: ModelServer
) -> None:
    """S000-23"""
    bad = model.play("bad", Step(status=400, message="bad thing"))
    good = model.play("good", say("Fine."))
    case = await up(real, (ORACLE,))
    done = await case.turn(f"{bad} go")
    assert done.ending == "api_error"
    assert case.status == "failed"
    assert "bad thing" in case.view.error
    assert (await case.turn(f"{good} go")).text == "Fine."
    assert case.status == "completed"


async def appears(path: Path) -> None:

    await until(path.exists)
