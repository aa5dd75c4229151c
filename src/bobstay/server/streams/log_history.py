"""The log of a session as the frames its live followers saw: page by page, in a thread, shared by all who ask.

A frame says what its entry changed for the session (its status, how full its context is), so entries are folded from
the beginning on. Where the fold stood at the end of each page is kept, and so are the frames of the last pages read.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Envelope
from bobstay.server.sessions.log_reader import LogReader
from bobstay.server.sessions.open_session import told
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log_codec import BadLine, Unstorable, decode

PAGE = 256
"""Entries read in one go."""
PAGE_BYTES = 1024 * 1024
"""About how many bytes of frames are read in one go."""
SHELF_BYTES = 16 * 1024 * 1024
"""Bytes of frames kept for the next one to ask."""
MOST_TRACKS = 512


class HistoryPage(Struct, frozen=True):
    """Frames of entries, and where the fold stands after the last of them."""

    frames: tuple[bytes, ...]
    seq: int
    view: SessionView
    size: int = 0


class _Track:
    """What is known of one log: whose it is, and folds along the way."""

    def __init__(self, reader: LogReader, view: SessionView) -> None:
        self.reader = reader
        self.lock = threading.Lock()
        self.folds: dict[int, SessionView] = {0: view}
        """The view after an entry, by its `seq`: where pages begin."""
        self.epoch = ""


class LogHistory:
    """Reads for followers. Its threads read and fold; the event loop never waits for the disk."""

    def __init__(self, registry: SessionRegistry, threads: int = 2, shelf_bytes: int = SHELF_BYTES) -> None:
        self._registry = registry
        self._pool = ThreadPoolExecutor(threads, "history")
        self._tracks: OrderedDict[str, _Track] = OrderedDict()
        self._shelf: OrderedDict[tuple[str, int], HistoryPage] = OrderedDict()
        self._shelf_bytes = 0
        self._most_bytes = shelf_bytes
        self._lock = threading.Lock()

    async def page(self, session_id: str, after: int, head: int) -> HistoryPage:
        """Frames of entries in (`after`, `head`], oldest first; none if the log has no such entry.

        Raises:
            SessionMissing: there is none of this id.
        """
        track = self._track(session_id)
        shelved = self._shelved(session_id, after)
        if shelved is not None and shelved.seq <= head:
            return shelved
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._read, session_id, track, after, head)

    def next(self, session_id: str, view: SessionView, after: int, head: int) -> HistoryPage:
        """The same at once, for the few entries after a fold that is known."""
        return _page(self._track(session_id).reader, view, after, head, PAGE)

    async def find(self, session_id: str, entry: str) -> int | None:
        """The `seq` of the entry of this id."""
        reader = self._track(session_id).reader
        return await asyncio.get_running_loop().run_in_executor(self._pool, _find, reader, entry)

    async def epoch(self, session_id: str) -> str:
        """What tells this log from any other that has had this name: the id of its first entry.

        Asked at the beginning of each following: what was kept of a log that was replaced is forgotten here.
        """
        track = self._track(session_id)
        epoch = await asyncio.get_running_loop().run_in_executor(self._pool, _first, track.reader)
        if track.epoch != epoch:
            if track.epoch:
                self.forget(session_id)
                track = self._track(session_id)
            track.epoch = epoch
        return epoch

    def forget(self, session_id: str) -> None:
        """The log is gone, and another may come under its name."""
        self._tracks.pop(session_id, None)
        with self._lock:
            for key in [key for key in self._shelf if key[0] == session_id]:
                self._shelf_bytes -= self._shelf.pop(key).size

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------ below, in threads

    def _read(self, session_id: str, track: _Track, after: int, head: int) -> HistoryPage:
        with track.lock:  # a second one who asks for the same page finds it on the shelf
            shelved = self._shelved(session_id, after)
            if shelved is not None and shelved.seq <= head:
                return shelved
            page = _page(track.reader, self._fold(track, after), after, head, PAGE)
            if page.frames:
                track.folds[page.seq] = page.view
                _thin(track.folds)
                self._put(session_id, after, page)
            return page

    def _fold(self, track: _Track, after: int) -> SessionView:
        """The view after entry `after`: from the nearest fold before it that is known."""
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

    def _shelved(self, session_id: str, after: int) -> HistoryPage | None:
        with self._lock:
            page = self._shelf.get((session_id, after))
            if page is not None:
                self._shelf.move_to_end((session_id, after))
            return page

    def _put(self, session_id: str, after: int, page: HistoryPage) -> None:
        """Keep a full page. One that ended because the log did would soon be in the way."""
        if len(page.frames) < PAGE and page.size < PAGE_BYTES:
            return
        with self._lock:
            self._shelf[session_id, after] = page
            self._shelf_bytes += page.size
            while self._shelf_bytes > self._most_bytes:
                self._shelf_bytes -= self._shelf.popitem(last=False)[1].size

    def _track(self, session_id: str) -> _Track:
        track = self._tracks.get(session_id)
        if track is None:
            limit = self._registry.view(session_id).context_limit
            reader = LogReader(self._registry.reader(session_id).path)
            track = self._tracks[session_id] = _Track(reader, replace(SessionView(session_id), context_limit=limit))
            if len(self._tracks) > MOST_TRACKS:
                self._tracks.popitem(last=False)
        self._tracks.move_to_end(session_id)
        return track


MOST_FOLDS = 256


def _thin(folds: dict[int, SessionView]) -> None:
    """Keep the number of folds of one log small: every second one is enough."""
    if len(folds) > MOST_FOLDS:
        for seq in sorted(folds)[1::2]:
            del folds[seq]


def _page(reader: LogReader, view: SessionView, after: int, head: int, limit: int) -> HistoryPage:
    frames: list[bytes] = []
    size = 0
    for envelope in _entries(reader, after, head):
        before, view = view, view.apply(envelope)
        try:
            frame = told(before, view, envelope)
        except Unstorable:  # nested too deeply to be written, though it could be read
            continue
        frames.append(frame)
        size += len(frame)
        if len(frames) >= limit or size >= PAGE_BYTES:
            return HistoryPage(tuple(frames), envelope.seq, view, size)
    return HistoryPage(tuple(frames), view.seq if frames else after, view, size)


def _entries(reader: LogReader, after: int, head: int) -> Iterator[Envelope]:
    """Entries in (`after`, `head`] by rising `seq`, whatever the file holds."""
    last = after
    for envelope in reader.read(after):
        if envelope.seq > head:
            return
        if envelope.seq > last:
            last = envelope.seq
            yield envelope


def _find(reader: LogReader, entry: str) -> int | None:
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


def _first(reader: LogReader) -> str:
    for envelope in reader.read(0, 1):
        return envelope.id
    return ""
