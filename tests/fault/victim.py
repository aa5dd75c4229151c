"""The installed program as a host runs it, to be killed; and the processes it leaves behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

from tests.kit.processes import living_processes, marked_processes, proc_file, status_fields
from tests.kit.program import BOBSTAY, Frame, Program, environment
from tests.kit.waiting import DEADLINE, until
from tests.modelserver import ModelServer

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


def interposed(path: Path, rule: str) -> str:
    """A program to run in place of the installed one, whose writes to the log obey `rule`."""
    path.write_text(INTERPOSED.format(python=sys.executable, folder="/sessions/", program=BOBSTAY, rule=rule))
    path.chmod(0o755)
    return str(path)


class Victim(Program):
    """`kill_now` kills it as nothing can be caught; then `mark` and `descendants` tell who must be gone too."""

    mark: str
    descendants: dict[int, str]

    @classmethod
    async def begin(
        cls,
        model: ModelServer,
        folder: Path,
        *arguments: str,
        program: str = BOBSTAY,
        answer: Callable[[Frame], Frame | None] = lambda _: None,
    ) -> Self:
        mark = f"fault-{os.urandom(8).hex()}"
        env = {**environment(model, folder / "home"), "FAULT_MARK": mark}
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
        left = partial(alive, self.mark, self.descendants)
        await until(lambda: not left(), lambda: f"still alive: {left()}")


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
    parents = {child: fields for child in living_processes() if (fields := status_fields(child))}
    found: dict[int, str] = {}
    todo = [pid]
    for parent in todo:
        for child, fields in parents.items():
            if int(fields[1]) == parent and child not in found:
                found[child] = fields[19]
                todo.append(child)
    return found


def alive(mark: str, known: dict[int, str]) -> list[str]:
    """The processes that carry `mark` in their environment or are among those `known`."""
    marked = marked_processes(mark)
    found = [pid for pid in living_processes() if pid in marked or known.get(pid, "") in status_fields(pid)[19:20]]
    return [f"{pid}: {proc_file(pid, 'cmdline').replace(bytes(1), b' ').decode(errors='replace')}" for pid in found]
