"""Which existing files a path that leads nowhere may have meant."""

import os
from itertools import islice

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.lookalikes import folded

_MOST_ENTRIES = 5_000
_SUGGESTED = 3


def missing(path: str, context: Context) -> ToolError:
    """The error for a file that does not exist, with what may have been meant."""
    likely = suggestions(path, str(context.cwd))
    meant = f" Did you mean {' or '.join(likely)}?" if likely else ""
    return ToolError(f"File does not exist: {path}. The current working directory is {context.cwd}.{meant}")


def suggestions(path: str, cwd: str) -> list[str]:
    """Up to three paths of existing files that look like `path`, the likeliest first."""
    found = [moved] if (moved := _below(path, cwd)) else []
    directory, name = os.path.split(path)
    for entry in _alike(directory, name):
        candidate = os.path.join(directory, entry)
        if candidate not in found:
            found.append(candidate)
    return found[:_SUGGESTED]


def _below(path: str, cwd: str) -> str | None:
    """The longest tail of `path` that exists below `cwd`: the model may have got the root wrong."""
    parts = [part for part in path.split("/") if part]
    for start in range(1, min(len(parts), 40)):
        candidate = os.path.join(cwd, *parts[start:])
        if os.path.isfile(candidate):
            return candidate
    return None


def _alike(directory: str, name: str) -> list[str]:
    from difflib import get_close_matches

    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES)]
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
    return folded(name).casefold()
