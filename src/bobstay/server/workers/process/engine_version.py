"""Versions of external engines: which one a program is, and whether this server was tested with such a one."""

import asyncio
import os
import re
from collections.abc import Sequence

from bobstay.config.environment import Environment
from bobstay.server.workers.process.engine_process import program_of
from bobstay.server.workers.process.engine_trust import is_claude
from bobstay.server.workers.worker import WorkerError
from bobstay.system.child_process import Child
from bobstay.system.watchdog import guard
from bobstay.version import PROTOCOL_LEVEL

WAIT = 1.0
"""Seconds for which whoever asks for a version waits; it is known when they ask again."""
LIMIT = 20.0
"""Seconds a program may take to tell its version."""
MOST_SAID = 200
_NUMBER = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_NAMED = re.compile(r"(?<![\w.])\d{1,9}\.\d{1,9}\.\d{1,9}[\w.+-]*")
_ESCAPE = re.compile(r"\x1b\[[0-9;:]*m")


def version_warning(command: Sequence[str], version: str) -> str:
    """What a person should know who uses this version of `claude`; empty where it is of the series we test with."""
    if not version or not is_claude(command):
        return ""
    known, found = _numbers(PROTOCOL_LEVEL), _numbers(version)
    if found is None or known is None:
        return f"It is not known whether this server works with version {version[:40]!r} of claude: that is no number."
    if found[:2] == known[:2]:
        return ""
    age = "newer" if found > known else "older"
    return (
        f"claude {version[:40]} is {age} than what this server is tested with ({PROTOCOL_LEVEL}): some of what it says "
        f"may be shown as it comes, or not at all. If that matters, use a version {known[0]}.{known[1]}.x of claude."
    )


class EngineVersions:
    """What programs answer to `--version`. Each file is asked once, until it changes."""

    def __init__(self, environment: Environment, cwd: str) -> None:
        self._environment = environment
        self._cwd = cwd
        self._asked: dict[tuple[str, int], asyncio.Task[str]] = {}

    async def of(self, command: Sequence[str]) -> str:
        """The version of an engine; empty where it is not known, or not yet.

        Only `claude` is asked: what another program does when it is given `--version`, nobody knows.
        """
        if not is_claude(command):
            return ""
        try:
            program = program_of(command, self._environment.children.get("PATH", ""))
            key = (program, os.stat(program).st_mtime_ns)
        except (WorkerError, OSError):
            return ""
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask(program), name=f"version of {program}")
        await asyncio.wait([task], timeout=WAIT)
        return task.result() if task.done() and not task.cancelled() else ""

    async def close(self) -> None:
        for task in self._asked.values():
            task.cancel()
        if self._asked:
            await asyncio.wait(self._asked.values())

    async def _ask(self, program: str) -> str:
        said: list[bytes] = []

        def receive(number: int, data: bytes) -> None:
            if number == 1 and len(said) < MOST_SAID:
                said.append(data[:MOST_SAID])

        guard()
        try:
            child = Child(
                (program, "--version"),
                cwd=self._cwd,
                environment=dict(self._environment.children),
                receive=receive,
            )
        except (OSError, ValueError):
            return ""
        try:
            await asyncio.wait([child.ended], timeout=LIMIT)
        finally:
            await child.end(0.0)
            child.close()
        if not child.ended.done() or child.ended.result() != 0:
            return ""  # what it said is why it cannot tell
        return _version(b"".join(said)[:MOST_SAID].decode("utf-8", "replace"))


def _version(said: str) -> str:
    """The version in what a program said: warnings may come before it, and colours around it."""
    plain = _ESCAPE.sub("", said)
    found = _NAMED.search(plain)
    words = "".join(letter for letter in plain if letter.isprintable() or letter.isspace()).split()
    return found[0] if found else next(iter(words), "")


def _numbers(version: str) -> tuple[int, ...] | None:
    found = _NUMBER.match(version)
    return tuple(int(number) for number in found.groups()) if found else None
