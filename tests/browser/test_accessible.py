"""Everybody can use every page: axe finds no violation, in both themes, on a desktop and on a phone."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Struct
from playwright.async_api import Browser, Page, expect

from bobstay.server import static_files as page_files
from tests.browser.kit import ROOT, Device, Theme, WebConsole
from tests.browser.sample_sessions import SampleSessions, start_sample_sessions
from tests.modelserver.server import ModelServer

PANELS = ("Changes", "Files", "Terminal", "Tasks", "Context", "Events")
SESSIONS = ("asking", "running", "question", "plan", "done", "failed")
PARTS: list[str] = re.findall(r'{ part: "(\w+)"', (ROOT / "web/src/pages/SettingsPage.tsx").read_text())
PAGES = {
    "home": "/",
    "inbox": "/inbox",
    "new": "/new",
    "search": "/search?q=cart",
    "usage": "/usage",
    "compare": "/compare?ids={asking},{running}",
    "nowhere": "/nowhere",
    **{f"session-{name}": f"/session/{{{name}}}" for name in SESSIONS},
    **{f"settings-{part}": f"/settings/{part}" for part in PARTS},
}
GO = "(path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }"

in_both_themes = pytest.mark.parametrize("theme", ["dark", "light"])


class BusyConsole(Struct):
    """A console with sessions in every state, which no test changes, and two devices signed in to it."""

    web: WebConsole
    samples: SampleSessions
    devices: dict[str, Device]

    async def go(self, device: str, pattern: str) -> Page:
        page = self.devices[device].page
        await page.evaluate(GO, pattern.format(**{name: getattr(self.samples, name) for name in SESSIONS}))
        await expect(page.get_by_role("main")).to_be_visible()
        return page


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def busy(
    browser: Browser, built_page: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[BusyConsole]:
    with pytest.MonkeyPatch.context() as patch, ModelServer() as model:
        patch.setattr(page_files, "BUILT", built_page)
        async with WebConsole(browser, model, tmp_path_factory.mktemp("busy")) as web:
            samples = await start_sample_sessions(web)
            devices = {"desktop": await web.device(), "phone": await web.phone()}
            for device in devices.values():
                await device.open("/")
            yield BusyConsole(web, samples, devices)
            samples.gate.open()


def test_every_page_of_the_router_is_looked_at() -> None:
    routes = set(re.findall(r'\bpath: "/([^"/]*)', (ROOT / "web/src/routes.tsx").read_text()))
    assert routes == {re.split(r"[/?]", path)[1] for path in PAGES.values()} - {"nowhere"}
    assert PARTS


async def violations(device: Device, theme: Theme, within: str = "") -> list[str]:
    """All that axe finds in the dark; in the light only what depends on colours: the rest is the same."""
    await device.page.emulate_media(color_scheme=theme)
    await expect(device.page.locator("html")).to_have_attribute("data-theme", theme)
    await device.settled()
    return [*await device.axe(within=within, colours=theme == "light"), *device.errors()]


@in_both_themes
@pytest.mark.parametrize("device", ["desktop", "phone"])
@pytest.mark.parametrize("name", PAGES)
async def test_axe_finds_no_violation_on_the_page(busy: BusyConsole, name: str, device: str, theme: Theme) -> None:
    await busy.go(device, PAGES[name])
    assert await violations(busy.devices[device], theme) == []


@in_both_themes
@pytest.mark.parametrize("name", PANELS)
async def test_axe_finds_no_violation_in_the_panel(busy: BusyConsole, name: str, theme: Theme) -> None:
    page = await busy.go("desktop", "/session/{asking}")
    await page.get_by_role("tab", name=name, exact=True).click()
    await expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    assert await violations(busy.devices["desktop"], theme, "aside") == []


@in_both_themes
async def test_axe_finds_no_violation_in_the_palette(busy: BusyConsole, theme: Theme) -> None:
    page = await busy.go("desktop", "/session/{asking}")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    assert await violations(busy.devices["desktop"], theme) == []
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
