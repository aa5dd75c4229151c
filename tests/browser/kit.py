"""A whole console on a real port with a scripted model, and real browsers signed in to it."""

import asyncio
import json
import re
import socket
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from msgspec.structs import replace
from playwright.async_api import Browser, BrowserContext, Page, Route

from bobstay.server.auth.principal import SCOPES, Scope
from tests.browser.page_monitor import PageMonitor
from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE
from tests.modelserver.server import ModelServer

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
TIMEOUT_MS = DEADLINE * 1000
"""After which a wait in the browser gives up."""
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


class Device:
    """A browser with cookies of its own, as one device of one person has it. Made by `WebConsole.device`."""

    def __init__(self, web: "WebConsole", context: BrowserContext, scopes: tuple[Scope, ...], who: str) -> None:
        self.web = web
        self.context = context
        self.monitor = PageMonitor(web.url)
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
        auth = self.web.server.services.auth
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
        address = self.web.url + path
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

    async def settled(self, page: Page | None = None) -> Page:
        """Wait until all that was asked for is there and drawn, and nothing more was asked for because of it."""
        page, monitor = page or self.page, self.monitor
        async with asyncio.timeout(DEADLINE):
            while True:
                asked = len(monitor.requests)
                await page.evaluate(DRAWN)
                if not monitor.pending and len(monitor.requests) == asked:
                    return page

    async def axe(self, page: Page | None = None, within: str = "", *, colours: bool = False) -> list[str]:
        """Violations that axe-core finds, one line each: the rule, its impact, where.

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
        """Errors in which this is found are expected."""
        self.monitor.expect(pattern)

    async def offline(self, off: bool = True) -> None:
        """Take the network away from this browser, or give it back."""
        await self.context.set_offline(off)

    def errors(self) -> list[str]:
        return self.monitor.unexpected()


class WebConsole:
    """`async with WebConsole(browser, model, folder) as web`. What it can of `Device` is done on its first device."""

    def __init__(self, browser: Browser, model: ModelServer, folder: Path, **config: Any) -> None:
        self.browser = browser
        self.model = model
        self.folder = folder
        self.devices: list[Device] = []
        self.server = RunningConsole(model, folder, **config)
        self._config = config

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for device in self.devices:
            await device.context.close()
        await self.server.__aexit__()

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def work(self) -> Path:
        """The directory sessions work in unless told otherwise."""
        return self.server.work

    async def device(
        self,
        *,
        theme: Theme = "dark",
        size: tuple[int, int] = WIDE,
        touch: bool = False,
        scopes: tuple[Scope, ...] = SCOPES,
        who: str = "owner",
        **more: Any,
    ) -> Device:
        """Another device, on which nothing is open yet. `more` goes to Playwright's `new_context`."""
        context = await self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=theme,
            has_touch=touch,
            is_mobile=touch,
            locale="en-GB",
            timezone_id="UTC",
            **more,
        )
        context.set_default_timeout(TIMEOUT_MS)
        made = Device(self, context, scopes, who)
        await made.monitor.attach(context)
        self.devices.append(made)
        return made

    async def phone(self, *, theme: Theme = "dark", **more: Any) -> Device:
        """Another device, as small as a phone, touched and not clicked."""
        return await self.device(theme=theme, size=PHONE, touch=True, **more)

    async def open(self, path: str = "/", **more: Any) -> Page:
        if not self.devices:
            await self.device()
        return await self.devices[0].open(path, **more)

    async def tab(self) -> Page:
        """Another tab of the first device, on the page."""
        return await self.open("/")

    async def axe(self, **more: Any) -> list[str]:
        return await self.devices[0].axe(**more)

    def expect(self, pattern: str) -> None:
        self.devices[0].expect(pattern)

    def play(self, name: str, *steps: Any) -> str:
        """Script the model's answer; returns the word that selects it in a prompt."""
        return self.model.play(name, *steps)

    async def launch(self, prompt: str = "", **config: Any) -> str:
        """Start a session by the API, for tests of what comes after; its id."""
        return await self.server.launch(prompt, **config)

    async def restart(self) -> None:
        """Stop the server and start another on the same port and state; browsers stay as they are."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        await self.server.__aexit__()

    async def start(self) -> None:
        """Start a server again after `stop`."""
        again = RunningConsole(self.model, self.folder, **self._config)
        again.socket.close()
        port = self.server.port
        again.socket = socket.create_server(("127.0.0.1", port))
        again.port, again.host, again.url = port, self.server.host, self.server.url
        again.options = replace(again.options, port=port)
        self.server = await again.__aenter__()

    def errors(self) -> list[str]:
        """Errors of the browsers that no test expected."""
        return [each for device in self.devices for each in device.errors()]

    def report(self) -> str:
        """What the browsers reported and requested, for whoever looks why a test failed."""
        monitors = [device.monitor for device in self.devices]
        lines = [[*each.errors[-50:], *each.console_lines[-50:], *each.requests[-30:]] for each in monitors]
        return json.dumps(lines, indent=1)


class HeldRequests:
    """`held = await HeldRequests().at(page, pattern)`; each `await held.release()` lets one request continue."""

    def __init__(self) -> None:
        self._routes: asyncio.Queue[Route] = asyncio.Queue()

    async def at(self, where: Page | BrowserContext, address: re.Pattern[str]) -> Self:
        await where.route(address, self._routes.put)
        return self

    async def next_request(self) -> Route:
        """The request that has waited longest; waits for one where there is none."""
        async with asyncio.timeout(DEADLINE):
            return await self._routes.get()

    async def release(self) -> None:
        await (await self.next_request()).continue_()
