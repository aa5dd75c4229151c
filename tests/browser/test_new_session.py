"""Beginning a session: directory, prompt, how it works, what is wrong with it; on a desktop and on a phone."""

import base64
import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.kit import PHONE, WebConsole
from tests.browser.steps import completed_session, init_repository, is_live, open_page, returning_user
from tests.modelserver.script import Say, Step

PICTURE = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d4944415478da63fcffff3f0300050001ff5cc8a3320000000049454e44ae426082"
    )
).decode()
PASTE = """([field, data]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], "broken cart.png", { type: "image/png" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(autouse=True)
def in_repository(web: WebConsole) -> None:
    init_repository(web)


def directory(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Directory")


async def choose_directory(page: Page, path: Path | str) -> None:
    await expect(directory(page)).not_to_have_value("")  # the default has come, and does not come between
    await directory(page).fill(str(path))


def prompt(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Prompt")


def start(page: Page) -> Locator:
    return page.get_by_role("button", name="Start", exact=True)


async def choose(page: Page, what: str, option: str) -> None:
    await page.get_by_role("button", name=f"{what}: ").click()
    await page.get_by_role("menuitemradio", name=re.compile(f"^{re.escape(option)}")).click()


async def launched(web: WebConsole, page: Page) -> str:
    """The id of the session the page has gone to."""
    await page.wait_for_url("**/session/*")
    return page.url.rpartition("/")[2]


@pytest.mark.parametrize("size", [(1440, 900), PHONE], ids=["desktop", "phone"])
async def test_what_is_filled_in_is_what_is_started_and_the_new_session_is_selected(
    web: WebConsole, size: tuple[int, int]
) -> None:
    """S000-62, S000-64."""
    word = web.play("greeting", Step(blocks=[Say("Good morning.")]))
    page = await open_page(web, size=size, touch=size == PHONE)
    if size == PHONE:
        await page.get_by_role("link", name="New", exact=True).tap()
    else:
        await page.keyboard.press("c")
    await expect(page).to_have_url(f"{web.url}/new")
    await choose_directory(page, web.work)
    await prompt(page).fill(f"greet me {word}")
    await choose(page, "Workflow", "Research")
    await expect(page.get_by_text("Nothing is changed and nothing is judged")).to_be_visible()
    await choose(page, "Permissions", "Deny instead of asking")
    await page.get_by_role("combobox", name="Model").fill("haiku")
    await page.keyboard.press("Escape")
    if size == PHONE:
        await page.get_by_role("button", name="More options").tap()
    await page.get_by_role("textbox", name="Max steps").fill("7")
    await page.get_by_role("textbox", name="Max budget (USD)").fill("1.50")
    assert await web.axe() == []
    await start(page).click()
    session = await launched(web, page)
    view = await web.server.until_status(session, "completed")
    assert (view.cwd, view.first_prompt) == (str(web.work), f"greet me {word}")
    config = view.config
    assert (config.workflow, config.permission_mode, config.model) == ("research", "dontAsk", "haiku")
    assert (config.max_turns, config.max_budget_usd, config.engine) == (7, 1.5, "native")
    await expect(page.get_by_text("Good morning.").first).to_be_visible()
    if size != PHONE:
        await expect(page.locator("[aria-current=page]").filter(has_text="greet me")).to_be_visible()
    # The words are gone from the form, the choices stay for the next one.
    await page.goto(f"{web.url}/new")
    await expect(prompt(page)).to_have_value("")
    await expect(directory(page)).to_have_value(str(web.work))
    await expect(page.get_by_role("button", name="Workflow: Research")).to_be_visible()
    if size == PHONE:
        assert await page.evaluate("() => document.documentElement.scrollWidth") == 390


async def test_a_hundred_turns_unless_told_otherwise_and_one_session_for_one_press(web: WebConsole) -> None:
    """S000-62; FM-7."""
    page = await open_page(web, "/new")
    await choose_directory(page, web.work)
    await page.get_by_role("combobox", name="Model").fill("demo")
    await prompt(page).fill("hello")
    await page.keyboard.press("Control+Enter")
    await page.keyboard.press("Control+Enter")
    session = await launched(web, page)
    view = await web.server.until_status(session, "completed")
    assert view.config.max_turns == 100
    assert len((await web.server.get("/api/v1/sessions")).json["sessions"]) == 1


async def test_directories_are_proposed_recent_ones_first(web: WebConsole) -> None:
    for name in ("shop", "shop-api", "docs"):
        (web.folder / "home" / name).mkdir(parents=True)
    await completed_session(web, "earlier", cwd=str(web.folder / "home" / "docs"))
    page = await open_page(web, "/new")
    await expect(directory(page)).to_have_value(str(web.folder / "home" / "docs"))
    await expect(prompt(page)).to_be_focused()
    web.expect(r"404 .*cwd=[^&]*home%2Fsh[&:]")  # asked about if it stands there for long
    await directory(page).fill(str(web.folder / "home" / "sh"))
    options = page.get_by_role("listbox", name="Directories").get_by_role("option")
    await expect(options).to_have_count(2)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Tab")
    await expect(directory(page)).to_have_value(str(web.folder / "home" / "shop-api"))
    await directory(page).fill("")
    await expect(options.first).to_contain_text(str(web.folder / "home" / "docs"))


async def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_lost(web: WebConsole) -> None:
    page = await open_page(web, "/new")
    await choose_directory(page, "")
    await start(page).click()
    await expect(directory(page)).to_have_accessible_description("Choose a directory.")
    await expect(prompt(page)).to_have_accessible_description("Enter a task.")
    await prompt(page).fill("do it")
    await expect(prompt(page)).to_have_accessible_description("")
    web.expect("404|403|422|409")
    await directory(page).fill(str(web.folder / "nowhere"))
    await start(page).click()
    await expect(directory(page)).to_have_accessible_description(re.compile("^There is no directory"))
    await directory(page).fill("/etc")
    await start(page).click()
    await expect(directory(page)).to_have_attribute("aria-invalid", "true")
    await directory(page).fill(str(web.folder))
    await page.get_by_role("switch", name="Use a separate worktree").click()
    await page.get_by_role("textbox", name="Branch").fill("feat/cart")
    await start(page).click()
    await expect(page.get_by_role("textbox", name="Branch")).to_have_attribute("aria-invalid", "true")
    await expect(prompt(page)).to_have_value("do it")
    assert page.url == f"{web.url}/new"
    assert (await web.server.get("/api/v1/sessions")).json["sessions"] == []


async def test_a_work_tree_of_its_own(web: WebConsole) -> None:
    subprocess.run(
        [
            "git",
            "-C",
            str(web.work),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
        check=True,
    )
    page = await open_page(web, f"/new?cwd={web.work}")
    await page.get_by_role("combobox", name="Model").fill("demo")
    await prompt(page).fill("hello")
    await page.get_by_role("switch", name="Use a separate worktree").click()
    await page.get_by_role("textbox", name="Branch").fill("feat/cart")
    await page.keyboard.press("Control+Enter")
    session = await launched(web, page)
    view = await web.server.until_status(session, "completed")
    assert view.config.branch == "feat/cart"
    assert view.config.worktree == view.cwd != str(web.work)
    assert view.config.project == str(web.work)


async def test_a_draft_with_its_choices_survives_a_reload(web: WebConsole) -> None:
    page = await open_page(web, "/new")
    await choose_directory(page, web.work)
    long = "a long thought " * 2000
    await prompt(page).fill(long)
    await choose(page, "Workflow", "Implement")
    await page.get_by_role("textbox", name="Max steps").fill("12")
    await page.reload()
    await is_live(page)
    await expect(prompt(page)).to_have_value(long)
    await expect(directory(page)).to_have_value(str(web.work))
    await expect(page.get_by_role("button", name="Workflow: Implement")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Max steps")).to_have_value("12")


async def test_commands_the_engine_would_know_are_proposed(web: WebConsole) -> None:
    commands = web.folder / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text("---\ndescription: Look at the changes\n---\nReview $ARGUMENTS\n")
    device = await returning_user(await web.device())
    await device.context.add_init_script(
        """try { localStorage.setItem("bobstay.new", '{"state":{"engine":"claude"},"version":0}') } catch {}"""
    )
    page = await device.open(f"/new?cwd={web.work}")
    await is_live(page)
    await prompt(page).click()
    await page.keyboard.type("/rev")
    proposals = page.get_by_role("listbox", name="Commands").get_by_role("option")
    await expect(proposals.first).to_contain_text("/review")
    await expect(proposals.first).to_contain_text("Look at the changes")
    await page.keyboard.press("Enter")
    await expect(prompt(page)).to_have_value("/review ")
    await expect(proposals).to_have_count(0)


async def test_files_of_the_directory_are_proposed_after_a_sign(web: WebConsole) -> None:
    (web.work / "cart.py").write_text("")
    (web.work / "catalogue.md").write_text("")
    device = await returning_user(await web.device())
    page = await device.open(f"/new?cwd={web.work}")
    await is_live(page)
    await prompt(page).click()
    await page.keyboard.type("Look at @car")
    proposals = page.get_by_role("listbox", name="Files").get_by_role("option")
    await expect(proposals).to_have_text(["cart.py"])
    await page.keyboard.press("Tab")
    await expect(prompt(page)).to_have_value("Look at @cart.py ")


async def test_pasted_pictures_go_along(web: WebConsole) -> None:
    page = await open_page(web, f"/new?cwd={web.work}")
    await prompt(page).fill("look at this")
    for _ in range(2):
        await page.evaluate(PASTE, [await prompt(page).element_handle(), PICTURE])
    strip = page.get_by_role("list", name="Images")
    await expect(strip.get_by_role("listitem")).to_have_count(2)
    await strip.get_by_role("button", name="Remove broken cart.png").first.click()
    await page.get_by_role("combobox", name="Model").fill("demo")
    await page.keyboard.press("Control+Enter")
    session = await launched(web, page)
    await web.server.until_status(session, "completed")
    events = [entry["event"] for entry in (await web.server.get(f"/api/v1/sessions/{session}/events")).json["events"]]
    prompted = next(event for event in events if event["type"] == "prompted" and "origin" not in event)
    assert [block["type"] for block in prompted["blocks"]].count("image") == 1


async def test_what_a_directory_would_run_is_listed_until_somebody_trusts_it(web: WebConsole) -> None:
    settings = web.work / ".bobstay"
    settings.mkdir()
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}
    (settings / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    guest = await open_page(web, f"/new?cwd={web.work}", scopes=("read", "operate"), who="ada")
    await expect(guest.get_by_role("region", name="Trust")).to_contain_text("An administrator")
    page = await open_page(web, f"/new?cwd={web.work}")
    note = page.get_by_role("region", name="Trust")
    await expect(note).to_contain_text(".bobstay/settings.json")
    await note.get_by_role("button", name="Trust this directory").click()
    await expect(note).to_have_count(0)
    (settings / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook, hook]}}))
    await page.reload()
    await expect(note).to_contain_text("has changed since it was trusted")


async def test_bypassing_asks_first_and_a_no_starts_nothing(web: WebConsole) -> None:
    page = await open_page(web, f"/new?cwd={web.work}")
    await page.get_by_role("combobox", name="Model").fill("demo")
    await prompt(page).fill("hello")
    await choose(page, "Permissions", "Bypass")
    await start(page).click()
    question = page.get_by_role("alertdialog")
    await expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(question).to_have_count(0)
    assert page.url.startswith(f"{web.url}/new")
    await start(page).click()
    await question.get_by_role("button", name="Start with bypass").click()
    view = web.server.view(await launched(web, page))
    assert view.config.permission_mode == "bypassPermissions"
    assert view.config.bypass_until > 0


async def test_who_may_only_look_is_told_so(web: WebConsole) -> None:
    page = await open_page(web, "/new", scopes=("read",), who="ada")
    await expect(page.get_by_text("You cannot start sessions")).to_be_visible()


async def test_what_an_earlier_session_left_is_handed_over(web: WebConsole, tmp_path: Path) -> None:
    word = web.play("research", Step(blocks=[Say("# Findings\n\nThe cart is a list under a lock.")]))
    earlier = await web.launch(f"look {word}", workflow="research", title="look at the cart")
    await web.server.until_status(earlier, "completed")
    left = (await web.server.get(f"/api/v1/sessions/{earlier}/artifacts")).json["artifacts"]
    assert left
    page = await open_page(web, f"/new?cwd={web.work}&from={earlier}")
    await expect(page.get_by_role("group", name="Handed over from look at the cart")).to_be_visible()
    again = web.play("again", Step(blocks=[Say("Thank you.")]))
    await prompt(page).fill(f"go on {again}")
    await page.keyboard.press("Control+Enter")
    session = await launched(web, page)
    await web.server.until_status(session, "completed")
    asked = web.model.requests[-1]
    assert "The cart is a list under a lock." in json.dumps(asked.body)
