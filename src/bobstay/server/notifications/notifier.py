"""Sends push notifications to subscribed devices in the background, with a limited number of retries."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete

from bobstay.http.network import Network
from bobstay.redaction.redactor import Redactor
from bobstay.server.db import state_tables
from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import push_subscriptions
from bobstay.server.db.state_tables import Subscription
from bobstay.server.errors import ApiError
from bobstay.server.notifications.notification import LastSeen, Notification, last_seen_of, new_notifications
from bobstay.server.sessions.session_view import SessionView

if TYPE_CHECKING:
    from bobstay.server.notifications.vapid import Vapid

log = logging.getLogger(__name__)
PAUSES = (1.0, 5.0, 30.0, 120.0)
"""Seconds before each retry."""
LONGEST_PAUSE = 300.0
MOST_WAITING = 500
AT_ONCE = 8
MOST_DEVICES = 20
"""Maximum devices of one client."""


class Notifier:
    def __init__(
        self,
        database: Database,
        state: str,
        redactor: Redactor,
        *,
        loopback: bool,
        subject: str,
        is_open: Callable[[str, str], bool],
        network: Network | None = None,
    ) -> None:
        self.loopback = loopback
        """Whether push services on this machine are allowed; for tests only."""
        self.pauses: tuple[float, ...] = PAUSES
        self._is_open = is_open
        """Whether an interaction of a session is still open."""
        self._database = database
        self._state = state
        self._redactor = redactor
        self._subject = subject
        self._network = network
        self._seen: dict[str, LastSeen] | None = None
        self._waiting: deque[Notification] = deque(maxlen=MOST_WAITING)
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._subscribed_clients: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: asyncio.Task[None] | None = None
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._vapid: Vapid | None = None

    # ------------------------------------------------------------ called by the server

    async def begin(self, views: Iterable[SessionView]) -> None:
        """Start notifying about changes after the current state of `views`."""
        self._seen = {view.id: last_seen_of(view) for view in views}
        try:
            self._subscribed_clients = {device.client for device in await state_tables.subscriptions(self._database)}
        except ApiError as error:
            log.warning("push subscriptions cannot be read: %s", error)
        self._running = self._task(self._run())

    def update(self, view: SessionView) -> None:
        """Queue notifications for the new state of a session."""
        if self._seen is None:
            return
        before, now = self._seen.get(view.id), last_seen_of(view)
        if before == now:
            return
        self._seen[view.id] = now
        if self._subscribed_clients:
            self._waiting.extend(new_notifications(before, view, self._redactor))
            self._idle.clear()
            self._wake.set()

    def forget(self, session_id: str) -> None:
        """Forget a deleted session."""
        if self._seen is not None:
            self._seen.pop(session_id, None)

    def subscribed_clients(self) -> Iterable[str]:
        """The clients with subscriptions; the authorizer watches them for revocation."""
        return tuple(self._subscribed_clients)

    def remove_client(self, client: str) -> None:
        """Remove the subscriptions of a revoked client."""
        if client in self._subscribed_clients:
            self._subscribed_clients.discard(client)
            self._task(self._remove_all_of(client))

    async def wait_idle(self) -> None:
        """Wait until all notifications are delivered or given up."""
        await self._idle.wait()

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
        """Store the subscription of a device; an existing one is replaced.

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
            raise ApiError("too_many", f"This client already has {len(mine)} devices. Remove one first.")
        made = await state_tables.subscribe(
            self._database, who, endpoint, keys, client=client, label=label, completed=completed
        )
        self._subscribed_clients.add(client)
        return made

    async def devices(self) -> list[Subscription]:
        return await state_tables.subscriptions(self._database)

    async def unsubscribe(self, id: str) -> bool:
        return await state_tables.unsubscribe(self._database, id)

    # ------------------------------------------------------------ delivery

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                notification = self._waiting.popleft()
                try:
                    devices = await state_tables.subscriptions(self._database)
                except ApiError as error:
                    log.warning("a notification was lost, since the subscriptions cannot be read: %s", error)
                    continue
                for device in devices:
                    if device.client in self._subscribed_clients and (
                        device.completed or notification.kind != "completed"
                    ):
                        self._task(self._deliver(device, notification))
            self._update_idle()

    async def _deliver(self, device: Subscription, notification: Notification) -> None:
        """Send a notification to a device, with retries."""
        from bobstay.server.notifications.push_encryption import BadKeys, SubscriptionSecrets
        from bobstay.server.notifications.push_sender import PushResult, send_push

        for pause in (*self.pauses, None):
            if device.client not in self._subscribed_clients or (
                notification.interaction and not self._is_still_open(notification)
            ):
                return
            try:
                keys = SubscriptionSecrets.read(device.keys.get("p256dh", ""), device.keys.get("auth", ""))
                async with self._slots:
                    result = await send_push(
                        device.endpoint,
                        keys,
                        notification,
                        self._signer(),
                        self._subject,
                        loopback=self.loopback,
                        network=self._network,
                    )
            except (ApiError, BadKeys) as error:
                result = PushResult("refused", str(error))
            except Exception as error:  # a boundary: a failure of one push service must not affect other devices
                log.exception("sending a push notification failed")
                result = PushResult("refused", str(error))
            if result.outcome == "gone":
                await self._drop(device)
            if result.outcome == "refused":
                log.warning("a device of %s was not notified: %s", device.who, result.reason)
            if result.outcome != "later":
                return
            if pause is None:
                log.warning("a device of %s could not be notified: %s", device.who, result.reason)
                return
            await asyncio.sleep(min(max(pause, result.wait), LONGEST_PAUSE))

    def _is_still_open(self, notification: Notification) -> bool:
        return self._is_open(notification.session_id, notification.interaction)

    async def _drop(self, device: Subscription) -> None:
        log.info("a device of %s has unsubscribed and is removed", device.who)
        try:
            await self.unsubscribe(device.id)
        except ApiError as error:
            log.warning("the subscription cannot be removed: %s", error)

    async def _remove_all_of(self, client: str) -> None:
        try:
            async with self._database.write_transaction() as connection:
                await connection.execute(delete(push_subscriptions).where(push_subscriptions.c.client == client))
        except ApiError as error:
            log.warning("the subscriptions of a revoked client cannot be removed: %s", error)
            self._subscribed_clients.add(client)  # the authorizer will try again

    def _signer(self) -> Vapid:
        if self._vapid is None:
            from bobstay.server.notifications.vapid import PushUnusable, Vapid

            try:
                self._vapid = Vapid.load(self._state)
            except PushUnusable as error:
                raise ApiError("storage", str(error)) from error
        return self._vapid

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="push notifications")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._update_idle()

    def _update_idle(self) -> None:
        if not self._waiting and self._tasks <= {self._running}:
            self._idle.set()
