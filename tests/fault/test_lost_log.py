"""The log cannot be created, is removed, or belongs to another process; and queued messages after a crash."""

import os

import pytest

from bobstay.model.event import InputQueued, Prompted
from bobstay.model.ids import new_id
from bobstay.model.message import text_of
from tests.fault import story
from tests.fault.aftermath import read_remains, resume_run, sessions
from tests.fault.killing import PROMPT, Killing
from tests.fault.test_disk_full import run_printing
from tests.fault.victim import TORN_IF, Pipe, Victim, interposed
from tests.kit.program import BOBSTAY, initialize, prompt
from tests.modelserver import Gate, Step


@pytest.mark.parametrize("way", ["a file stands in the way", "nobody may write there"])
def test_a_folder_that_takes_no_logs_is_named(killing: Killing, way: str) -> None:
    home = killing.folder / "home" / ".bobstay"
    home.parent.mkdir()
    if way == "a file stands in the way":
        home.write_text("not a folder")
    else:
        home.symlink_to("/proc/self")  # not even root can make a folder there
    ended = run_printing(killing)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"cannot create the sessions folder {home}/sessions: ")
    assert ended.stderr.count("\n") == 1
    assert not story.effects(killing.folder / "work")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(killing: Killing) -> None:
    place = sessions(killing.folder)
    place.mkdir(parents=True)
    place.chmod(0o500)
    ended = run_printing(killing)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"cannot create the session file {place}/{killing.session}.jsonl: Permission denied\n"


def options_of(killing: Killing) -> tuple[str, ...]:
    return ("--session-id", killing.session, *story.ARGUMENTS)


async def test_a_run_whose_log_is_deleted_does_nothing_more(killing: Killing) -> None:
    """What cannot be stored is not executed: the next effect needs a log entry first."""
    gate = Gate()
    killing.model.stops[1] = Step(gate=gate)
    victim = await Victim.begin(killing.server, killing.folder, *options_of(killing), answer=story.allow)
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await gate.reached()
        (sessions(killing.folder) / f"{killing.session}.jsonl").unlink()
        gate.open()
        result = await victim.until("result")
        assert result["is_error"]
        assert "was deleted while in use" in result["errors"][0]
        assert await victim.end() == 1
        assert await victim.errors() == ""
        await victim.leaves_nobody()
    finally:
        await victim.kill()
    assert story.effects(killing.folder / "work") == {"b1": 1}


async def test_a_session_in_use_is_refused_and_its_user_named(killing: Killing) -> None:
    pipe = Pipe(killing.folder / "work" / "before-b1")
    victim = await Victim.begin(killing.server, killing.folder, *options_of(killing), answer=story.allow)
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await pipe.reached(victim)
        asked = len(killing.server.requests)
        second = await Victim.begin(killing.server, killing.folder, "--resume", killing.session, *story.ARGUMENTS)
        refusal = await second.until("result")
        code, errors = await second.end(), await second.errors()
        assert code == 1
        assert f"session {killing.session} is being written by another process (pid {victim.process.pid}" in errors
        assert errors.count("\n") == 1
        assert refusal["errors"] == [errors.strip()]
        assert len(killing.server.requests) == asked
        await victim.kill_now()
    finally:
        await victim.kill()
        pipe.remove()
    await victim.leaves_nobody()
    await resume_run(killing.server, killing.folder, killing.session, killing.token)


async def waiting_message(killing: Killing, program: str = BOBSTAY) -> Victim:
    """A killed run to which a second message was sent while its first tool ran."""
    pipe = Pipe(killing.folder / "work" / "before-b1")
    victim = await Victim.begin(
        killing.server, killing.folder, *options_of(killing), program=program, answer=story.allow
    )
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await pipe.reached(victim)
        victim.send(prompt("Mind the gap.", uuid=new_id()))
        if program == BOBSTAY:
            await victim.until("lifecycle:queued")
            await victim.kill_now()
        else:
            await victim.dead()
    finally:
        await victim.kill()
        pipe.remove()
    await victim.leaves_nobody()
    return victim


async def test_a_message_that_waited_when_the_run_was_killed_is_taken_up_later(killing: Killing) -> None:
    """F36, H3-9"""
    await waiting_message(killing)
    remains = read_remains(killing.folder, killing.session)
    assert [text_of(event.blocks) for event in remains.of(InputQueued)] == ["Mind the gap."]
    requests = await resume_run(killing.server, killing.folder, killing.session, killing.token)
    assert "Mind the gap." in str(requests[-1].body["messages"])
    ended = read_remains(killing.folder, killing.session)
    assert [text_of(event.blocks) for event in ended.of(Prompted)].count("Mind the gap.") == 1
    assert not ended.state.queued


async def test_a_message_is_acknowledged_only_once_it_is_stored(killing: Killing) -> None:
    """F36: the program dies at the very moment it would store the message."""
    rule = TORN_IF.format(text=b'"type":"input_queued"')
    victim = await waiting_message(killing, interposed(killing.folder / "bobstay", rule))
    assert "Mind the gap." not in str(read_remains(killing.folder, killing.session).branch)
    assert not [frame for frame in victim.frames if frame["type"] == "command_lifecycle"]
