"""Versions of external engines: detects them, and warns about versions this server was not tested with."""

import asyncio
import os
import re
from collections.abc import Sequence

from bobstay.config.environment import Environment
from bobstay.server.workers.process.engine_process import find_engine_program
from bobstay.server.workers.process.engine_trust import is_claude
from bobstay.server.workers.worker import WorkerError
from bobstay.system.child_process import Child
from bobstay.system.watchdog import start_watchdog
from bobstay.version import PROTOCOL_LEVEL

WAIT = 1.0
"""Seconds to wait for a version; if it takes longer, the next request has it."""
LIMIT = 20.0
"""Seconds a program may take to print its version."""
MOST_OUTPUT = 200
_NUMBER = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_NAMED = re.compile(r"(?<![\w.])\d{1,9}\.\d{1,9}\.\d{1,9}[\w.+-]*")
_ESCAPE = re.compile(r"\x1b\[[0-9;:]*m")


def version_warning(command: Sequence[str], version: str) -> str:
    """A warning about this version of `claude`; empty if it is of the tested series."""
    if not version or not is_claude(command):
        return ""
    known, found = _numbers(PROTOCOL_LEVEL), _numbers(version)
    if found is None or known is None:
        return f"It is not known whether this server works with version {version[:40]!r} of claude: it is not a number."
    if found[:2] == known[:2]:
        return ""
    age = "newer" if found > known else "older"
    return (
        f"claude {version[:40]} is {age} than what this server is tested with ({PROTOCOL_LEVEL}): some of its output "
        f"may be shown unformatted, or not at all. If that matters, use a version {known[0]}.{known[1]}.x of claude."
    )


class EngineVersions:
    """Output of programs for `--version`, cached until the file changes."""

    def __init__(self, environment: Environment, cwd: str) -> None:
        self._environment = environment
        self._cwd = cwd
        self._asked: dict[tuple[str, int], asyncio.Task[str]] = {}

    async def of(self, command: Sequence[str]) -> str:
        """The version of an engine; empty if it is not known, or not yet.

        Only `claude` is run for this: another program might do anything when given `--version`.
        """
        if not is_claude(command):
            return ""
        try:
            program = find_engine_program(command, self._environment.children.get("PATH", ""))
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
        output: list[bytes] = []

        def receive(number: int, data: bytes) -> None:
            if number == 1 and len(output) < MOST_OUTPUT:
                output.append(data[:MOST_OUTPUT])

        start_watchdog()
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
            return ""  # the output is an error message
        return _version(b"".join(output)[:MOST_OUTPUT].decode("utf-8", "replace"))


def _version(output: str) -> str:
    """The version in a program's output, which may have warnings before it and colours around it."""
    plain = _ESCAPE.sub("", output)
    found = _NAMED.search(plain)
    tokens = "".join(letter for letter in plain if letter.isprintable() or letter.isspace()).split()
    return found[0] if found else next(iter(tokens), "")


def _numbers(version: str) -> tuple[int, ...] | None:
    found = _NUMBER.match(version)
    return tuple(int(number) for number in found.groups()) if found else None
