"""Content of plugins: digests every file that a plugin could run or tell a model, and says whose work it is."""

import os
from collections.abc import Iterator

from bobstay.config.digest import Digests
from bobstay.config.paths import Paths
from bobstay.config.trust import is_inside
from bobstay.library.discovery import project_top
from bobstay.system.safe_read import read_regular


def digest_plugin(folder: str) -> dict[str, str]:
    """Return the digests of all files, by name. Links are digested with where they lead, folders behind them are not.

    Raises:
        DigestLimitError: there are more files or bytes than can be checked.
    """
    digests = Digests(folder)
    for file in _list_files(folder):
        digests.add_file(file)
    return digests.by_name


def is_of_project(path: str, cwd: str, paths: Paths) -> bool:
    """Whether a plugin lies in the project, so that whoever made the project wrote it, whoever enabled it."""
    top = project_top(cwd) or cwd
    return is_inside(path, top) and not any(is_inside(path, own) for own in (paths.claude, paths.bobstay))


def _list_files(folder: str) -> Iterator[str]:
    for directory, subfolders, files in os.walk(folder):
        links = [name for name in subfolders if os.path.islink(os.path.join(directory, name))]
        # Git's own files change with every fetch, and bobstay runs nothing of them.
        subfolders[:] = sorted(name for name in subfolders if name != ".git" and name not in links)
        for name in sorted([*files, *links]):
            path = os.path.join(directory, name)
            if not (name.endswith(".pyc") and _is_own_cache(path)):
                yield path


def _is_own_cache(path: str) -> bool:
    """Whether a file is bytecode that Python wrote and checks against its source: it appears when a plugin runs."""
    if os.path.basename(os.path.dirname(path)) != "__pycache__":
        return False
    head = read_regular(path, 8, follow=False)
    # Zero flags mean that the source's time and size are compared; other bytecode is used without its source.
    return head is not None and head[4:8] == b"\0\0\0\0"
