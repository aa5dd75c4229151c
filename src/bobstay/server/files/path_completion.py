"""Path completion: finds files by a few letters of their path, as typed after an `@`."""

import asyncio
import heapq
import os
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from bobstay.server.errors import ApiError
from bobstay.server.files.path_names import encode_path
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.working_changes import list_known_files

MOST_WALKED = 20_000
DEEPEST = 12
LONGEST_QUERY = 200
_SKIPPED = frozenset({b".git", b".hg", b".svn", b"node_modules", b"__pycache__", b".venv", b"venv", b".tox", b".cache"})
_BREAKS = b"/_-. "
_FRESH = 3.0
"""Seconds a list of files is cached while a person types."""
_KEPT = 32

_lists: "OrderedDict[str, tuple[float, list[bytes]]]" = OrderedDict()


async def complete_path(
    directory: SessionDirectory, environment: dict[str, str], query: bytes, limit: int
) -> list[bytes]:
    """Files and directories that match `query`, best first."""
    made, names = _lists.get(directory.path, (float("-inf"), []))
    if time.monotonic() - made > _FRESH:
        found = await list_known_files(directory, environment)
        if found is None:
            found = await asyncio.to_thread(list_files, directory)
        names = with_folders([name for name in found if directory.is_visible(name.split(b"/"))])
        _lists[directory.path] = (time.monotonic(), names)
        while len(_lists) > _KEPT:
            _lists.popitem(last=False)
    return await asyncio.to_thread(rank, query, names, limit)


def rank(query: bytes, paths: Iterable[bytes], limit: int) -> list[bytes]:
    """The paths that contain the letters of `query` in this order, best first."""
    wanted = query.lower().replace(b" ", b"")[:LONGEST_QUERY]
    scored = ((score(wanted, path), path) for path in paths)
    found = heapq.nsmallest(limit, ((-value, len(path), path) for value, path in scored if value is not None))
    return [path for _, _, path in found]


def score(wanted: bytes, path: bytes) -> int | None:
    """How well a path matches, or None if it does not. Consecutive letters and beginnings of words count most."""
    lowered = path.lower()
    if not wanted:
        return -path.count(b"/")
    name = lowered.rstrip(b"/").rpartition(b"/")[2]
    if name == wanted:
        return 10_000
    inside = _in_order(wanted, name)
    if inside is not None:
        return 1_000 + inside
    return _in_order(wanted, lowered)


def with_folders(paths: Sequence[bytes]) -> list[bytes]:
    """The paths, preceded by each of their directories with a trailing slash."""
    folders: dict[bytes, None] = {}
    for path in paths:
        above = path.rpartition(b"/")[0]
        while above and above + b"/" not in folders:
            folders[above + b"/"] = None
            above = above.rpartition(b"/")[0]
    return [*folders, *paths]


def list_files(directory: SessionDirectory) -> list[bytes]:
    """Files below a directory that is in no repository, breadth first, up to a limit."""
    found: list[bytes] = []
    queue: list[tuple[bytes, ...]] = [()]
    for parts in queue:
        for name, is_directory in _names(directory, parts):
            below = (*parts, name)
            if not is_directory:
                found.append(b"/".join(below))
            elif name not in _SKIPPED and len(below) <= DEEPEST and directory.is_visible(below):
                queue.append(below)
            if len(found) + len(queue) >= MOST_WALKED:
                return found
    return found


def _names(directory: SessionDirectory, parts: tuple[bytes, ...]) -> list[tuple[bytes, bool]]:
    try:
        with directory.directory(encode_path(b"/".join(parts))) as handle, os.scandir(handle) as entries:
            rows = [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
    except (ApiError, OSError):
        return []
    return sorted(rows)[:MOST_WALKED]


def _in_order(wanted: bytes, text: bytes) -> int | None:
    position, points, run = -1, 0, 0
    for letter in wanted:
        following = text.find(letter, position + 1)
        if following < 0:
            return None
        run = run + 1 if following == position + 1 else 0
        begins = following == 0 or text[following - 1] in _BREAKS
        points += 2 * run + (8 if begins else 0)
        position = following
    whole = text.find(wanted)
    if whole >= 0:
        points += 40 + (40 if whole == 0 or text[whole - 1] in _BREAKS else 0)
    return points - (len(text) - len(wanted)) // 8
