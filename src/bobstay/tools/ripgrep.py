"""Runs ripgrep without the user's configuration, bounded in time and output."""

import asyncio
import os
import re
import subprocess
import sys
from functools import cache
from io import FileIO

from msgspec import Struct

from bobstay.system.capture import readable
from bobstay.system.child_process import Child, find_program
from bobstay.tools.base import Context, ToolError

TIMEOUT = 20.0
"""Seconds a search may take."""
_MAX_OUTPUT = 20_000_000
"""Bytes of output kept; a search that exceeds it is stopped."""
_BASE = ("--no-config", "--color=never", "--no-messages")
_TREE = ("--hidden", "--no-require-git", "--glob=!.{git,svn,hg,bzr,jj,sl}")
"""Includes hidden files; excludes files named by .gitignore, in a repository or not, and version control data."""


class RipgrepResult(Struct, frozen=True):
    """Result of a search."""

    output: bytes
    complete: bool
    """False if the search was stopped early, by time or size."""
    error: str = ""


async def run_ripgrep(
    arguments: list[str], context: Context, *, cwd: str, limit: float = TIMEOUT, stdin: int | FileIO | None = None
) -> RipgrepResult:
    """Search the tree below `cwd`, or `stdin` if given. Cancelling it ends the search.

    Raises:
        ToolError: ripgrep is missing or did not start.
    """
    program = ripgrep_path(context.environment.get("PATH", ""))
    output, errors = bytearray(), bytearray()
    full = asyncio.Event()

    def receive(number: int, data: bytes) -> None:
        if number == 1 and not full.is_set():
            output.extend(data)
            if len(output) > _MAX_OUTPUT:
                full.set()
        elif number == 2 and len(errors) < 10_000:
            errors.extend(data)

    environment = {name: value for name, value in context.environment.items() if name != "RIPGREP_CONFIG_PATH"}
    tree = () if stdin is not None else _TREE
    try:
        child = Child(
            [program, *_BASE, *tree, *arguments],
            cwd=cwd,
            environment=environment,
            receive=receive,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"The search could not be started: {error}") from None
    stopped = asyncio.create_task(full.wait())
    try:
        done, _ = await asyncio.wait((child.ended, stopped), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        if not child.ended.done():
            await child.end(grace=0.0)
        child.close()
    complete = child.ended in done and not full.is_set()
    failed = complete and child.ended.result() not in (0, 1) and not output
    return RipgrepResult(bytes(output[:_MAX_OUTPUT]), complete, _explain(bytes(errors)) if failed else "")


@cache
def ripgrep_path(path: str) -> str:
    """Path of ripgrep, preferring the one installed with this program.

    Raises:
        ToolError: it is not installed.
    """
    bundled = os.path.join(os.path.dirname(sys.executable), "rg")
    if os.access(bundled, os.X_OK):
        return bundled
    program = _find_packaged() or find_program("rg", path)
    if not program:
        raise ToolError("ripgrep (rg) is missing. It comes with the package `ripgrep`: reinstall, or install rg.")
    return program


def _find_packaged() -> str:
    from importlib.metadata import PackageNotFoundError, files

    try:
        packaged = files("ripgrep") or []
    except PackageNotFoundError:
        return ""
    for file in packaged:
        location = str(file.locate())
        if file.name == "rg" and os.access(location, os.X_OK):
            return os.path.normpath(location)
    return ""


def _explain(errors: bytes) -> str:
    text = re.sub(r"(?m)^rg: ", "", readable(errors)).strip()
    return text[:2_000] or "ripgrep failed without saying why"
