"""The whole way by keyboard alone: launch, approve, look at the change, comment on it, go on, search."""

import re
import subprocess

from playwright.async_api import Page, expect

from tests.browser.kit import HeldRequests, WebConsole
from tests.browser.steps import completed_session, init_repository, is_live, returning_user
from tests.modelserver.script import PHRASE, Call, Say, Step

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


async def test_a_whole_errand_needs_no_mouse(web: WebConsole) -> None:
    (web.work / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=web.work, check=True)
    web.play(
        PHRASE + "Fix the cart",
        Step(blocks=[Say("Let me see."), Call("Read", {"file_path": "cart.py"})]),
        Step(blocks=[Call("Edit", EDIT)]),
        Step(blocks=[Say("The cart adds up to a marmalade.")]),
    )
    web.play(PHRASE + "Begin at one", Step(blocks=[Say("It begins at one now.")]))
    page = await web.open("/")
    press, write = page.keyboard.press, page.keyboard.type
    await expect(page.get_by_text("live", exact=True)).to_be_visible()

    # launch
    await press("c")
    await expect(page.get_by_role("heading", name="New session")).to_be_visible()
    directory = page.get_by_label("Directory")
    if await directory.input_value() != str(web.work):
        await directory.focus()
        await press("Control+a")
        await write(str(web.work))
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
    await page.locator("body").focus()
    await write("g/")
    await expect(page.get_by_role("combobox", name="Search all sessions")).to_be_focused()
    await write("marmalade")
    await expect(page.get_by_role("list", name="Search results").get_by_role("listitem").first).to_be_visible()
    await press("ArrowDown")
    await press("Enter")
    await expect(page).to_have_url(re.compile(r"/session/"))
    await expect(page.get_by_text("The cart adds up to a marmalade.")).to_be_visible()


async def test_what_is_typed_before_the_palette_has_come_is_written_into_its_field(web: WebConsole) -> None:
    init_repository(web)
    session = await completed_session(web, "fix the cart")
    # A service worker would fetch the palette beforehand.
    device = await returning_user(await web.device(service_workers="block"))
    held = await HeldRequests().at(device.context, re.compile(r"/assets/PaletteSheet"))
    page = await device.open(f"/session/{session}")
    await is_live(page)
    message = page.get_by_role("textbox", name="Message", exact=True)
    await message.fill("half a thought")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("cu")  # in the message field these are letters, and anywhere else `c` begins a session
    await expect(message).to_have_value("half a thought")
    await page.keyboard.press("Escape")
    await expect(message).to_be_focused()

    await page.get_by_role("region", name="Transcript").click(position={"x": 5, "y": 5})
    await page.keyboard.press("Control+k")
    await page.keyboard.type("cu")
    await page.keyboard.press("Backspace")
    await page.keyboard.press("Backspace")
    await page.keyboard.type("us")
    await held.release()
    palette = page.get_by_role("dialog", name="Search or run a command")
    await expect(palette.get_by_role("option", name="Go to usage")).to_be_visible()
    await page.keyboard.type("age")
    await expect(palette.get_by_role("combobox")).to_have_value("usage")
    assert page.url == f"{web.url}/session/{session}"
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{web.url}/usage")


async def test_the_focus_goes_back_to_where_it_was_before_the_palette(web: WebConsole) -> None:
    init_repository(web)
    session = await completed_session(web, "fix the cart")
    page = await (await returning_user(await web.device())).open(f"/session/{session}")
    await is_live(page)
    message = page.get_by_role("textbox", name="Message", exact=True)
    listed = page.get_by_role("searchbox", name="Filter sessions")
    palette = page.get_by_role("dialog", name="Search or run a command")
    for field in (message, listed, message):
        await field.focus()
        await page.keyboard.press("Control+k")
        await expect(palette.get_by_role("combobox")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(palette).to_have_count(0)
        await expect(field).to_be_focused()
