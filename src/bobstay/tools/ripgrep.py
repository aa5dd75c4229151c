"""Runs ripgrep: found beside our own program, without the user's configuration, bounded in time and output."""

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

LIMIT = 20.0
"""Seconds a search may take."""
_MOST = 20_000_000
"""Bytes of output kept; a search that gives more is ended there."""
_BASE = ("--no-config", "--color=never", "--no-messages")
_TREE = ("--hidden", "--no-require-git", "--glob=!.{git,svn,hg,bzr,jj,sl}")
"""Hidden files count, what .gitignore names does not, in a repository or not; version control's own files never do."""


class RipgrepResult(Struct, frozen=True):
    """What a search gave."""

    output: bytes
    complete: bool
    """False if it was ended early, by time or by size."""
    error: str = ""


async def run_ripgrep(
    arguments: list[str], context: Context, *, cwd: str, limit: float = LIMIT, stdin: int | FileIO | None = None
) -> RipgrepResult:
    """Search the tree below `cwd`, or `stdin` if given. Whatever ends this ends the search.

    Raises:
        ToolError: ripgrep is missing or did not start.
    """
    program = ripgrep_path(context.environment.get("PATH", ""))
    output, errors = bytearray(), bytearray()
    full = asyncio.Event()

    def receive(number: int, data: bytes) -> None:
        if number == 1 and not full.is_set():
            output.extend(data)
            if len(output) > _MOST:
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
    return RipgrepResult(bytes(output[:_MOST]), complete, _explained(bytes(errors)) if failed else "")


@cache
def ripgrep_path(path: str) -> str:
    """Where ripgrep is: the one installed with us before any other.

    Raises:
        ToolError: there is none.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    if os.access(beside, os.X_OK):
        return beside
    found = _packaged() or find_program("rg", path)
    if not found:
        raise ToolError("ripgrep (rg) is missing. It comes with the package `ripgrep`: reinstall, or install rg.")
    return found


def _packaged() -> str:
    from importlib.metadata import PackageNotFoundError, files

    try:
        named = files("ripgrep") or []
    except PackageNotFoundError:
        return ""
    for file in named:
        place = str(file.locate())
        if file.name == "rg" and os.access(place, os.X_OK):
            return os.path.normpath(place)
    return ""


def _explained(errors: bytes) -> str:
    text = re.sub(r"(?m)^rg: ", "", readable(errors)).strip()
    return text[:2_000] or "ripgrep failed without saying why"
