"""Writing to it: sending, queueing, steering, drafts, what goes with the words; and how it works from then on."""

import asyncio
import json
import re
import time
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from bobstay.server.db.draft_table import draft_of
from tests.browser.kit import WebConsole
from tests.browser.steps import init_repository
from tests.kit.process_sessions import FAKE
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Counts, Gate, Say, Step

PASTE = """(text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    document.activeElement.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
PASTE_PICTURE = """() => {
    const bytes = Uint8Array.from(atob(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    ), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    data.items.add(new File(["<svg/>"], "drawing.svg", { type: "image/svg+xml" }));
    document.activeElement.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(autouse=True)
def in_repository(web: WebConsole) -> None:
    """Sessions work in a repository, as they mostly do."""
    (web.work / "src").mkdir()
    (web.work / "src" / "cart.py").write_text("x = 1\n", encoding="utf-8")
    init_repository(web)


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message", exact=True)


def status(page: Page) -> Locator:
    return page.get_by_role("status", name="Session status")


def queue(page: Page) -> Locator:
    return page.get_by_role("region", name="Queue").get_by_role("listitem")


async def at_work(web: WebConsole, name: str, **config: Any) -> tuple[str, Gate]:
    """A session whose model says nothing until the gate is opened."""
    gate = Gate()
    word = web.play(name, Step(blocks=[Say("Done with it.")], gate=gate))
    session = await web.launch(f"begin {word}", **config)
    await gate.reached()
    return session, gate


async def idle(web: WebConsole, **config: Any) -> str:
    return await web.launch(**config)


def model_input(web: WebConsole) -> str:
    return json.dumps([each.body["messages"] for each in web.model.requests])


async def test_words_are_sent_by_enter_and_broken_by_shift_enter(web: WebConsole) -> None:
    """S003-31, S004-33, S000-91: and the first words of the answer are there before the model has said the last."""
    gate = Gate()
    answer = Step(blocks=[Say("Good morning. "), Say("Good night.")], gate=gate, gate_after=1)
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    await expect(status(page)).to_have_text("Send a message to begin.")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await message(page).press_sequentially("first line")
    await message(page).press("Shift+Enter")
    await message(page).press_sequentially(f"second line {web.play('hi', answer)}")
    await message(page).press("Enter")
    await expect(message(page)).to_have_value("")
    await expect(page.get_by_text("Good morning.")).to_be_visible()
    await expect(status(page)).to_have_text("Agent is working...")
    gate.open()
    await expect(page.get_by_text("Good night.")).to_be_visible()
    await expect(status(page)).to_have_text("Completed. Send a message to continue.")
    assert "first line\\nsecond line" in model_input(web)
    await message(page).press("ArrowUp")
    await expect(message(page)).to_have_value(re.compile("^first line\nsecond line"))


async def test_while_the_agent_works_words_are_queued_steered_edited_and_deleted(web: WebConsole) -> None:
    session, gate = await at_work(web, "busy")
    page = await web.open(f"/session/{session}")
    await expect(status(page)).to_have_text("Agent is working...")
    await expect(page.get_by_role("button", name="Queue")).to_be_visible()
    for words in ("then the docs", "then the tests", "then nothing"):
        await message(page).fill(words)
        await message(page).press("Enter")
    await expect(queue(page)).to_have_count(3)
    await expect(queue(page).nth(0)).to_contain_text("1.then the docsafter this turn")
    await queue(page).nth(0).get_by_role("button", name="Edit in queue").click()
    field = page.get_by_label("Queued message")
    await expect(field).to_be_focused()
    await field.fill("then the README\nand nothing else")
    await field.press("Enter")
    await expect(queue(page).nth(0)).to_contain_text("then the README and nothing else")
    await queue(page).nth(2).get_by_role("button", name="Delete from queue").click()
    await expect(queue(page)).to_have_count(2)
    await page.get_by_role("button", name="Undo").click()
    await expect(queue(page)).to_have_count(3)
    await queue(page).nth(1).get_by_role("button", name="Steer now").click()
    await expect(queue(page).nth(2)).to_contain_text("then the testsbefore the next step")
    await message(page).fill("hurry up")
    await message(page).press("Control+Enter")
    await expect(queue(page).nth(3)).to_contain_text("hurry upbefore the next step")
    gate.open()
    await web.server.until(session, lambda view: view.status == "completed" and not view.queued)
    await expect(queue(page)).to_have_count(0)
    read = model_input(web)
    assert "then the README\\nand nothing else" in read
    assert "then the docs" not in read
    assert all(words in read for words in ("then the tests", "then nothing", "hurry up"))


async def test_a_draft_survives_a_reload_and_is_there_on_another_device(web: WebConsole) -> None:
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    await message(page).fill("half a thought")
    await page.reload()
    await expect(message(page)).to_have_value("half a thought")
    await saved_draft(web, session, "half a thought")
    other = await web.device()
    theirs = await other.open(f"/session/{session}")
    await expect(message(theirs)).to_have_value("half a thought")
    await message(page).press("Enter")
    await expect(message(page)).to_have_value("")
    await saved_draft(web, session, "")
    await page.reload()
    await expect(message(page)).to_have_value("")


async def saved_draft(web: WebConsole, session: str, text: str) -> None:
    """Wait until the server has this draft."""
    async with asyncio.timeout(DEADLINE):
        while (await draft_of(web.server.services.database, "owner", session)).text != text:
            await asyncio.sleep(0.05)


async def test_words_that_cannot_be_sent_come_back_and_wait_for_the_connection(web: WebConsole) -> None:
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    await expect(message(page)).to_be_enabled()
    web.expect("ERR_FAILED|ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|part could not be loaded")
    await page.route("**/messages", lambda route: route.abort())
    await message(page).fill("do not lose me")
    await message(page).press("Enter")
    await expect(page.get_by_text("Can't reach the server.").first).to_be_visible()
    await expect(message(page)).to_have_value("do not lose me")
    await page.unroute("**/messages")
    await web.stop()
    await expect(page.get_by_text("Offline. Your draft is saved")).to_be_visible()
    await message(page).fill("do not lose me either")
    await message(page).press("Enter")
    await expect(message(page)).to_have_value("do not lose me either")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await web.start()
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    await message(page).press("Enter")
    await web.server.until(session, lambda view: "either" in view.last_prompt)


async def test_a_paste_of_200_kilobytes_stands_beside_the_words_and_is_sent_with_them(web: WebConsole) -> None:
    """FM-26."""
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    await message(page).fill("What is wrong here?")
    await message(page).focus()
    text = "".join(f"{number:06} a line of a log that somebody pasted\n" for number in range(4_700))
    await page.evaluate(PASTE, text)
    chip = page.get_by_role("button", name=re.compile("Pasted text, 20[0-9]"))
    await expect(chip).to_be_visible()
    fields = "[...document.querySelectorAll('textarea')].map((each) => each.value).join('')"
    drawn = await page.evaluate(f"() => document.body.innerHTML + {fields}")
    assert "000007 a line of a log" not in drawn, "typing does not draw the pasted text anew: it is not drawn"
    await chip.click()
    whole = page.get_by_role("dialog", name="Pasted text").get_by_role("textbox")
    await expect(whole).to_have_value(text)
    await page.keyboard.press("Escape")
    await page.reload()
    await expect(chip).to_be_visible()
    await message(page).press("Enter")
    await expect(chip).to_have_count(0)
    await web.server.until_status(session, "completed")
    assert "004699 a line of a log" in model_input(web)


async def test_pictures_are_pasted_looked_at_removed_and_sent(web: WebConsole) -> None:
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    await message(page).focus()
    await page.evaluate(PASTE_PICTURE)
    attached = page.get_by_role("list", name="Attached").get_by_role("listitem")
    await expect(attached).to_have_count(1)
    await expect(attached.get_by_role("img", name="Attached: dot.png")).to_be_visible()
    await expect(page.get_by_text("“drawing.svg” is not a PNG")).to_be_visible()
    await attached.get_by_role("button", name="Remove dot.png").click()
    await expect(attached).to_have_count(0)
    await message(page).focus()
    await page.evaluate(PASTE_PICTURE)
    await expect(attached).to_have_count(1)
    await message(page).fill("what is this?")
    await message(page).press("Enter")
    await web.server.until_status(session, "completed")
    await expect(attached).to_have_count(0)
    assert '"media_type": "image/png"' in model_input(web)


async def test_files_are_completed_by_keys(web: WebConsole) -> None:
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    (web.work / "src" / "carton.py").touch()
    await message(page).press_sequentially("look at @cart")
    options = page.get_by_role("listbox", name="Files").get_by_role("option")
    await expect(options).to_have_count(2)
    assert await web.axe(within="form") == []
    await expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    await message(page).press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await message(page).press("ArrowUp")
    await message(page).press("Tab")
    await expect(message(page)).to_have_value("look at @src/cart.py ")
    await expect(options).to_have_count(0)
    await message(page).press_sequentially("and @ca")
    await expect(options).to_have_count(2)
    await message(page).press("Escape")
    await expect(options).to_have_count(0)
    await expect(message(page)).to_be_focused()
    assert web.server.view(session).turns == 0, "Enter and Tab chose, and sent nothing"


async def test_a_turn_is_stopped_and_a_failed_one_tried_again(web: WebConsole) -> None:
    session, _ = await at_work(web, "endless")
    page = await web.open(f"/session/{session}")
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(status(page)).to_have_text("Session interrupted. Send a message to resume.")
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    wrong = Step(status=400, message="no such thing", times=1, then=Step(blocks=[Say("Better.")]))
    await message(page).fill(f"fail {web.play('fail', wrong)}")
    await message(page).press("Enter")
    await expect(status(page)).to_contain_text("Failed: ")
    await expect(status(page)).to_contain_text("no such thing")
    await page.get_by_role("button", name="Retry", exact=True).click()
    await expect(status(page)).to_have_text("Completed. Send a message to continue.")
    await expect(page.get_by_role("button", name="Retry", exact=True)).to_have_count(0)


async def test_escape_twice_stops_and_cutting_text_does_not(web: WebConsole) -> None:
    """Ctrl+X is what it is everywhere: the marked words are cut, and the agent goes on."""
    gate = Gate()
    session = await web.launch(f"begin {web.play('works', Step(blocks=[Say('Done.')], gate=gate))}")
    await gate.reached()
    page = await web.open(f"/session/{session}")
    await message(page).fill("some words to cut")
    await message(page).press("Control+a")
    await message(page).press("Control+x")
    await expect(message(page)).to_have_value("")
    await message(page).press("Control+v")
    await expect(message(page)).to_have_value("some words to cut")
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    assert (await web.server.until_status(session, "running")).status == "running"
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await web.server.until_status(session, "interrupted")
    await expect(message(page)).to_have_value("some words to cut")


async def test_a_stop_that_takes_long_may_be_forced_after_a_question(web: WebConsole) -> None:
    web.server.services.options.engines["fake"] = FAKE
    assert (await web.server.post("/api/v1/trust", {"cwd": str(web.work)})).status == 200
    session = await web.launch("unresponsive", engine="fake")
    device = await web.device()
    await device.context.clock.install()
    page = await device.open(f"/session/{session}")
    await expect(page.get_by_text("never")).to_be_visible()
    await page.keyboard.press("Control+.")
    await expect(status(page)).to_have_text("Stopping...")
    await page.clock.fast_forward(5000)  # the server itself forces it after a while
    await page.get_by_role("button", name="Force stop").click()
    dialog = page.get_by_role("alertdialog", name="Force stop the agent?")
    await expect(dialog).to_contain_text("all files are kept")
    await dialog.get_by_role("button", name="Force stop").click()
    await expect(status(page)).to_have_text("Session interrupted. Send a message to resume.")


async def test_mode_and_model_change_while_the_agent_works(web: WebConsole) -> None:
    """FM-20: what is shown is what the server has."""
    gate = Gate()
    made = Call("Write", {"file_path": str(web.work / "made.txt"), "content": "made"})
    word = web.play("change", Step(blocks=[made], gate=gate), Step(blocks=[Say("Done.")]))
    session = await web.launch(f"begin {word}")
    await gate.reached()
    page = await web.open(f"/session/{session}")
    await page.get_by_role("button", name="Model: sonnet").click()
    await page.get_by_role("menuitemradio", name="haiku").click()
    await expect(page.get_by_role("button", name="Model: haiku")).to_be_visible()
    await page.keyboard.press("Alt+a")
    await expect(page.get_by_role("button", name="Permission: Accept edits")).to_be_visible()
    await page.get_by_role("button", name="Workflow: Chat").click()
    await expect(page.get_by_role("menu")).to_contain_text("Stop the agent to change the workflow.")
    await page.keyboard.press("Escape")
    gate.open()
    await web.server.until_status(session, "completed")
    assert (web.work / "made.txt").read_text(encoding="utf-8") == "made", "nobody was asked"
    assert "haiku" in web.model.requests[-1].body["model"]
    await page.get_by_role("button", name="Workflow: Chat").click()
    await page.get_by_role("menuitemradio", name="Research").click()
    await expect(page.get_by_role("button", name="Workflow: Research")).to_be_visible()
    await expect(page.get_by_role("button", name="Permission: Ask")).to_be_visible()


@pytest.mark.parametrize("hours", [3, -3])
async def test_a_browser_with_a_wrong_clock_shows_the_bypass_the_server_has(web: WebConsole, hours: int) -> None:
    gate = Gate()
    word = web.play("works", Step(blocks=[Say("Done.")], gate=gate))
    config = {"permission_mode": "bypassPermissions", "bypass_minutes": 30}
    session = await web.launch(f"begin {word}", **config)
    await gate.reached()
    device = await web.device()
    now = f"{{ const now = Date.now; Date.now = () => now() + {hours * 3_600_000}; }}"
    await device.context.add_init_script(now)
    page = await device.open(f"/session/{session}")
    await expect(page.get_by_test_id("bypass-frame")).to_be_attached()
    await expect(page.get_by_role("button", name=re.compile(r"Bypass (29|30):\d\d End"))).to_be_visible()
    gate.open()


async def test_a_bypass_asks_first_shows_its_end_and_is_over_in_time(web: WebConsole) -> None:
    session = await idle(web)
    page = await web.open(f"/session/{session}")
    frame = page.get_by_test_id("bypass-frame")
    await expect(message(page)).to_be_enabled()
    await page.keyboard.press("Alt+y")
    dialog = page.get_by_role("dialog", name="Bypass permissions in this session")
    await dialog.get_by_role("radio", name="5 minutes", exact=True).check()
    await expect(frame).to_have_count(0)
    await dialog.get_by_role("button", name="Bypass for 5 minutes").click()
    await expect(frame).to_be_visible()
    header = page.get_by_role("region", name="Session")
    out = header.get_by_role("button", name=re.compile(r"Bypass [45]:\d\d End"))
    await expect(out).to_be_visible()
    assert web.server.view(session).config.bypass_until == pytest.approx(time.time() + 300, abs=60)
    await out.click()
    await expect(frame).to_have_count(0)
    assert web.server.view(session).permission_mode == "default"
    bypass = {"permission_mode": "bypassPermissions", "bypass_minutes": 5}
    other = await web.launch(f"hi {web.play('other', Step(blocks=[Say('Hi.')]))}", **bypass)
    await page.goto(f"{web.url}/session/{other}")
    await expect(frame).to_be_visible()
    await web.server.ask("PATCH", f"/api/v1/sessions/{other}", {**bypass, "bypass_minutes": 0.01})
    await expect(frame).to_have_count(0)
    await expect(page.get_by_role("button", name="Permission: Ask")).to_be_visible()


async def test_the_head_says_where_and_how_and_is_renamed_in_place(web: WebConsole) -> None:
    big = Step(blocks=[Say("Full.")], usage=Counts(input=120_000, output=0))
    session = await web.launch(
        f"fill {web.play('fill', big)}", worktree=False, title="<b>cart</b>", model="claude-haiku-4-5"
    )
    await web.server.until_status(session, "completed")
    page = await web.open(f"/session/{session}")
    header = page.get_by_role("region", name="Session")
    await expect(header).to_contain_text("work")
    await expect(header).to_contain_text("Chat")
    await expect(header).to_contain_text("haiku")
    await expect(header).to_contain_text("Ask")
    await expect(header).to_contain_text("60% ctx")
    badge = page.get_by_test_id("token-badge")
    await expect(badge).to_have_text("Approaching context limit (60%)60% 120,000 / 200,000")
    await expect(badge).to_have_attribute("data-variant", "warning")
    await expect(badge).to_have_attribute("title", "Approaching context limit (60%)")
    await header.get_by_role("button", name="Rename: <b>cart</b>").click()
    name = page.get_by_label("Session title")
    await name.fill("A cart that adds up")
    await name.press("Enter")
    await expect(header.get_by_role("heading")).to_have_text("A cart that adds up")
    await web.server.until(session, lambda view: view.title == "A cart that adds up")
    await header.get_by_role("button", name="Session menu").click()
    async with page.expect_download() as download:
        await page.get_by_role("menuitem", name="Export as Markdown").click()
    assert (await download.value).suggested_filename.endswith(".md")
    await header.get_by_role("button", name="Session menu").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    await expect(page).to_have_url(f"{web.url}/")


async def test_on_a_phone_where_and_how_are_still_in_view(web: WebConsole) -> None:
    session, gate = await at_work(web, "phone", worktree=False)
    phone = await web.phone(theme="light")
    page = await phone.open(f"/session/{session}")
    header = page.get_by_role("region", name="Session")
    for words in ("work", "Chat", "Ask"):
        await expect(header.get_by_text(words, exact=True).locator("visible=true").first).to_be_in_viewport()
    box = await header.bounding_box()
    assert box is not None
    assert box["height"] <= 80, "two lines at most"
    assert await page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert await phone.axe(within="main") == []
    gate.open()


async def test_a_context_that_grows_full_is_told_of_at_each_mark(web: WebConsole) -> None:
    """S000-67: in passing at 60 %, as a warning that stays at 90 %."""
    session = await idle(web, model="claude-haiku-4-5")
    page = await web.open(f"/session/{session}")
    await expect(message(page)).to_be_enabled()
    for name, tokens in (("half", 125_000), ("full", 185_000)):
        word = web.play(name, Step(blocks=[Say("Hello.")], usage=Counts(cache_read=tokens)))
        await message(page).fill(f"go {word}")
        await message(page).press("Enter")
        mark = "Approaching context limit (60%)" if name == "half" else "Context nearly full (90%)"
        toasts = page.get_by_role("status" if name == "half" else "alert")
        await expect(toasts.filter(has_text=mark).first).to_be_visible()
