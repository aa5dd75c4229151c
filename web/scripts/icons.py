# ruff: noqa: INP001 - a script, run by hand after the drawing changed
"""Draws the page's icons from public/icon.svg with Chromium: `python web/scripts/icons.py`."""

import asyncio
import base64
import os
import shutil
from pathlib import Path

from playwright.async_api import Page, async_playwright

PUBLIC = Path(__file__).parents[1] / "public"
GROUND = "#16303a"
ICONS = {
    # name: size, part of the square the drawing takes, whether the ground is filled to the edge
    "icon-192.png": (192, 1.0, False),
    "icon-512.png": (512, 1.0, False),
    "icon-maskable.png": (512, 0.72, True),
}


async def main() -> None:
    drawing = base64.b64encode((PUBLIC / "icon.svg").read_bytes()).decode()
    plain = (PUBLIC / "icon.svg").read_text().replace(f'fill="{GROUND}"', 'fill="none"').replace("#63c7d8", "#ffffff")
    badge = base64.b64encode(plain.encode()).decode()
    async with async_playwright() as playwright:
        path = os.environ.get("BOBSTAY_TEST_CHROMIUM") or shutil.which("chromium") or ""
        browser = await playwright.chromium.launch(executable_path=path, args=["--headless=new", "--no-sandbox"])
        page = await browser.new_page()
        for name, (size, part, filled) in ICONS.items():
            await draw(page, name, drawing, size, part, GROUND if filled else "transparent")
        await draw(page, "icon-badge.png", badge, 96, 1.0, "transparent")
        await browser.close()


async def draw(page: Page, name: str, drawing: str, size: int, part: float, ground: str) -> None:
    await page.set_viewport_size({"width": size, "height": size})
    inner = round(size * part)
    await page.set_content(
        f'<body style="margin:0;height:100vh;display:grid;place-items:center;background:{ground}">'
        f'<img width="{inner}" height="{inner}" src="data:image/svg+xml;base64,{drawing}">'
    )
    await page.locator("img").evaluate("(image) => image.decode()")
    await page.screenshot(path=PUBLIC / name, omit_background=True)


asyncio.run(main())
