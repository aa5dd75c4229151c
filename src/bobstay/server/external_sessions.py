"""Sessions of other processes: followed by watching their logs, controlled through their sockets."""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace
from watchfiles import awatch

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Envelope, InputQueued
from bobstay.model.message import text_of
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Inbox
from bobstay.server.sessions.abandoned_view import is_external, observed_view
from bobstay.server.sessions.open_session import collect_inputs
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.jsonl_log import LEASE_SUFFIX, SUFFIX
from bobstay.sessions.log_store import LogStore
from bobstay.system.socket_path import short_path

log = logging.getLogger(__name__)
PAGE = 256
"""Entries read before other tasks get their turn."""
TIMEOUT = 10.0
INTERVAL = 2.0
"""Seconds between two checks whether the processes that write sessions still exist."""
WATCHED = (SUFFIX, LEASE_SUFFIX)
"""A log grows with each event; its lease file is removed when its writer releases it."""


class ExternalSessions:
    def __init__(self, registry: SessionRegistry, store: LogStore, inbox: Inbox, contacts: str) -> None:
        self._registry = registry
        self._store = store
        self._inbox = inbox
        self._contacts = contacts
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()

    async def begin(self) -> None:
        os.makedirs(self._store.directory, 0o700, exist_ok=True)
        self._tasks = [
            asyncio.create_task(self._watch(), name="outside"),
            asyncio.create_task(self._check_writers(), name="outside processes"),
        ]

    async def close(self) -> None:
        self._stop.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _watch(self) -> None:
        folder = self._store.directory
        async for changes in awatch(folder, stop_event=self._stop, debounce=200, step=20, recursive=False):
            names = (os.path.basename(path) for _, path in changes)
            for session_id in {name.rpartition(".")[0] for name in names if name.endswith(WATCHED)}:
                try:
                    await self.refresh(session_id)
                except OSError as error:
                    log.warning("session %s cannot be read: %s", session_id, error)

    async def _check_writers(self) -> None:
        """Check whether writers still exist, because a killed process changes no file."""
        while not self._stop.is_set():
            for view in [view for view in self._registry.views.values() if is_external(view)]:
                try:
                    if not self._store.has_writer(view.id):
                        await self.refresh(view.id)
                except OSError as error:
                    log.warning("session %s cannot be read: %s", view.id, error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), INTERVAL)

    async def refresh(self, session_id: str) -> None:
        """Read the entries that another process has written since the last time."""
        if self._is_ours(session_id):
            return
        if not self._store.exists(session_id):
            if self._registry.index.archived_log_path(session_id):
                if session_id in self._registry.views:
                    self._registry.pack(session_id)
                return
            self._registry.forget(session_id)
            await self._registry.index.forget(session_id)
            return
        view = self._registry.views.get(session_id, SessionView(session_id))
        while True:
            entries = await asyncio.to_thread(self._entries, session_id, view.seq)
            if self._is_ours(session_id) or not self._store.exists(session_id):
                return  # a log that was deleted meanwhile must not be listed again
            for envelope in entries:
                before, view = view, replace(view, elsewhere=True).apply(envelope)
                self._registry.publisher.publish_foreign_entry(before, view, envelope)
                self._registry.index.put(session_id, envelope, view)
                self._inbox.observe(session_id, envelope.event)
            seen = observed_view(self._store, view)
            self._registry.update_view(seen)  # before other tasks run: subscribers rely on it
            if seen.status not in BUSY:
                self._inbox.withdraw(session_id)
            if len(entries) < PAGE:
                return

    def _is_ours(self, session_id: str) -> bool:
        return self._registry.get_open(session_id) is not None or self._registry.is_opening(session_id)

    def _entries(self, session_id: str, after: int) -> list[Envelope]:
        return list(self._registry.reader(session_id).read(after, PAGE))

    # ------------------------------------------------------------ control

    async def answer(self, session_id: str, id: str, answer: Answer) -> None:
        """Raises:
        ApiError: that process does not wait for it.
        """
        await self.request(session_id, {"do": "answer", "id": id, "answer": answer})

    async def interrupt(self, session_id: str) -> None:
        await self.request(session_id, {"do": "interrupt"})

    async def send_message(self, session_id: str, queued: InputQueued) -> str:
        """Send a message; returns the id of the input. The same `client_id` twice is one message."""
        blocks, client_id = queued.blocks, queued.client_id
        if client_id:
            known = await asyncio.to_thread(lambda: collect_inputs(self._registry.reader(session_id).read()))
            if client_id in known:
                return known[client_id]
        response = await self.request(
            session_id,
            {
                "do": "say",
                "text": text_of(blocks),
                "blocks": blocks,
                "how": queued.how,
                "client_id": client_id,
                "sender": queued.sender,
            },
        )
        return str(response.get("id", ""))

    async def request(self, session_id: str, request: dict[str, Any]) -> dict[str, Any]:
        """Raises:
        ApiError: the process cannot be reached, or refuses the request.
        """
        path = os.path.join(self._contacts, f"{session_id}.sock")
        try:
            async with asyncio.timeout(TIMEOUT):
                with short_path(path) as name:
                    reader, writer = await asyncio.open_unix_connection(name)
                try:
                    writer.write(msgspec.json.encode(request) + b"\n")
                    await writer.drain()
                    response = msgspec.json.decode(await reader.readline(), type=dict[str, Any])
                finally:
                    writer.close()
        except (OSError, TimeoutError, msgspec.DecodeError) as error:
            text = "The process that runs this session cannot be reached: act on it where it was started."
            raise ApiError("busy_elsewhere", text) from error
        if "error" in response:
            raise ApiError("wrong_state", f"The process that runs this session reports: {response['error']}.")
        return response
