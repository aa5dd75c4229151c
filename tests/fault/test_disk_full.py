"""No space for the log: the run stops with a clear message, the log stays intact, and the run can resume (F1)."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bobstay.model.event import InputQueued
from bobstay.model.ids import new_id
from tests.fault import story
from tests.fault.aftermath import (
    RESUME_PROMPT,
    check_end,
    check_remains,
    check_requests,
    read_remains,
    resume_run,
    sessions,
)
from tests.fault.killing import PROMPT, Killing
from tests.fault.victim import FULL_IF, Pipe, Victim, interposed
from tests.kit.program import BOBSTAY, environment, initialize, prompt, request
from tests.modelserver import ModelServer

NO_ROOM = "no space to store the session in "
PRINT = ("-p", "--allowedTools", "Bash", "Read", "Write", "Edit", "--")


def run_printing(killing: Killing, *options: str, room: int | None = None) -> "subprocess.CompletedProcess[str]":
    # The limit holds for all files: Python must not try to keep what it compiled, half of that would harm later runs.
    env = {**environment(killing.server, killing.folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}

    def limit() -> None:
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    return subprocess.run(
        [BOBSTAY, "--session-id", killing.session, *options, *PRINT, f"{killing.token} {PROMPT}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=killing.folder / "work",
        env=env,
        timeout=200,
        check=False,
        preexec_fn=limit,
    )


async def check_goes_on(killing: Killing) -> None:
    prompt_text = f"{killing.token} {PROMPT}"
    work = killing.folder / "work"
    remains = read_remains(killing.folder, killing.session)
    assert remains.warnings == []
    check_remains(remains, work, [], prompt_text)
    before = {"effects": story.effects(work), "written": story.written(work)}
    requests = await resume_run(killing.server, killing.folder, killing.session, killing.token)
    check_requests(requests, remains, prompt_text)
    check_end(killing.folder, killing.session, remains, requests, before)


@pytest.mark.parametrize("room", [300, 1_000, 2_500, 5_000, 9_000, 14_000, 19_000])
async def test_a_run_without_room_says_so_once_and_goes_on_later(killing: Killing, room: int) -> None:
    ended = run_printing(killing, room=room)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith(f"Error: {NO_ROOM}{sessions(killing.folder)}/{killing.session}.jsonl: ")
    assert ended.stdout.count("\n") == 1
    assert "Free some space and resume it. Everything stored before is kept." in ended.stdout
    assert (sessions(killing.folder) / f"{killing.session}.jsonl").stat().st_size <= room
    await check_goes_on(killing)


def test_a_session_that_cannot_even_begin_leaves_nothing(killing: Killing) -> None:
    ended = run_printing(killing, room=100)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(NO_ROOM)
    assert ended.stderr.count("\n") == 1
    assert list(sessions(killing.folder).iterdir()) == []
    assert run_printing(killing).returncode == 0


@pytest.fixture
def tiny_disk(killing: Killing) -> Iterator[Path]:
    """The folder of sessions on a file system of its own that has hardly any room."""
    place = sessions(killing.folder)
    place.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount; the limit on the size of files is tested anyway")
    yield place
    subprocess.run(["umount", str(place)], check=True)


async def test_a_disk_that_is_really_full(killing: Killing, tiny_disk: Path) -> None:
    ended = run_printing(killing, "--output-format", "json")
    assert ended.returncode == 1
    assert ended.stderr == ""
    assert NO_ROOM in ended.stdout
    assert "No space left on device" in ended.stdout
    subprocess.run(["mount", "-o", "remount,size=10m", str(tiny_disk)], check=True)
    await check_goes_on(killing)


async def test_a_waiting_message_survives_a_full_disk(killing: Killing) -> None:
    """F36: it is neither lost nor tried for ever."""
    flag = killing.folder / "full"
    program = interposed(killing.folder / "bobstay", FULL_IF.format(flag=str(flag)))
    pipe = Pipe(killing.folder / "work" / "after-b1")
    options = ("--session-id", killing.session, *story.ARGUMENTS)
    victim = await Victim.begin(killing.server, killing.folder, *options, program=program, answer=story.allow)
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await pipe.reached(victim)
        victim.send(prompt("Mind the gap.", uuid=new_id()))
        await victim.until("lifecycle:queued")
        flag.touch()
        victim.send(request(2, "interrupt"))
        result = await victim.until("result")
        assert result["is_error"]
        assert NO_ROOM in result["errors"][0]
        assert await victim.end() == 1
        assert await victim.errors() == ""
        await victim.leaves_nobody()
    finally:
        await victim.kill()
        pipe.remove()
    assert len([frame for frame in victim.frames if frame["type"] == "result"]) <= 2
    remains = read_remains(killing.folder, killing.session)
    assert len(remains.of(InputQueued)) == len(remains.state.queued) == 1
    requests = await resume_run(killing.server, killing.folder, killing.session, killing.token)
    assert "Mind the gap." in str(requests[-1].body["messages"])


@pytest.mark.parametrize(
    "control_request",
    [
        prompt("Mind the gap."),
        request(2, "set_permission_mode", mode="acceptEdits"),
        request(2, "set_model", model="claude-sonnet-4-5"),
    ],
    ids=["steer", "mode", "model"],
)
async def test_what_cannot_be_stored_is_refused_in_words(
    killing: Killing, model: ModelServer, control_request: dict[str, object]
) -> None:
    flag = killing.folder / "full"
    program = interposed(killing.folder / "bobstay", FULL_IF.format(flag=str(flag)))
    pipe = Pipe(killing.folder / "work" / "after-b1")
    options = ("--session-id", killing.session, *story.ARGUMENTS)
    victim = await Victim.begin(model, killing.folder, *options, program=program, answer=story.allow)
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await pipe.reached(victim)
        flag.touch()
        victim.send(control_request)
        await victim.when(lambda frames: NO_ROOM in str(frames))
        victim.send(request(3, "interrupt"))
        assert await victim.end() == 1
        assert "Traceback" not in await victim.errors()
        await victim.leaves_nobody()
    finally:
        await victim.kill()
        pipe.remove()
    assert read_remains(killing.folder, killing.session).warnings == []
    assert RESUME_PROMPT in str(
        (await resume_run(model, killing.folder, killing.session, killing.token))[0].body["messages"]
    )
