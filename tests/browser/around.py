"""Short words for tests of what is around a session: sessions in each state, the list, people who came before."""

import subprocess
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.desk import Desk, Seat
from tests.modelserver.script import Call, Gate, Say, Step

KNOWN = """try { if (!localStorage.getItem("bobstay.ui")) {
  const state = { welcomed: true, diffScope: "all" };
  localStorage.setItem("bobstay.ui", JSON.stringify({ state, version: 0 }));
} } catch {}"""

RETRY = """() => {
  for (const button of document.querySelectorAll("button")) if (button.textContent === "Retry now") button.click();
}"""


async def known(seat: Seat) -> Seat:
    """Somebody who has been here before: nothing is explained to them, and they look at all changes of a directory."""
    await seat.context.add_init_script(KNOWN)
    return seat


async def come(desk: Desk, path: str = "/", **seat: Any) -> Page:
    """Somebody who knows the page opens it on a browser of their own."""
    page = await (await known(await desk.seat(**seat))).open(path)
    await is_live(page)
    return page


async def is_live(page: Page) -> None:
    if await page.evaluate("() => matchMedia('(max-width: 767px)').matches"):
        await expect(page.get_by_role("navigation", name="Navigation")).to_be_visible()
    else:
        await expect(state(page)).to_contain_text("live")


async def reconnected(page: Page) -> None:
    """A server that is back is found: at once by the button, or by the page itself while the button was looked for."""
    await page.evaluate(RETRY)
    await is_live(page)


def state(page: Page) -> Locator:
    """How the connection stands, at the foot of the list."""
    return (
        page.get_by_role("status")
        .filter(has_text="live")
        .or_(page.get_by_role("status").filter(has_text="connect"))
        .or_(page.get_by_role("status").filter(has_text="offline"))
        .or_(page.get_by_role("status").filter(has_text="reach"))
        .first
    )


def repository(desk: Desk) -> None:
    """Sessions work in a repository, as they mostly do."""
    subprocess.run(["git", "init", "-q", str(desk.work)], check=True)


async def asking(desk: Desk, title: str, command: str = "touch asked", **config: Any) -> str:
    """A session that waits for a person."""
    name = f"asks-{len(desk.model.requests)}-{title.split(maxsplit=1)[0]}"
    word = desk.play(name, Step(blocks=[Call("Bash", {"command": command})]), Step(blocks=[Say("All done.")]))
    session = await desk.launch(f"please {word}", title=title, **config)
    await desk.place.until_status(session, "waiting_input")
    return session


async def running(desk: Desk, title: str, *blocks: Any, **config: Any) -> tuple[str, Gate]:
    """A session that says its first words and goes on when the gate is opened."""
    gate = Gate()
    said = list(blocks) or [Say("First words. "), Say("Last words.")]
    word = desk.play(f"runs-{title.split(maxsplit=1)[0]}", Step(blocks=said, gate=gate, gate_after=1))
    session = await desk.launch(f"please {word}", title=title, **config)
    await gate.reached()
    return session, gate


async def done(desk: Desk, title: str, **config: Any) -> str:
    session = await desk.launch("hello", title=title, model="demo", **config)
    await desk.place.until_status(session, "completed")
    return session


def sessions(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Sessions")


def line(page: Page, title: str) -> Locator:
    """A session in the list."""
    return sessions(page).get_by_role("link").filter(has_text=title)
