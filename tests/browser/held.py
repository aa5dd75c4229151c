"""Requests of a page that are held back until a test lets them go."""

import asyncio
from re import Pattern
from typing import Self

from playwright.async_api import BrowserContext, Page, Route

from tests.deadline import DEADLINE


class Held:
    """`held = await Held().at(page, pattern)`; then `await held.let_go()` for each request that shall go on."""

    def __init__(self) -> None:
        self._routes: asyncio.Queue[Route] = asyncio.Queue()

    async def at(self, where: Page | BrowserContext, address: Pattern[str]) -> Self:
        await where.route(address, self._hold)
        return self

    async def came(self) -> Route:
        """The request that has waited longest; waits for one where there is none."""
        async with asyncio.timeout(DEADLINE):
            return await self._routes.get()

    async def let_go(self) -> None:
        await (await self.came()).continue_()

    async def _hold(self, route: Route) -> None:
        await self._routes.put(route)
