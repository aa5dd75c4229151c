"""Tells the devices of people what happens while they do not look. Nobody waits for it, and it gives up in the end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete

from bobstay.redaction.redactor import Redactor
from bobstay.server.db import state_tables
from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import push_subscriptions
from bobstay.server.db.state_tables import Subscription
from bobstay.server.errors import ApiError
from bobstay.server.notifications.notification import LastSeen, Notification, news, seen
from bobstay.server.sessions.session_view import SessionView
from bobstay.system.network import Network

if TYPE_CHECKING:
    from bobstay.server.notifications.vapid import Vapid

log = logging.getLogger(__name__)
PAUSES = (1.0, 5.0, 30.0, 120.0)
"""Seconds before each further attempt."""
LONGEST_PAUSE = 300.0
MOST_WAITING = 500
AT_ONCE = 8
MOST_DEVICES = 20
"""Of one client."""


class Notifier:
    def __init__(
        self,
        database: Database,
        state: str,
        mask: Redactor,
        *,
        loopback: bool,
        subject: str,
        network: Network | None = None,
    ) -> None:
        self.loopback = loopback
        """Whether services on this very machine may be used: only where the server itself is for this machine only."""
        self.pauses: tuple[float, ...] = PAUSES
        self.is_open: Callable[[str, str], bool] = lambda _session, _interaction: True
        """Whether somebody still waits for this answer."""
        self._database = database
        self._state = state
        self._mask = mask
        self._subject = subject
        self._network = network
        self._seen: dict[str, LastSeen] | None = None
        self._waiting: deque[Notification] = deque(maxlen=MOST_WAITING)
        self._wake = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._owners: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: asyncio.Task[None] | None = None
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._vapid: Vapid | None = None

    # ------------------------------------------------------------ the server's side

    async def begin(self, views: Iterable[SessionView]) -> None:
        """From here on what happens is told; what is so now is known."""
        self._seen = {view.id: seen(view) for view in views}
        try:
            self._owners = {device.client for device in await state_tables.subscriptions(self._database)}
        except ApiError as error:
            log.warning("devices to be told of news cannot be read: %s", error)
        self._running = self._task(self._run())

    def see(self, view: SessionView) -> None:
        """A session is now like this."""
        if self._seen is None:
            return
        before, now = self._seen.get(view.id), seen(view)
        if before == now:
            return
        self._seen[view.id] = now
        if self._owners:
            self._waiting.extend(news(before, view, self._mask))
            self._quiet.clear()
            self._wake.set()

    def forget(self, session_id: str) -> None:
        """A session is no more."""
        if self._seen is not None:
            self._seen.pop(session_id, None)

    def owners(self) -> Iterable[str]:
        """The clients that have devices; who of them is revoked is looked after by the doors."""
        return tuple(self._owners)

    def revoked(self, client: str) -> None:
        """What belonged to this client goes."""
        if client in self._owners:
            self._owners.discard(client)
            self._task(self._remove_all_of(client))

    async def quiet(self) -> None:
        """Wait until everybody has been told, or given up on."""
        await self._quiet.wait()

    async def close(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # ------------------------------------------------------------ devices

    def public_key(self) -> str:
        """Raises:
        ApiError: storage
        """
        return self._signer().public_key

    async def subscribe(
        self, who: str, client: str, endpoint: str, keys: dict[str, str], *, label: str = "", completed: bool = False
    ) -> Subscription:
        """Note a device. The same device again is noted anew.

        Raises:
            ApiError: invalid, too_many
        """
        from bobstay.server.notifications.push_encryption import BadKeys, SubscriptionSecrets
        from bobstay.server.notifications.push_sender import BadEndpoint, check_endpoint

        try:
            check_endpoint(endpoint, loopback=self.loopback)
            SubscriptionSecrets.read(keys.get("p256dh", ""), keys.get("auth", ""))
        except (BadEndpoint, BadKeys) as error:
            raise ApiError("invalid", str(error)) from None
        known = await state_tables.subscriptions(self._database)
        mine = [device for device in known if device.client == client and device.endpoint != endpoint]
        if len(mine) >= MOST_DEVICES:
            raise ApiError("too_many", f"This client has {len(mine)} devices already. Remove one first.")
        made = await state_tables.subscribe(
            self._database, who, endpoint, keys, client=client, label=label, completed=completed
        )
        self._owners.add(client)
        return made

    async def devices(self) -> list[Subscription]:
        return await state_tables.subscriptions(self._database)

    async def unsubscribe(self, id: str) -> bool:
        return await state_tables.unsubscribe(self._database, id)

    # ------------------------------------------------------------ the work

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                told = self._waiting.popleft()
                try:
                    devices = await state_tables.subscriptions(self._database)
                except ApiError as error:
                    log.warning("nobody could be told of news: %s", error)
                    continue
                for device in devices:
                    if device.client in self._owners and (device.completed or told.kind != "completed"):
                        self._task(self._tell(device, told))
            self._settle()

    async def _tell(self, device: Subscription, told: Notification) -> None:
        """As often as it takes, within reason."""
        from bobstay.server.notifications.push_encryption import BadKeys, SubscriptionSecrets
        from bobstay.server.notifications.push_sender import PushResult, post

        for pause in (*self.pauses, None):
            if device.client not in self._owners or (told.interaction and not self._still(told)):
                return
            try:
                keys = SubscriptionSecrets.read(device.keys.get("p256dh", ""), device.keys.get("auth", ""))
                async with self._gate:
                    said = await post(
                        device.endpoint,
                        keys,
                        told,
                        self._signer(),
                        self._subject,
                        loopback=self.loopback,
                        network=self._network,
                    )
            except (ApiError, BadKeys) as error:
                said = PushResult("refused", str(error))
            except Exception as error:  # a boundary: whatever a service does, others are told
                log.exception("telling a device broke")
                said = PushResult("refused", str(error))
            if said.outcome == "gone":
                await self._drop(device)
            if said.outcome == "refused":
                log.warning("a device of %s was not told: %s", device.who, said.words)
            if said.outcome != "later":
                return
            if pause is None:
                log.warning("a device of %s could not be told: %s", device.who, said.words)
                return
            await asyncio.sleep(min(max(pause, said.wait), LONGEST_PAUSE))

    def _still(self, told: Notification) -> bool:
        return self.is_open(told.session_id, told.interaction)

    async def _drop(self, device: Subscription) -> None:
        log.info("a device of %s is gone: it is not told any more", device.who)
        try:
            await self.unsubscribe(device.id)
        except ApiError as error:
            log.warning("it stays noted: %s", error)

    async def _remove_all_of(self, client: str) -> None:
        try:
            async with self._database.owning() as connection:
                await connection.execute(delete(push_subscriptions).where(push_subscriptions.c.client == client))
        except ApiError as error:
            log.warning("devices of a client that was revoked stay noted: %s", error)
            self._owners.add(client)  # the doors will come again

    def _signer(self) -> Vapid:
        if self._vapid is None:
            from bobstay.server.notifications.vapid import PushUnusable, Vapid

            try:
                self._vapid = Vapid.load(self._state)
            except PushUnusable as error:
                raise ApiError("storage", str(error)) from error
        return self._vapid

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="telling devices")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._settle()

    def _settle(self) -> None:
        if not self._waiting and self._tasks <= {self._running}:
            self._quiet.set()
