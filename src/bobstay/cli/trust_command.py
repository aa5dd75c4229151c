"""`bobstay trust`: which folders may have their settings, hooks and git configuration obeyed."""

import os
import sys
import time

from bobstay.config.digest import TooMuch
from bobstay.config.paths import Paths
from bobstay.config.trust import TrustStatus, is_apart, standing
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore, TrustUnusable

USAGE = """\
Usage: bobstay trust [status|add|remove] [folder]
       bobstay trust list

Trust binds to a folder's real path and to the content of its executable parts: settings, hooks and their scripts,
MCP servers, git configuration and hooks, files tools obey when they are merely started. When one of them changes, the
folder is not trusted until you say so again. The folder is the current one if none is named. See docs/trust.md.
"""
_SHOWN = 40


def run(arguments: list[str]) -> int:
    """Return 0 if done (`status`: if trusted), 1 if not."""
    words = list(arguments)
    action = words.pop(0) if words and words[0] in ("status", "add", "remove", "list") else "status"
    if any(word in ("--help", "-h") for word in words):
        sys.stdout.write(USAGE)
        return 0
    if len(words) > 1 or any(word.startswith("-") for word in words) or (words and action == "list"):
        sys.stderr.write(USAGE)
        return 2
    paths = Paths.read(os.environ)
    store = TrustStore(paths.bobstay)
    folder = os.path.realpath(words[0] if words else os.getcwd())
    try:
        if action == "list":
            return _list(store)
        if action == "remove":
            return _remove(store, folder)
        if not os.path.isdir(folder):
            sys.stderr.write(f"{_plain(folder)} is no folder.\n")
            return 2
        return _add(store, paths, folder) if action == "add" else _status(store, paths, folder)
    except (TrustUnusable, TooMuch) as error:
        sys.stderr.write(f"{_plain(str(error))}\n")
        return 2


def _status(store: TrustStore, paths: Paths, folder: str) -> int:
    how = standing(folder, paths)
    if how.problem:
        raise TrustUnusable(how.problem)
    entry = store.get(folder)
    if how.trusted and entry is not None:
        sys.stdout.write(f"{_plain(folder)} is trusted since {_when(entry.at)}.\n")
        _show(sorted(entry.parts), "What that covers")
        return 0
    if entry is not None:
        sys.stdout.write(f"{_plain(folder)} was trusted on {_when(entry.at)}, but is not what it was then.\n")
        _show(list(how.changed), "What is different")
    else:
        sys.stdout.write(f"{_plain(folder)} is not trusted.\n")
        _show(sorted(executable_parts(folder)), "What would be executed or obeyed in it")
    sys.stdout.write("Trust it as it is now with: bobstay trust add\n")
    return 1


def _add(store: TrustStore, paths: Paths, folder: str) -> int:
    if not is_apart(paths, folder):
        raise TrustUnusable(
            f"The list of trusted folders, {store.path}, lies inside this folder, so the folder could change it. "
            "Choose another BOBSTAY_HOME, or trust a folder further down."
        )
    before: TrustStatus = standing(folder, paths)
    parts = executable_parts(folder)
    store.put(folder, parts)
    sys.stdout.write(f"{_plain(folder)} is trusted as it is now.\n")
    if before.changed:
        _show(list(before.changed), "What is different since you last trusted it")
    else:
        _show(sorted(parts), "What that covers")
    return 0


def _remove(store: TrustStore, folder: str) -> int:
    if store.remove(folder):
        sys.stdout.write(f"{_plain(folder)} is not trusted any more.\n")
        return 0
    sys.stdout.write(f"{_plain(folder)} was not trusted.\n")
    return 1


def _list(store: TrustStore) -> int:
    folders = store.read().folders
    if not folders:
        sys.stdout.write("No folder is trusted.\n")
    for folder, entry in sorted(folders.items()):
        sys.stdout.write(f"{_when(entry.at)}  {_plain(folder)}\n")
    return 0


def _show(names: list[str], what: str) -> None:
    if not names:
        sys.stdout.write(f"{what}: nothing.\n")
        return
    sys.stdout.write(f"{what}:\n")
    for name in names[:_SHOWN]:
        sys.stdout.write(f"  {_plain(name)}\n")
    if len(names) > _SHOWN:
        sys.stdout.write(f"  and {len(names) - _SHOWN} more\n")


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _plain(text: str) -> str:
    """Names come from the folder: they must not steer the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
