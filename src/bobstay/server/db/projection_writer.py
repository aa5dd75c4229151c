"""The one that writes projections: takes entries as they come, puts many at once, and never lets anybody wait.

The logs are the truth. So this may drop what it cannot write soon: it then notes that a session is behind and reads its
log again when the database is back. Memory is bounded, and nothing is lost.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from bobstay.model.event import Envelope
from bobstay.server.db.apply_changes import apply, forget, projected
from bobstay.server.db.catch_up import CatchUpReading, LogSource, begin, reach
from bobstay.server.db.database_claim import DatabaseClaim
from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import DatabaseProblem, problem_of, translated
from bobstay.server.db.entry_weight import weight
from bobstay.server.db.log_tail import Piece
from bobstay.server.db.row_changes import LogEntry, RowChanges
from bobstay.server.sessions.session_view import SessionView

log = logging.getLogger(__name__)

BATCH = 500
BATCH_WEIGHT = 4 * 1024 * 1024
MOST_WAITING = 20_000
HEAVIEST = 64 * 1024 * 1024
IN_THREAD = 64 * 1024
"""From this weight on a batch is worked out beside the loop, so that nobody's stream stutters."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 15.0
ENDURED = 5.0
"""Seconds of trouble after which whoever waits for all to be written is told of it."""


class ProjectionWriter:
    def __init__(
        self, engines: Engines, claim: DatabaseClaim, source: Callable[[str], LogSource | None] | None = None
    ) -> None:
        self.source = source
        """Finds the log of a session; without it, nothing can be read again."""
        self.indexed: dict[str, int] = {}
        """The last entry of each session that is in the tables."""
        self.problem: DatabaseProblem | None = None
        """What stands in the way at the moment."""
        self.touched: set[str] = set()
        """Sessions whose logs have grown since their size was noted."""
        self.skipped = 0
        """Entries the database refused."""
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
        """`indexed` tells how far each session is in the tables."""
        self.indexed = dict(indexed)
        self._latest = dict(indexed)
        self._task = asyncio.create_task(self._run(), name="index writer")

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        """Take an entry, soon. One that is in the tables already does nothing; a gap makes the log be read."""
        if session_id in self._behind:
            self._behind[session_id] = max(self._behind[session_id], envelope.seq)
            return
        latest = self._latest.get(session_id, 0)
        if envelope.seq <= latest:
            return
        if envelope.seq != latest + 1 and self.source is not None:
            self.fall_behind(session_id, envelope.seq)
            return
        self._latest[session_id] = envelope.seq
        self._queue.append(LogEntry(session_id, envelope, view))
        self._weight += weight(envelope.event)
        if len(self._queue) > MOST_WAITING or self._weight > HEAVIEST:
            self._drop()
        self._wake.set()

    def fall_behind(self, session_id: str, seq: int = 0) -> None:
        """Let the log of a session be read from where the tables are."""
        self._behind[session_id] = max(self._behind.get(session_id, 0), seq)
        self._wake.set()

    @property
    def waiting(self) -> tuple[int, int]:  # entries, and sessions that are behind
        return len(self._queue), len(self._behind)

    async def flushed(self, session_id: str, seq: int, patience: float) -> bool:
        """Wait until the tables have the entry `seq`; tells whether they do."""
        if self.indexed.get(session_id, 0) >= seq:
            return True
        if session_id in self._behind:  # somebody waits for it: it is read next
            self._behind = {session_id: self._behind.pop(session_id), **self._behind}
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((session_id, seq, done))
        try:
            await asyncio.wait_for(done, patience)
        except TimeoutError:
            return False
        finally:
            self._waiters = [waiter for waiter in self._waiters if waiter[2] is not done]
        return True

    async def idle(self) -> None:
        """Wait until nothing waits and nothing is behind.

        Raises:
            DatabaseProblem: it has stood in the way for too long.
        """
        patience = ENDURED
        while self._queue or self._behind or self._busy:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(("", 0, done))
            await asyncio.wait([done], timeout=0.5)
            self._waiters = [waiter for waiter in self._waiters if waiter[2] is not done]
            patience = patience - 0.5 if self.problem is not None else ENDURED
            if self.problem is not None and patience <= 0:
                raise self.problem

    async def remove(self, session_id: str) -> None:
        """Forget a session: rows, queue and all."""
        self._queue = deque(entry for entry in self._queue if entry.session_id != session_id)
        self._behind.pop(session_id, None)
        async with self._lock:
            await self._transact(lambda connection: forget(connection, session_id))
            for known in (self.indexed, self._latest):
                known.pop(session_id, None)
            self._end_reading(session_id)
            self.touched.discard(session_id)

    async def exclusively(self, work: Callable[[Connection], None]) -> None:
        """Do something to the tables between two batches."""
        async with self._lock:
            await self._transact(work)

    def start_over(self) -> None:
        """The tables are empty again."""
        self._weight = 0
        for known in (self._queue, self.indexed, self._latest):
            known.clear()
        self._end_readings()

    async def close(self, patience: float) -> None:
        """Write what waits, if the database lets us; what stays out is read from the logs next time."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=patience)
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
                    await self._stubbornly(self._take())
                if self._behind and not self._closing:
                    await self._read_again(next(iter(self._behind)))
                elif self._behind and not self._queue:
                    break
            self._busy = False
            self._tell()
            if self._closing:
                return

    def _take(self) -> list[LogEntry]:
        """The next batch. What will be read from a log, or was, is left out: nothing must be counted twice."""
        batch: list[LogEntry] = []
        heavy = 0
        while self._queue and len(batch) < BATCH and heavy < BATCH_WEIGHT:
            entry = self._queue.popleft()
            heavy += weight(entry.envelope.event)
            if entry.session_id in self._behind:
                self.fall_behind(entry.session_id, entry.envelope.seq)
            elif entry.envelope.seq > self.indexed.get(entry.session_id, 0):
                batch.append(entry)
        self._weight = max(0, self._weight - heavy) if self._queue else 0
        return batch

    def _drop(self) -> None:
        for entry in self._queue:
            seq = entry.envelope.seq
            self._behind[entry.session_id] = max(self._behind.get(entry.session_id, 0), seq)
        log.warning("the index is %d entries behind: they will be read from the logs", len(self._queue))
        self._queue.clear()
        self._weight = 0

    async def _stubbornly(self, batch: list[LogEntry], **about: object) -> None:
        """Write a batch, however long the database takes to come back."""
        pause = FIRST_PAUSE
        while batch and not self._given_up:
            found = await self._try(batch, **about)
            if found is None:
                return
            if found.is_about_data:
                await self._one_by_one(batch, **about)
                return
            if self.problem is None or self.problem.kind != found.kind:
                log.warning("the index cannot be written: %s", found)
            self.problem = found
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            if found.kind == "unreachable" and await self._forgotten():
                batch = [entry for entry in batch if entry.session_id not in self._behind]

    async def _forgotten(self) -> bool:
        """Whether the database, now that it is back, lost something it had taken: after a crash that may be."""
        try:
            reached = await reach(self._engines)
        except DatabaseProblem:
            return False
        lost = {id: seq for id, seq in self.indexed.items() if reached.get(id, 0) < seq}
        for session_id, seq in lost.items():
            self.indexed[session_id] = reached.get(session_id, 0)
            self._end_reading(session_id)
            self.fall_behind(session_id, max(seq, self._latest.get(session_id, 0)))
        return bool(lost)

    async def _try(self, batch: list[LogEntry], **about: object) -> DatabaseProblem | None:
        heavy = sum(weight(entry.envelope.event) for entry in batch) > IN_THREAD
        try:
            changes = await asyncio.to_thread(projected, batch) if heavy else projected(batch)
            async with self._lock:
                await self._commit(batch, changes, about)
        except DatabaseProblem as found:
            return found
        except Exception as error:  # noqa: BLE001 - a boundary: whatever an entry holds, the next ones must get through
            log.warning("entries could not be taken into the index: %s: %s", type(error).__name__, str(error)[:300])
            return problem_of(error) or DatabaseProblem("refused", type(error).__name__)
        self.problem = None
        return None

    async def _commit(self, batch: list[LogEntry], changes: RowChanges, about: dict[str, object]) -> None:
        gone = about.get("anew")

        def work(connection: Connection) -> None:
            if isinstance(gone, str):
                forget(connection, gone)
            for row in changes.sessions.values():
                row["stored"] = about.get("stored", False)
                row["log_size"] = about.get("size")
            apply(connection, changes)

        await self._transact(work)
        self._reached((entry.session_id, entry.envelope.seq) for entry in batch)
        if "size" not in about:
            self.touched.update(changes.sessions)

    async def _one_by_one(self, batch: list[LogEntry], **about: object) -> None:
        """Among these is an entry the database refuses: let the others in, and leave that one to its log."""
        about.pop("size", None)
        for entry in batch:
            if len(batch) > 1:
                skipped = self.skipped
                await self._stubbornly([entry], **about)
                if self.skipped == skipped:
                    about.pop("anew", None)
                continue
            self.skipped += 1
            log.error("entry %d of session %s is not in the index: refused", entry.envelope.seq, entry.session_id)
            self._reached([(entry.session_id, entry.envelope.seq)])

    async def _transact(self, work: Callable[[Connection], None]) -> None:
        await self._claim.confirm()
        with translated():
            async with self._engines.write.begin() as connection:
                await connection.run_sync(work)

    def _reached(self, seqs: Iterable[tuple[str, int]]) -> None:
        for session_id, seq in seqs:
            self.indexed[session_id] = max(seq, self.indexed.get(session_id, 0))
        for session_id, seq, done in self._waiters:
            if session_id and self.indexed.get(session_id, 0) >= seq and not done.done():
                done.set_result(None)

    def _tell(self) -> None:
        for session_id, _, done in self._waiters:
            if not session_id and not done.done():
                done.set_result(None)

    async def _read_again(self, session_id: str) -> None:
        """Take in the next piece of a log."""
        wanted = self._behind[session_id]
        try:
            reading = self._readings.get(session_id) or await self._begin(session_id)
            piece = Piece([], 0, last=True) if reading is None else await asyncio.to_thread(reading.file.read)
            if reading is not None and piece.entries:
                await self._take_in(session_id, reading, piece)
        except DatabaseProblem as found:
            self.problem = found
            await asyncio.sleep(FIRST_PAUSE * 10)
            return
        except Exception as error:  # noqa: BLE001 - a boundary: one bad log must not keep out all the others
            log.warning("the log of session %s cannot be taken in: %s", session_id, error)
            piece = Piece([], 0, last=True)
        came_meanwhile = self._behind.get(session_id, 0) > max(wanted, self.indexed.get(session_id, 0))
        if piece.last and not came_meanwhile and (not piece.entries or wanted <= self.indexed.get(session_id, 0)):
            self._caught_up(session_id)

    async def _take_in(self, session_id: str, reading: CatchUpReading, piece: Piece) -> None:
        batch: list[LogEntry] = []
        for envelope in piece.entries:
            reading.view = reading.view.apply(envelope)
            batch.append(LogEntry(session_id, envelope, reading.view))
        about: dict[str, object] = {"stored": reading.stored, "size": piece.end}
        if reading.anew:
            about["anew"] = session_id
            reading.anew = False
            self.indexed.pop(session_id, None)
        await self._stubbornly(batch, **about)
        self.touched.discard(session_id)

    async def _begin(self, session_id: str) -> CatchUpReading | None:
        found = self.source(session_id) if self.source is not None else None
        if found is None:
            return None
        self._readings[session_id] = reading = await begin(self._engines, session_id, found)
        return reading

    def _caught_up(self, session_id: str) -> None:
        """Nothing more is to be had from the log: go on with what comes live."""
        seq = self._latest[session_id] = max(self._behind.pop(session_id, 0), self.indexed.get(session_id, 0))
        self._reached([(session_id, seq)])
        self._end_reading(session_id)

    def _end_readings(self) -> None:
        for session_id in tuple(self._readings):
            self._end_reading(session_id)

    def _end_reading(self, session_id: str) -> None:
        reading = self._readings.pop(session_id, None)
        if reading is not None:
            reading.file.close()
