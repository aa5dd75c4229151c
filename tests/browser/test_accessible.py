"""Everybody can use every page: axe finds no fault, in both themes, on a desk and on a phone."""

import pytest
from playwright.async_api import expect

from tests.browser.desk import PHONE, WIDE, Desk, Theme
from tests.browser.scene import Scene, busy

PANELS = ("Changes", "Files", "Terminal", "Tasks", "Context", "Events")


def places(scene: Scene) -> list[str]:
    sessions = (scene.asking, scene.running, scene.question, scene.plan, scene.done, scene.failed)
    settings = (
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
    return [
        "/",
        "/inbox",
        "/new",
        "/search?q=cart",
        "/usage",
        f"/compare?ids={scene.asking},{scene.running}",
        "/nowhere",
        *(f"/session/{id}" for id in sessions),
        *(f"/settings/{part}" for part in settings),
    ]


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desk", "phone"])
async def test_axe_finds_no_fault_on_any_page(desk: Desk, theme: Theme, size: tuple[int, int]) -> None:
    scene = await busy(desk)
    seat = await desk.seat(theme=theme, size=size, touch=size == PHONE)
    page = await seat.open("/")
    found: list[str] = []
    for path in places(scene):
        await page.goto(desk.url + path)
        await expect(page.get_by_role("main")).to_be_visible()
        await page.wait_for_load_state("networkidle")
        found += [f"{path}: {fault}" for fault in await seat.axe()]
    scene.gate.open()
    assert not found, "\n\n".join(found)


async def test_axe_finds_no_fault_in_any_panel(desk: Desk) -> None:
    scene = await busy(desk)
    found: list[str] = []
    for theme in ("dark", "light"):
        seat = await desk.seat(theme="dark" if theme == "dark" else "light")
        page = await seat.open(f"/session/{scene.asking}")
        for name in PANELS:
            await page.get_by_role("tab", name=name, exact=True).click()
            await page.wait_for_load_state("networkidle")
            found += [f"{theme} {name}: {fault}" for fault in await seat.axe()]
        await page.keyboard.press("Control+k")
        await expect(page.get_by_role("dialog")).to_be_visible()
        found += [f"{theme} palette: {fault}" for fault in await seat.axe()]
    scene.gate.open()
    assert not found, "\n\n".join(found)
