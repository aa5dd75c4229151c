"""Content of plugins: digests every file of a folder that the plugin could run or that could be told to a model."""

import os
from collections.abc import Iterator

from bobstay.config.digest import Digests
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
