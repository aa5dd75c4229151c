"""No process that came from ours outlives the end we put to it, and no other is touched."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bobstay.system.child_process import Child
from bobstay.system.process_tree import MARK, ProcessTree, has_mark, kill_marked, marks_of
from tests.kit.processes import is_alive
from tests.kit.waiting import DEADLINE, until, wait_until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="families are known through /proc")

ESCAPES = {
    "child": "sleep 300 &",
    "setsid": "setsid sleep 300 &",
    "nohup": "nohup sleep 300 >/dev/null 2>&1 &",
    "double fork": "(setsid sh -c 'sleep 300 & sleep 300 & exit 0' &);",
    "silent double fork": "(setsid sh -c 'sleep 300 >/dev/null 2>&1 & exit 0' >/dev/null 2>&1 &);",
    "empty environment": "env -i /bin/sleep 300 &",
    "empty environment and setsid": "env -i setsid /bin/sleep 300 &",
    "deaf": "(trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &);",
}


def living(mark: str) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and has_mark(int(name), mark)]


def start(script: str, tmp_path: Path) -> tuple[Child, str]:
    mark = os.urandom(8).hex()
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", MARK: mark}
    command = ["/bin/sh", "-c", script]
    child = Child(command, cwd=str(tmp_path), environment=environment, receive=lambda *_: None, mark=mark)
    return child, mark


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("leader", ["stays", "goes"])
async def test_nobody_escapes(escape: str, leader: str, tmp_path: Path) -> None:
    """F12."""
    ready = tmp_path / "ready"
    rest = "wait; sleep 300" if leader == "stays" else "exit 0"
    child, mark = start(f"{ESCAPES[escape]} touch {ready}; {rest}", tmp_path)
    async with asyncio.timeout(DEADLINE):
        while not ready.exists():
            await asyncio.sleep(0.002)
        if leader == "goes":
            await child.ended
            assert child.tree.orphans()
    members = child.tree.members()
    assert members
    await child.end(grace=0.1)
    child.close()

    assert child.tree.members() == []
    assert living(mark) == []
    assert not [pid for pid in members if is_alive(pid)]


def test_the_very_first_process_is_no_exception(tmp_path: Path) -> None:
    """F12: orphans are ours from the start, in a program that has started nothing before."""
    script = textwrap.dedent("""
        import asyncio
        from bobstay.system.process_tree import MARK
        from bobstay.system.child_process import Child

        async def main():
            environment = {"PATH": "/usr/bin:/bin", MARK: "0123456789abcdef"}
            command = ["sh", "-c", "(setsid sleep 300 >/dev/null 2>&1 &)"]
            child = Child(command, cwd="/", environment=environment, receive=print, mark="0123456789abcdef")
            await child.ended
            print(len(child.tree.orphans()))
            await child.end()
            child.close()
            print(len(child.tree.orphans()))

        asyncio.run(main())
    """)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    program = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert program.stdout.split() == ["1", "0"]


async def test_processes_of_others_are_neither_ended_nor_reaped(tmp_path: Path) -> None:
    """F14: those of a program we are embedded in, of another call, and ourselves."""
    foreign = subprocess.Popen(["sleep", "300"], start_new_session=True)
    gone = subprocess.Popen(["sh", "-c", "exit 5"])
    other, other_mark = start("setsid sleep 300 & exit 0", tmp_path)
    child, _ = start("setsid sleep 300 & exit 0", tmp_path)
    await asyncio.gather(other.ended, child.ended)
    await child.end()
    child.close()

    assert foreign.poll() is None
    assert gone.wait() == 5
    assert len(living(other_mark)) == 1
    await other.end()
    other.close()
    foreign.kill()
    foreign.wait()


async def test_a_family_without_a_mark_owns_no_stranger() -> None:
    """F14: an empty mark is in no environment."""
    stranger = subprocess.Popen(["sleep", "300"], env={}, start_new_session=True)
    assert not has_mark(stranger.pid, "")
    assert stranger.pid not in ProcessTree(leader=2**22 + 1, mark="").members()
    stranger.kill()
    stranger.wait()


async def test_the_dead_are_reaped(tmp_path: Path) -> None:
    child, _ = start("(sleep 0.01 &) ; sleep 300", tmp_path)
    await until(lambda: len(child.tree.members()) == 2)
    await child.end()
    child.close()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert not [pid for pid in children if os.getsid(int(pid)) == child.pid]


async def test_nested_marks_belong_to_both(tmp_path: Path) -> None:
    """A program of ours within a command of ours adds its mark to the one it has."""
    outer = os.urandom(8).hex()
    inner = os.urandom(8).hex()
    process = subprocess.Popen(["sleep", "300"], env={MARK: f"{outer}/{inner}"})
    assert has_mark(process.pid, outer)
    assert has_mark(process.pid, inner)
    assert not has_mark(process.pid, outer[:-1])
    process.kill()
    process.wait()


async def test_a_sweep_ends_what_a_crashed_run_left() -> None:
    """F12: crash, even of the watchdog."""
    mark = os.urandom(8).hex()
    left = subprocess.Popen(["sleep", "300"], env={MARK: f"token:{mark}:7"}, start_new_session=True)
    assert kill_marked(f":{mark}:") == 1
    assert left.wait(timeout=DEADLINE) == -signal.SIGKILL
    assert kill_marked(f":{mark}:") == 0
    with pytest.raises(ValueError, match="too short"):
        kill_marked("")


def test_the_watchdog_ends_everything_when_we_are_killed(tmp_path: Path) -> None:
    """F12: kill -9 of ourselves."""
    script = textwrap.dedent("""
        import os, subprocess, sys
        from bobstay.system.process_tree import MARK
        from bobstay.system.watchdog import mark_of_this_process, start_watchdog
        start_watchdog()
        environment = dict(os.environ) | {MARK: mark_of_this_process() + ":session:1"}
        subprocess.Popen(["sh", "-c", "setsid sleep 300 & (setsid sleep 300 &) ; sleep 300"], env=environment,
                         start_new_session=True, stdout=subprocess.DEVNULL)
        print(mark_of_this_process(), flush=True)
        sys.stdin.read()
    """)
    paths = [path for path in sys.path if path]
    program = subprocess.Popen(
        [sys.executable, "-c", script],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    mark = program.stdout.readline().strip()

    def carriers() -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and mark.encode() in marks_of(int(name))]

    assert len(mark) == 16
    wait_until(lambda: len(carriers()) >= 4)
    program.kill()
    program.wait()
    program.stdin.close()
    program.stdout.close()
    wait_until(lambda: not carriers())
