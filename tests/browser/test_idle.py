"""A page that nobody touches leaves the server alone."""

from playwright.async_api import expect

from tests.browser.kit import WebConsole
from tests.browser.sample_sessions import start_sample_sessions


async def test_an_idle_page_asks_for_next_to_nothing(web: WebConsole) -> None:
    """FM-27, S000-70: less than a request a second, with every panel looked at once, over a played minute."""
    samples = await start_sample_sessions(web)
    device = await web.device()
    page = await device.tab()
    await page.clock.install()
    await page.goto(f"{web.url}/session/{samples.done}#code={await device.code()}")
    for name in ("Files", "Tasks", "Context", "Events", "Changes"):
        await page.get_by_role("tab", name=name, exact=True).click()
    await expect(page.get_by_role("tabpanel")).to_be_visible()
    await device.settled()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.clock.run_for(60_000)
    await device.settled()
    samples.gate.open()
    assert len([url for url in asked if "/api/" in url]) < 20, asked
