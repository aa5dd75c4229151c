"""The audit trail: who did what, when, to which session. Written soon, in order, and never changed afterwards."""

import asyncio
import logging
import time
from collections import deque
from typing import Any

from sqlalchemy import insert

from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import DatabaseProblem, translated
from bobstay.server.db.own_tables import audit
from bobstay.server.db.storable_values import as_json, clean

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
LONGEST_DETAIL = 16 * 1024
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0


class AuditWriter:
    """`record` never waits. While the database is away entries do; too many of them go to the log of the program."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._waiting: deque[dict[str, Any]] = deque()
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="audit trail")

    def record(self, who: str, what: str, detail: dict[str, Any] | None = None, session: str = "") -> None:
        """Write an entry, soon. `detail` must hold no secret."""
        text = as_json(detail or {})
        if len(text) > LONGEST_DETAIL:
            text = as_json({"cut": text[:LONGEST_DETAIL]})
        row = {"at": time.time(), "who": clean(who, 200), "what": clean(what, 200), "session_id": clean(session, 200)}
        self._waiting.append({**row, "detail": text})
        if len(self._waiting) > MOST_WAITING:
            lost = self._waiting.popleft()
            log.error("not in the audit trail, for the database is away: %s", as_json(lost))
        self._empty.clear()
        self._wake.set()

    async def written(self) -> None:
        """Wait until all that was recorded is in the table."""
        await self._empty.wait()

    async def close(self, patience: float = 3.0) -> None:
        """Write what waits; what cannot be written goes to the program's log, so that it is somewhere."""
        try:
            await asyncio.wait_for(self._empty.wait(), patience)
        except TimeoutError:
            for row in self._waiting:
                log.warning("not in the audit trail, for the database is away: %s", as_json(row))
        self._closed = True
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1.0)
        self._task = None

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._closed:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting and not self._closed:
                rows = list(self._waiting)[:500]
                try:
                    with translated():
                        async with self._engines.own.begin() as connection:
                            await connection.execute(insert(audit), rows)
                except DatabaseProblem as found:
                    log.warning("the audit trail must wait: %s", found)
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
                    continue
                pause = FIRST_PAUSE
                for _ in rows:
                    self._waiting.popleft()
            self._empty.set()
