"""Everybody can use every page: axe finds no fault, in both themes, on a desk and on a phone."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Struct
from playwright.async_api import Browser, Page, expect

from bobstay.server import static_files as page_files
from tests.browser.kit import Device, Theme, WebConsole
from tests.browser.sample_sessions import SampleSessions, start_sample_sessions
from tests.modelserver.server import ModelServer

PANELS = ("Changes", "Files", "Terminal", "Tasks", "Context", "Events")
SESSIONS = ("asking", "running", "question", "plan", "done", "failed")
PARTS = (
    "permissions",
    "surroundings",
    "keys",
    "notifications",
    "appearance",
    "devices",
    "people",
    "audit",
    "about",
)
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


class Hour(Struct):
    """A console in a busy hour, which no test changes, and two browsers signed in to it."""

    web: WebConsole
    scene: SampleSessions
    wide: Device
    phone: Device

    def path(self, pattern: str) -> str:
        return pattern.format(**{name: getattr(self.scene, name) for name in SESSIONS})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hour(browser: Browser, built_page: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hour]:
    with pytest.MonkeyPatch.context() as patch, ModelServer() as model:
        patch.setattr(page_files, "BUILT", built_page)
        async with WebConsole(browser, model, tmp_path_factory.mktemp("hour")) as web:
            scene = await start_sample_sessions(web)
            devices = await web.device(), await web.phone()
            for device in devices:
                await device.open("/")
            yield Hour(web, scene, *devices)
            scene.gate.open()


async def faults(device: Device, within: str = "") -> list[str]:
    """What axe finds in the dark, and what light adds to it."""
    await lit(device, "dark")
    found = await device.axe(within=within)
    await lit(device, "light")
    return found + [f"light: {fault}" for fault in await device.axe(within=within, colours=True)]


async def lit(device: Device, theme: Theme) -> None:
    """Wait until all there is stands in this theme."""
    await device.page.emulate_media(color_scheme=theme)
    await expect(device.page.locator("html")).to_have_attribute("data-theme", theme)
    await device.settled()


async def at(hour: Hour, device: Device, pattern: str) -> Page:
    page = device.page
    await page.evaluate(GO, hour.path(pattern))
    await expect(page.get_by_role("main")).to_be_visible()
    return page


@pytest.mark.parametrize("name", PAGES)
async def test_axe_finds_no_fault_on_the_page(hour: Hour, name: str) -> None:
    found: list[str] = []
    for size, device in (("desktop", hour.wide), ("phone", hour.phone)):
        await at(hour, device, PAGES[name])
        found += [f"{size}: {fault}" for fault in await faults(device)]
    assert not found, "\n\n".join(found)
    assert hour.web.errors() == []


async def test_axe_finds_no_fault_in_any_panel_nor_in_the_palette(hour: Hour) -> None:
    page = await at(hour, hour.wide, "/session/{asking}")
    found: list[str] = []
    for name in PANELS:
        await page.get_by_role("tab", name=name, exact=True).click()
        await expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        found += [f"{name}: {fault}" for fault in await faults(hour.wide, "aside")]
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    found += [f"palette: {fault}" for fault in await faults(hour.wide)]
    await page.keyboard.press("Escape")
    assert not found, "\n\n".join(found)
    assert hour.web.errors() == []
