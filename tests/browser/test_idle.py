"""A page that nobody touches leaves the server alone."""

from playwright.async_api import expect

from tests.browser.desk import Desk
from tests.browser.scene import busy


async def test_an_idle_page_asks_for_next_to_nothing(desk: Desk) -> None:
    """FM-27, S000-70: less than a request a second, with every panel looked at once, over a played minute."""
    scene = await busy(desk)
    seat = await desk.seat()
    page = await seat.tab()
    await page.clock.install()
    await page.goto(f"{desk.url}/session/{scene.done}#code={await seat.code()}")
    for name in ("Files", "Tasks", "Context", "Events", "Changes"):
        await page.get_by_role("tab", name=name, exact=True).click()
    await expect(page.get_by_role("tabpanel")).to_be_visible()
    await seat.settled()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.clock.run_for(60_000)
    await seat.settled()
    scene.gate.open()
    assert len([url for url in asked if "/api/" in url]) < 20, asked
