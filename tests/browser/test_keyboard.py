"""The whole way by keyboard alone: launch, approve, look at the change, comment on it, go on, search."""

import re
import subprocess

from playwright.async_api import Page, expect

from tests.browser.desk import Desk
from tests.modelserver.script import SAID, Call, Say, Step

EDIT = {"file_path": "cart.py", "old_string": "return sum(items)", "new_string": "return sum(items, 0)"}


NAMED = """(all) => all.map((one) => [
    one.getAttribute("role") || {A: "link", BUTTON: "button", TEXTAREA: "textbox", INPUT: "textbox"}[one.tagName] || "",
    one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent || one.placeholder || "",
])[0] || ["", ""]"""


async def tab_to(page: Page, name: str | re.Pattern[str], role: str = "button", most: int = 120) -> None:
    """Press Tab until the focus is on what has this role and name, as somebody without a mouse would."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        focused = page.locator(":focus")
        told = await focused.evaluate_all(NAMED)
        found = name.search(told[1]) if isinstance(name, re.Pattern) else name in told[1]
        if told[0] == role and found:
            return
    raise AssertionError(f"Tab never came to the {role} {name}")


async def test_a_whole_errand_needs_no_mouse(desk: Desk) -> None:
    (desk.work / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=desk.work, check=True)
    desk.play(
        SAID + "Fix the cart",
        Step(blocks=[Say("Let me see."), Call("Read", {"file_path": "cart.py"})]),
        Step(blocks=[Call("Edit", EDIT)]),
        Step(blocks=[Say("The cart adds up to a marmalade.")]),
    )
    desk.play(SAID + "Begin at one", Step(blocks=[Say("It begins at one now.")]))
    page = await desk.open("/")
    press, write = page.keyboard.press, page.keyboard.type
    await expect(page.get_by_text("live", exact=True)).to_be_visible()

    # launch
    await press("c")
    await expect(page.get_by_role("heading", name="New session")).to_be_visible()
    directory = page.get_by_label("Directory")
    if await directory.input_value() != str(desk.work):
        await directory.focus()
        await press("Control+a")
        await write(str(desk.work))
        await press("Escape")
    await tab_to(page, re.compile("Prompt|done"), role="textbox")
    await write("Fix the cart")
    await press("Control+Enter")

    # approve
    allow = page.get_by_role("button", name=re.compile("^Allow A?"))
    await expect(allow.first).to_be_enabled()
    await press("Escape")
    await page.locator("body").press("a")
    await expect(page.get_by_text("marmalade")).to_be_visible()

    # the change, and a word on a line of it
    await press("1")
    await expect(page.get_by_role("tabpanel").get_by_text("cart.py").first).to_be_visible()
    await tab_to(page, re.compile("omment"), most=200)
    await press("Enter")
    await write("Begin at one")
    await press("Control+Enter")
    await tab_to(page, re.compile("^Send"), most=200)
    await press("Enter")

    # it goes on
    await expect(page.get_by_text("It begins at one now.")).to_be_visible()

    # search
    await press("Escape")
    await page.locator("body").press("g")
    await press("/")
    await expect(page.get_by_role("heading", name="Search")).to_be_visible()
    await write("marmalade")
    await expect(page.get_by_text("marmalade").first).to_be_visible()
    await press("ArrowDown")
    await press("Enter")
    await expect(page).to_have_url(re.compile(r"/session/"))
    await expect(page.get_by_text("The cart adds up to a marmalade.")).to_be_visible()
