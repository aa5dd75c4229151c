"""Lists the files of a directory tree for the search tools: ignored files left out, newest first."""

import asyncio
import os
from collections.abc import Iterable

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.similar_paths import suggest_paths
from bobstay.tools.files.tool_path import locate
from bobstay.tools.ripgrep import RipgrepResult, run_ripgrep


def resolve_search_path(path: str, context: Context) -> str:
    """Return the absolute form of a path to search in, which must exist.

    Raises:
        ToolError: it does not exist; suggests similar paths.
    """
    if not path:
        return str(context.cwd)
    target = locate(path, context).path
    if not os.path.exists(target):
        likely = suggest_paths(target, str(context.cwd))
        meant = f" Did you mean {' or '.join(likely)}?" if likely else ""
        raise ToolError(f"Path does not exist: {target}. The current working directory is {context.cwd}.{meant}")
    return target


def is_directory(path: str) -> bool:
    return os.path.isdir(path)


async def list_files(directory: str, globs: list[str], context: Context) -> tuple[list[bytes], bool]:
    """List the files below `directory` that match `globs`, relative to it; the flag says whether the list is complete.

    A glob makes ripgrep include ignored files, so the tree is listed with and without globs, and the intersection is
    returned.

    Raises:
        ToolError: a glob is malformed.
    """
    plain = run_ripgrep(["--files", "--null"], context, cwd=directory)
    if not globs:
        result = await plain
        return parse_names(result), result.complete
    chosen = run_ripgrep(["--files", "--null", *(f"--glob={glob}" for glob in globs)], context, cwd=directory)
    every, fitting = await asyncio.gather(plain, chosen)
    if fitting.error:
        raise ToolError(f"The pattern is not valid: {fitting.error}")
    known = set(parse_names(every))
    return [name for name in parse_names(fitting) if name in known], every.complete and fitting.complete


def find_denied(names: Iterable[bytes], directory: str, context: Context) -> set[bytes]:
    """Those of `names` that a rule denies reading: a search must not reveal them."""
    denied_reads = context.services.denied_reads
    is_denied = denied_reads() if denied_reads is not None else None
    if is_denied is None:
        return set()
    return {name for name in names if is_denied(os.path.join(directory, os.fsdecode(name)))}


def parse_names(result: RipgrepResult) -> list[bytes]:
    """Parse a NUL-separated list of names. A truncated last name is dropped."""
    return [name.removeprefix(b"./") for name in result.output.split(b"\0")[:-1]]


def sort_newest_first(names: list[bytes], directory: str) -> list[str]:
    """Absolute paths as text, sorted by modification time (newest first), then by name."""
    base = os.fsencode(directory)
    dated = []
    for name in names:
        path = os.path.join(base, name)
        try:
            dated.append((-os.lstat(path).st_mtime_ns, path))
        except OSError:
            continue  # it was removed meanwhile
    dated.sort()
    return [path.decode("utf-8", "replace") for _, path in dated]


def relative_path(path: str, context: Context) -> str:
    """`path` relative to the working directory if it is below it, otherwise unchanged."""
    cwd = f"{context.cwd}/"
    return path.removeprefix(cwd) if path.startswith(cwd) else path
