"""The installed program as a host runs it, to be killed; and the processes it leaves behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.deadline import DEADLINE
from tests.modelserver import ModelServer
from tests.wire.program import BOBSTAY, Frame, Program, environment

INTERPOSED = """#!{python}
import errno, os, runpy, signal, sys
real, count = os.write, 0

def write(fd, data):
    global count
    if {folder!r} not in os.readlink(f"/proc/self/fd/{{fd}}") or bytes(data[:7]) != b'{{"seq":':
        return real(fd, data)
    count += 1
    {rule}
    return real(fd, data)

def die(fd, piece):
    if piece:
        real(fd, piece)
    os.kill(os.getpid(), signal.SIGKILL)

os.write = write
sys.argv[0] = {program!r}
runpy.run_path({program!r}, run_name="__main__")
"""
"""The same program with a hand on its log: `rule` sees `fd`, `data` and `count` before each entry is written."""

TORN_AT = "if count == {number}: die(fd, data[: int(len(data) * {part}) if {part} < 1 else len(data) - {short}])"
TORN_IF = "if {text!r} in data: die(fd, b'')"
FULL_IF = "if os.path.exists({flag!r}): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))"


def interposed(place: Path, rule: str) -> str:
    """A program to run in place of the installed one, whose writes to the log obey `rule`."""
    place.write_text(INTERPOSED.format(python=sys.executable, folder="/sessions/", program=BOBSTAY, rule=rule))
    place.chmod(0o755)
    return str(place)


class Victim(Program):
    """`kill_now` kills it as nothing can be caught; then `mark` and `descendants` tell who must be gone too."""

    mark: str
    descendants: dict[int, str]

    @classmethod
    async def begin(
        cls,
        server: ModelServer,
        folder: Path,
        *arguments: str,
        program: str = BOBSTAY,
        answer: Callable[[Frame], Frame | None] = lambda _: None,
    ) -> Self:
        mark = f"fault-{os.urandom(8).hex()}"
        env = {**environment(server, folder / "home"), "FAULT_MARK": mark}
        victim = await cls.start(program, *arguments, cwd=folder / "work", env=env, answer=answer)
        victim.mark, victim.descendants = mark, {}
        return victim

    async def when(self, condition: Callable[[list[Frame]], bool]) -> None:
        """Wait until the frames read so far fulfil a condition."""
        async with self._changed, asyncio.timeout(DEADLINE):
            await self._changed.wait_for(lambda: condition(self.frames) or self._reader.done())
        assert condition(self.frames), f"it ended early: {self.frames[-1:]} {await self.errors()}"

    async def kill_now(self) -> None:
        """SIGKILL. It is stopped first, so that no child of it can be overlooked."""
        pid = self.process.pid
        os.kill(pid, signal.SIGSTOP)
        self.descendants = below(pid)
        os.kill(pid, signal.SIGKILL)
        await self.dead()

    async def dead(self) -> None:
        """Wait until it has been killed, and read its remaining output."""
        async with asyncio.timeout(DEADLINE):
            assert await self.process.wait() == -signal.SIGKILL, await self.errors()
            await asyncio.gather(self._reader, self._errors, return_exceptions=True)

    async def leaves_nobody(self) -> None:
        """Wait until every process it started has ended."""
        left = list[str]()
        async with asyncio.timeout(DEADLINE):
            for _ in range(1000):
                left = alive(self.mark, self.descendants)
                if not left:
                    return
                await asyncio.sleep(0.02)
        raise AssertionError(f"still alive: {left}")


class Pipe:
    """A named pipe on which a tool reports that it has reached this point."""

    def __init__(self, path: Path) -> None:
        self._path = path
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def reached(self, victim: Victim) -> None:
        here = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._fd, here.set)
        waiting = asyncio.ensure_future(here.wait())
        ended = asyncio.ensure_future(victim.process.wait())
        try:
            await asyncio.wait((waiting, ended), timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
            assert waiting.done(), f"nobody came to {self._path.name}; last was {victim.frames[-1:]}"
        finally:
            loop.remove_reader(self._fd)
            waiting.cancel()
            ended.cancel()

    def remove(self) -> None:
        os.close(self._fd)
        self._path.unlink()


def below(pid: int) -> dict[int, str]:
    """All descendants of `pid`, with an identity that survives reuse of process ids."""
    parents = {int(name): status for name in os.listdir("/proc") if name.isdigit() and (status := _status(int(name)))}
    found: dict[int, str] = {}
    todo = [pid]
    for parent in todo:
        for child, status in parents.items():
            if int(status[1]) == parent and child not in found:
                found[child] = status[19]
                todo.append(child)
    return found


def alive(mark: str, known: dict[int, str]) -> list[str]:
    """The processes that carry `mark` in their environment or are among those `known`, but not dead ones."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        status = _status(int(name))
        if not status or status[0] in "ZX":
            continue
        if known.get(int(name)) == status[19] or mark.encode() in _bytes(f"/proc/{name}/environ"):
            found.append(f"{name}: {_bytes(f'/proc/{name}/cmdline').replace(bytes(1), b' ').decode(errors='replace')}")
    return found


def _status(pid: int) -> list[str]:
    """The fields of a process after its name: state, parent, ..., the 20th is when it began."""
    return _bytes(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
