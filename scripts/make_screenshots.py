"""Makes the screenshots of the documentation: a busy console, in both themes, on a desktop and on a phone."""

import argparse
import asyncio
import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402 - after the path is set
from playwright.async_api import Page, async_playwright  # noqa: E402 - after the path is set

from tests.browser.chromium import start  # noqa: E402
from tests.browser.kit import PHONE, WIDE, Device, Theme, WebConsole  # noqa: E402
from tests.browser.sample_sessions import SampleSessions, start_sample_sessions  # noqa: E402
from tests.browser.team_session import TeamSession, start_team_session  # noqa: E402
from tests.kit.oauth_server import protected_server  # noqa: E402
from tests.modelserver.server import ModelServer  # noqa: E402

OUT = ROOT / "docs" / "pictures"
MAIN = "home,session,team,servers,inbox,plan,new,compare,usage"
"""The screens that are kept in the repository."""


def addresses(samples: SampleSessions) -> dict[str, str]:
    """What is shown, by name."""
    return {
        "home": "/",
        "session": f"/session/{samples.asking}",
        "streaming": f"/session/{samples.running}",
        "question": f"/session/{samples.question}",
        "plan": f"/session/{samples.plan}",
        "done": f"/session/{samples.done}",
        "failed": f"/session/{samples.failed}",
        "inbox": "/inbox",
        "new": "/new",
        "search": "/search?q=cart",
        "usage": "/usage",
        "settings": "/settings/permissions",
        "compare": f"/compare?ids={samples.asking},{samples.running}",
    }


PANELS = {
    "diff": "Changes",
    "files": "Files",
    "terminal": "Terminal",
    "tasks": "Tasks",
    "context": "Context",
    "events": "Events",
}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", default=MAIN, help="names with commas; empty for all")
    parser.add_argument("--theme", choices=("dark", "light", "both"), default="both")
    parser.add_argument("--size", choices=("desk", "phone", "both"), default="both")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    only = set(filter(None, given.only.split(",")))
    themes: tuple[Theme, ...] = ("dark", "light") if given.theme == "both" else (given.theme,)
    sizes = ("desk", "phone") if given.size == "both" else (given.size,)
    async with async_playwright() as playwright:
        browser = await start(playwright)
        with ModelServer() as model, tempfile.TemporaryDirectory() as folder:
            async with WebConsole(browser, model, Path(folder)) as web, protected_server() as tracker:
                samples = await start_sample_sessions(web)
                team = await start_team_session(web, tracker.url)
                for size in sizes:
                    for theme in themes:
                        device = await web.device(
                            theme=theme, size=WIDE if size == "desk" else PHONE, touch=size == "phone"
                        )
                        await shoot(device, samples, given.out, f"{theme}-{size}", only)
                        await shoot_team(device, team, given.out, f"{theme}-{size}", only)
                        print(f"{theme} {size}: errors {device.monitor.errors}")
                samples.gate.open()
                team.gate.open()
        await browser.close()


async def shoot(device: Device, samples: SampleSessions, out: Path, suffix: str, only: set[str]) -> None:
    page = await device.open("/")
    for name, path in addresses(samples).items():
        if only and name not in only:
            continue
        await page.goto(device.web.url + path)
        await settled(page)
        await take_screenshot(page, out / f"{name}-{suffix}.png")
    if suffix.endswith("desk"):
        for name, label in PANELS.items():
            if only and name not in only:
                continue
            await page.goto(f"{device.web.url}/session/{samples.asking}")
            await page.get_by_role("tab", name=label, exact=True).click()
            await settled(page)
            await take_screenshot(page, out / f"panel-{name}-{suffix}.png")


async def shoot_team(device: Device, team: TeamSession, out: Path, suffix: str, only: set[str]) -> None:
    """A session with sub-agents: its transcript, what runs in the background, its servers, the completion."""
    page = await device.tab()
    phone = suffix.endswith("phone")
    for name, label in {"team": "", "background": "Tasks", "servers": "Context", "completion": ""}.items():
        if only and name not in only:
            continue
        await page.goto(f"{device.web.url}/session/{team.id}")
        await settled(page)
        if phone and name != "team":
            await page.get_by_role("button", name="Hide", exact=True).click()
        if name == "team":
            first = page.get_by_role("button", name="Task: Find the race")
            await page.get_by_role("region", name="Transcript").hover()
            for _ in range(20):
                if await first.is_visible():
                    break
                await page.mouse.wheel(0, -300)
                await page.wait_for_timeout(100)
            await first.evaluate("(element) => element.scrollIntoView({ block: 'start' })")
            await page.mouse.move(1, 1)
        if label:
            await page.get_by_role("button" if phone else "tab", name=label, exact=True).click()
        if name == "servers":
            section = page.get_by_role("region", name="MCP servers")
            await section.scroll_into_view_if_needed()
            await section.evaluate("(element) => element.scrollIntoView({ block: 'start' })")
        if name == "completion":
            await page.get_by_role("textbox", name="Message").fill("")
            await page.get_by_role("textbox", name="Message").press_sequentially("/")
        await settled(page)
        await take_screenshot(page, out / f"{name}-{suffix}.png")


async def take_screenshot(page: Page, path: Path) -> None:
    """In 256 colours: a page has not many more, and a repository keeps every version."""
    raw = await page.screenshot(animations="disabled", caret="hide")
    Image.open(io.BytesIO(raw)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


async def settled(page: Page) -> None:
    """Nothing more is asked for and fonts are there. Pictures are no test: a short wait is allowed here."""
    await page.wait_for_load_state("networkidle")
    await page.evaluate("document.fonts.ready")
    await page.wait_for_timeout(1_500)


if __name__ == "__main__":
    asyncio.run(main())
