"""Runs of the command line are shown in the console, and can be stopped, answered and continued there."""

import asyncio
import os
import stat
import sys
from collections.abc import Awaitable, Callable

import pytest

from bobstay.assembly.build_session import open_session
from bobstay.config.options import Options
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InputQueued
from bobstay.model.ids import new_id
from bobstay.model.message import Image, Text
from bobstay.model.session_events import SessionChanged
from bobstay.print_mode.control_socket import ControlSocket
from bobstay.server.session_creation import UserMessage
from bobstay.sessions.log import SessionBusy
from tests.deadline import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.stage import Stage

Make = Callable[..., Awaitable[Stage]]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def command_line(stage: Stage, prompt: str, *arguments: str) -> tuple[asyncio.subprocess.Process, str]:
    session_id = new_id()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bobstay", "-p", prompt, "--session-id", session_id, *arguments),
        cwd=stage.work,
        env=stage.variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    return process, session_id


async def appeared(stage: Stage, session_id: str, *statuses: str) -> None:
    """Files are told of by the system, not by an entry we wrote: look until it is there."""
    async with asyncio.timeout(DEADLINE):
        while session_id not in stage.registry.views or stage.registry.views[session_id].status not in statuses:
            await asyncio.sleep(0.01)


async def test_a_run_of_the_command_line_is_watched_and_gone_on_with(model: ModelServer, stage: Make) -> None:
    here = await stage()
    gate = Gate()
    process, id = await command_line(here, model.play("one", Step(blocks=[Say("From outside.")], gate=gate)))
    await gate.reached()
    await appeared(here, id, "running")
    assert here.registry.view(id).elsewhere
    with pytest.raises(SessionBusy):
        await here.commands.change_metadata(id, SessionChanged(title="mine"))
    gate.open()
    await process.communicate()
    await appeared(here, id, "completed")
    assert not here.registry.view(id).elsewhere
    await here.say(id, model.play("two", Step(blocks=[Say("From the console.")])))
    await here.until(id, lambda view: view.turns == 2 and view.status == "completed")
    assert "From outside." in str(model.requests[-1].body["messages"])


async def test_its_approval_is_answered_in_the_console(model: ModelServer, stage: Make) -> None:
    here = await stage()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(here, prompt, "--ask", "console")
    await appeared(here, id, "waiting_input")
    path = os.path.join(here.variables["BOBSTAY_HOME"], "run", f"{id}.sock")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    (entry,) = here.registry.view(id).interactions
    outcome = await here.inbox.decide(entry.id, Answer(True, by="ada"), entry.input_sha256, here.external.answer)
    assert (outcome.outcome, outcome.by) == ("allowed", "ada")
    await process.communicate()
    assert process.returncode == 0
    assert (here.work / "ran").exists()
    assert not os.path.exists(path)


async def test_a_message_to_it_keeps_its_pictures_and_is_heard_once(model: ModelServer, stage: Make) -> None:
    """FM-7: the sender's own id goes with it, whoever runs the session."""
    here = await stage()
    steps = (Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(here, model.play("ask", *steps), "--ask", "console")
    await appeared(here, id, "waiting_input")
    text = UserMessage((Text("look at this"), Image("image/png", PIXEL)), "ada", "mine-1")
    sent = await asyncio.gather(*(here.commands.send_message(id, text, "steer") for _ in range(3)))
    (queued,) = [event for event in here.events(id) if isinstance(event, InputQueued)]
    assert sent == [queued.id] * 3
    assert (queued.blocks, queued.client_id, queued.how) == (text.blocks, "mine-1", "steer")
    assert await here.commands.send_message(id, text) == queued.id
    (entry,) = here.registry.view(id).interactions
    await here.inbox.decide(entry.id, Answer(True, by="ada"), entry.input_sha256, here.external.answer)
    await process.communicate()
    assert PIXEL in str(model.requests[-1].body["messages"])


async def test_those_who_want_to_be_reached_at_once_share_one_socket(model: ModelServer, stage: Make) -> None:
    """A second socket under the same name would leave the first open and unreachable."""
    here = await stage()
    environment = here.environment
    session = await open_session(Options(cwd=str(here.work)), environment=environment)
    contact = ControlSocket()
    contact.attach(session)
    try:
        await asyncio.gather(*(contact.listen() for _ in range(3)))
        path = os.path.join(environment.paths.control_sockets, f"{session.id}.sock")
        assert bound_to(path) == 1
        closing = asyncio.create_task(contact.listen())
        await contact.close()
        await closing
        assert (bound_to(path), os.path.exists(path)) == (0, False)
    finally:
        await session.close()


def bound_to(path: str) -> int:
    """Sockets that listen under the name at the end of `path`, of whatever process."""
    with open("/proc/net/unix") as table:
        return sum(os.path.basename(path) in line for line in table)


async def test_it_is_stopped_from_the_console(model: ModelServer, stage: Make) -> None:
    here = await stage()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(here, prompt, "--ask", "console")
    await appeared(here, id, "waiting_input")
    await here.commands.interrupt(id, by="ada")
    await process.communicate()
    await appeared(here, id, "interrupted")
    assert not (here.work / "ran").exists()


async def test_one_that_was_killed_is_shown_as_interrupted(model: ModelServer, stage: Make) -> None:
    here = await stage()
    gate = Gate()
    process, id = await command_line(here, model.play("one", Step(blocks=[Say("x")], gate=gate)))
    await gate.reached()
    await appeared(here, id, "running")
    process.kill()
    await process.communicate()
    gate.open()
    await here.external.refresh(id)
    assert here.registry.view(id).status == "interrupted"
    await here.say(id, model.play("two", Step(blocks=[Say("Going on.")])))
    await here.until_status(id, "completed")


async def test_the_question_of_one_that_was_killed_waits_for_who_goes_on(model: ModelServer, stage: Make) -> None:
    """FM-13: nobody has to tell the console that a process is gone, and no answer goes to a process that is."""
    here = await stage()
    steps = (Step(blocks=[Call("Bash", {"command": "echo x >> ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(here, model.play("one", *steps), "--ask", "console")
    await appeared(here, id, "waiting_input")
    asked = here.registry.view(id).interactions[0]
    process.kill()
    await process.communicate()
    await appeared(here, id, "interrupted")
    assert here.registry.view(id).interactions == ()
    assert here.inbox.request_of(asked.id) is None
    await here.say(id, model.play("two", Step(blocks=[Say("Going on.")])))
    waiting = await here.until_status(id, "waiting_input")
    await here.answer(waiting, Answer(True, by="ada"))
    await here.until(id, lambda view: view.status == "completed" and not view.queued)
    assert (here.work / "ran").read_text() == "x\n"
