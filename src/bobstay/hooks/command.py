"""Runs one command hook: JSON in by stdin, an exit code and text out, and nothing of it left alive afterwards."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import Mapping

from bobstay.hooks.event import Ran
from bobstay.kit.family import MARK
from bobstay.kit.proc import Child, find_program
from bobstay.kit.watchdog import guard, mark_of_this_process

MOST_OUTPUT = 1 << 20
_PREPARED = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND"})
"""Variables that would make a shell run something before the command."""
_NUMBERS = itertools.count(1)


async def run_command(
    command: str, given: bytes, *, cwd: str, environment: Mapping[str, str], limit: float, mark: str = ""
) -> Ran:
    """Start `command` in a shell and wait for its end, at most `limit` seconds. Whatever ends this ends it.

    Raises:
        OSError: it could not be started.
    """
    mark = f"{mark_of_this_process()}:{mark}:hook{next(_NUMBERS)}"
    inherited = environment.get(MARK, "")
    settled = {name: value for name, value in environment.items() if name not in _PREPARED}
    settled[MARK] = f"{inherited}/{mark}" if inherited else mark
    guard(inherited)
    kept = {1: bytearray(), 2: bytearray()}

    def receive(number: int, data: bytes) -> None:
        kept[number].extend(data[: MOST_OUTPUT - len(kept[number])])

    with tempfile.TemporaryFile(buffering=0) as stdin:  # a file, not a pipe: nobody has to wait until it is read
        stdin.write(given)
        os.lseek(stdin.fileno(), 0, os.SEEK_SET)
        child = Child(_shell(command), cwd=cwd, environment=settled, receive=receive, mark=mark, stdin=stdin.fileno())
    code: int | None = None
    try:
        done, _ = await asyncio.wait([child.ended], timeout=limit)
        code = child.ended.result() if done else None
    finally:
        if not child.ended.done() or child.family.orphans():
            await child.end(grace=0.2)
        child.drain()
        child.close()
    return Ran(code, kept[1].decode(errors="replace"), kept[2].decode(errors="replace"))


def _shell(command: str) -> list[str]:
    bash = find_program("bash", "/bin:/usr/bin:/usr/local/bin")
    return [bash, "--noprofile", "--norc", "-c", command] if bash else ["/bin/sh", "-c", command]
