"""Log store: creates, opens, lists and forks the session logs in a folder, without an index."""

import builtins
import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from bobstay.model.event import Envelope, SessionStarted
from bobstay.model.ids import new_id
from bobstay.sessions.jsonl_log import SUFFIX, JsonlLog
from bobstay.sessions.log import BadSessionId, LogError, SessionExists, SessionMissing
from bobstay.sessions.log_codec import BadLine, decode, encode, renumber
from bobstay.sessions.log_scan import BUFFER_SIZE, LogScan
from bobstay.sessions.log_tree import LogTree
from bobstay.sessions.session_summary import SessionSummary, summarise

if TYPE_CHECKING:
    from bobstay.sessions.log_reader import LogReader

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
CLOCK_SLACK = 5.0
"""Seconds by which the time in a log may be ahead of its file's, since file systems round times."""


def is_session_id(name: str) -> bool:
    """Whether `name` can be a session id: it must not lead out of the directory."""
    return _ID.fullmatch(name) is not None


class LogStore:
    """Session logs in one directory, which is created on first use and readable by its owner only."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def path(self, session_id: str) -> str:
        """Return the path of the log of `session_id`, which may not exist.

        Raises:
            BadSessionId: the name could lead out of the directory.
        """
        if not is_session_id(session_id):
            raise BadSessionId(f"{session_id[:80]!r} cannot name a session: use letters, digits, '.', '_' and '-'")
        return os.path.join(self.directory, session_id + SUFFIX)

    def exists(self, session_id: str) -> bool:
        return os.path.lexists(self.path(session_id))

    def remove(self, session_id: str) -> None:
        """Remove a session that nobody writes.

        Raises:
            LogError: it cannot be removed.
        """
        path = self.path(session_id)
        try:
            os.unlink(path)
        except OSError as error:
            raise LogError(f"cannot remove the session file {path}: {error.strerror}", error.errno) from None

    def has_writer(self, session_id: str) -> bool:
        """Whether a process has the log open for writing. If that cannot be determined, it counts as written."""
        from bobstay.system.file_lock import is_locked
        from bobstay.system.safe_read import open_regular

        try:
            fd = open_regular(self.path(session_id))
        except OSError:
            return False
        try:
            return is_locked(fd)
        except OSError:
            return True
        finally:
            os.close(fd)

    def reader(self, session_id: str) -> "LogReader":
        from bobstay.sessions.log_reader import LogReader

        return LogReader(self.path(session_id))

    def create(self, session_id: str, started: SessionStarted) -> JsonlLog:
        """Create a session.

        Raises:
            SessionExists: the id is in use.
            LogError: the log cannot be written.
        """
        path = self.path(session_id)
        self._make_directory()
        log = JsonlLog.create(path)
        try:
            log.append(started)
        except LogError:
            os.unlink(path)
            log.close()
            raise
        return log

    def open(self, session_id: str, at: str = "") -> tuple[JsonlLog, builtins.list[Envelope], builtins.list[str]]:
        """Open a session to resume it; returns its log, the current branch, and warnings about the file.

        `at` names an entry, prompt or message after which to resume (see `LogTree.resume_at`); later entries stay in
        the file as a separate branch.

        Raises:
            SessionMissing, SessionBusy, EntryMissing
        """
        log, tree = JsonlLog.reopen(self.path(session_id))
        try:
            branch = tree.resume_at(at) if at else tree.path_to()
        except LogError:
            log.close()
            raise
        if branch:
            log.rewind(branch[-1].id)
        return log, branch, tree.warnings.texts()

    def read_branch(self, session_id: str, at: str = "") -> tuple[builtins.list[Envelope], builtins.list[str]]:
        """Read a session's branch without changing the file, even while another process writes it."""
        tree = self._read_tree(self.path(session_id), session_id)
        branch = tree.resume_at(at) if at else tree.path_to()
        return branch, tree.warnings.texts()

    def list(self, cwd: str | None = None, limit: int | None = None) -> builtins.list[SessionSummary]:
        """Return the sessions, most recently active first; only those of one directory if `cwd` is given.

        Files are read in order of modification time, and no further than needed: an entry is never newer than its file.
        """
        directory = None if cwd is None else _DirectoryMatcher(cwd)
        found: builtins.list[SessionSummary] = []
        for changed, name, status in self._list_files():
            if limit is not None and len(found) >= limit:
                found.sort(key=_newest_first)
                del found[limit:]
                if limit == 0 or found[-1].last_activity > changed + CLOCK_SLACK:
                    break
            summary = summarise(name, os.path.join(self.directory, name + SUFFIX), status)
            if directory is None or any(directory.matches(spelling) for spelling in summary.cwds):
                found.append(summary)
        found.sort(key=_newest_first)
        return found[:limit]

    def latest(self, cwd: str) -> SessionSummary | None:
        """Return the session most recently active in `cwd`, preferring those with a prompt."""
        found = self.list(cwd)
        return next((summary for summary in found if summary.first_prompt), found[0] if found else None)

    def fork(
        self, session_id: str, new_session_id: str, at: str | None = None, started: SessionStarted | None = None
    ) -> JsonlLog:
        """Copy a session's branch, up to `at` if given, into a new session. Entries keep their ids.

        Raises:
            SessionMissing, SessionExists, EntryMissing, LogError
        """
        source, target = self.path(session_id), self.path(new_session_id)
        if os.path.lexists(target):
            raise SessionExists(f"Session ID {new_session_id} is already in use.", errno.EEXIST)
        tree = self._read_tree(source, session_id)
        branch = tree.resume_at(at) if at else tree.path_to()
        self._write_atomically(target, _copy_lines(source, branch, _make_header(branch, session_id, started)))
        return JsonlLog.reopen(target)[0]

    def _write_atomically(self, path: str, lines: Iterator[bytes]) -> None:
        """Write a file under a temporary name first, so that half a session is never seen."""
        from bobstay.system.atomic_file import AtomicFile

        try:
            with AtomicFile(path) as draft:
                draft.file.writelines(lines)
                draft.finish()
                draft.publish()
        except FileExistsError:
            name = os.path.basename(path).removesuffix(SUFFIX)
            raise SessionExists(f"Session ID {name} is already in use.", errno.EEXIST) from None
        except OSError as error:
            raise LogError(f"cannot copy the session to {path}: {error.strerror}", error.errno) from None

    def _read_tree(self, path: str, session_id: str) -> LogTree:
        tree = LogTree()
        try:
            with open(path, "rb", buffering=BUFFER_SIZE) as file:
                for envelope in LogScan(file, tree.warnings):
                    tree.add(envelope)
        except FileNotFoundError:
            message = f"No conversation found with session ID: {session_id}"
            raise SessionMissing(message, errno.ENOENT) from None
        except OSError as error:
            raise LogError(f"cannot read the session file {path}: {error.strerror}", error.errno) from None
        return tree

    def _list_files(self) -> builtins.list[tuple[float, str, os.stat_result]]:
        files: builtins.list[tuple[float, str, os.stat_result]] = []
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    name = entry.name.removesuffix(SUFFIX)
                    if name == entry.name or not is_session_id(name):
                        continue
                    try:
                        status = entry.stat()
                    except OSError:
                        continue
                    if stat.S_ISREG(status.st_mode):
                        files.append((status.st_mtime, name, status))
        except OSError:
            return []
        files.sort(key=lambda file: file[0], reverse=True)
        return files

    def _make_directory(self) -> None:
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.directory)), 0o700, exist_ok=True)
            os.makedirs(self.directory, 0o700, exist_ok=True)
        except OSError as error:
            reason = f"cannot create the sessions folder {self.directory}: {error.strerror}"
            raise LogError(reason, error.errno) from None


def _newest_first(summary: SessionSummary) -> float:
    return -summary.last_activity


class _DirectoryMatcher:
    """Matches different spellings of a directory: through links, or in another case if the file system ignores it."""

    def __init__(self, cwd: str) -> None:
        self._spellings = {cwd, os.path.abspath(cwd), os.path.realpath(cwd)}
        self._identity = _file_identity(cwd)
        self._known: dict[str, bool] = {}

    def matches(self, cwd: str) -> bool:
        if cwd not in self._known:
            self._known[cwd] = self._compare(cwd)
        return self._known[cwd]

    def _compare(self, cwd: str) -> bool:
        if "\0" in cwd or not os.path.isabs(cwd):
            return False
        if cwd in self._spellings or os.path.realpath(cwd) in self._spellings:
            return True
        return self._identity is not None and self._identity == _file_identity(cwd)


def _file_identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _make_header(branch: list[Envelope], session_id: str, started: SessionStarted | None) -> Envelope:
    first = branch[0] if branch else None
    if first is not None and isinstance(first.event, SessionStarted):
        event = msgspec.structs.replace(started or first.event, forked_from=session_id)
        return msgspec.structs.replace(first, seq=1, parent="", event=event)
    event = msgspec.structs.replace(started or SessionStarted("", ""), forked_from=session_id)
    return Envelope(1, new_id(), "", first.at if first else 0.0, event)


def _copy_lines(source: str, branch: list[Envelope], header: Envelope) -> Iterator[bytes]:
    """Yield the lines of `branch` for a new file: header first, renumbered, each following the one before."""
    yield encode(header)
    wanted = {entry.id for entry in branch} - {header.id}
    seq, parent = 1, header.id
    with open(source, "rb", buffering=BUFFER_SIZE) as file:
        for line in file:
            try:
                entry = decode(line).id
            except BadLine:
                continue
            if entry in wanted:
                wanted.remove(entry)
                seq += 1
                yield renumber(line, seq, parent)
                parent = entry
