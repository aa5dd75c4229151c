"""Whose changes are shown, how they are reviewed, what was rejected and can be had back; and what is unread."""

from playwright.async_api import Page, expect

from tests.browser.kit import WebConsole
from tests.browser.steps import open_page, running_session, session_link, session_list
from tests.browser.test_panels import file_of, git, panel, project
from tests.modelserver.script import Call, Say, Step


async def wrote(web: WebConsole, title: str, *names: str) -> str:
    """A session that wrote these files."""
    calls = [Step(blocks=[Call("Write", {"file_path": name, "content": f"by {title}\n"})]) for name in names]
    word = web.play(f"writes-{title}", *calls, Step(blocks=[Say("Written.")]))
    begun = await web.launch(f"write {word}", permission_mode="acceptEdits", title=title)
    await web.server.until_status(begun, "completed")
    return begun


async def choose(page: Page, scope: str) -> None:
    await page.get_by_role("button", name="Show changes of: ").click()
    await page.get_by_role("menuitemradio", name=scope).click()


async def test_a_session_shows_its_own_changes_and_others_only_on_request(web: WebConsole) -> None:
    project(web)
    await wrote(web, "first", "a.md")
    second = await wrote(web, "second", "docs/b.md")
    asked = await web.launch("hello", model="demo", title="only asked")
    await web.server.until_status(asked, "completed")
    page = await web.open(f"/session/{asked}")
    await expect(panel(page).get_by_text("No changes by this session")).to_be_visible()
    await expect(panel(page).get_by_text("2 other files differ in this directory.")).to_be_visible()
    await page.goto(f"{web.url}/session/{second}")
    heads = page.locator("[data-file-head]")
    await expect(heads).to_have_count(1)
    await expect(heads).to_contain_text("b.md")
    await choose(page, "Everything in the directory")
    await expect(heads).to_have_count(2)
    await expect(page.get_by_title("Lines added and removed")).to_have_text("+1")
    await choose(page, "This turn")
    await expect(heads).to_have_count(1)
    assert await web.axe(within="aside") == []


async def test_what_was_rejected_comes_back_by_undo(web: WebConsole) -> None:
    project(web)
    cart = web.work / "src/cart.py"
    changed = cart.read_text().replace("line 7\n", "line seven\n")
    cart.write_text(changed)
    page = await open_page(web, f"/session/{await web.launch()}")
    await page.get_by_role("button", name="Reject", exact=True).click()
    await expect(page.get_by_text("Reverted 1 change in src/cart.py")).to_be_visible()
    assert cart.read_text() != changed
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Restored src/cart.py")).to_be_visible()
    await expect(panel(page).get_by_text("line seven")).to_be_visible()
    assert cart.read_text() == changed


async def test_a_new_file_is_rejected_by_deleting_it_and_that_can_be_undone(web: WebConsole) -> None:
    project(web)
    new = web.work / "new.md"
    new.write_text("new words\n")
    page = await open_page(web, f"/session/{await web.launch()}")
    await page.get_by_role("button", name="Reject", exact=True).click()
    await expect(page.get_by_text("Deleted new.md")).to_be_visible()
    assert not new.exists()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Restored new.md")).to_be_visible()
    await expect(page.locator("[data-file-head]")).to_have_count(1)
    assert new.read_text() == "new words\n"


async def test_files_are_worked_through_by_one_key_and_the_count_stays(web: WebConsole) -> None:
    project(web)
    for name in ("z.md", "docs/a.md", "docs/b.md"):
        (web.work / name).parent.mkdir(exist_ok=True)
        (web.work / name).write_text("text\n")
    page = await open_page(web, f"/session/{await web.launch()}")
    heads = page.locator("[data-file-head]")
    await expect(heads).to_have_count(3)
    await heads.first.focus()
    await page.keyboard.press("n")
    await expect(panel(page).get_by_text("1 of 3 reviewed")).to_be_visible()
    await expect(heads.nth(1)).to_be_focused()
    await expect(page.get_by_role("checkbox", name="Reviewed docs/a.md")).to_be_checked()
    await file_of(page, "z.md").get_by_role("button", name="Accept", exact=True).click()
    await expect(panel(page).get_by_text("2 of 3 reviewed")).to_be_visible()
    await page.reload()
    await expect(panel(page).get_by_text("2 of 3 reviewed")).to_be_visible()
    (web.work / "docs/a.md").write_text("other text\n")
    await expect(panel(page).get_by_text("1 of 3 reviewed")).to_be_visible()


async def test_what_finished_since_one_looked_is_marked_and_read_by_looking(web: WebConsole) -> None:
    git(web.work, "init", "-q")
    begun, gate = await running_session(web, "builds the image")
    page = await open_page(web)
    await expect(session_link(page, "builds the image")).to_be_visible()
    await expect(session_list(page).get_by_text("Unread")).to_have_count(0)
    gate.open()
    await web.server.until_status(begun, "completed")
    await expect(session_link(page, "builds the image").get_by_text("Unread")).to_have_count(1)
    await page.reload()
    await session_link(page, "builds the image").click()
    await expect(page).to_have_title("builds the image · bobstay")
    await expect(session_list(page).get_by_text("Unread")).to_have_count(0)
    await page.get_by_role("link", name="bobstay", exact=True).click()
    await page.reload()
    await expect(session_link(page, "builds the image")).to_be_visible()
    await expect(session_list(page).get_by_text("Unread")).to_have_count(0)


async def test_a_directory_where_another_session_works_is_told_with_a_way_out(web: WebConsole) -> None:
    project(web)
    _, gate = await running_session(web, "builds the image")
    page = await open_page(web, f"/new?cwd={web.work}")
    note = page.get_by_role("region", name="Busy directory")
    await expect(note).to_contain_text("builds the image")
    await note.get_by_role("button", name="Use a separate worktree").click()
    await expect(page.get_by_role("switch", name="Use a separate worktree")).to_be_checked()
    await expect(note).to_have_count(0)
    gate.open()


async def test_a_plain_repository_gives_no_warning_about_trust(web: WebConsole) -> None:
    project(web)
    page = await open_page(web, f"/new?cwd={web.work}")
    async with page.expect_response("**/api/v1/trust?*"):
        await page.reload()
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_visible()
    await expect(page.get_by_role("region", name="Trust")).to_have_count(0)
    git(web.work, "config", "alias.st", "!evil")
    await page.reload()
    await expect(page.get_by_role("region", name="Trust")).to_contain_text(".git/config")
