"""Single writer of the projections: queues entries, writes them in batches, and never blocks its callers.

The logs are the source of truth. The writer may therefore drop entries it cannot write soon: it marks the session as
behind and reads its log when the database is available again. Memory is bounded, and nothing is lost.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from bobstay.model.event import Envelope
from bobstay.server.db.apply_changes import apply, collect_changes, delete_session
from bobstay.server.db.catch_up import CatchUpReading, LogSource, begin_catch_up, indexed_sequences
from bobstay.server.db.database_claim import DatabaseClaim
from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import DatabaseProblem, to_problem, translate_errors
from bobstay.server.db.entry_weight import weight
from bobstay.server.db.log_tail import Piece
from bobstay.server.db.row_changes import LogEntry, RowChanges
from bobstay.server.sessions.session_view import SessionView

log = logging.getLogger(__name__)
BATCH, BATCH_WEIGHT = 500, 4 * 1024 * 1024
MOST_WAITING = 20_000
HEAVIEST = 64 * 1024 * 1024
IN_THREAD = 64 * 1024
"""Batches of at least this weight are projected in a thread, so that they do not block the event loop."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 15.0
MAX_PROBLEM_SECONDS = 5.0
"""Seconds a problem may last before `idle` raises it."""


class ProjectionWriter:
    def __init__(self, engines: Engines, claim: DatabaseClaim, source: Callable[[str], LogSource | None]) -> None:
        self._source = source
        """Finds the log of a session, from which the writer catches up."""
        self.indexed: dict[str, int] = {}
        """The last entry of each session in the tables."""
        self.problem: DatabaseProblem | None = None
        """The current problem, if any."""
        self.touched: set[str] = set()
        """Sessions whose logs have grown since their size was saved."""
        self.skipped = 0
        """Number of entries that the database rejected."""
        self._engines = engines
        self._claim = claim
        self._latest: dict[str, int] = {}
        self._queue: deque[LogEntry] = deque()
        self._weight = 0
        self._behind: dict[str, int] = {}
        self._readings: dict[str, CatchUpReading] = {}
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self._waiters: list[tuple[str, int, asyncio.Future[None]]] = []
        self._busy = False
        self._closing = False
        self._given_up = False
        self._task: asyncio.Task[None] | None = None

    def start(self, indexed: dict[str, int]) -> None:
        """`indexed` has the last entry of each session in the tables."""
        self.indexed = dict(indexed)
        self._latest = dict(indexed)
        self._task = asyncio.create_task(self._run(), name="index writer")

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        """Queue an entry. One that is already in the tables is ignored; after a gap the log is read instead."""
        if session_id in self._behind:
            self._behind[session_id] = max(self._behind[session_id], envelope.seq)
            return
        latest = self._latest.get(session_id, 0)
        if envelope.seq <= latest:
            return
        if envelope.seq != latest + 1:
            self.mark_behind(session_id, envelope.seq)
            return
        self._latest[session_id] = envelope.seq
        self._queue.append(LogEntry(session_id, envelope, view))
        self._weight += weight(envelope.event)
        if len(self._queue) > MOST_WAITING or self._weight > HEAVIEST:
            self._drop()
        self._wake.set()

    def mark_behind(self, session_id: str, seq: int = 0) -> None:
        """Schedule the log of a session to be read from where the tables are."""
        self._behind[session_id] = max(self._behind.get(session_id, 0), seq)
        self._wake.set()

    @property
    def waiting(self) -> tuple[int, int]:  # entries, and sessions that are behind
        return len(self._queue), len(self._behind)

    async def wait_until_indexed(self, session_id: str, seq: int, seconds: float) -> bool:
        """Wait until entry `seq` is in the tables; returns whether it is."""
        if self.indexed.get(session_id, 0) >= seq:
            return True
        if session_id in self._behind:  # someone waits for it: read it next
            self._behind = {session_id: self._behind.pop(session_id), **self._behind}
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((session_id, seq, done))
        try:
            await asyncio.wait_for(done, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiters = [waiter for waiter in self._waiters if waiter[2] is not done]
        return True

    async def idle(self) -> None:
        """Wait until nothing is queued or behind.

        Raises:
            DatabaseProblem: it has lasted for too long.
        """
        remaining = MAX_PROBLEM_SECONDS
        while self._queue or self._behind or self._busy:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(("", 0, done))
            await asyncio.wait([done], timeout=0.5)
            self._waiters = [waiter for waiter in self._waiters if waiter[2] is not done]
            remaining = remaining - 0.5 if self.problem is not None else MAX_PROBLEM_SECONDS
            if self.problem is not None and remaining <= 0:
                raise self.problem

    async def remove(self, session_id: str) -> None:
        """Delete all rows and queued entries of a session."""
        self._queue = deque(entry for entry in self._queue if entry.session_id != session_id)
        self._behind.pop(session_id, None)
        async with self._lock:
            await self._transact(lambda connection: delete_session(connection, session_id))
            for known in (self.indexed, self._latest):
                known.pop(session_id, None)
            self._end_reading(session_id)
            self.touched.discard(session_id)

    async def run_exclusively(self, work: Callable[[Connection], None]) -> None:
        """Run `work` on the tables between two batches."""
        async with self._lock:
            await self._transact(work)

    def reset(self) -> None:
        """Start over with empty tables."""
        self._weight = 0
        for known in (self._queue, self.indexed, self._latest):
            known.clear()
        self._end_readings()

    async def close(self, seconds: float) -> None:
        """Write queued entries if the database allows; the others are read from the logs next time."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)
            self._given_up = True
            while not self._task.done():  # a library may swallow the first cancellation while it cleans up
                self._task.cancel()
                await asyncio.wait([self._task], timeout=1.0)
            self._task = None
        self._end_readings()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._busy = True
            while (self._queue or self._behind) and not self._given_up:
                if self._queue:
                    await self._write_with_retry(self._next_batch())
                if self._behind and not self._closing:
                    await self._continue_catch_up(next(iter(self._behind)))
                elif self._behind and not self._queue:
                    break
            self._busy = False
            self._notify_idle()
            if self._closing:
                return

    def _next_batch(self) -> list[LogEntry]:
        """The next batch, without entries that are read from a log: nothing must be counted twice."""
        batch: list[LogEntry] = []
        heavy = 0
        while self._queue and len(batch) < BATCH and heavy < BATCH_WEIGHT:
            entry = self._queue.popleft()
            heavy += weight(entry.envelope.event)
            if entry.session_id in self._behind:
                self.mark_behind(entry.session_id, entry.envelope.seq)
            elif entry.envelope.seq > self.indexed.get(entry.session_id, 0):
                batch.append(entry)
        self._weight = max(0, self._weight - heavy) if self._queue else 0
        return batch

    def _drop(self) -> None:
        for entry in self._queue:
            seq = entry.envelope.seq
            self._behind[entry.session_id] = max(self._behind.get(entry.session_id, 0), seq)
        log.warning("the projections are %d entries behind: they will be read from the logs", len(self._queue))
        self._queue.clear()
        self._weight = 0

    async def _write_with_retry(self, batch: list[LogEntry], **about: object) -> None:
        """Write a batch, retrying until the database is available again."""
        pause = FIRST_PAUSE
        while batch and not self._given_up:
            problem = await self._try_write(batch, **about)
            if problem is None:
                return
            if problem.is_about_data:
                await self._one_by_one(batch, **about)
                return
            if self.problem is None or self.problem.kind != problem.kind:
                log.warning("the projections cannot be written: %s", problem)
            self.problem = problem
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            if problem.kind == "unreachable" and await self._has_lost_rows():
                batch = [entry for entry in batch if entry.session_id not in self._behind]

    async def _has_lost_rows(self) -> bool:
        """Whether the database lost committed rows, as it may after a crash. Their sessions are marked behind."""
        try:
            reached = await indexed_sequences(self._engines)
        except DatabaseProblem:
            return False
        lost = {id: seq for id, seq in self.indexed.items() if reached.get(id, 0) < seq}
        for session_id, seq in lost.items():
            self.indexed[session_id] = reached.get(session_id, 0)
            self._end_reading(session_id)
            self.mark_behind(session_id, max(seq, self._latest.get(session_id, 0)))
        return bool(lost)

    async def _try_write(self, batch: list[LogEntry], **about: object) -> DatabaseProblem | None:
        heavy = sum(weight(entry.envelope.event) for entry in batch) > IN_THREAD
        try:
            changes = await asyncio.to_thread(collect_changes, batch) if heavy else collect_changes(batch)
            async with self._lock:
                await self._commit(batch, changes, about)
        except DatabaseProblem as problem:
            return problem
        except Exception as error:  # noqa: BLE001 - a boundary: whatever an entry holds, the next ones must get through
            log.warning("entries could not be projected: %s: %s", type(error).__name__, str(error)[:300])
            return to_problem(error) or DatabaseProblem("refused", type(error).__name__)
        self.problem = None
        return None

    async def _commit(self, batch: list[LogEntry], changes: RowChanges, about: dict[str, object]) -> None:
        rebuilt = about.get("rebuild")

        def work(connection: Connection) -> None:
            if isinstance(rebuilt, str):
                delete_session(connection, rebuilt)
            for row in changes.sessions.values():
                row["stored"] = about.get("stored", False)
                row["log_size"] = about.get("size")
            apply(connection, changes)

        await self._transact(work)
        self._mark_indexed((entry.session_id, entry.envelope.seq) for entry in batch)
        if "size" not in about:
            self.touched.update(changes.sessions)

    async def _one_by_one(self, batch: list[LogEntry], **about: object) -> None:
        """Write the entries of a batch one by one, and skip those that the database rejects."""
        about.pop("size", None)
        for entry in batch:
            if len(batch) > 1:
                skipped = self.skipped
                await self._write_with_retry([entry], **about)
                if self.skipped == skipped:
                    about.pop("rebuild", None)
                continue
            self.skipped += 1
            log.error("entry %d of session %s was rejected by the database", entry.envelope.seq, entry.session_id)
            self._mark_indexed([(entry.session_id, entry.envelope.seq)])

    async def _transact(self, work: Callable[[Connection], None]) -> None:
        await self._claim.confirm()
        with translate_errors():
            async with self._engines.write.begin() as connection:
                await connection.run_sync(work)

    def _mark_indexed(self, seqs: Iterable[tuple[str, int]]) -> None:
        for session_id, seq in seqs:
            self.indexed[session_id] = max(seq, self.indexed.get(session_id, 0))
        for session_id, seq, done in self._waiters:
            if session_id and self.indexed.get(session_id, 0) >= seq and not done.done():
                done.set_result(None)

    def _notify_idle(self) -> None:
        for session_id, _, done in self._waiters:
            if not session_id and not done.done():
                done.set_result(None)

    async def _continue_catch_up(self, session_id: str) -> None:
        """Project the next piece of a log."""
        wanted = self._behind[session_id]
        try:
            reading = self._readings.get(session_id) or await self._begin_catch_up(session_id)
            piece = Piece([], 0, last=True) if reading is None else await asyncio.to_thread(reading.file.read)
            if reading is not None and piece.entries:
                await self._index_piece(session_id, reading, piece)
        except DatabaseProblem as problem:
            self.problem = problem
            await asyncio.sleep(FIRST_PAUSE * 10)
            return
        except Exception as error:  # noqa: BLE001 - a boundary: one bad log must not keep out all the others
            log.warning("the log of session %s cannot be projected: %s", session_id, error)
            piece = Piece([], 0, last=True)
        came_meanwhile = self._behind.get(session_id, 0) > max(wanted, self.indexed.get(session_id, 0))
        if piece.last and not came_meanwhile and (not piece.entries or wanted <= self.indexed.get(session_id, 0)):
            self._finish_catch_up(session_id)

    async def _index_piece(self, session_id: str, reading: CatchUpReading, piece: Piece) -> None:
        batch: list[LogEntry] = []
        for envelope in piece.entries:
            reading.view = reading.view.apply(envelope)
            batch.append(LogEntry(session_id, envelope, reading.view))
        about: dict[str, object] = {"stored": reading.stored, "size": piece.end}
        if reading.rebuild:
            about["rebuild"] = session_id
            reading.rebuild = False
            self.indexed.pop(session_id, None)
        await self._write_with_retry(batch, **about)
        self.touched.discard(session_id)

    async def _begin_catch_up(self, session_id: str) -> CatchUpReading | None:
        source = self._source(session_id)
        if source is None:
            return None
        self._readings[session_id] = reading = await begin_catch_up(self._engines, session_id, source)
        return reading

    def _finish_catch_up(self, session_id: str) -> None:
        """The log has been read to its end: continue with live entries."""
        seq = self._latest[session_id] = max(self._behind.pop(session_id, 0), self.indexed.get(session_id, 0))
        self._mark_indexed([(session_id, seq)])
        self._end_reading(session_id)

    def _end_readings(self) -> None:
        for session_id in tuple(self._readings):
            self._end_reading(session_id)

    def _end_reading(self, session_id: str) -> None:
        reading = self._readings.pop(session_id, None)
        if reading is not None:
            reading.file.close()
