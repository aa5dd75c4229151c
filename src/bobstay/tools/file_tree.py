"""The files of a directory tree as the search tools see them: ignored ones left out, newest first."""

import asyncio
import os
from collections.abc import Iterable

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.similar_paths import suggestions
from bobstay.tools.files.tool_path import locate
from bobstay.tools.ripgrep import RipgrepResult, run_ripgrep


def starting_place(path: str, context: Context) -> str:
    """The absolute form of a path to search in, which must exist.

    Raises:
        ToolError: there is nothing; likely names are given.
    """
    if not path:
        return str(context.cwd)
    place = locate(path, context).path
    if not os.path.exists(place):
        likely = suggestions(place, str(context.cwd))
        meant = f" Did you mean {' or '.join(likely)}?" if likely else ""
        raise ToolError(f"Path does not exist: {place}. The current working directory is {context.cwd}.{meant}")
    return place


def is_directory(path: str) -> bool:
    return os.path.isdir(path)


async def files_below(directory: str, globs: list[str], context: Context) -> tuple[list[bytes], bool]:
    """The files below `directory` that fit `globs`, relative to it, and whether those are all.

    A glob given to ripgrep brings back what .gitignore leaves out, so the tree is listed both ways at once and what
    is in both counts.

    Raises:
        ToolError: a glob is malformed.
    """
    plain = run_ripgrep(["--files", "--null"], context, cwd=directory)
    if not globs:
        found = await plain
        return names_in(found), found.complete
    chosen = run_ripgrep(["--files", "--null", *(f"--glob={glob}" for glob in globs)], context, cwd=directory)
    every, fitting = await asyncio.gather(plain, chosen)
    if fitting.error:
        raise ToolError(f"The pattern is not valid: {fitting.error}")
    known = set(names_in(every))
    return [name for name in names_in(fitting) if name in known], every.complete and fitting.complete


def hidden(names: Iterable[bytes], directory: str, context: Context) -> set[bytes]:
    """Those of `names` that a rule denies reading: a search must not show what may not be read."""
    hides = context.parts.get("hides", lambda: None)()
    if hides is None:
        return set()
    return {name for name in names if hides(os.path.join(directory, os.fsdecode(name)))}


def names_in(found: RipgrepResult) -> list[bytes]:
    """The names in a list that is separated by NUL. A last one that was cut off is left out."""
    return [name.removeprefix(b"./") for name in found.output.split(b"\0")[:-1]]


def newest_first(names: list[bytes], directory: str) -> list[str]:
    """Absolute paths as text, those changed last first, and by name where that is the same."""
    base = os.fsencode(directory)
    dated = []
    for name in names:
        path = os.path.join(base, name)
        try:
            dated.append((-os.lstat(path).st_mtime_ns, path))
        except OSError:
            continue  # it went away meanwhile
    dated.sort()
    return [path.decode("utf-8", "replace") for _, path in dated]


def shown(path: str, context: Context) -> str:
    """`path` relative to the working directory if it lies below it."""
    cwd = f"{context.cwd}/"
    return path.removeprefix(cwd) if path.startswith(cwd) else path
