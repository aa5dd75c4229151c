"""Which calls may run side by side: those that claim different things, or share the same one.

A call waits only for calls made before it, so no circle of waiting can arise, and calls on one resource
run in the order the model made them. The exception is a call whose input was rewritten so that it now claims
something else: it also waits for later calls that run already, and those wait for nobody.
"""

import asyncio

from bobstay.tools.base import Claim


class CallTicket:
    """One call's place in the order."""

    def __init__(self, order: "CallScheduler", claims: tuple[Claim, ...]) -> None:
        self.claims = claims
        """What the call needs; set it anew when its input is rewritten before it runs."""
        self.left = asyncio.Event()
        self.running = False
        self._order = order

    async def turn(self) -> None:
        """Wait until every conflicting call before this one is over, and a place is free."""
        for earlier in self._order.before(self):
            if _conflict(self.claims, earlier.claims):
                await earlier.left.wait()
        await self._order.places.acquire()
        self._holds = True

    _holds = False

    async def start(self) -> None:
        """Begin to run, once nobody is in the way: claims may have changed since `turn`, this call's or another's."""
        while (other := self._in_the_way()) is not None:
            self._release()  # the other one may need the place
            await other.left.wait()
            await self._order.places.acquire()
            self._holds = True
        self.running = True

    def leave(self) -> None:
        self._release()
        self.left.set()
        self._order.forget(self)

    def _in_the_way(self) -> "CallTicket | None":
        others = (*self._order.before(self), *(each for each in self._order.after(self) if each.running))
        return next((other for other in others if _conflict(self.claims, other.claims)), None)

    def _release(self) -> None:
        if self._holds:
            self._order.places.release()
            self._holds = False


class CallScheduler:
    def __init__(self, at_once: int) -> None:
        self.places = asyncio.Semaphore(at_once)
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
