"""No process that a session started outlives it, however it detached and however the session ended (H1-5, F12, F13).

An ending combines one way to detach with one way to end. `BOBSTAY_ORPHAN_ENDINGS` sets the minimum number.
"""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deadline import DEADLINE
from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step
from tests.wire.program import BOBSTAY, Program, environment, initialize, prompt, request

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


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


class Scene:
    """A session driven by a host, and the processes of its commands, identified by the number of seconds they sleep."""

    def __init__(self, server: ModelServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        (folder / "work").mkdir()
        self.number = f"98{int.from_bytes(os.urandom(6)) % 10**12:012d}"
        self.steps: list[Step] = []

    def command(self, way: str, *, left: bool = False) -> str:
        """The command of a way; with `left` its shell ends at once, and only detached processes continue."""
        text = WAYS[way].replace("@", self.number)
        if not left:
            return text
        text = text.replace("& wait", "&").replace("setsid -w", "setsid -f")
        return text.removesuffix(f"; sleep {self.number}").rstrip("; ") + "\nexit 0"

    async def start(self, *steps: Step | Callable[[dict[str, Any]], Step], options: tuple[str, ...] = ()) -> Program:
        env = {**environment(self.server, self.folder / "home"), "IS_SANDBOX": "1"}
        env["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] = "1"
        always = ("--dangerously-skip-permissions", "--settings", '{"sandbox": {"enabled": false}}')
        program = await Program.start(BOBSTAY, *always, *options, cwd=self.folder / "work", env=env)
        program.send(initialize(), prompt(self.server.play("orphans", *steps)))
        return program

    async def running(self, count: int) -> None:
        """Wait until this many processes exist."""
        await _until(lambda: len(living(self.number)) >= count, lambda: f"only {living(self.number)} of {count} began")

    async def nobody(self) -> None:
        await _until(lambda: not living(self.number), lambda: f"still alive: {living(self.number)}", 15.0)


@pytest.fixture
def scene(server: ModelServer, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(server, tmp_path)
    yield made
    for pid in living(made.number):
        os.kill(int(pid.partition(":")[0]), signal.SIGKILL)


def background(scene: Scene) -> Step:
    """All ways at once, each as a separate command."""
    calls = [bash(scene.command(way), run_in_background=True) for way in WAYS]
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
    scene: Scene, number: signal.Signals, code: int, round_: int
) -> None:
    last = Step(blocks=[bash(scene.command("children"))])
    program = await scene.start(background(scene), last, Step(blocks=[Say("End.")]))
    await scene.running(total() + 3)
    os.kill(program.process.pid, number)
    assert await asyncio.wait_for(program.process.wait(), DEADLINE) == code
    await scene.nobody()


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_the_end_of_input_ends_everything(scene: Scene, round_: int) -> None:
    program = await scene.start(background(scene), Step(blocks=[Say("End.")]))
    await program.until("result")
    await scene.running(total())
    await program.end()
    await scene.nobody()


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_what_a_finished_command_left_ends_with_the_session(scene: Scene, round_: int) -> None:
    """The shell has ended long before; processes it left may run as long as the session."""
    steps = [Step(blocks=[bash(scene.command(way, left=True))]) for way in WAYS]
    program = await scene.start(*steps, Step(blocks=[Say("End.")]))
    await program.until("result")
    assert await program.end() == 0
    await scene.nobody()


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_command_that_outlasted_its_call_is_stopped_wholly(scene: Scene, round_: int) -> None:
    program = await scene.start(Step(blocks=[Say("Ready.")]))
    await program.until("result")
    for place, way in enumerate(WAYS):
        late = Step(blocks=[bash(scene.command(way), timeout=700)])
        program.send(prompt(scene.server.play(f"late{place}", late, Step(blocks=[Say("End.")]))))
        assert (await program.until("result", place + 2))["result"] == "End."
        task = (await program.until("task_started", place + 1))["task_id"]
        program.send(request(place + 2, "stop_task", task_id=task))
        await scene.nobody()
    assert await program.end() == 0


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_run_that_is_out_of_time_takes_its_command_with_it(scene: Scene, round_: int) -> None:
    program = await scene.start(Step(blocks=[Say("Ready.")]), options=("--max-seconds", "1"))
    await program.until("result")
    for place, way in enumerate(WAYS):
        program.send(prompt(scene.server.play(f"out{place}", Step(blocks=[bash(scene.command(way))]))))
        assert (await program.until("result", place + 2))["terminal_reason"] == "max_time"
        await scene.nobody()
    assert await program.end() == 1


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_an_interrupt_ends_the_running_command_wholly(scene: Scene, round_: int) -> None:
    ways = list(WAYS)
    tokens = [scene.server.play(f"way{n}", Step(blocks=[bash(scene.command(way))])) for n, way in enumerate(ways)]
    program = await scene.start(Step(blocks=[Say("Ready.")]))
    await program.until("result")
    for place, way in enumerate(ways):
        program.send(prompt(tokens[place]))
        await scene.running(COUNT.get(way, 2))
        program.send(request(place + 2, "interrupt"))
        await program.until("result", place + 2)
        await scene.nobody()
    assert await program.end() in (0, 1)


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_killed_job_is_gone_wholly(scene: Scene, round_: int) -> None:
    ways = list(WAYS)

    def kill(body: dict[str, Any]) -> Step:
        output = str(body["messages"])

        names = dict.fromkeys(re.findall(r"\bb[0-9a-z]{8}\b", output))
        return Step(blocks=[Call("KillShell", {"shell_id": name}) for name in names])

    wait = Step(blocks=[bash(f"until [ $(pgrep -fc 'sleep {scene.number}') -ge {total()} ]; do sleep 0.05; done")])
    program = await scene.start(background(scene), wait, kill, Step(blocks=[Say("End.")]))
    await program.until("result")
    assert len(ways) == sum("KillShell" in str(frame) and frame.get("type") == "assistant" for frame in program.frames)
    await scene.nobody()
    assert await program.end() == 0


async def test_a_way_to_leave_that_nobody_stops_is_noticed(scene: Scene) -> None:
    """A test of the tests: a process that is really left behind is found."""
    left = os.posix_spawn("/bin/sleep", ["sleep", scene.number], {})
    await scene.running(1)
    assert living(scene.number) == [f"{left}: sleep {scene.number}"]
    os.kill(left, signal.SIGKILL)
    os.waitpid(left, 0)
    assert living(scene.number) == []


def living(number: str) -> list[str]:
    """The processes that sleep this many seconds, without dead ones and without shells that name the number."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if len(words) > 1 and words[0].endswith(b"sleep") and words[1] == number.encode() and state not in "ZX":
            found.append(f"{name}: sleep {number}")
    return found


async def _until(condition: Any, why: Any, limit: float = DEADLINE) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, why()
        await asyncio.sleep(0.01)
