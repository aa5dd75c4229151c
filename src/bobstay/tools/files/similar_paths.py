"""Suggests existing files for a path that does not exist."""

import os
from itertools import islice

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.lookalikes import fold_lookalikes

_MAX_ENTRIES = 5_000
_SUGGESTED = 3


def missing_file_error(path: str, context: Context) -> ToolError:
    """The error for a file that does not exist, with suggestions."""
    likely = suggest_paths(path, str(context.cwd))
    meant = f" Did you mean {' or '.join(likely)}?" if likely else ""
    return ToolError(f"File does not exist: {path}. The current working directory is {context.cwd}.{meant}")


def suggest_paths(path: str, cwd: str) -> list[str]:
    """Up to three existing files with a path similar to `path`, best first."""
    candidates = [moved] if (moved := _find_below(path, cwd)) else []
    directory, name = os.path.split(path)
    for entry in _find_alike(directory, name):
        candidate = os.path.join(directory, entry)
        if candidate not in candidates:
            candidates.append(candidate)
    return candidates[:_SUGGESTED]


def _find_below(path: str, cwd: str) -> str | None:
    """The longest tail of `path` that exists below `cwd`: the model may have got the root wrong."""
    parts = [part for part in path.split("/") if part]
    for start in range(1, min(len(parts), 40)):
        candidate = os.path.join(cwd, *parts[start:])
        if os.path.isfile(candidate):
            return candidate
    return None


def _find_alike(directory: str, name: str) -> list[str]:
    from difflib import get_close_matches

    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, _MAX_ENTRIES)]
    except OSError:
        return []
    wanted = _key(name)
    stem = wanted.rpartition(".")[0] or wanted
    keys: dict[str, str] = {}
    for entry in sorted(names):
        keys.setdefault(_key(entry), entry)
    close = [key for key in keys if key == wanted]
    close += [key for key in keys if key.rpartition(".")[0] == stem and key not in close]
    close += [key for key in get_close_matches(wanted, keys, n=_SUGGESTED, cutoff=0.6) if key not in close]
    return [keys[key] for key in close[:_SUGGESTED]]


def _key(name: str) -> str:
    return fold_lookalikes(name).casefold()
