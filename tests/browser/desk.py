"""A person's desk: a whole console on a real port with a scripted model, and real browsers signed in to it."""

import asyncio
import json
import os
import re
import socket
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from msgspec.structs import replace
from playwright.async_api import Browser, BrowserContext, Page

from bobstay.server.auth.principal import SCOPES, Scope
from tests.browser.watch import Watch
from tests.deadline import DEADLINE
from tests.modelserver.server import ModelServer
from tests.server.api.running_console import RunningConsole

ROOT = Path(__file__).parents[2]
SHOTS = Path(os.environ.get("BOBSTAY_SHOTS") or ROOT / "tests/browser/shots")
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
PATIENCE = DEADLINE * 1000
"""Milliseconds after which a browser's wait gives up."""
WIDE = (1440, 900)
PHONE = (390, 844)
Theme: TypeAlias = Literal["dark", "light"]
COLOURS = "['color-contrast', 'link-in-text-block']"
"""The rules of axe whose outcome depends on the theme."""
DRAWN = """async () => {
    await new Promise(requestAnimationFrame);
    const moving = document.getAnimations().filter((each) => each instanceof CSSTransition);
    await Promise.allSettled(moving.map((each) => each.finished));
    await new Promise(requestIdleCallback);
}"""


class Seat:
    """One browser with cookies of its own, as one device of one person has it. Made by `Desk.seat`."""

    def __init__(self, desk: "Desk", context: BrowserContext, scopes: tuple[Scope, ...], who: str) -> None:
        self.desk = desk
        self.context = context
        self.watch = Watch(desk.url)
        self.pages: list[Page] = []
        """Its tabs, in the order they were opened."""
        self._scopes = scopes
        self._who = who
        self._signed_in = False

    @property
    def page(self) -> Page:
        """The tab opened last."""
        return self.pages[-1]

    async def code(self) -> str:
        """A one-time code for this person."""
        auth = self.desk.place.console.auth
        code, _ = await auth.codes.issue(
            self._who, self._scopes, label="browser", by="test", expires_in=600, lifetime=3600
        )
        return code

    async def open(self, path: str = "/", *, code: str | None = None) -> Page:
        """Open an address in a new tab; the first brings a one-time code in its fragment, as the printed one does.

        `code` is taken for it if given; an empty one brings none.
        """
        if code is None:
            code = "" if self._signed_in else await self.code()
        page = await self.tab()
        address = self.desk.url + path
        if code:  # whoever leaves before the answer has come is not in
            async with page.expect_response(re.compile(r"/auth/exchange$")):
                await page.goto(f"{address}#code={code}")
        else:
            await page.goto(address)
        self._signed_in = self._signed_in or bool(code)
        return page

    async def tab(self) -> Page:
        """A new, empty tab."""
        self.pages.append(await self.context.new_page())
        return self.page

    async def shot(self, name: str, page: Page | None = None, *, full: bool = False) -> Path:
        """A picture of a tab, for people to look at."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / f"{name}.png"
        await (page or self.page).screenshot(path=path, full_page=full, animations="disabled", caret="hide")
        return path

    async def settled(self, page: Page | None = None) -> Page:
        """Wait until all that was asked for is there and drawn, and nothing more was asked for because of it."""
        page, watch = page or self.page, self.watch
        async with asyncio.timeout(DEADLINE):
            while True:
                asked = len(watch.requests)
                await page.evaluate(DRAWN)
                if not watch.pending and len(watch.requests) == asked:
                    return page

    async def axe(self, page: Page | None = None, within: str = "", *, colours: bool = False) -> list[str]:
        """What axe-core finds fault with, one line each: the rule, its weight, where. Empty means nothing.

        With `colours` only what depends on the theme: for a page that was looked at whole in the other one.
        """
        page = page or self.page
        if not await page.evaluate("() => 'axe' in window"):
            await page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
        options = f"{{ resultTypes: ['violations']{f', runOnly: {COLOURS}' if colours else ''} }}"
        found: dict[str, Any] = await page.evaluate(
            f"async (within) => await axe.run(within || document, {options})", within
        )
        return [
            f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:200]} {node['failureSummary']}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def expect(self, pattern: str) -> None:
        """Complaints of the browser in which this is found are as they should be."""
        self.watch.expect(pattern)

    async def offline(self, off: bool = True) -> None:
        """Take the network away from this browser, or give it back."""
        await self.context.set_offline(off)

    def trouble(self) -> list[str]:
        return self.watch.unexpected()


class Desk:
    """`async with Desk(browser, model, folder) as desk`. What it can of `Seat` is done at its first seat."""

    def __init__(self, browser: Browser, model: ModelServer, folder: Path, **config: Any) -> None:
        self.browser = browser
        self.model = model
        self.folder = folder
        self.seats: list[Seat] = []
        self.place = RunningConsole(model, folder, **config)
        self._config = config

    async def __aenter__(self) -> Self:
        await self.place.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for seat in self.seats:
            await seat.context.close()
        await self.place.__aexit__()

    @property
    def url(self) -> str:
        return self.place.url

    @property
    def work(self) -> Path:
        """The directory sessions work in unless told otherwise."""
        return self.place.work

    @property
    def page(self) -> Page:
        return self.seats[0].page

    async def seat(
        self,
        *,
        theme: Theme = "dark",
        size: tuple[int, int] = WIDE,
        touch: bool = False,
        scopes: tuple[Scope, ...] = SCOPES,
        who: str = "owner",
        **more: Any,
    ) -> Seat:
        """Another browser, with nothing in it yet. `more` goes to Playwright's `new_context`."""
        context = await self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=theme,
            has_touch=touch,
            is_mobile=touch,
            locale="en-GB",
            timezone_id="UTC",
            **more,
        )
        context.set_default_timeout(PATIENCE)
        made = Seat(self, context, scopes, who)
        await made.watch.begin(context)
        self.seats.append(made)
        return made

    async def phone(self, *, theme: Theme = "dark", **more: Any) -> Seat:
        """Another browser as small as a phone's, touched and not clicked."""
        return await self.seat(theme=theme, size=PHONE, touch=True, **more)

    async def open(self, path: str = "/", **more: Any) -> Page:
        if not self.seats:
            await self.seat()
        return await self.seats[0].open(path, **more)

    async def tab(self) -> Page:
        """Another tab of the same browser, on the page."""
        return await self.open("/")

    async def shot(self, name: str, **more: Any) -> Path:
        return await self.seats[0].shot(name, **more)

    async def axe(self, **more: Any) -> list[str]:
        return await self.seats[0].axe(**more)

    def expect(self, pattern: str) -> None:
        self.seats[0].expect(pattern)

    def play(self, name: str, *steps: Any) -> str:
        """Teach the model a scenario; the word that calls for it in a prompt is returned."""
        return self.model.play(name, *steps)

    async def launch(self, prompt: str = "", **config: Any) -> str:
        """Start a session by the API, for tests of what comes after; its id."""
        return await self.place.launch(prompt, **config)

    async def restart(self) -> None:
        """Stop the server and start another on the same port and state; browsers stay as they are."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        await self.place.__aexit__()

    async def start(self) -> None:
        """Start a server again after `stop`."""
        again = RunningConsole(self.model, self.folder, **self._config)
        again.socket.close()
        port = self.place.port
        again.socket = socket.create_server(("127.0.0.1", port))
        again.port, again.host, again.url = port, self.place.host, self.place.url
        again.config = replace(again.config, port=port)
        self.place = await again.__aenter__()

    def trouble(self) -> list[str]:
        """What browsers complained about and no test expected."""
        return [each for seat in self.seats for each in seat.trouble()]

    def story(self) -> str:
        """What the browsers said and asked for, for whoever looks why a test failed."""
        lines = [
            line
            for seat in self.seats
            for line in (*seat.watch.complaints[-50:], *seat.watch.said[-50:], *seat.watch.requests[-30:])
        ]
        return json.dumps(lines, indent=1)
