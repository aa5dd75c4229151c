"""Schedules tool calls: those that claim different resources, or share one, run concurrently.

A call waits only for calls made before it, so no deadlock can arise, and calls on one resource run in the order the
model made them. The exception is a call whose input was rewritten so that it now claims something else: it also waits
for later calls that are already running, and those wait for none.
"""

import asyncio

from bobstay.tools.base import Claim


class CallTicket:
    """One call's position in the schedule."""

    def __init__(self, scheduler: "CallScheduler", claims: tuple[Claim, ...]) -> None:
        self.claims = claims
        """The resources the call needs; assigned again when its input is rewritten before it runs."""
        self.finished = asyncio.Event()
        self.running = False
        self._scheduler = scheduler

    async def wait_ready(self) -> None:
        """Wait until every conflicting call before this one is over and a slot is free."""
        for earlier in self._scheduler.before(self):
            if _conflict(self.claims, earlier.claims):
                await earlier.finished.wait()
        await self._scheduler.slots.acquire()
        self._has_slot = True

    _has_slot = False

    async def start(self) -> None:
        """Mark the call as running once no other call conflicts: claims may have changed since `wait_ready`."""
        while (other := self._find_conflict()) is not None:
            self._release_slot()  # the other one may need the slot
            await other.finished.wait()
            await self._scheduler.slots.acquire()
            self._has_slot = True
        self.running = True

    def finish(self) -> None:
        self._release_slot()
        self.finished.set()
        self._scheduler.forget(self)

    def _find_conflict(self) -> "CallTicket | None":
        others = (*self._scheduler.before(self), *(each for each in self._scheduler.after(self) if each.running))
        return next((other for other in others if _conflict(self.claims, other.claims)), None)

    def _release_slot(self) -> None:
        if self._has_slot:
            self._scheduler.slots.release()
            self._has_slot = False


class CallScheduler:
    def __init__(self, concurrency: int) -> None:
        self.slots = asyncio.Semaphore(concurrency)
        self._tickets: list[CallTicket] = []

    def enter(self, claims: tuple[Claim, ...]) -> CallTicket:
        ticket = CallTicket(self, claims)
        self._tickets.append(ticket)
        return ticket

    def before(self, ticket: CallTicket) -> list[CallTicket]:
        return self._tickets[: self._tickets.index(ticket)]

    def after(self, ticket: CallTicket) -> list[CallTicket]:
        return self._tickets[self._tickets.index(ticket) + 1 :]

    def forget(self, ticket: CallTicket) -> None:
        if ticket in self._tickets:
            self._tickets.remove(ticket)


def _conflict(mine: tuple[Claim, ...], theirs: tuple[Claim, ...]) -> bool:
    return any(
        not (a.shared and b.shared) and (a.name == b.name or "*" in (a.name, b.name)) for a in mine for b in theirs
    )
