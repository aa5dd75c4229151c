"""After any end of a server every session can be continued, and nothing runs twice (FM-10, FM-13, FM-33)."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionClosed, InteractionOpened, RunDone, ToolDone, ToolStarted
from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig, WorkerExited, WorkerStarted
from bobstay.server.errors import ApiError
from bobstay.server.session_creation import UserMessage
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.native_worker import NativeWorker
from tests.kit.consoles import BareConsole, StartConsole
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


async def crash(console: BareConsole) -> None:
    """As kill -9 does: nothing more is written, and the system lets go of the locks."""
    for session in console.registry.all_open():
        session.log.close()
    tasks = [task for task in asyncio.all_tasks() if task.get_name().startswith("native ")]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for post in console.runner.slots.values():
        assert isinstance(post.worker, NativeWorker)
        assert post.worker._inner is not None
        await post.worker._inner.close()
    console.runner.slots.clear()


async def decided(console: BareConsole, view: SessionView) -> None:
    """Allow what is asked, as the route does."""
    entry = view.interactions[0]
    deliver = console.commands.answer_delivery(console.registry.view(view.id))
    await console.inbox.decide(entry.id, Answer(True, by="ada"), entry.input_sha256, deliver)


def asking(model: ModelServer, name: str = "ask") -> str:
    return model.play(name, Step(blocks=[Call("Bash", {"command": "echo x >> ran"}, "c")]), Step(blocks=[Say("ok")]))


async def test_an_open_approval_survives_and_its_call_runs_once(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-33, S004-25."""
    first = await start_console()
    view = await first.launch(asking(model))
    waiting = await first.until_status(view.id, "waiting_input")
    await crash(first)
    second = await start_console()
    again = await second.until_status(view.id, "waiting_input")
    assert [entry.id for entry in again.interactions] == [entry.id for entry in waiting.interactions]
    await second.answer(again, Answer(True, by="ada"))
    await second.until_status(view.id, "completed")
    assert (second.work / "ran").read_text() == "x\n"
    opened = [event for event in second.events(view.id) if isinstance(event, InteractionOpened)]
    assert len(opened) == 1


async def test_an_approval_stays_open_while_its_session_cannot_start(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-33, S004-25: a missing key is no answer; the session says why, and the next try takes it up."""
    first = await start_console()
    view = await first.launch(asking(model))
    waiting = await first.until_status(view.id, "waiting_input")
    await crash(first)
    second = await start_console(key="")
    kept = second.registry.view(view.id)
    assert (kept.status, kept.activity, kept.interactions) == ("waiting_input", "asking", waiting.interactions)
    assert "key" in kept.error.lower()
    assert not [event for event in second.events(view.id) if isinstance(event, InteractionClosed | RunDone | ToolDone)]
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            await decided(second, kept)
        assert refused.value.problem.code == "cannot_start"
    assert second.registry.view(view.id).interactions == waiting.interactions
    assert second.inbox.request_of(waiting.interactions[0].id) is not None
    await second.close()
    third = await start_console()
    again = await third.until(view.id, lambda view: view.status == "waiting_input" and not view.error)
    assert again.interactions == waiting.interactions
    await third.answer(again, Answer(True, by="ada"))
    await third.until_status(view.id, "completed")
    assert (third.work / "ran").read_text() == "x\n"


async def test_an_answer_is_the_next_try(model: ModelServer, start_console: StartConsole) -> None:
    """FM-33: what an agent could not be started for is answered, and that starts it."""
    first = await start_console()
    inner, away = first.work / "inner", first.work / "away"
    inner.mkdir()
    text = UserMessage((Text(asking(model)),), "ada")
    view = await first.creation.launch(str(inner), SessionConfig(), text)
    await first.until_status(view.id, "waiting_input")
    await crash(first)
    inner.rename(away)
    second = await start_console()
    kept = second.registry.view(view.id)
    assert (kept.status, "directory" in kept.error) == ("waiting_input", True)
    away.rename(inner)
    await decided(second, kept)
    done = await second.until_status(view.id, "completed")
    assert done.error == ""
    assert (inner / "ran").read_text() == "x\n"


async def test_a_kept_approval_can_be_given_up(model: ModelServer, start_console: StartConsole) -> None:
    """FM-13: there is a way out of it without an agent: it is interrupted, and nothing ran."""
    first = await start_console()
    view = await first.launch(asking(model))
    await first.until_status(view.id, "waiting_input")
    await crash(first)
    second = await start_console(key="")
    assert second.registry.view(view.id).status == "waiting_input"
    (await second.registry.acquire(view.id)).record(WorkerStarted("old-shell", "terminal", pid=2**22 + 1))
    await second.recovery.end_orphans()
    (await second.registry.acquire(view.id)).record(WorkerStarted("shell", "terminal"))
    await second.commands.interrupt(view.id, by="ada")
    given_up = second.registry.view(view.id)
    assert (given_up.status, given_up.interactions, given_up.open_calls) == ("interrupted", (), ())
    (closed,) = [event for event in second.events(view.id) if isinstance(event, InteractionClosed)]
    assert closed.outcome == "cancelled"
    assert not (second.work / "ran").exists()
    states = {worker.id: worker.state for worker in given_up.workers}
    assert (states["old-shell"], states["shell"]) == ("stopped", "running")


async def test_several_open_approvals_survive(model: ModelServer, start_console: StartConsole) -> None:
    first = await start_console()
    calls = [Call("WebFetch", {"url": f"http://127.0.0.1:1/{n}", "prompt": "x"}, f"c{n}") for n in range(3)]
    view = await first.launch(model.play("many", Step(blocks=list(calls)), Step(blocks=[Say("ok")])))
    await first.until(view.id, lambda view: len(view.interactions) == 3)
    await crash(first)
    second = await start_console()
    again = await second.until(view.id, lambda view: len(view.interactions) == 3)
    for entry in again.interactions:
        await second.inbox.decide(entry.id, Answer(False, "no"), entry.input_sha256)
    done = await second.until_status(view.id, "completed")
    assert done.interactions == ()


async def test_a_turn_cut_off_while_streaming_is_interrupted_and_can_go_on(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-13."""
    first = await start_console()
    gate = Gate()
    view = await first.launch(model.play("slow", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    await crash(first)
    gate.open()
    second = await start_console()
    cut = second.registry.view(view.id)
    assert (cut.status, cut.activity) == ("interrupted", "idle")
    assert cut.error == "The server ended while this ran."
    await second.say(view.id, model.play("more", Step(blocks=[Say("Going on.")])))
    await second.until_status(view.id, "completed")


async def test_a_call_that_ran_gets_an_answer_and_is_not_run_again(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-10: no row pulses for ever."""
    first = await start_console()
    prompt = model.play(
        "run", Step(blocks=[Call("Bash", {"command": "echo x >> ran; sleep 100"}, "c")]), Step(blocks=[Say("ok")])
    )
    view = await first.launch(prompt, allowed_tools=("Bash", "Edit"))
    await first.until(view.id, lambda view: any(isinstance(event, ToolStarted) for event in first.events(view.id)))
    await crash(first)
    second = await start_console()
    assert second.registry.view(view.id).status == "interrupted"
    assert second.registry.view(view.id).open_calls == ()
    done = [event for event in second.events(view.id) if isinstance(event, ToolDone)]
    assert [(event.reply.call_id, event.reply.is_error) for event in done] == [("c", True)]
    assert len([event for event in second.events(view.id) if isinstance(event, RunDone)]) == 1


async def test_what_was_queued_is_worked_on_after_the_restart(model: ModelServer, start_console: StartConsole) -> None:
    first = await start_console(most_running=1)
    gate = Gate()
    held = await first.launch(model.play("one", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    waiting = await first.launch(model.play("two", Step(blocks=[Say("second")])))
    assert first.registry.view(waiting.id).status == "starting"
    await crash(first)
    gate.open()
    second = await start_console()
    await second.until_status(waiting.id, "completed")
    assert second.registry.view(held.id).status == "interrupted"


async def test_a_turn_that_runs_already_is_not_taken_for_one_that_was_cut_off(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-33: people come in while a server still looks after what an earlier one left."""
    console, gate = await start_console(), Gate()
    view = await console.launch(model.play("slow", Step(blocks=[Say("all of it")], gate=gate)))
    await gate.reached()
    await console.recovery.recover()
    gate.open()
    await console.until_status(view.id, "completed")
    assert [event.ending for event in console.events(view.id) if isinstance(event, RunDone)] == ["completed"]


async def test_what_was_left_behind_is_noted_without_taking_the_log_from_an_agent(
    model: ModelServer, start_console: StartConsole
) -> None:
    console = await start_console()
    view = await console.launch(model.play("one", Step(blocks=[Say("one")])))
    await console.until_status(view.id, "completed")
    session = await console.registry.acquire(view.id)
    session.record(WorkerStarted("old-terminal", "terminal", pid=2**22 + 1))
    quiet = await console.launch("")
    (await console.registry.acquire(quiet.id)).record(WorkerStarted("mute", "process", pid=2**22 + 2, ready=False))
    await console.recovery.end_orphans()
    assert [worker.state for worker in console.registry.view(quiet.id).workers] == ["stopped"]
    exits = [event for event in console.events(view.id) if isinstance(event, WorkerExited)]
    assert [(event.worker, event.why) for event in exits] == [("old-terminal", "lost")]
    await console.say(view.id, model.play("two", Step(blocks=[Say("two")])))
    await console.until(view.id, lambda view: view.turns == 2 and view.status == "completed")


async def test_a_log_that_cannot_be_read_does_not_hide_what_others_left_behind(start_console: StartConsole) -> None:
    console = await start_console()
    broken, sound = await console.launch(""), await console.launch("")
    for number, view in enumerate((broken, sound), 1):
        (await console.registry.acquire(view.id)).record(WorkerStarted("shell", "terminal", pid=2**22 + number))
    console.release_all()
    path = Path(console.store.path(broken.id))
    path.unlink()
    path.mkdir()
    await console.recovery.end_orphans()
    assert [worker.state for worker in console.registry.view(sound.id).workers] == ["stopped"]


async def test_what_ended_stays_as_it_ended(model: ModelServer, start_console: StartConsole) -> None:
    """FM-12."""
    first = await start_console()
    done = await first.launch(model.play("good", Step(blocks=[Say("fine")])))
    bad = await first.launch(model.play("bad", Step(status=400, message="no")))
    await first.until_status(done.id, "completed")
    before = await first.until_status(bad.id, "failed")
    await crash(first)
    second = await start_console()
    assert second.registry.view(done.id).status == "completed"
    after = second.registry.view(bad.id)
    assert (after.status, after.error) == ("failed", before.error)


async def test_a_server_that_is_stopped_in_good_order_keeps_open_approvals_too(
    model: ModelServer, start_console: StartConsole
) -> None:
    """S004-25: stopping a server is no answer."""
    first = await start_console()
    view = await first.launch(asking(model))
    waiting = await first.until_status(view.id, "waiting_input")
    await first.close()
    second = await start_console()
    again = await second.until_status(view.id, "waiting_input")
    assert again.interactions == waiting.interactions
    await second.answer(again, Answer(True))
    await second.until_status(view.id, "completed")
    assert (second.work / "ran").read_text() == "x\n"


@pytest.mark.parametrize("kind", ["git_diff", "native"])
async def test_what_lived_in_a_finished_session_of_a_crashed_server_is_not_alive_for_ever(
    start_console: StartConsole, kind: Literal["git_diff", "native"]
) -> None:
    first = await start_console()
    view = await first.launch("")
    session = await first.registry.acquire(view.id)
    session.record(WorkerStarted("left-1", kind, 1))
    await crash(first)

    again = await start_console()
    (worker,) = again.registry.view(view.id).workers
    assert (worker.id, worker.state) == ("left-1", "stopped")
    assert again.registry.get_open(view.id) is None, "a command line may want it"


async def test_a_server_that_is_stopped_in_good_order_says_why_its_work_was_interrupted(
    model: ModelServer, start_console: StartConsole
) -> None:
    first = await start_console()
    gates = [Gate(), Gate()]
    cut = await first.launch(model.play("cut", Step(blocks=[Say("wait")], gate=gates[0])))
    stopped = await first.launch(model.play("stopped", Step(blocks=[Say("wait")], gate=gates[1])))
    for gate in gates:
        await gate.reached()
    await first.commands.interrupt(stopped.id, by="ada")
    await first.until_status(stopped.id, "interrupted")
    await first.close()
    second = await start_console()
    for gate in gates:
        gate.open()
    views = [second.registry.view(view.id) for view in (cut, stopped)]
    assert [view.status for view in views] == ["interrupted", "interrupted"]
    assert [view.error for view in views] == ["The server ended while this ran.", ""]
