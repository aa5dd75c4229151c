"""What may happen at the same time to one session: starts, stops, changes; and what must not come of it."""

import asyncio
from collections.abc import Awaitable, Callable

from bobstay.model.around import SessionChanged, WorkerStarted
from bobstay.server import commands
from bobstay.server.runner import Runner
from bobstay.server.sessions.open import OpenSession
from bobstay.server.slots import Slots
from bobstay.server.workers.native import NativeParts, NativeWorker
from tests.modelserver.script import Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.stage import Stage

Make = Callable[..., Awaitable[Stage]]


class SlowWorker(NativeWorker):
    """One that takes its time to come up, as those with external programs do."""

    ready: asyncio.Event

    async def start(self) -> None:
        await self.ready.wait()
        await super().start()


def _slow(stage: Stage, ready: asyncio.Event) -> Runner:
    """A runner for `stage` whose agents are up when `ready` is set."""
    parts = NativeParts(stage.console.environment, stage.inbox, Slots(8))

    def make(id: str, epoch: int, session: OpenSession) -> NativeWorker:
        worker = SlowWorker(id, epoch, session, parts)
        worker.ready = ready
        return worker

    stage.runner = stage.console.runner = Runner(stage.registry, make)
    return stage.runner


async def test_a_stop_and_two_wakes_at_once_end_with_one_agent(model: ModelServer, stage: Make) -> None:
    """Whoever waits for the stop and whoever comes right after it start no two agents on one log."""
    here, ready = await stage(), asyncio.Event()
    runner = _slow(here, ready)
    ready.set()
    view = await here.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await here.until_status(view.id, "completed")
    ready.clear()
    stop = asyncio.create_task(runner.rest(view.id))
    await asyncio.sleep(0)
    first = asyncio.create_task(runner.wake(view.id))
    await stop
    second = asyncio.create_task(runner.wake(view.id))
    await asyncio.sleep(0)
    ready.set()
    assert await first is await second
    assert sum(isinstance(event, WorkerStarted) for event in here.events(view.id)) == 2


async def test_a_change_while_the_agent_starts_leaves_it_its_log(model: ModelServer, stage: Make) -> None:
    here, ready = await stage(), asyncio.Event()
    _slow(here, ready)
    view = await here.launch("")
    saying = asyncio.create_task(here.say(view.id, model.play("hello", Step(blocks=[Say("Hello.")]))))
    await here.until_status(view.id, "starting")
    await commands.describe(here.console, view.id, SessionChanged(title="named"))
    ready.set()
    await saying
    done = await here.until_status(view.id, "completed", "failed")
    assert (done.status, done.title) == ("completed", "named")


async def test_interrupting_what_waits_in_line_is_not_undone(model: ModelServer, stage: Make) -> None:
    here = await stage(most_running=1)
    gate = Gate()
    await here.launch(model.play("first", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    view = await here.launch(model.play("second", Step(blocks=[Say("never")])))
    assert (await commands.interrupt(here.console, view.id, by="ada")).status == "interrupted"
    await here.runner.reconcile(view.id)
    assert here.runner.worker(view.id) is None
    assert here.registry.view(view.id).status == "interrupted"
    gate.open()


async def test_an_interrupt_while_the_agent_starts_is_kept_for_it(model: ModelServer, stage: Make) -> None:
    """FM-13: whoever asked is told at once, and nothing is begun."""
    here, ready = await stage(), asyncio.Event()
    runner = _slow(here, ready)
    view = await here.launch("")
    saying = asyncio.create_task(here.say(view.id, model.play("first", Step(blocks=[Say("never")]))))
    await here.until_status(view.id, "starting")
    assert (await commands.interrupt(here.console, view.id, by="ada")).status == "interrupting"
    ready.set()
    await saying
    stopped = await here.until_status(view.id, "interrupted", "completed", "failed")
    assert (stopped.status, len(stopped.queued)) == ("interrupted", 1)
    assert (model.requests, runner.posts) == ([], {})
    await here.say(view.id, model.play("second", Step(blocks=[Say("now")])))
    await here.until_status(view.id, "completed")


async def test_a_session_nobody_runs_is_let_go(model: ModelServer, stage: Make) -> None:
    """A command line may want it: the log is not kept locked after a draft, a change or a failed start."""
    here = await stage()
    draft = await here.launch("")
    parent = await here.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await here.until_status(parent.id, "completed")
    child = await commands.follow_on(here.console, parent.id, commands.Words())
    await here.runner.rest(parent.id)
    assert [here.registry.opened(id) for id in (draft.id, child.id, parent.id)] == [None, None, None]
