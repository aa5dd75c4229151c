"""Runs one command hook: passes JSON on stdin, returns exit code and output, and ends every process it started."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import Callable, Mapping

from bobstay.hooks.event_fields import fill_variables
from bobstay.hooks.hook_event import HookRunResult
from bobstay.hooks.hook_settings import CommandHook
from bobstay.system.child_process import Child, find_program
from bobstay.system.process_tree import MARK
from bobstay.system.watchdog import mark_of_this_process, start_watchdog

MOST_OUTPUT = 1 << 20
_LONGEST_FIRST_LINE = 10_000
_STARTUP_VARIABLES = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND"})
"""Variables that would make a shell run something before the command."""
_NUMBERS = itertools.count(1)


async def run_command(
    argv: list[str] | tuple[str, ...],
    stdin_data: bytes,
    *,
    cwd: str,
    environment: Mapping[str, str],
    limit: float,
    mark: str = "",
    first_line: Callable[[bytes], None] | None = None,
) -> HookRunResult:
    """Run a program for at most `limit` seconds. Cancelling this ends it.

    `first_line` is called with the first line of its output as soon as that is complete.

    Raises:
        OSError: it could not be started.
    """
    mark = f"{mark_of_this_process()}:{mark}:hook{next(_NUMBERS)}"
    inherited = environment.get(MARK, "")
    child_environment = {name: value for name, value in environment.items() if name not in _STARTUP_VARIABLES}
    child_environment[MARK] = f"{inherited}/{mark}" if inherited else mark
    start_watchdog(inherited)
    output = {1: bytearray(), 2: bytearray()}

    def receive(number: int, data: bytes) -> None:
        nonlocal first_line
        output[number].extend(data[: MOST_OUTPUT - len(output[number])])
        if first_line is not None and number == 1:
            end = output[1].find(b"\n", 0, _LONGEST_FIRST_LINE)
            if end >= 0:
                first_line(bytes(output[1][:end]))
            if end >= 0 or len(output[1]) >= _LONGEST_FIRST_LINE:
                first_line = None

    with tempfile.TemporaryFile(buffering=0) as stdin:  # a file, not a pipe: writing it never blocks
        stdin.write(stdin_data)
        os.lseek(stdin.fileno(), 0, os.SEEK_SET)
        child = Child(
            list(argv), cwd=cwd, environment=child_environment, receive=receive, mark=mark, stdin=stdin.fileno()
        )
    code: int | None = None
    try:
        done, _ = await asyncio.wait([child.ended], timeout=limit)
        code = child.ended.result() if done else None
    finally:
        if not child.ended.done() or child.tree.orphans():
            await child.end(grace=0.2)
        child.drain()
        child.close()
    return HookRunResult(code, output[1].decode(errors="replace"), output[2].decode(errors="replace"))


def argv_of(hook: CommandHook, project: str, path: str) -> list[str]:
    """Return the command line of a hook: its program with arguments, or a shell with its command.

    Raises:
        OSError: there is no such program.
    """
    if hook.args is not None:
        # There is no shell to expand variables, so directories are substituted here.
        directories = {"CLAUDE_PROJECT_DIR": project, "BOBSTAY_PROJECT_DIR": project, **hook.variables}
        command, *args = [fill_variables(word, directories) for word in (hook.command, *hook.args)]
        program = command if "/" in command else find_program(command, path)
        if not program:
            raise FileNotFoundError(f"there is no program called {command[:80]!r}")
        return [program, *args]
    if hook.shell == "powershell":
        program = find_program("pwsh", path) or find_program("powershell", path)
        if not program:
            raise FileNotFoundError("PowerShell is not installed (no program called pwsh)")
        return [program, "-NoProfile", "-NonInteractive", "-Command", hook.command]
    return shell(hook.command)


def shell(command: str, *args: str) -> list[str]:
    """Return the command line of the default shell with a command; `args` are its positional parameters."""
    bash = find_program("bash", "/bin:/usr/bin:/usr/local/bin")
    start = [bash, "--noprofile", "--norc"] if bash else ["/bin/sh"]
    return [*start, "-c", command, *(("bash", *args) if args else ())]
