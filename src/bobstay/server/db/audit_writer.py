"""Audit log writer: records who did what to which session, asynchronously, in order, append-only."""

import asyncio
import logging
import time
from collections import deque
from typing import Any

from sqlalchemy import insert

from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import DatabaseProblem, translate_errors
from bobstay.server.db.own_tables import audit
from bobstay.server.db.storable_values import as_json, clean

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
LONGEST_DETAIL = 16 * 1024
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0


class AuditWriter:
    """`record` never blocks. While the database is unavailable entries are queued; excess ones go to the server log."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._waiting: deque[dict[str, Any]] = deque()
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="audit log")

    def record(self, who: str, what: str, detail: dict[str, Any] | None = None, session: str = "") -> None:
        """Queue an entry to be written soon. `detail` must not contain secrets."""
        text = as_json(detail or {})
        if len(text) > LONGEST_DETAIL:
            text = as_json({"cut": text[:LONGEST_DETAIL]})
        row = {"at": time.time(), "who": clean(who, 200), "what": clean(what, 200), "session_id": clean(session, 200)}
        self._waiting.append({**row, "detail": text})
        if len(self._waiting) > MOST_WAITING:
            lost = self._waiting.popleft()
            log.error("not in the audit log, because the database is unavailable: %s", as_json(lost))
        self._empty.clear()
        self._wake.set()

    async def wait_until_written(self) -> None:
        """Wait until all recorded entries are in the table."""
        await self._empty.wait()

    async def close(self, seconds: float = 3.0) -> None:
        """Write queued entries; those that cannot be written go to the server log instead."""
        try:
            await asyncio.wait_for(self._empty.wait(), seconds)
        except TimeoutError:
            for row in self._waiting:
                log.warning("not in the audit log, because the database is unavailable: %s", as_json(row))
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
                    with translate_errors():
                        async with self._engines.own.begin() as connection:
                            await connection.execute(insert(audit), rows)
                except DatabaseProblem as problem:
                    log.warning("the audit log cannot be written yet: %s", problem)
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
                    continue
                pause = FIRST_PAUSE
                for _ in rows:
                    self._waiting.popleft()
            self._empty.set()
