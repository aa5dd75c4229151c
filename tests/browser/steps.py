"""Steps that many tests share: sessions in each state, the session list, a page that is open and live."""

import subprocess
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.kit import Device, WebConsole
from tests.modelserver.script import Call, Gate, Say, Step

SEEN_BEFORE = """try { if (!localStorage.getItem("bobstay.ui")) {
  const state = { welcomed: true, diffScope: "all" };
  localStorage.setItem("bobstay.ui", JSON.stringify({ state, version: 0 }));
} } catch {}"""

RETRY = """() => {
  for (const button of document.querySelectorAll("button")) if (button.textContent === "Retry now") button.click();
}"""


async def returning_user(device: Device) -> Device:
    """Somebody who has been here before: nothing is explained to them, and they look at all changes of a directory."""
    await device.context.add_init_script(SEEN_BEFORE)
    return device


async def open_page(web: WebConsole, path: str = "/", **device: Any) -> Page:
    """Somebody who knows the page opens it on a browser of their own."""
    page = await (await returning_user(await web.device(**device))).open(path)
    await is_live(page)
    return page


async def is_live(page: Page) -> None:
    if await page.evaluate("() => matchMedia('(max-width: 767px)').matches"):
        await expect(page.get_by_role("navigation", name="Navigation")).to_be_visible()
    else:
        await expect(connection_state(page)).to_contain_text("live")


async def reconnect(page: Page) -> None:
    """A server that is back is found: at once by the button, or by the page itself while the button was looked for."""
    await page.evaluate(RETRY)
    await is_live(page)


def connection_state(page: Page) -> Locator:
    """The state of the connection, below the session list."""
    return (
        page.get_by_role("status")
        .filter(has_text="live")
        .or_(page.get_by_role("status").filter(has_text="connect"))
        .or_(page.get_by_role("status").filter(has_text="offline"))
        .or_(page.get_by_role("status").filter(has_text="reach"))
        .first
    )


def init_repository(web: WebConsole) -> None:
    """Sessions work in a repository, as they mostly do."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(web.work)], check=True)


async def waiting_session(web: WebConsole, title: str, command: str = "touch asked", **config: Any) -> str:
    """A session that waits for a person."""
    name = f"asks-{len(web.model.requests)}-{title.split(maxsplit=1)[0]}"
    word = web.play(name, Step(blocks=[Call("Bash", {"command": command})]), Step(blocks=[Say("All done.")]))
    session = await web.launch(f"please {word}", title=title, **config)
    await web.server.until_status(session, "waiting_input")
    return session


async def running_session(web: WebConsole, title: str, *blocks: Any, **config: Any) -> tuple[str, Gate]:
    """A session that has sent the first part of its answer and continues when the gate is opened."""
    gate = Gate()
    answer = list(blocks) or [Say("First words. "), Say("Last words.")]
    word = web.play(f"runs-{title.split(maxsplit=1)[0]}", Step(blocks=answer, gate=gate, gate_after=1))
    session = await web.launch(f"please {word}", title=title, **config)
    await gate.reached()
    return session, gate


async def completed_session(web: WebConsole, title: str, **config: Any) -> str:
    session = await web.launch("hello", title=title, model="demo", **config)
    await web.server.until_status(session, "completed")
    return session


def session_list(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Sessions")


def session_link(page: Page, title: str) -> Locator:
    """A session in the list."""
    return session_list(page).get_by_role("link").filter(has_text=title)
