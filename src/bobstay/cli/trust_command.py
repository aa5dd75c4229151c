"""`bobstay trust`: shows, grants and revokes trust in folders."""

import os
import sys
import time

from bobstay.config.digest import DigestLimitError
from bobstay.config.paths import Paths
from bobstay.config.trust import TrustStatus, check_trust, is_trust_list_outside
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore, TrustStoreError

USAGE = """\
Usage: bobstay trust [status|add|remove] [folder]
       bobstay trust list

Trust binds to a folder's real path and to the content of its executable parts: settings, hooks and their scripts,
MCP servers, git configuration and hooks, and files that tools obey when they start. When one of them changes, the
folder is not trusted until you trust it again. The default is the current folder. See docs/trust.md.
"""
_SHOWN = 40


def run(arguments: list[str]) -> int:
    """Return 0 on success (`status`: if trusted), 1 if not, 2 for an error."""
    remaining = list(arguments)
    action = remaining.pop(0) if remaining and remaining[0] in ("status", "add", "remove", "list") else "status"
    if any(argument in ("--help", "-h") for argument in remaining):
        sys.stdout.write(USAGE)
        return 0
    if (
        len(remaining) > 1
        or any(argument.startswith("-") for argument in remaining)
        or (remaining and action == "list")
    ):
        sys.stderr.write(USAGE)
        return 2
    paths = Paths.read(os.environ)
    store = TrustStore(paths.bobstay)
    folder = os.path.realpath(remaining[0] if remaining else os.getcwd())
    try:
        if action == "list":
            return _list(store)
        if action == "remove":
            return _remove(store, folder)
        if not os.path.isdir(folder):
            sys.stderr.write(f"{_printable(folder)} is not a folder.\n")
            return 2
        return _add(store, paths, folder) if action == "add" else _status(store, paths, folder)
    except (TrustStoreError, DigestLimitError) as error:
        sys.stderr.write(f"{_printable(str(error))}\n")
        return 2


def _status(store: TrustStore, paths: Paths, folder: str) -> int:
    status = check_trust(folder, paths)
    if status.problem:
        raise TrustStoreError(status.problem)
    entry = store.get(folder)
    if status.trusted and entry is not None:
        sys.stdout.write(f"{_printable(folder)} has been trusted since {_format_time(entry.at)}.\n")
        _show(sorted(entry.parts), "Covered")
        return 0
    if entry is not None:
        sys.stdout.write(f"{_printable(folder)} was trusted on {_format_time(entry.at)}, but it has changed since.\n")
        _show(list(status.changed), "Changes")
    else:
        sys.stdout.write(f"{_printable(folder)} is not trusted.\n")
        _show(sorted(executable_parts(folder)), "Parts of it that would be executed or obeyed")
    sys.stdout.write("Trust it as it is now with: bobstay trust add\n")
    return 1


def _add(store: TrustStore, paths: Paths, folder: str) -> int:
    if not is_trust_list_outside(paths, folder):
        raise TrustStoreError(
            f"The list of trusted folders, {store.path}, is inside this folder, so the folder could change it. "
            "Choose another BOBSTAY_HOME, or trust a folder further down."
        )
    before: TrustStatus = check_trust(folder, paths)
    parts = executable_parts(folder)
    store.put(folder, parts)
    sys.stdout.write(f"{_printable(folder)} is trusted as it is now.\n")
    if before.changed:
        _show(list(before.changed), "Changes since you last trusted it")
    else:
        _show(sorted(parts), "Covered")
    return 0


def _remove(store: TrustStore, folder: str) -> int:
    if store.remove(folder):
        sys.stdout.write(f"{_printable(folder)} is no longer trusted.\n")
        return 0
    sys.stdout.write(f"{_printable(folder)} was not trusted.\n")
    return 1


def _list(store: TrustStore) -> int:
    folders = store.read().folders
    if not folders:
        sys.stdout.write("No folder is trusted.\n")
    for folder, entry in sorted(folders.items()):
        sys.stdout.write(f"{_format_time(entry.at)}  {_printable(folder)}\n")
    return 0


def _show(names: list[str], what: str) -> None:
    if not names:
        sys.stdout.write(f"{what}: nothing.\n")
        return
    sys.stdout.write(f"{what}:\n")
    for name in names[:_SHOWN]:
        sys.stdout.write(f"  {_printable(name)}\n")
    if len(names) > _SHOWN:
        sys.stdout.write(f"  and {len(names) - _SHOWN} more\n")


def _format_time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _printable(text: str) -> str:
    """Replace control characters: untrusted names must not control the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
