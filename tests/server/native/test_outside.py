"""Runs of the command line are shown in the console, and can be stopped, answered and continued there."""

import asyncio
import os
import stat
import sys

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
from tests.kit.consoles import BareConsole, StartConsole
from tests.kit.waiting import until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def command_line(console: BareConsole, prompt: str, *arguments: str) -> tuple[asyncio.subprocess.Process, str]:
    session_id = new_id()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bobstay", "-p", prompt, "--session-id", session_id, *arguments),
        cwd=console.work,
        env=console.variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    return process, session_id


async def appeared(console: BareConsole, session_id: str, *statuses: str) -> None:
    """Files are told of by the system, not by an entry we wrote: look until it is there."""
    views = console.registry.views
    await until(lambda: session_id in views and views[session_id].status in statuses)


async def test_a_run_of_the_command_line_is_watched_and_gone_on_with(
    model: ModelServer, start_console: StartConsole
) -> None:
    console = await start_console()
    gate = Gate()
    process, id = await command_line(console, model.play("one", Step(blocks=[Say("From outside.")], gate=gate)))
    await gate.reached()
    await appeared(console, id, "running")
    assert console.registry.view(id).elsewhere
    with pytest.raises(SessionBusy):
        await console.commands.change_metadata(id, SessionChanged(title="mine"))
    gate.open()
    await process.communicate()
    await appeared(console, id, "completed")
    assert not console.registry.view(id).elsewhere
    await console.say(id, model.play("two", Step(blocks=[Say("From the console.")])))
    await console.until(id, lambda view: view.turns == 2 and view.status == "completed")
    assert "From outside." in str(model.requests[-1].body["messages"])


async def test_its_approval_is_answered_in_the_console(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(console, prompt, "--ask", "console")
    await appeared(console, id, "waiting_input")
    path = os.path.join(console.variables["BOBSTAY_HOME"], "run", f"{id}.sock")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    (entry,) = console.registry.view(id).interactions
    outcome = await console.inbox.decide(entry.id, Answer(True, by="ada"), entry.input_sha256, console.external.answer)
    assert (outcome.outcome, outcome.by) == ("allowed", "ada")
    await process.communicate()
    assert process.returncode == 0
    assert (console.work / "ran").exists()
    assert not os.path.exists(path)


async def test_a_message_to_it_keeps_its_pictures_and_is_heard_once(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-7: the sender's own id goes with it, whoever runs the session."""
    console = await start_console()
    steps = (Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(console, model.play("ask", *steps), "--ask", "console")
    await appeared(console, id, "waiting_input")
    text = UserMessage((Text("look at this"), Image("image/png", PIXEL)), "ada", "mine-1")
    sent = await asyncio.gather(*(console.commands.send_message(id, text, "steer") for _ in range(3)))
    (queued,) = [event for event in console.events(id) if isinstance(event, InputQueued)]
    assert sent == [queued.id] * 3
    assert (queued.blocks, queued.client_id, queued.how) == (text.blocks, "mine-1", "steer")
    assert await console.commands.send_message(id, text) == queued.id
    (entry,) = console.registry.view(id).interactions
    await console.inbox.decide(entry.id, Answer(True, by="ada"), entry.input_sha256, console.external.answer)
    await process.communicate()
    assert PIXEL in str(model.requests[-1].body["messages"])


async def test_those_who_want_to_be_reached_at_once_share_one_socket(
    model: ModelServer, start_console: StartConsole
) -> None:
    """A second socket under the same name would leave the first open and unreachable."""
    console = await start_console()
    environment = console.environment
    session = await open_session(Options(cwd=str(console.work)), environment=environment)
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


async def test_it_is_stopped_from_the_console(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(console, prompt, "--ask", "console")
    await appeared(console, id, "waiting_input")
    await console.commands.interrupt(id, by="ada")
    await process.communicate()
    await appeared(console, id, "interrupted")
    assert not (console.work / "ran").exists()


async def test_one_that_was_killed_is_shown_as_interrupted(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    gate = Gate()
    process, id = await command_line(console, model.play("one", Step(blocks=[Say("x")], gate=gate)))
    await gate.reached()
    await appeared(console, id, "running")
    process.kill()
    await process.communicate()
    gate.open()
    await console.external.refresh(id)
    assert console.registry.view(id).status == "interrupted"
    await console.say(id, model.play("two", Step(blocks=[Say("Going on.")])))
    await console.until_status(id, "completed")


async def test_the_question_of_one_that_was_killed_waits_for_who_goes_on(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-13: nobody has to tell the console that a process is gone, and no answer goes to a process that is."""
    console = await start_console()
    steps = (Step(blocks=[Call("Bash", {"command": "echo x >> ran"}, "c")]), Step(blocks=[Say("ok")]))
    process, id = await command_line(console, model.play("one", *steps), "--ask", "console")
    await appeared(console, id, "waiting_input")
    asked = console.registry.view(id).interactions[0]
    process.kill()
    await process.communicate()
    await appeared(console, id, "interrupted")
    assert console.registry.view(id).interactions == ()
    assert console.inbox.request_of(asked.id) is None
    await console.say(id, model.play("two", Step(blocks=[Say("Going on.")])))
    waiting = await console.until_status(id, "waiting_input")
    await console.answer(waiting, Answer(True, by="ada"))
    await console.until(id, lambda view: view.status == "completed" and not view.queued)
    assert (console.work / "ran").read_text() == "x\n"
