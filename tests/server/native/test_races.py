"""Concurrent starts, stops and changes of one session have no harmful effects."""

import asyncio
import json
from pathlib import Path

from bobstay.model.event import Noted
from bobstay.model.session_events import SessionChanged, SessionConfig, WorkerStarted
from bobstay.server.capacity import Capacity
from bobstay.server.runner import MOST_FAILURES, Runner
from bobstay.server.session_creation import UserMessage
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.workers.native_worker import NativeServices, NativeWorker
from tests.kit.consoles import BareConsole, StartConsole
from tests.kit.waiting import until
from tests.modelserver.script import Gate, Say, Step
from tests.modelserver.server import ModelServer


class SlowWorker(NativeWorker):
    """One that takes its time to come up, as those with external programs do."""

    ready: asyncio.Event

    async def start(self) -> None:
        await self.ready.wait()
        await super().start()


def _slow(console: BareConsole, ready: asyncio.Event) -> Runner:
    """A runner for `console` whose agents are up when `ready` is set."""
    parts = NativeServices(console.environment, console.inbox, Capacity(8))

    def make(id: str, epoch: int, session: OpenSession) -> NativeWorker:
        worker = SlowWorker(id, epoch, session, parts)
        worker.ready = ready
        return worker

    console.host_workers(make)
    return console.runner


async def test_a_stop_and_two_wakes_at_once_end_with_one_agent(model: ModelServer, start_console: StartConsole) -> None:
    """Whoever waits for the stop and whoever comes right after it start no two agents on one log."""
    console, ready = await start_console(), asyncio.Event()
    runner = _slow(console, ready)
    ready.set()
    view = await console.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await console.until_status(view.id, "completed")
    ready.clear()
    stop = asyncio.create_task(runner.stop_agent(view.id))
    await asyncio.sleep(0)
    first = asyncio.create_task(runner.wake(view.id))
    await stop
    second = asyncio.create_task(runner.wake(view.id))
    await asyncio.sleep(0)
    ready.set()
    assert await first is await second
    assert sum(isinstance(event, WorkerStarted) for event in console.events(view.id)) == 2


async def test_a_change_while_the_agent_starts_leaves_it_its_log(
    model: ModelServer, start_console: StartConsole
) -> None:
    console, ready = await start_console(), asyncio.Event()
    _slow(console, ready)
    view = await console.launch("")
    saying = asyncio.create_task(console.say(view.id, model.play("hello", Step(blocks=[Say("Hello.")]))))
    await console.until_status(view.id, "starting")
    await console.commands.change_metadata(view.id, SessionChanged(title="named"))
    ready.set()
    await saying
    done = await console.until_status(view.id, "completed", "failed")
    assert (done.status, done.title) == ("completed", "named")


async def test_interrupting_what_waits_in_line_is_not_undone(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console(most_running=1)
    gate = Gate()
    await console.launch(model.play("first", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    view = await console.launch(model.play("second", Step(blocks=[Say("never")])))
    assert (await console.commands.interrupt(view.id, by="ada")).status == "interrupted"
    await console.runner.reconcile(view.id)
    assert console.runner.worker(view.id) is None
    assert console.registry.view(view.id).status == "interrupted"
    gate.open()


async def test_an_interrupt_while_the_agent_starts_is_kept_for_it(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-13: whoever asked is told at once, and nothing is begun."""
    console, ready = await start_console(), asyncio.Event()
    runner = _slow(console, ready)
    view = await console.launch("")
    saying = asyncio.create_task(console.say(view.id, model.play("first", Step(blocks=[Say("never")]))))
    await console.until_status(view.id, "starting")
    assert (await console.commands.interrupt(view.id, by="ada")).status == "interrupting"
    ready.set()
    await saying
    stopped = await console.until_status(view.id, "interrupted", "completed", "failed")
    assert (stopped.status, len(stopped.queued)) == ("interrupted", 1)
    assert (model.requests, runner.slots) == ([], {})
    await console.say(view.id, model.play("second", Step(blocks=[Say("now")])))
    await console.until_status(view.id, "completed")


async def test_what_is_said_while_the_agent_starts_is_heard(model: ModelServer, start_console: StartConsole) -> None:
    """FM-7: between reading its log and being up, an agent may wait for hooks; nothing said meanwhile is lost."""
    console = await start_console()
    began, go = console.work / "began", console.work / "go"
    command = f"touch {began}; until [ -e {go} ]; do sleep 0.02; done"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
    home = Path(console.variables["BOBSTAY_HOME"])
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"hooks": hooks}))
    view = await console.launch("")
    first = asyncio.create_task(console.say(view.id, model.play("first", Step(blocks=[Say("one")]))))
    await until(began.exists)
    second = asyncio.create_task(console.say(view.id, model.play("second", Step(blocks=[Say("two")]))))
    await console.until(view.id, lambda view: len(view.queued) == 2)
    go.touch()
    await asyncio.gather(first, second)
    done = await console.until(view.id, lambda view: view.turns == 2 and view.status == "completed")
    assert done.queued == ()


async def test_an_agent_that_ends_again_and_again_is_not_started_for_ever(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-13: that it was up for a moment each time does not count."""
    console = await start_console(most_running=1)
    gate = Gate()
    await console.launch(model.play("first", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    view = await console.launch(model.play("second", Step(blocks=[Say("never")])))
    for _ in range(MOST_FAILURES + 2):
        await console.runner.reconcile(view.id)
        await ended(view.id)
        await console.runner.reconcile(view.id)
    assert console.runner.worker(view.id) is None
    assert console.registry.view(view.id).status == "interrupted"
    assert sum(isinstance(event, WorkerStarted) for event in console.events(view.id)) == 1 + MOST_FAILURES
    gate.open()


async def ended(session_id: str) -> None:
    """The agent of a session breaks without a word."""
    tasks = [task for task in asyncio.all_tasks() if task.get_name() == f"native {session_id}"]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def test_a_long_log_is_read_beside_the_loop_and_once(start_console: StartConsole) -> None:
    """Others have their turn while it is read; two who want it get the same."""
    console = await start_console()
    view = await console.launch("")
    session = console.registry.open(view.id)
    for number in range(3_000):
        session.log.append(Noted(f"{number} " + "x" * 500))
    console.registry.release(view.id)
    first, second = (asyncio.create_task(console.registry.acquire(view.id)) for _ in range(2))
    turns = 0
    while not first.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 2
    assert await first is await second
    child = asyncio.create_task(console.registry.branch_off(view.id, "", SessionConfig()))
    turns = 0
    while not child.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 2
    assert (await child).view.parent == view.id


async def test_changes_at_once_of_a_session_nobody_runs_all_get_in(start_console: StartConsole) -> None:
    """Each opens it and lets it go: none finds it shut under its hands."""
    console = await start_console()
    view = await console.launch("")
    changes = (SessionChanged(title="a"), SessionChanged(pinned=True), SessionChanged(archived=True), SessionChanged())
    await asyncio.gather(*(console.commands.change_metadata(view.id, change) for change in changes))
    changed = console.registry.view(view.id)
    assert (changed.title, changed.pinned, changed.archived) == ("a", True, True)
    assert console.registry.get_open(view.id) is None


async def test_a_session_nobody_runs_is_let_go(model: ModelServer, start_console: StartConsole) -> None:
    """A command line may want it: the log is not kept locked after a draft, a change or a failed start."""
    console = await start_console()
    draft = await console.launch("")
    parent = await console.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await console.until_status(parent.id, "completed")
    child = await console.creation.continue_session(parent.id, UserMessage())
    await console.runner.stop_agent(parent.id)
    assert [console.registry.get_open(id) for id in (draft.id, child.id, parent.id)] == [None, None, None]
