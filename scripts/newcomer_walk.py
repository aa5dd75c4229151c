"""Walks through the console as a newcomer does, from the first start to a first session, and keeps what is seen when.

A real `bobstay serve` with nothing stored and no key, a real Chromium, real clicks; the vendor is a double.
"""

import argparse
import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.async_api import Page, async_playwright, expect  # noqa: E402 - after the path is set
from scripts.make_screenshots import take_screenshot  # noqa: E402 - after the path is set

from benchmarks.browser_transcript import contention  # noqa: E402 - after the path is set
from tests.browser.chromium import start  # noqa: E402
from tests.modelserver.dialect import Dialect, ModelRequest  # noqa: E402
from tests.modelserver.script import PHRASE, Call, Say, Step  # noqa: E402
from tests.modelserver.server import ModelServer  # noqa: E402

WRONG, RIGHT = "a-key-with-a-slip-of-the-pen", "a-key-the-vendor-knows"
TASK = "Add a function that counts the items."
CART = """class Cart:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)
"""
COUNT = """
    def count(self):
        return len(self.items)
"""
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) if (!shift.hadRecentInput && shift.value > 0.005)
    window.shifts.push(`${shift.value.toFixed(3)} at ${(shift.startTime / 1000).toFixed(1)} s: ` +
      shift.sources.slice(0, 3).map(({ node }) => (node?.textContent ?? "?").trim().slice(0, 40)).join(" | "));
}).observe({ type: "layout-shift", buffered: true });
"""


class Vendor(ModelServer):
    """Accepts one key, as the real one does."""

    def _step(self, asked: ModelRequest, dialect: Dialect) -> Step:
        if asked.headers.get("x-api-key") != RIGHT:
            return Step(status=401, error_type="authentication_error", message="invalid x-api-key")
        return super()._step(asked, dialect)


class Notebook:
    """What was seen when: a line and a picture of each step, and one of each second in which something changed."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.begun = time.monotonic()
        self.lines: list[str] = []
        self.out.mkdir(parents=True, exist_ok=True)

    def now(self) -> float:
        return time.monotonic() - self.begun

    def say(self, did: str, saw: str, image: str = "") -> None:
        link = f"[{image}]({image}.png)" if image else ""
        self.lines.append(f"| {self.now():.1f} | {did} | {saw} | {link} |")
        print(self.lines[-1], flush=True)

    async def look(self, page: Page, name: str, did: str, saw: str) -> None:
        image = f"{len(self.lines):02}-{name}"
        self.say(did, saw, image)
        await take_screenshot(page, self.out / f"{image}.png")

    @contextlib.asynccontextmanager
    async def every_second(self, page: Page) -> AsyncIterator[None]:
        async def watch() -> None:
            last = b""
            while True:
                with contextlib.suppress(Exception):  # between two pages there is nothing to take
                    seen = await page.screenshot(animations="disabled", caret="hide")
                    if seen != last:
                        (self.out / f"second-{self.now():05.1f}.png").write_bytes(seen)
                    last = seen
                await asyncio.sleep(1)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()

    def write(self, shifts: list[str]) -> None:
        head = "| seconds | done | seen | picture |\n|--:|---|---|---|\n"
        jumps = "\n".join(f"- {each}" for each in shifts) or "None."
        busy = f"Work took {contention():.1f} times as long as on a quiet machine.\n\n"
        text = f"# A newcomer's walk\n\n{busy}{head}" + "\n".join(self.lines) + f"\n\n## What jumped\n\n{jumps}\n"
        (self.out / "timeline.md").write_text(text, encoding="utf-8")


@contextlib.contextmanager
def served(home: Path, vendor: str) -> Iterator[str]:
    """`bobstay serve` as it is after an installation; the lines it prints."""
    shop = home / "shop"
    shop.mkdir(parents=True)
    (shop / "cart.py").write_text(CART, encoding="utf-8")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    for step in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-q", "-m", "A cart")):
        subprocess.run(["git", *step], cwd=shop, check=True)
    environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "ANTHROPIC_BASE_URL": vendor}
    command = [str(ROOT / ".venv/bin/bobstay"), "serve", "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, cwd=shop, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip() + " " + process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(60)


async def sign_in(page: Page, notebook: Notebook, line: str) -> None:
    address = re.search(r"http\S+", line)
    assert address, line
    link = address[0]
    await page.goto(link.partition("#")[0])
    field = page.get_by_role("textbox", name="Sign-in code")
    await expect(field).to_be_visible()
    await notebook.look(page, "sign-in", "opens the address without its code", "one sentence, one field")
    await field.fill(link)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("button", name="Try it")).to_be_visible()
    await notebook.look(page, "welcome", "pastes the printed link", "what this is, and one thing to do")


async def try_it(page: Page, notebook: Notebook) -> None:
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_role("feed")).to_be_visible()
    await notebook.look(page, "trying", "clicks *Try it*", "a session opens")
    allow = page.get_by_role("button", name="Allow", exact=True)
    await expect(allow).to_be_enabled()
    await notebook.look(page, "approval", "waits", "the agent asks about one edit, as a diff in whole lines")
    await allow.click()
    await expect(page.get_by_text("passes now")).to_be_visible()
    await expect(page.get_by_role("tabpanel").first.get_by_role("button", name="Accept")).to_be_visible()
    await notebook.look(page, "green", "clicks *Allow*", "the test passes; the change stands in *Changes*")
    await page.get_by_role("link", name="bobstay", exact=True).click()
    await expect(page.get_by_role("region", name="Recently finished")).to_be_visible()
    await notebook.look(page, "home", "goes home", "the finished session, and what comes next")


async def connect(page: Page, notebook: Notebook) -> None:
    await page.get_by_role("main").get_by_role("link", name="Connect a model").click()
    add = page.get_by_role("button", name="Add key: Anthropic")
    await expect(add).to_be_visible()
    await notebook.look(page, "models", "clicks *Connect a model*", "providers, each with its key or without")
    row = page.get_by_role("listitem").filter(has_text="Anthropic")
    await add.click()
    key = page.get_by_label("Key of Anthropic", exact=True)
    await key.fill(WRONG)
    await page.get_by_role("button", name="Save key").click()
    await expect(row.get_by_role("alert")).to_be_visible()
    await notebook.look(page, "wrong-key", "pastes a wrong key", await row.get_by_role("alert").inner_text())
    await key.fill(RIGHT)
    await page.get_by_role("button", name="Save key").click()
    await expect(row).to_contain_text("Key accepted")
    await notebook.look(page, "right-key", "pastes the right key", "it is stored and accepted, and not shown again")
    await row.get_by_role("button", name="Test Anthropic").click()
    await expect(row).to_contain_text("Key accepted")
    default = page.get_by_role("combobox", name="Default model")
    await default.click()
    await expect(page.get_by_role("option").first).to_be_visible()
    await notebook.look(page, "default", "tests it, opens *Default model*", "the models that can be reached")
    await page.get_by_role("option").filter(has_text=re.compile("^sonnet")).click()
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("New sessions use sonnet.")).to_be_visible()
    await notebook.look(page, "chosen", "chooses one, clicks *Save*", "what new sessions use")


async def first_session(page: Page, notebook: Notebook) -> None:
    await page.get_by_role("link", name="New").first.click()
    prompt = page.get_by_role("textbox", name="Prompt")
    await expect(prompt).to_be_visible()
    await notebook.look(page, "new", "clicks *New*", "the directory the server was started in, the default model")
    await prompt.fill(TASK)
    await page.get_by_role("button", name="Start", exact=True).click()
    allow = page.get_by_role("button", name="Allow", exact=True)
    await expect(allow).to_be_enabled()
    await notebook.look(page, "first-request", "describes a task, clicks *Start*", "the agent asks about its edit")
    await allow.click()
    await expect(page.get_by_text("Carts can be counted now.")).to_be_visible()
    await expect(page.get_by_text("Completed. Send a message to continue.")).to_be_visible()
    await expect(page.get_by_role("tabpanel").first.get_by_text("return len")).to_be_visible()
    await notebook.look(page, "first-done", "clicks *Allow*", "done: the answer, the change, what it took")


def teach(vendor: Vendor, home: Path) -> None:
    """What the model does when it is asked for the task."""
    path = str(home / "shop/cart.py")
    change = {"file_path": path, "old_string": "append(item)\n", "new_string": "append(item)\n" + COUNT}
    vendor.play(
        f"{PHRASE}{TASK}",
        Step(blocks=[Say("I look at the cart first."), Call("Read", {"file_path": path})], chunk_delay=0.02),
        Step(blocks=[Call("Edit", change)]),
        Step(blocks=[Say("Carts can be counted now.")], chunk_delay=0.05),
    )


async def main(out: Path) -> None:
    expect.set_options(timeout=60_000)
    async with async_playwright() as playwright:
        browser = await start(playwright)
        context = await browser.new_context(
            viewport={"width": 1440, "height": 900}, color_scheme="dark", locale="en-GB", timezone_id="UTC"
        )
        await context.add_init_script(SHIFTS)
        await walk(await context.new_page(), out)
        await browser.close()


async def walk(page: Page, out: Path) -> None:
    with Vendor() as vendor, tempfile.TemporaryDirectory(prefix="walk-") as folder:
        home = Path(folder) / "ada"
        teach(vendor, home)
        notebook = Notebook(out)
        with served(home, vendor.url) as line:
            notebook.say("starts the server", f"“{re.sub(r'code=[^ ]*', 'code=…', line)}”")
            async with notebook.every_second(page):
                await sign_in(page, notebook, line)
                await try_it(page, notebook)
                await connect(page, notebook)
                await first_session(page, notebook)
            notebook.write(await page.evaluate("window.shifts"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="the folder for pictures and timeline.md")
    asyncio.run(main(parser.parse_args().out))
