"""Replays the log of a session as the frames that live subscribers got: page by page, in threads, with a shared cache.

A frame contains what its entry changed for the session (its status, a context threshold), so entries are folded from
the beginning on. The state of the fold at the end of each page is kept, and the frames of the last pages are cached.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Envelope
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.stream_frames import entry_frame
from bobstay.sessions.log_codec import BadLine, Unstorable, decode
from bobstay.sessions.session_logs import EntryReader

PAGE = 256
"""Maximum entries of a page."""
PAGE_BYTES = 1024 * 1024
"""Approximate maximum bytes of a page."""
CACHE_BYTES = 16 * 1024 * 1024
"""Maximum bytes of cached frames."""
MOST_TRACKS = 512


class HistoryPage(Struct, frozen=True):
    """Frames of entries, and the view after the last of them."""

    frames: tuple[bytes, ...]
    seq: int
    view: SessionView
    size: int = 0


class _TrackedLog:
    """One log with its reader and the views at some of its entries."""

    def __init__(self, reader: EntryReader, view: SessionView) -> None:
        self.reader = reader
        self.lock = threading.Lock()
        self.folds: dict[int, SessionView] = {0: view}
        """Views by the `seq` of the entry they follow; pages begin there."""
        self.epoch = ""


class LogHistory:
    """Reads logs for subscribers. Threads read and fold; the event loop never waits for the disk."""

    def __init__(self, registry: SessionRegistry, threads: int = 2, cache_bytes: int = CACHE_BYTES) -> None:
        self._registry = registry
        self._pool = ThreadPoolExecutor(threads, "history")
        self._tracks: OrderedDict[str, _TrackedLog] = OrderedDict()
        self._cache: OrderedDict[tuple[str, int], HistoryPage] = OrderedDict()
        self._cache_bytes = 0
        self._most_bytes = cache_bytes
        self._lock = threading.Lock()

    async def page(self, session_id: str, after: int, head: int) -> HistoryPage:
        """Frames of entries in (`after`, `head`], oldest first; none if the log has no such entry.

        Raises:
            SessionMissing: there is no session with this id.
        """
        track = self._track(session_id)
        cached = self._cached_page(session_id, after)
        if cached is not None and cached.seq <= head:
            return cached
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._read, session_id, track, after, head)

    def next(self, session_id: str, view: SessionView, after: int, head: int) -> HistoryPage:
        """The same without a thread, for a few entries after a known view."""
        return _page(self._track(session_id).reader, view, after, head, PAGE)

    async def find(self, session_id: str, entry: str) -> int | None:
        """The `seq` of the entry with this id."""
        reader = self._track(session_id).reader
        return await asyncio.get_running_loop().run_in_executor(self._pool, _find, reader, entry)

    async def epoch(self, session_id: str) -> str:
        """The id of the first entry, which distinguishes this log from an earlier one of the same session id.

        Called at the beginning of each subscription; it drops the cache of a log that was replaced or moved.
        """
        track = self._track(session_id)
        epoch = await self._read_epoch(track)
        if track.epoch and track.epoch != epoch:
            self.forget(session_id)
            track = self._track(session_id)
            epoch = await self._read_epoch(track)  # an archived log is the same one in another place
        track.epoch = epoch
        return epoch

    async def _read_epoch(self, track: _TrackedLog) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._pool, _first_id, track.reader)

    def forget(self, session_id: str) -> None:
        """Drop the cache of a log that was removed or replaced."""
        self._tracks.pop(session_id, None)
        with self._lock:
            for key in [key for key in self._cache if key[0] == session_id]:
                self._cache_bytes -= self._cache.pop(key).size

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------ in threads

    def _read(self, session_id: str, track: _TrackedLog, after: int, head: int) -> HistoryPage:
        with track.lock:  # a concurrent reader of the same page then finds it in the cache
            cached = self._cached_page(session_id, after)
            if cached is not None and cached.seq <= head:
                return cached
            page = _page(track.reader, self._fold(track, after), after, head, PAGE)
            if page.frames:
                track.folds[page.seq] = page.view
                _thin(track.folds)
                self._cache_page(session_id, after, page)
            return page

    def _fold(self, track: _TrackedLog, after: int) -> SessionView:
        """The view after entry `after`, folded from the nearest known view before it."""
        start = max(seq for seq in track.folds if seq <= after)
        view = track.folds[start]
        if start == after:
            return view
        for count, envelope in enumerate(_entries(track.reader, start, after), 1):
            view = view.apply(envelope)
            if count % (4 * PAGE) == 0:
                track.folds[envelope.seq] = view
        track.folds[after] = view
        _thin(track.folds)
        return view

    def _cached_page(self, session_id: str, after: int) -> HistoryPage | None:
        with self._lock:
            page = self._cache.get((session_id, after))
            if page is not None:
                self._cache.move_to_end((session_id, after))
            return page

    def _cache_page(self, session_id: str, after: int, page: HistoryPage) -> None:
        """Cache a full page. A partial one at the end of the log would soon be outdated."""
        if len(page.frames) < PAGE and page.size < PAGE_BYTES:
            return
        with self._lock:
            self._cache[session_id, after] = page
            self._cache_bytes += page.size
            while self._cache_bytes > self._most_bytes:
                self._cache_bytes -= self._cache.popitem(last=False)[1].size

    def _track(self, session_id: str) -> _TrackedLog:
        track = self._tracks.get(session_id)
        if track is None:
            limit = self._registry.view(session_id).context_limit
            reader = self._registry.reader(session_id).copy()
            track = self._tracks[session_id] = _TrackedLog(
                reader, replace(SessionView(session_id), context_limit=limit)
            )
            if len(self._tracks) > MOST_TRACKS:
                self._tracks.popitem(last=False)
        self._tracks.move_to_end(session_id)
        return track


MOST_FOLDS = 256


def _thin(folds: dict[int, SessionView]) -> None:
    """Limit the number of views of one log by removing every second one."""
    if len(folds) > MOST_FOLDS:
        for seq in sorted(folds)[1::2]:
            del folds[seq]


def _page(reader: EntryReader, view: SessionView, after: int, head: int, limit: int) -> HistoryPage:
    frames: list[bytes] = []
    size = 0
    for envelope in _entries(reader, after, head):
        before, view = view, view.apply(envelope)
        try:
            frame = entry_frame(before, view, envelope)
        except Unstorable:  # nested too deeply to be encoded, though it could be decoded
            continue
        frames.append(frame)
        size += len(frame)
        if len(frames) >= limit or size >= PAGE_BYTES:
            return HistoryPage(tuple(frames), envelope.seq, view, size)
    return HistoryPage(tuple(frames), view.seq if frames else after, view, size)


def _entries(reader: EntryReader, after: int, head: int) -> Iterator[Envelope]:
    """Entries in (`after`, `head`] by rising `seq`, even if the file is out of order."""
    last = after
    for envelope in reader.read(after):
        if envelope.seq > head:
            return
        if envelope.seq > last:
            last = envelope.seq
            yield envelope


def _find(reader: EntryReader, entry: str) -> int | None:
    needle = entry.encode()
    for line in reader.lines():
        if needle in line:
            try:
                envelope = decode(line)
            except BadLine:
                continue
            if envelope.id == entry:
                return envelope.seq
    return None


def _first_id(reader: EntryReader) -> str:
    for envelope in reader.read(0, 1):
        return envelope.id
    return ""
