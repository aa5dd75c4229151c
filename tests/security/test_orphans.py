"""No process that a session started outlives it, however it detached and however the session ended (H1-5, F12, F13).

An ending combines one way to detach with one way to end. `BOBSTAY_ORPHAN_ENDINGS` sets the minimum number.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.processes import living_processes, proc_file
from tests.kit.program import BOBSTAY, Program, environment, initialize, prompt, request
from tests.kit.waiting import DEADLINE, until
from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step

DAEMON = (
    "import os, sys; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); os.closerange(0, 64); "
    "os.execve('/bin/sleep', ['sleep', sys.argv[1]], {})"
)
WAYS = {
    "plain": "sleep @ & wait",
    "children": "sleep @ & sh -c 'sleep @ & sleep @' & wait",
    "nohup": "nohup sleep @ > /dev/null 2>&1 & wait",
    "setsid": "setsid sleep @ & setsid -w sleep @",
    "disown": "sleep @ > /dev/null 2>&1 & disown; sleep @",
    "double fork": "( ( setsid sleep @ > /dev/null 2>&1 & ) & ); sleep @",
    "bare": "env -i setsid -f /bin/sleep @ > /dev/null 2>&1 < /dev/null; sleep @",
    "bare double fork": "env -i /bin/sh -c '(setsid /bin/sleep @ > /dev/null 2>&1 < /dev/null &) &'; sleep @",
    "daemon": f'{sys.executable} -c "{DAEMON}" @; sleep @',
    "deaf": "trap '' TERM INT HUP; sleep @ & sleep @ & wait; sleep @",
    "stopped": "sleep @ & sleep 0.1; kill -STOP $!; sleep @",
}
COUNT = {"children": 3, "plain": 1, "nohup": 1}
"""How many processes each way leaves; two by default."""
KINDS = ("normal", "timeout", "interrupt", "kill -9", "term", "int", "hup", "end of input", "killed job")
ROUNDS = -(-int(os.environ.get("BOBSTAY_ORPHAN_ENDINGS", "60")) // (len(WAYS) * len(KINDS)))


class DetachingSession:
    """A session driven by a host, and the processes of its commands, identified by the number of seconds they sleep."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        self.model, self.folder = model, folder
        (folder / "work").mkdir()
        self.number = f"98{int.from_bytes(os.urandom(6)) % 10**12:012d}"

    def command(self, way: str, *, left: bool = False) -> str:
        """The command of a way; with `left` its shell ends at once, and only detached processes continue."""
        text = WAYS[way].replace("@", self.number)
        if not left:
            return text
        text = text.replace("& wait", "&").replace("setsid -w", "setsid -f")
        return text.removesuffix(f"; sleep {self.number}").rstrip("; ") + "\nexit 0"

    async def start(self, *steps: Step | Callable[[dict[str, Any]], Step], options: tuple[str, ...] = ()) -> Program:
        env = {**environment(self.model, self.folder / "home"), "IS_SANDBOX": "1"}
        env["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] = "1"
        always = ("--dangerously-skip-permissions", "--settings", '{"sandbox": {"enabled": false}}')
        program = await Program.start(BOBSTAY, *always, *options, cwd=self.folder / "work", env=env)
        program.send(initialize(), prompt(self.model.play("orphans", *steps)))
        return program

    async def running(self, count: int) -> None:
        """Wait until this many processes exist."""
        await until(lambda: len(living(self.number)) >= count, lambda: f"only {living(self.number)} of {count} began")

    async def nobody(self) -> None:
        await until(lambda: not living(self.number), lambda: f"still alive: {living(self.number)}", 15.0)


@pytest.fixture
def session(model: ModelServer, tmp_path: Path) -> Iterator[DetachingSession]:
    made = DetachingSession(model, tmp_path)
    yield made
    for pid in living(made.number):
        os.kill(pid, signal.SIGKILL)


def background(session: DetachingSession) -> Step:
    """All ways at once, each as a separate command."""
    calls = [bash(session.command(way), run_in_background=True) for way in WAYS]
    return Step(blocks=list(calls))


def bash(command: str, **more: Any) -> Call:
    return Call("Bash", {"command": command, **more})


def total() -> int:
    return sum(COUNT.get(way, 2) for way in WAYS)


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=["kill -9", "term", "int", "hup"],
)
async def test_a_signal_to_the_session_ends_everything(
    session: DetachingSession, number: signal.Signals, code: int, round_: int
) -> None:
    last = Step(blocks=[bash(session.command("children"))])
    program = await session.start(background(session), last, Step(blocks=[Say("End.")]))
    await session.running(total() + 3)
    os.kill(program.process.pid, number)
    assert await asyncio.wait_for(program.process.wait(), DEADLINE) == code
    await session.nobody()


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_the_end_of_input_ends_everything(session: DetachingSession, round_: int) -> None:
    program = await session.start(background(session), Step(blocks=[Say("End.")]))
    await program.until("result")
    await session.running(total())
    await program.end()
    await session.nobody()


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_what_a_finished_command_left_ends_with_the_session(session: DetachingSession, round_: int) -> None:
    """The shell has ended long before; processes it left may run as long as the session."""
    steps = [Step(blocks=[bash(session.command(way, left=True))]) for way in WAYS]
    program = await session.start(*steps, Step(blocks=[Say("End.")]))
    await program.until("result")
    assert await program.end() == 0
    await session.nobody()


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_command_that_outlasted_its_call_is_stopped_wholly(session: DetachingSession, round_: int) -> None:
    program = await session.start(Step(blocks=[Say("Ready.")]))
    await program.until("result")
    for index, way in enumerate(WAYS):
        late = Step(blocks=[bash(session.command(way), timeout=700)])
        program.send(prompt(session.model.play(f"late{index}", late, Step(blocks=[Say("End.")]))))
        assert (await program.until("result", index + 2))["result"] == "End."
        task = (await program.until("task_started", index + 1))["task_id"]
        program.send(request(index + 2, "stop_task", task_id=task))
        await session.nobody()
    assert await program.end() == 0


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_run_that_is_out_of_time_takes_its_command_with_it(session: DetachingSession, round_: int) -> None:
    program = await session.start(Step(blocks=[Say("Ready.")]), options=("--max-seconds", "1"))
    await program.until("result")
    for index, way in enumerate(WAYS):
        program.send(prompt(session.model.play(f"out{index}", Step(blocks=[bash(session.command(way))]))))
        assert (await program.until("result", index + 2))["terminal_reason"] == "max_time"
        await session.nobody()
    assert await program.end() == 1


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_an_interrupt_ends_the_running_command_wholly(session: DetachingSession, round_: int) -> None:
    ways = list(WAYS)
    tokens = [session.model.play(f"way{n}", Step(blocks=[bash(session.command(way))])) for n, way in enumerate(ways)]
    program = await session.start(Step(blocks=[Say("Ready.")]))
    await program.until("result")
    for index, way in enumerate(ways):
        program.send(prompt(tokens[index]))
        await session.running(COUNT.get(way, 2))
        program.send(request(index + 2, "interrupt"))
        await program.until("result", index + 2)
        await session.nobody()
    assert await program.end() in (0, 1)


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_killed_job_is_gone_wholly(session: DetachingSession, round_: int) -> None:
    ways = list(WAYS)

    def kill(body: dict[str, Any]) -> Step:
        output = str(body["messages"])

        names = dict.fromkeys(re.findall(r"\bb[0-9a-z]{8}\b", output))
        return Step(blocks=[Call("KillShell", {"shell_id": name}) for name in names])

    wait = Step(blocks=[bash(f"until [ $(pgrep -fc 'sleep {session.number}') -ge {total()} ]; do sleep 0.05; done")])
    program = await session.start(background(session), wait, kill, Step(blocks=[Say("End.")]))
    await program.until("result")
    assert len(ways) == sum("KillShell" in str(frame) and frame.get("type") == "assistant" for frame in program.frames)
    await session.nobody()
    assert await program.end() == 0


async def test_a_way_to_leave_that_nobody_stops_is_noticed(session: DetachingSession) -> None:
    """A test of the tests: a process that is really left behind is found."""
    left = os.posix_spawn("/bin/sleep", ["sleep", session.number], {})
    await session.running(1)
    assert living(session.number) == [left]
    os.kill(left, signal.SIGKILL)
    os.waitpid(left, 0)
    assert living(session.number) == []


def living(number: str) -> list[int]:
    """The processes that sleep this many seconds, without shells that name the number."""
    commands = ((pid, proc_file(pid, "cmdline").split(b"\0")) for pid in living_processes())
    return [
        pid for pid, arguments in commands if arguments[0].endswith(b"sleep") and arguments[1:2] == [number.encode()]
    ]
