"""A database with sessions that are written as the server writes them: append to the log, then project."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import Table, select

from bobstay.model.event import BlockDone, Durable, Envelope, SessionStarted, ToolDone
from bobstay.model.message import Text, ToolCall, ToolReply
from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import PROJECTIONS, tasks
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log_store import LogStore
from tests.kit.waiting import DEADLINE

UNSTEADY = {"id": ("documents",), "log_size": ("sessions",)}
"""Columns that may differ between an index made live and one made anew."""


class ProjectedSessions:
    def __init__(self, database: Database, store: LogStore, folder: Path) -> None:
        self.database = database
        self.store = store
        self.folder = folder
        self.views: dict[str, SessionView] = {}
        self._logs: dict[str, JsonlLog] = {}

    @classmethod
    async def open(cls, url: str, folder: Path, *, adopt: bool = False) -> "ProjectedSessions":
        store = LogStore(str(folder / "sessions"))
        return cls(await Database.open(url, str(folder / "state"), store, adopt=adopt), store, folder)

    def begin(self, session_id: str = "one", cwd: str = "/work") -> None:
        """A new session."""
        self._logs[session_id] = self.store.create(session_id, SessionStarted(cwd, "1"))
        self.views[session_id] = SessionView(session_id)
        for envelope in self._logs[session_id].read():
            self._put(session_id, envelope)

    def write(self, *events: Durable, session: str = "one", put: bool = True, **about: Any) -> Envelope:
        """Events happen in a session; `put=False`: the index is not told, as after a crash."""
        if session not in self._logs:
            self.begin(session)
        for event in events:
            envelope = self._logs[session].append(event, **about)
            if put:
                self._put(session, envelope)
        return envelope

    def call(self, id: str, name: str = "Bash", message: str = "m1", index: int = 0, **input: Any) -> Durable:
        return BlockDone(message, index, ToolCall(id, name, input or {"command": "ls"}))

    def result(self, id: str, text: str, **about: Any) -> Durable:
        is_error = about.pop("is_error", False)
        return ToolDone(ToolReply(id, (Text(text),), is_error), **about)

    async def settled(self) -> None:
        """All that was put is in the tables."""
        await asyncio.wait_for(self.database.writer.idle(), DEADLINE)

    async def table(self, table: Table) -> list[dict[str, Any]]:
        """All rows, in the order of their keys."""
        async with self.database.read_transaction() as connection:
            rows = (await connection.execute(select(table).order_by(*table.primary_key.columns))).mappings().all()
        return [dict(row) for row in rows]

    async def everything(self) -> dict[str, list[dict[str, Any]]]:
        """All that was made from logs, but for what may differ."""
        await self.settled()
        found: dict[str, list[dict[str, Any]]] = {}
        for table in (*PROJECTIONS, tasks):
            rows = [
                {name: value for name, value in row.items() if table.name not in UNSTEADY.get(name, ())}
                for row in await self.table(table)
            ]
            found[table.name] = sorted(rows, key=repr)
        return found

    def release(self) -> None:
        """Nobody writes these sessions any more."""
        for log in self._logs.values():
            log.close()

    async def close(self) -> None:
        self.release()
        await self.database.close()

    def _put(self, session_id: str, envelope: Envelope) -> None:
        self.views[session_id] = self.views[session_id].apply(envelope)
        self.database.put(session_id, envelope, self.views[session_id])


OpenProjected: TypeAlias = Callable[..., Awaitable[ProjectedSessions]]
"""Opens a database at an address, in a folder; it is closed with the test."""
