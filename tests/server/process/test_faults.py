"""Engines that misbehave: the session continues, reports the problem, and ends each turn once."""

import asyncio
import json
from pathlib import Path

import pytest

from bobstay.model.event import BlockDone, MessageDone, Noted, Prompted, Raw, RunDone, ToolDone, TurnStarted
from bobstay.model.message import Text
from bobstay.model.session_events import ArtifactMade, WorkerExited, WorkerStarted
from bobstay.server.workers.process.line_splitter import TooLong
from bobstay.server.workers.worker import WorkerError
from tests.kit.process_sessions import FAKE, ProcessSession, ProcessSessions
from tests.kit.waiting import until


async def started(sessions: ProcessSessions) -> ProcessSession:
    case = sessions.create()
    await case.worker.start()
    return case


async def ended(case: ProcessSession) -> WorkerExited:
    await case.holds(lambda: bool(case.events(WorkerExited)))
    assert not case.worker.alive()
    return case.events(WorkerExited)[-1]


async def test_prompts_are_answered_one_after_the_other_by_one_process(sessions: ProcessSessions) -> None:
    """S003-1, S003-10, S003-13, S000-24"""
    case = sessions.create()
    first = case.say("echo one")
    await case.worker.start()
    second = case.say("echo two")
    done = await case.until(RunDone, 2)
    assert (done.ending, done.text, done.turns) == ("completed", "two", 1)
    assert [prompt.id for prompt in case.events(Prompted)] == [first, second]
    assert [turn.turn for turn in case.events(TurnStarted)] == [1, 2]
    assert {worker.pid for worker in case.events(WorkerStarted)} == {case.view.workers[0].pid}
    assert case.view.workers[0].engine_session == "11111111-2222-4333-8444-555555555555"
    assert case.view.model == "fake-1"
    assert case.status == "completed"
    assert not case.view.queued


async def test_a_process_is_starting_until_it_says_something(sessions: ProcessSessions) -> None:
    """S003-19: stopped, starting, running, exited, error."""
    case = sessions.create()
    await case.worker.start()
    assert [worker.state for worker in case.view.workers] == ["starting"]
    await case.holds(lambda: case.view.workers[0].state == "running")
    assert not case.events(TurnStarted), "it answered before it was asked anything"
    assert [started.ready for started in case.events(WorkerStarted)] == [False, True]
    await case.worker.stop()
    assert case.view.workers[0].state == "stopped"
    crashed, left = await started(sessions), await started(sessions)
    crashed.say("crash")
    left.say("leave")
    await ended(crashed)
    await ended(left)
    assert (crashed.view.workers[0].state, left.view.workers[0].state) == ("error", "exited")


async def test_tokens_and_price_of_a_turn_are_kept(sessions: ProcessSessions) -> None:
    """S000-24, S000-31, S003-9"""
    case = await started(sessions)
    await case.turn("echo one")
    (message,) = case.events(MessageDone)
    assert (message.usage.input, message.usage.output, message.cost) == (10, 7, 0.5)
    await case.turn("echo two")
    assert case.view.cost == 0.5, "what the engine tells is the sum of all its turns"


async def test_lines_that_are_no_frames_are_kept_and_the_stream_goes_on(sessions: ProcessSessions) -> None:
    """S000-8, S000-10, S000-13, S003-14"""
    case = await started(sessions)
    done = await case.turn("bad lines")
    assert done.text == "still here"
    kept = [raw.data for raw in case.events(Raw)]
    assert {"line": "this is no JSON"} in kept
    assert {"line": "[1, 2]"} in kept
    assert {"line": '{"type":'} in kept
    assert {"type": "never_heard_of", "payload": 1} in kept
    assert len(kept) == 4


async def test_a_line_just_below_ten_megabytes_comes_whole(sessions: ProcessSessions) -> None:
    """S000-9"""
    case = await started(sessions)
    size = 10 * 1024 * 1024 - 1_000
    await case.turn(f"big {size}")
    (block,) = case.events(BlockDone)
    assert isinstance(block.block, Text)
    assert len(block.block.text) == size


async def test_a_longer_line_is_an_error_and_the_session_goes_on(sessions: ProcessSessions) -> None:
    """S000-9"""
    case = await started(sessions)
    done = await case.turn(f"huge {12 * 1024 * 1024}")
    assert done.text == "after"
    (noted,) = case.events(Noted)
    assert noted.level == "error"
    assert "12,582,914 bytes" in noted.text


async def test_a_crash_in_the_middle_leaves_nothing_open(sessions: ProcessSessions) -> None:
    """S000-16, S000-20, FM-10"""
    case = await started(sessions)
    done = await case.turn("crash")
    assert (done.ending, done.text) == ("failed", "the roof fell in")
    exited = await ended(case)
    assert (exited.code, exited.why, exited.error) == (3, "exit", "the roof fell in")
    (reply,) = case.events(ToolDone)
    assert reply.reply.is_error
    assert "No result received" in reply.reply.text
    assert (case.view.status, case.view.error) == ("failed", "the roof fell in")
    assert not case.view.open_calls


@pytest.mark.parametrize(
    ("prompt", "text"),
    [("crash_silently", "Process exited with code 4"), ("signalled", "The process was ended by SIGKILL")],
)
async def test_a_silent_death_is_told_by_its_code(sessions: ProcessSessions, prompt: str, text: str) -> None:
    """S000-20, S003-16"""
    case = await started(sessions)
    done = await case.turn(prompt)
    assert (done.ending, done.text) == ("failed", text)
    assert (await ended(case)).error == text


async def test_an_exit_without_a_result_is_a_completed_turn(sessions: ProcessSessions) -> None:
    """S000-21"""
    case = await started(sessions)
    done = await case.turn("leave")
    assert done.ending == "completed"
    assert (await ended(case)).code == 0
    assert case.status == "completed"


async def test_a_failure_the_engine_told_stays_one_when_it_exits_well(sessions: ProcessSessions) -> None:
    """S000-21, S000-23, FM-11, FM-12"""
    case = await started(sessions)
    done = await case.turn("fail")
    await ended(case)
    assert (done.ending, done.text) == ("failed", "it went wrong")
    assert len(case.events(RunDone)) == 1
    assert (case.view.status, case.view.error) == ("failed", "it went wrong")


async def test_a_bad_exit_after_a_good_turn_does_not_change_its_outcome(sessions: ProcessSessions) -> None:
    """FM-11, FM-12"""
    case = await started(sessions)
    await case.turn("late")
    exited = await ended(case)
    assert (exited.code, exited.error) == (6, "afterwards")
    assert len(case.events(RunDone)) == 1
    assert case.status == "completed"


async def test_a_last_line_without_its_newline_counts(sessions: ProcessSessions) -> None:
    """S000-15"""
    case = await started(sessions)
    assert (await case.turn("unfinished")).text == "no newline"
    assert (await ended(case)).error == ""


async def test_a_flood_on_the_error_output_is_bounded(sessions: ProcessSessions) -> None:
    """S000-16"""
    case = await started(sessions)
    done = await case.turn("flood")
    assert done.ending == "failed"
    assert 1_000 < len(done.text) <= 4_000


async def test_a_result_that_comes_before_its_call_is_shown_after_it(sessions: ProcessSessions) -> None:
    """FM-8, FM-9, S002-11"""
    case = await started(sessions)
    await case.turn("early")
    kinds = [entry.event for entry in case.entries() if isinstance(entry.event, BlockDone | ToolDone | Noted)]
    assert isinstance(kinds[0], BlockDone)
    replies = [event.reply.text for event in kinds if isinstance(event, ToolDone)]
    assert replies == ["the result came first", "and again", "whose is this?"]
    assert any("toolu_none" in event.text for event in kinds if isinstance(event, Noted))


async def test_a_program_that_is_not_there_is_named(sessions: ProcessSessions) -> None:
    """S000-22, S000-18"""
    case = sessions.create(("no-such-engine",))
    case.say("hello")
    with pytest.raises(WorkerError, match="no-such-engine is not installed"):
        await case.worker.start()
    (exited,) = case.events(WorkerExited)
    assert exited.why == "not_started"
    assert "Install it" in exited.error
    assert (case.view.status, case.view.error) == ("failed", exited.error)
    assert not case.worker.alive()


async def test_a_directory_that_is_gone_is_named(sessions: ProcessSessions) -> None:
    case = sessions.create()
    Path(case.view.cwd).rmdir()
    with pytest.raises(WorkerError, match="no longer exists"):
        await case.worker.start()


async def test_a_program_that_cannot_be_run_says_why(sessions: ProcessSessions, tmp_path: Path) -> None:
    """S000-22"""
    script = tmp_path / "engine"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    case = sessions.create((str(script),))
    with pytest.raises(WorkerError, match="could not be started"):
        await case.worker.start()


async def test_an_engine_that_refuses_its_flags_fails_the_session(sessions: ProcessSessions) -> None:
    """S000-20"""
    case = sessions.create((*FAKE, "--die-at-once"))
    case.say("hello")
    await case.worker.start()
    exited = await ended(case)
    assert exited.error == "unknown option"
    assert (case.view.status, case.view.error) == ("failed", "unknown option")


async def test_secrets_of_the_server_do_not_reach_the_log(sessions: ProcessSessions) -> None:
    """FM-56"""
    case = await started(sessions)
    await case.turn("secret")
    assert "dummy-k3y-of-n0-worth" not in Path(case.session.path).read_text()
    assert "the key is [masked ANTHROPIC_API_KEY]" in Path(case.session.path).read_text()


async def test_what_a_workflow_leaves_behind_holds_no_secret_of_the_server_not_even_half_of_one(
    sessions: ProcessSessions,
) -> None:
    """FM-56"""
    case = sessions.create(config={"workflow": "research"})
    await case.worker.start()
    await case.turn("secret_result")
    made = await case.until(ArtifactMade)
    assert made.text == f"{'x' * 190} [masked ANTHROPIC_API_KEY]"
    assert "dummy" not in Path(case.session.path).read_text()


async def test_an_engines_own_count_of_turns_and_a_price_without_an_answer_are_kept(sessions: ProcessSessions) -> None:
    """S000-24"""
    case = await started(sessions)
    await case.turn("turns")
    assert (case.view.steps, case.view.cost) == (4, 0.5)
    await case.turn("echo more")
    assert (case.view.steps, case.view.cost) == (5, 0.5)


async def test_what_an_engine_says_on_its_error_output_in_a_turn_is_noted_before_the_turn_ends(
    sessions: ProcessSessions,
) -> None:
    """S003-15: an event of its own, once."""
    case = await started(sessions)
    case.say("mutter")
    await until(lambda: case.worker._recorder.errors() == "careful")
    (sessions.cwd / "heard").touch()
    await case.until(RunDone)
    kinds = [entry.event for entry in case.entries() if isinstance(entry.event, Noted | RunDone)]
    assert [type(event) for event in kinds] == [Noted, RunDone]
    assert kinds[0] == Noted("Error output of the engine:\ncareful", "warning")
    await case.turn("echo again")
    assert len(case.events(Noted)) == 1


async def test_what_an_engine_says_on_its_error_output_after_the_result_is_noted(sessions: ProcessSessions) -> None:
    """S003-15"""
    case = await started(sessions)
    await case.turn("murmur")
    await ended(case)
    noted = [note.text for note in case.events(Noted) if "Error output" in note.text]
    assert noted == ["Error output of the engine:\nafterwards"]


async def test_an_engine_sees_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """S000-1, S003-6, FM-28"""
    sessions = ProcessSessions(tmp_path, GITHUB_TOKEN="ghp_secret", CLAUDECODE="1", MINE="kept")
    case = sessions.create()
    await case.worker.start()
    seen = json.loads((await case.turn("environment")).text)
    await sessions.close()
    assert seen["MINE"] == "kept"
    assert seen["BOBSTAY_SESSION_ID"] == case.session.id
    assert "ANTHROPIC_API_KEY" in seen
    assert "GITHUB_TOKEN" not in seen
    assert "CLAUDECODE" not in seen

    case = sessions.create(pass_keys=False)
    await case.worker.start()
    assert "ANTHROPIC_API_KEY" not in json.loads((await case.turn("environment")).text)
    await sessions.close()


async def test_a_noisy_engine_leaves_others_their_turn(sessions: ProcessSessions) -> None:
    """Counted in turns of the event loop, not in time."""
    case = await started(sessions)
    received: list[int] = [0]
    most = 0
    feed = case.worker._recorder._line

    def counted(line: bytes | TooLong) -> None:
        received[0] += 1
        feed(line)

    case.worker._recorder._line = counted  # type: ignore[method-assign] # looks on, and lets it pass
    loop, watching = asyncio.get_running_loop(), True

    def turn() -> None:
        nonlocal most
        most, received[0] = max(most, received[0]), 0
        if watching:
            loop.call_soon(turn)

    loop.call_soon(turn)
    try:
        assert (await case.turn("noise")).text == "noise"
    finally:
        watching = False
    assert 0 < most <= 200, most
