"""Diff watcher: watches a session's directory and publishes which files differ from its base.

It ends by itself when the session has had no subscribers for a while. Only directories that git does not ignore are
watched, each by itself: links are not followed. If the system has no watches left, or too many directories are watched
already, git is polled every few seconds instead.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

import msgspec
from watchfiles import Change, watch

from bobstay.model.event import Durable
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.server.errors import ApiError
from bobstay.server.files.repository_lookup import open_repo
from bobstay.server.files.session_directory import AllowedRoots, open_session_directory
from bobstay.server.files.working_changes import WorkingChanges, find_changes, find_ignored_folders
from bobstay.server.streams.bus import Bus
from bobstay.server.streams.stream_frames import live, session_topic
from bobstay.server.workers.worker import Kind, WorkerError
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
QUIET_MS = 100
LONGEST_QUIET_MS = 500
"""Changes within this time are published together."""
STOP_CHECK_MS = 200
"""How often the watching thread checks whether it should stop."""
POLL_SECONDS = 5.0
IDLE_SECONDS = 60.0
"""Seconds without subscribers after which it ends."""
WATCHER_SLOTS = threading.BoundedSemaphore(16)
"""Watchers that may use inotify at once: a user has 128 instances, also for editors and others."""
MOST_FOLDERS = 4_000
MOST_FILES = 500
_GIT_FILES = frozenset({"HEAD", "index", "packed-refs", "ORIG_HEAD"})

Record = Callable[[Durable], object]


class GitDiffWorker:
    kind: Kind = "git_diff"

    def __init__(  # noqa: PLR0913 - what it watches, for whom, and where it writes
        self,
        id: str,
        epoch: int,
        session_id: str,
        record: Record,
        bus: Bus,
        *,
        cwd: str,
        bounds: AllowedRoots,
        environment: Mapping[str, str],
        base: str = "",
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.session_id = session_id
        self._topic = session_topic(session_id)
        self._record = record
        self._bus = bus
        self._cwd = cwd
        self._bounds = bounds
        self._environment = dict(environment)
        self._base = base
        self._changed = asyncio.Event()
        self._published: bytes = b""
        self._task: asyncio.Task[None] | None = None
        self._watcher: _Watcher | None = None

    async def start(self) -> None:
        try:
            first = await self._read_changes()
        except ApiError as error:
            text = error.problem.message
            self._note(WorkerExited(self.id, "git_diff", self.epoch, why="not_started", error=text))
            raise WorkerError(text) from None
        self._published = _frame(first, self.session_id)
        self._note(WorkerStarted(self.id, "git_diff", self.epoch))
        self._task = asyncio.create_task(self._work(), name=f"git diff {self.session_id}")

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped") -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        self._note(WorkerExited(self.id, "git_diff", self.epoch, why=why))

    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _work(self) -> None:
        try:
            await self._follow_changes()
        finally:
            self._unwatch()
        self._task = None
        self._note(WorkerExited(self.id, "git_diff", self.epoch, why="asleep"))

    async def _follow_changes(self) -> None:
        """Publish changes until there have been no subscribers for a while."""
        loop = asyncio.get_running_loop()
        followed = loop.time()
        while loop.time() - followed < IDLE_SECONDS:
            known = self._watcher is not None and self._watcher.good
            watched = await self._watch()
            if known or not watched:  # changes before the watch began must be looked for
                with suppress(TimeoutError):
                    longest = IDLE_SECONDS if watched else min(POLL_SECONDS, IDLE_SECONDS)
                    await asyncio.wait_for(self._changed.wait(), longest)
            if self._changed.is_set() or not watched or not known:
                self._changed.clear()
                await self._publish_changes()
            await asyncio.sleep(LONGEST_QUIET_MS / 1000)  # however busy the directory is
            if self._bus.has_subscribers(self._topic):
                followed = loop.time()

    async def _publish_changes(self) -> None:
        if not self._bus.is_wanted(self._topic):
            self._published = b""  # a new subscriber loads the diff first; any later change must be published
            return
        try:
            found = await self._read_changes()
        except ApiError as error:
            log.info("diff of session %s: %s", self.session_id, error)
            return
        frame = _frame(found, self.session_id)
        # A file may be rewritten without a change in its line counts.
        state = frame + "".join(file.version for file in found.files).encode()
        if state != self._published:
            self._published = state
            self._bus.publish(self._topic, frame)

    async def _read_changes(self) -> WorkingChanges:
        with open_session_directory(self._cwd, self._bounds) as directory:
            return await find_changes(directory, self._environment, base=self._base, hunks=False)

    async def _watch(self) -> bool:
        """Watch all current directories; returns whether that is possible."""
        if self._watcher is not None and self._watcher.good:
            return True
        self._unwatch()
        try:
            with open_session_directory(self._cwd, self._bounds) as directory:
                ignored = await find_ignored_folders(directory, self._environment)
                real = directory.path
            folders = await asyncio.to_thread(_folders, real, ignored)
            repository = open_repo(real, self._environment).repository
        except ApiError:
            return False
        if len(folders) > MOST_FOLDERS or not WATCHER_SLOTS.acquire(blocking=False):
            return False
        self._watcher = _Watcher([*folders, repository.directory], repository.directory, self._wake)
        return await self._watcher.begun

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def _wake(self) -> None:
        self._changed.set()

    def _note(self, event: WorkerStarted | WorkerExited) -> None:
        try:
            self._record(event)
        except LogError as error:  # it only watches: it works without being recorded
            log.warning("git diff of session %s: %s", self.session_id, error)


class _Watcher:
    """A thread that waits for changes; it ends when directories are added, so that these are watched too.

    The creator has acquired `WATCHER_SLOTS`, which is released when the thread ends.
    """

    def __init__(self, folders: list[str], git: str, wake: Callable[[], None]) -> None:
        self.good = True
        self._folders = folders
        self._git = git
        self._wake = wake
        self._stop = threading.Event()
        self._release = WATCHER_SLOTS.release
        self._loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[bool] = self._loop.create_future()
        threading.Thread(target=self._run, name="git diff", daemon=True).start()

    def stop(self) -> None:
        self.good = False
        self._stop.set()

    def _run(self) -> None:
        try:
            self._wait()
        except OSError:
            self.good = False  # no watches left, or a directory was removed while it was watched
        except Exception:  # the boundary of a thread; the worker polls instead
            log.exception("watching files failed")
            self.good = False
        finally:
            self._release()
        self._call(self._ready, False)
        self._call(self._wake)

    def _wait(self) -> None:
        rounds = watch(
            *self._folders,
            watch_filter=self._is_relevant,
            debounce=LONGEST_QUIET_MS,
            step=QUIET_MS,
            stop_event=self._stop,
            rust_timeout=STOP_CHECK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
            ignore_permission_denied=True,
        )
        for changed in rounds:
            self._call(self._ready, True)
            if any(change == Change.added and os.path.isdir(path) for change, path in changed):
                self.good = False
                return
            if changed:
                self._call(self._wake)

    def _is_relevant(self, _: Change, path: str) -> bool:
        """Whether a change is relevant: of git's own files, only those that affect the diff."""
        folder, name = os.path.split(path)
        if folder == self._git:
            return name in _GIT_FILES
        return name != ".git"

    def _ready(self, good: bool) -> None:
        if not self.begun.done():
            self.begun.set_result(good)

    def _call(self, function: Callable[..., None], *arguments: bool) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)


def _frame(found: WorkingChanges, session_id: str) -> bytes:
    files = [
        {"path": file.path, "status": file.status, "added": file.added, "removed": file.removed}
        for file in found.files[:MOST_FILES]
    ]
    data = {"files": files, "total": found.total, "base": found.base}
    return live("diff.changed", msgspec.to_builtins(data), session_id)


def _folders(top: str, ignored: frozenset[str]) -> list[str]:
    """Directories to watch: no links, nothing git ignores, none of git's own."""
    found: list[str] = []
    for directory, inner, _ in os.walk(top):
        found.append(directory)
        inner[:] = [name for name in inner if name != ".git" and os.path.join(directory, name) not in ignored]
        if len(found) > MOST_FOLDERS:
            break
    return found
