"""Session expiry: removes sessions not used for a number of days, with their output and plans."""

import os
import stat
import time
from collections.abc import Callable, Iterator

from bobstay.model.session_events import SessionChanged
from bobstay.sessions.jsonl_log import LEASE_SUFFIX, SUFFIX
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.log_scan import BUFFER_SIZE
from bobstay.sessions.log_store import is_session_id
from bobstay.system.file_lock import lock

DAY = 86_400.0
PLAN_SUFFIX = ".md"
LOG_PLACES = (("sessions", SUFFIX), ("server/archive", SUFFIX + ".gz"), ("server/trash", SUFFIX))
"""Folders below the home with logs of sessions, which are named after the session: the console archives and deletes."""


def remove_older_than(
    home: str, days: int, keep: frozenset[str], should_stop: Callable[[], bool] = lambda: False
) -> list[str]:
    """Remove what is older than `days` in the folder `home`; return the ids of the removed sessions.

    A session is kept if it is in `keep`, pinned, or being written by any process. What cannot be removed is tried
    again next time. `should_stop` is called between removals.
    """
    before = time.time() - days * DAY
    sessions = os.path.join(home, "sessions")
    removed: list[str] = []
    for entry in _scan_folder(sessions):
        session_id = entry.name.removesuffix(SUFFIX)
        if session_id == entry.name or session_id in keep or not is_session_id(session_id):
            continue
        if should_stop():
            return removed
        if _is_old_file(entry, before) and _remove_session(home, session_id, before):
            removed.append(session_id)
    _remove_orphaned_files(home, before, keep, should_stop)
    return removed


def remove_session_files(home: str, session_id: str) -> None:
    """Remove the output and the plan of a session whose log is removed."""
    if is_session_id(session_id):
        _remove_folder(os.path.join(home, "output", session_id))
        _unlink(os.path.join(home, "plans", session_id + PLAN_SUFFIX))


def _remove_session(home: str, session_id: str, before: float) -> bool:
    """Remove a session under its lock. The log is removed last, so that an interrupted removal is continued later."""
    path = os.path.join(home, "sessions", session_id + SUFFIX)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        lock(fd)
        if os.fstat(fd).st_mtime >= before or _is_pinned(path):
            return False  # it was used before the lock was taken, or is pinned
        remove_session_files(home, session_id)
        os.unlink(path)
    except OSError:  # another process writes it, or it cannot be removed
        return False
    finally:
        os.close(fd)
    _unlink(path.removesuffix(SUFFIX) + LEASE_SUFFIX)
    return True


def _is_pinned(path: str) -> bool:
    pinned = False
    with open(path, "rb", buffering=BUFFER_SIZE) as file:
        for line in file:
            if b'"pinned":' not in line:
                continue
            try:
                event = decode(line).event
            except BadLine:
                continue
            if isinstance(event, SessionChanged) and event.pinned is not None:
                pinned = event.pinned
    return pinned


def _remove_orphaned_files(home: str, before: float, keep: frozenset[str], should_stop: Callable[[], bool]) -> None:
    """Remove output and plans of sessions without a log: those of runs that kept none, or that were removed."""

    def has_owner(session_id: str) -> bool:
        logs = (os.path.join(home, folder, session_id + suffix) for folder, suffix in LOG_PLACES)
        return session_id in keep or any(map(os.path.lexists, logs))

    for entry in _scan_folder(os.path.join(home, "output")):
        if should_stop():
            return
        if not has_owner(entry.name) and _is_old_folder(entry, before):
            _remove_folder(entry.path)
    for entry in _scan_folder(os.path.join(home, "plans")):
        session_id = entry.name.removesuffix(PLAN_SUFFIX)
        if session_id != entry.name and not has_owner(session_id) and _is_old_file(entry, before):
            _unlink(entry.path)


def _is_old_folder(entry: "os.DirEntry[str]", before: float) -> bool:
    """Whether neither the folder nor a file in it changed since: a command may still be writing one."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    return _modified_at(entry) < before and all(_modified_at(each) < before for each in _scan_folder(entry.path))


def _is_old_file(entry: "os.DirEntry[str]", before: float) -> bool:
    return entry.is_file(follow_symlinks=False) and _modified_at(entry) < before


def _modified_at(entry: "os.DirEntry[str]") -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return time.time()


def _scan_folder(folder: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from list(entries)
    except OSError:
        return


def _remove_folder(path: str) -> None:
    from shutil import rmtree

    rmtree(path, ignore_errors=True)  # it refuses a link instead of a folder


def _unlink(path: str) -> None:
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
    except OSError:
        return
