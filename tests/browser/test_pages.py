"""The pages beside sessions: usage, search, settings and sessions side by side, each by real clicks."""

import re
import subprocess
from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser.kit import PHONE, WebConsole
from tests.browser.steps import open_page
from tests.modelserver.script import Call, Counts, Say, Step

COLUMN = re.compile(r"^Session \d of \d$")


def repository(folder: Path) -> None:
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.org"),
        ("commit", "-q", "--allow-empty", "-m", "first"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


async def session_saying(web: WebConsole, title: str, text: str, **config: object) -> str:
    """A session that ended with these words."""
    word = web.play(
        f"says-{len(web.model.scenarios)}",
        Step(blocks=[Say(text)], usage=Counts(input=1000, output=200, cache_read=3000)),
    )
    begun = await web.launch(f"{title} {word}", title=title, **config)
    await web.server.until_status(begun, "completed")
    return begun


async def test_usage_shows_costs_and_the_same_numbers_in_tables(web: WebConsole) -> None:
    page = await open_page(web, "/usage")
    await expect(page.get_by_text("No usage in the last 30 days")).to_be_visible()

    word = web.play(
        "runs",
        Step(blocks=[Call("Bash", {"command": "echo hello"})], usage=Counts(input=1000, output=200, cache_read=3000)),
        Step(blocks=[Say("Done.")], usage=Counts(input=1000, output=200, cache_read=3000)),
    )
    begun = await web.launch(f"run {word}", permission_mode="bypassPermissions")
    view = await web.server.until_status(begun, "completed")
    await page.reload()
    await expect(page.get_by_role("img", name=re.compile("^Cost by day, 30 days"))).to_be_visible()
    await expect(page.get_by_text("75%").first).to_be_visible()
    models = page.get_by_role("table", name="By model").get_by_role("row")
    await expect(models.nth(1)).to_contain_text("8,400")
    await expect(models.nth(1)).to_contain_text(f"${view.cost:.2f}" if view.cost >= 0.01 else f"${view.cost:.4f}")
    await expect(page.get_by_role("table", name="By project")).to_contain_text("work")
    await expect(page.get_by_role("table", name="By tool").get_by_role("row").nth(1)).to_contain_text("Bash")

    await page.get_by_role("button", name="7 days").click()
    await page.get_by_role("button", name="Tokens").click()
    await expect(page.get_by_role("img", name=re.compile("^Tokens by day, 7 days, 8.4k total"))).to_be_visible()
    await page.get_by_text("Numbers by day").click()
    days = page.get_by_role("table", name="Numbers by day").get_by_role("row")
    await expect(days).to_have_count(8)
    await expect(days.nth(1)).to_contain_text("6,000")
    assert await web.axe() == []


async def test_words_are_found_in_all_sessions_and_lead_to_their_place(web: WebConsole) -> None:
    repository(web.work)
    await session_saying(web, "fruit", "Pears are <b>green</b> and \u202eapples are not.")
    begun = await session_saying(web, "colours", "The wall is green too.")
    page = await open_page(web, "/search")
    await expect(page.get_by_text("Search all sessions")).to_be_visible()
    field = page.get_by_role("combobox", name="Search all sessions")
    await expect(field).to_be_focused()
    await field.fill("gree")
    places = page.get_by_role("list", name="Search results").get_by_role("listitem")
    await expect(places).to_have_count(2)
    await expect(places.nth(1)).to_contain_text("<b>green</b> and RLOapples")
    await expect(places.first.locator("mark").first).to_have_text("green")
    await page.get_by_label("In", exact=True).select_option("fruit")
    await expect(places).to_have_count(1)
    await page.get_by_label("In", exact=True).select_option("all sessions")
    await expect(places).to_have_count(2)
    assert await web.axe() == []

    await field.focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/session/{begun}\\?row="))
    await expect(page.get_by_role("feed").get_by_text("The wall is green too.")).to_be_visible()
    await page.go_back()
    await expect(field).to_have_value("gree")
    await field.fill("zebra")
    await expect(page.get_by_text("No results")).to_be_visible()


async def test_rules_are_explained_added_and_removed(web: WebConsole) -> None:
    repository(web.work)
    await session_saying(web, "begin", "Begun.")
    page = await open_page(web, "/settings/permissions")
    await expect(page.get_by_role("combobox", name="Directory")).to_have_value(str(web.work))
    await page.get_by_role("button", name="Trust this directory").click()
    await expect(page.get_by_text("This directory is trusted")).to_be_visible()
    await page.get_by_label("Rule", exact=True).fill("Bash(npm run test:*)")
    await expect(page.get_by_text("Allows commands that begin with “npm run test”.")).to_be_visible()
    await page.get_by_role("button", name="Add", exact=True).click()
    allowed = page.get_by_role("list", name="Always allow").get_by_role("listitem")
    await expect(allowed).to_contain_text("Bash(npm run test:*)")
    await expect(allowed).to_contain_text("settings.local.json")
    assert "npm run test" in (web.work / ".bobstay/settings.local.json").read_text()

    await page.get_by_label("Rule", exact=True).fill("Bash(")
    await page.get_by_role("button", name="Add", exact=True).click()
    web.expect("422")
    await expect(page.get_by_role("alert").get_by_role("button", name="Dismiss")).to_be_visible()
    await page.get_by_role("button", name="Remove Bash(npm run test:*)").click()
    await expect(allowed).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(allowed).to_have_count(1)


async def test_what_a_directory_brings_is_listed_and_trusted_by_hand(web: WebConsole) -> None:
    repository(web.work)
    (web.work / ".bobstay").mkdir()
    (web.work / ".bobstay/settings.json").write_text(
        '{"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "true <i>"}]}]}}'
    )
    await session_saying(web, "begin", "Begun.")
    page = await open_page(web, "/settings/hooks")
    hooks = page.get_by_role("list", name="Hooks").get_by_role("listitem")
    await expect(hooks).to_contain_text("true <i>")
    await expect(hooks).to_contain_text("not active")
    await page.get_by_role("button", name="Trust this directory").click()
    await expect(page.get_by_text("This directory is trusted")).to_be_visible()
    await expect(hooks).not_to_contain_text("not active")
    await page.get_by_role("link", name="Skills").click()
    await expect(page.get_by_role("region", name="Skills")).to_contain_text("SKILL.md")


async def test_a_key_is_changed_by_pressing_another(web: WebConsole) -> None:
    page = await open_page(web, "/settings/keys")
    await page.get_by_role("button", name="Key for New session: C").click()
    await page.keyboard.press("j")
    await expect(page.get_by_text("Also used for “Down”")).to_be_visible()
    await page.get_by_role("button", name="Key for New session: J").click()
    await page.keyboard.press("n")
    await expect(page.get_by_text("Also used for “Down”")).to_have_count(0)
    await page.get_by_role("heading", name="Keyboard shortcuts").click()
    await page.keyboard.press("n")
    await expect(page).to_have_url(f"{web.url}/new")
    await page.goto(f"{web.url}/settings/keys")
    await page.get_by_role("button", name="Reset key for New session").click()
    await expect(page.get_by_role("button", name="Key for New session: C")).to_be_visible()


async def test_another_device_is_let_in_and_shut_out_again(web: WebConsole) -> None:
    """FM-46: what is revoked is out at once."""
    page = await open_page(web, "/settings/devices")
    await page.get_by_label("Name", exact=True).fill("phone")
    await page.get_by_role("checkbox", name="operate").check()
    await page.get_by_role("button", name="Create code").click()
    link = await page.get_by_role("status").locator("code").inner_text()
    other = await web.device()
    other.expect("401")
    other.expect("403")
    theirs = await other.open(code=link.partition("#code=")[2])
    await expect(theirs.get_by_role("navigation", name="Sessions")).to_be_visible()

    await page.reload()
    devices = page.get_by_role("list", name="Devices").get_by_role("listitem")
    await expect(devices.filter(has_text="phone")).to_contain_text("read, operate, approve")
    await expect(devices.filter(has_text="this device")).to_have_count(1)
    await page.get_by_role("button", name="Revoke phone").click()
    await expect(devices.filter(has_text="phone")).to_have_count(0)
    await expect(theirs.get_by_role("textbox", name="Sign-in code")).to_be_visible()

    await page.get_by_role("link", name="Audit").click()
    await expect(page.get_by_role("table", name="Audit")).to_contain_text("auth.code_made")


async def test_somebody_is_added_to_the_team_and_signs_in(web: WebConsole) -> None:
    page = await open_page(web, "/settings/people")
    await page.get_by_label("Name").fill("ada")
    await page.get_by_label("Password", exact=True).fill("a long enough password")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("list", name="Team")).to_contain_text("ada")
    other = await web.device()
    other.expect("401")
    theirs = await other.open(code="")
    await theirs.get_by_text("Sign in with a name and a password").click()
    await theirs.get_by_label("Name").fill("ada")
    await theirs.get_by_label("Password").fill("a long enough password")
    await theirs.get_by_role("button", name="Sign in with password").click()
    await expect(theirs.get_by_role("navigation", name="Sessions")).to_be_visible()
    await theirs.goto(f"{web.url}/settings/audit")
    await expect(theirs.get_by_text("Only administrators can see the audit log.")).to_be_visible()


async def test_the_theme_is_chosen_and_remembered(web: WebConsole) -> None:
    page = await open_page(web, "/settings/appearance", theme="dark")
    await page.get_by_role("button", name="Light", exact=True).click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")
    await page.get_by_role("link", name="About").click()
    await expect(page.get_by_role("region", name="This server")).to_contain_text("Version")


async def test_one_prompt_runs_twice_and_what_came_of_it_stands_side_by_side(web: WebConsole) -> None:
    repository(web.work)
    word = web.play(
        "writes",
        Step(blocks=[Call("Write", {"file_path": "NOTES.md", "content": "# Notes\n"})]),
        Step(blocks=[Say("Written.")]),
    )
    await session_saying(web, "before", "Before.")
    page = await open_page(web, "/compare")
    await page.get_by_label("Prompt", exact=True).fill(f"Write notes. {word}")
    await expect(page.get_by_role("combobox", name="Directory")).to_have_value(str(web.work))
    await page.get_by_role("button", name="Model of session 2").click()
    await page.get_by_role("menuitemradio", name="haiku").click()
    await page.get_by_role("button", name="Run 2 sessions").click()
    await expect(page).to_have_url(re.compile(r"/compare\?ids=.+"))
    columns = page.get_by_role("region", name=COLUMN)
    await expect(columns).to_have_count(2)
    for number in range(2):
        await expect(columns.nth(number).get_by_text("Written.", exact=True)).to_be_visible()
    await expect(columns.nth(1)).to_contain_text("haiku")

    assert await web.axe() == []
    await page.get_by_role("button", name="Changes", exact=True).click()
    changed = page.get_by_role("table", name="Changed files").get_by_role("row")
    await expect(changed).to_have_count(1)
    await expect(changed.locator("td")).to_have_text(["U+1", "U+1"])
    await expect(page.get_by_role("figure", name="Changes in NOTES.md")).to_have_count(2)
    assert not (web.work / "NOTES.md").exists(), "each works in a tree of its own"
    assert await web.axe() == []


async def test_sessions_that_exist_are_picked_and_one_is_left_out_again(web: WebConsole) -> None:
    repository(web.work)
    for title in ("one", "two", "three"):
        await session_saying(web, title, f"I am {title}.")
    page = await open_page(web, "/compare")
    for title in ("one", "three"):
        await page.get_by_role("region", name="Choose sessions").get_by_text(title, exact=True).click()
    await page.get_by_role("button", name="Compare 2").click()
    await expect(page.get_by_text("I am one.")).to_be_visible()
    await expect(page.get_by_text("I am three.")).to_be_visible()
    await page.get_by_role("button", name="Remove one").click()
    await expect(page.get_by_role("region", name=COLUMN)).to_have_count(1)
    await page.reload()
    await expect(page.get_by_text("I am three.")).to_be_visible()


async def fits(page: Page) -> None:
    """Nothing makes a phone's page wider than the phone."""
    wide = await page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0


async def test_on_a_phone_the_same_pages_fit(web: WebConsole) -> None:
    await session_saying(web, "fruit", "Pears are green.")
    page = await open_page(web, "/usage", size=PHONE, touch=True, theme="light")
    await expect(page.get_by_role("table", name="By model")).to_be_visible()
    await fits(page)
    assert await web.axe() == []
    await page.goto(f"{web.url}/search?q=pears")
    await expect(page.get_by_role("list", name="Search results")).to_contain_text("Pears")
    await fits(page)
    for part in ("permissions", "keys", "devices", "people"):
        await page.goto(f"{web.url}/settings/{part}")
        await expect(page.get_by_role("region").first).to_be_visible()
        await fits(page)
    assert await web.axe() == []
