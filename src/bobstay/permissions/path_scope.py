"""Files that the globs in the field `paths` of a rule or a skill name; alternatives in braces."""

import re
from collections.abc import Iterable

from bobstay.permissions.path_pattern import BadPattern, PathPattern

_LONGEST = 1024
_MOST_ALTERNATIVES = 64


def is_in_scope(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs names a file, or a folder that it is in. All are relative to the same folder.

    They mean what they would in a .gitignore: one without a slash, such as `*.ts`, is for files at any depth.
    """
    names = [name for name in path.split("/") if name]
    return any(_matches(glob, names) for text in globs for glob in expand_braces(text))


def _matches(glob: str, names: list[str]) -> bool:
    glob = glob.removeprefix("./")
    try:
        return PathPattern(glob, any_depth="/" not in glob.rstrip("/")).matches(names, generously=True)
    except BadPattern:
        return False


def expand_braces(text: str) -> list[str]:
    """Write out the alternatives in braces, from the left, up to a limit; braces beyond it count as letters.

    A text that is too long for a glob has none.
    """
    if len(text) > _LONGEST or "\0" in text:
        return []
    waiting, done = [text], list[str]()
    while waiting:
        current = waiting.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", current)
        if found is None or len(waiting) + len(done) > _MOST_ALTERNATIVES:
            done.append(current)
            continue
        waiting += [current[: found.start()] + each + current[found.end() :] for each in found[1].split(",")]
    return done
