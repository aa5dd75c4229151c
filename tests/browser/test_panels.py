"""What stands beside a session: changes, files, terminals, tasks, context and the raw log, each by real clicks."""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.kit import PHONE, WebConsole
from tests.browser.steps import open_page
from tests.browser.written_log import WrittenLog
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step

CART = "".join(f"line {number}\n" for number in range(1, 41))


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def project(web: WebConsole) -> None:
    """A repository with one commit, and with some that changed since."""
    folder = web.work
    (folder / "src").mkdir()
    (folder / "src/cart.py").write_text(CART)
    (folder / "old.md").write_text("# Words\n" * 5)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")


async def session(web: WebConsole, **config: Any) -> str:
    if not (web.work / ".git").exists():
        project(web)
    word = web.play("hello", Step(blocks=[Say("Hello.")]))
    begun = await web.launch(f"hello {word}", title="a session", **config)
    await web.server.until_status(begun, "completed")
    return begun


async def to_panel(page: Page, key: str) -> None:
    await expect(page.get_by_role("tablist", name="Panels")).to_be_visible()
    await page.keyboard.press(key)


def panel(page: Page) -> Locator:
    return page.get_by_role("tabpanel").first


def file_of(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


async def heads(page: Page) -> list[str]:
    """What the closed lines of changed files say."""
    return [" ".join(text.split()) for text in await page.locator("[data-file-head]").all_inner_texts()]


async def test_changes_are_listed_as_they_happen_and_each_kind_of_file_has_its_line(web: WebConsole) -> None:
    """FM-49: names are only text. The list grows without a reload."""
    project(web)
    (web.work / "src/cart.py").write_text(CART.replace("line 7\n", "line seven\n"))
    git(web.work, "mv", "old.md", "new.md")
    (web.work / "run.sh").chmod(0o755)
    (web.work / "<img src=x onerror=alert(1)>.txt").write_text("hello\n")
    (web.work / "blob.bin").write_bytes(bytes(range(256)))
    page = await open_page(web, f"/session/{await session(web)}")
    await expect(page.locator("[data-file-head]")).to_have_count(5)
    found = await heads(page)
    assert any("M" in line and "cart.py" in line and "+1 \u22121" in line for line in found), found
    assert any("<img src=x onerror=alert(1)>.txt" in line for line in found)
    assert any("blob.bin" in line and "binary" in line for line in found)
    await expect(page.get_by_text("5 files")).to_be_visible()

    await page.get_by_role("button", name="run.sh").first.click()
    await expect(panel(page).get_by_text("now executable")).to_be_visible()
    await page.get_by_role("button", name="new.md").first.click()
    await expect(file_of(page, "new.md").get_by_text("Was")).to_be_visible()

    (web.work / "later.txt").write_text("one\ntwo\n")
    await expect(page.get_by_role("button", name="later.txt").first).to_be_visible()
    await expect(page.get_by_text("6 files")).to_be_visible()
    assert await web.axe(within="aside") == []


async def test_lines_are_commented_on_and_all_comments_are_sent_as_one_message(web: WebConsole) -> None:
    project(web)
    (web.work / "src/cart.py").write_text(CART.replace("line 7\n", "line seven\n"))
    word = web.play("fix", Step(blocks=[Say("Understood.")]))
    begun = await session(web)
    page = await open_page(web, f"/session/{begun}")
    await comment(page, "new line 7", f"Say it in words. {word}")
    await comment(page, "old line 7", "Why was this removed?")
    await expect(page.get_by_role("button", name="Send 2 comments")).to_be_visible()

    await page.reload()
    await page.get_by_role("button", name="2 comments", exact=True).click()
    tray = page.get_by_role("region", name="Comments")
    await tray.get_by_role("button", name="Edit comment").first.click()
    await tray.get_by_label("Comment", exact=True).fill("Why is this gone?")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Send 2 comments").click()
    await expect(page.get_by_role("feed").get_by_text("src/cart.py:7").first).to_be_visible()
    await expect(tray).to_have_count(0)
    asked = (await web.server.get(f"/api/v1/sessions/{begun}/events?after=0&limit=500")).json["events"]
    said = [each["event"]["blocks"][0]["text"] for each in asked if each["event"]["type"] == "prompted"][-1]
    assert said == (
        "Comments on the changes:\n\n"
        "src/cart.py:7 (a line that was removed)\n> line 7\nWhy is this gone?\n\n"
        f"src/cart.py:7\n> line seven\nSay it in words. {word}"
    )


async def comment(page: Page, where: str, words: str) -> None:
    button = page.get_by_role("button", name=f"Comment on {where}")
    await button.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("textbox", name=f"Comment on {where}").fill(words)
    await page.keyboard.press("Enter")


async def test_a_hunk_is_accepted_and_another_taken_back(web: WebConsole) -> None:
    project(web)
    changed = CART.replace("line 7\n", "line seven\n").replace("line 30\n", "line thirty\n")
    (web.work / "src/cart.py").write_text(changed)
    page = await open_page(web, f"/session/{await session(web)}")
    await page.get_by_role("button", name="Accept").first.click()
    await expect(page.get_by_text("1 hunk accepted.")).to_be_visible()
    await expect(panel(page).get_by_text("line seven")).to_have_count(0)

    await page.get_by_role("button", name="Reject", exact=True).click()
    await expect(page.get_by_text("Reverted 1 change in src/cart.py")).to_be_visible()
    await expect(panel(page).get_by_text("line thirty")).to_have_count(0)
    assert (web.work / "src/cart.py").read_text() == CART.replace("line 7\n", "line seven\n")
    await panel(page).get_by_role("button", name="Show", exact=True).click()
    await expect(panel(page).get_by_text("line seven")).to_be_visible()


async def test_the_work_of_a_work_tree_is_committed_merged_back_and_cleared_away(web: WebConsole) -> None:
    project(web)
    word = web.play(
        "writes",
        Step(blocks=[Call("Write", {"file_path": "NOTES.md", "content": "# Notes\n"})]),
        Step(blocks=[Say("Written.")]),
    )
    begun = await web.launch(f"write {word}", worktree=True, permission_mode="acceptEdits", title="notes")
    await web.server.until_status(begun, "completed")
    page = await open_page(web, f"/session/{begun}")
    tree = page.get_by_role("region", name="Worktree")
    await expect(tree).to_contain_text("1 not committed")
    await tree.get_by_role("button", name="Commit").click()
    await tree.get_by_label("Commit message").fill("Add notes")
    await tree.get_by_role("button", name="Commit").last.click()
    await expect(tree.get_by_text("1 ahead")).to_have_count(1)

    await tree.get_by_role("button", name="Merge back").click()
    sheet = page.get_by_role("dialog", name="Merge back into main")
    await expect(sheet.get_by_role("region", name="Preview")).to_contain_text("NOTES.md")
    await sheet.get_by_role("button", name="Squash").click()
    await sheet.get_by_role("button", name="Merge", exact=True).last.click()
    await expect(sheet).to_have_count(0)
    assert (web.work / "NOTES.md").read_text() == "# Notes\n"

    await tree.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(tree).to_have_count(0)


async def test_files_are_found_by_keys_and_shown_as_what_they_are(web: WebConsole) -> None:
    """FM-51: a picture of the web is text here, and nothing in a file is run."""
    project(web)
    (web.work / "pic.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>\n')
    (web.work / "blob.bin").write_bytes(bytes(range(256)))
    begun = await session(web)
    page = await open_page(web, f"/session/{begun}")
    await to_panel(page, "2")
    tree = page.get_by_role("tree", name="Files")
    await expect(page.get_by_role("treeitem", name="src")).to_be_visible()
    await tree.focus()
    await page.keyboard.press("s")
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("treeitem", name="cart.py")).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Enter")
    await expect(panel(page).get_by_text("line 40", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Mention in message").click()
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("@src/cart.py ")

    await page.get_by_role("button", name="Back to files").click()
    await page.get_by_label("Find file").fill("psvg")
    await expect(page.get_by_role("option", name="pic.svg")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(panel(page).get_by_text("<script>alert(1)</script>")).to_be_visible()
    assert await panel(page).locator("img, iframe, object, embed").count() == 0

    await page.goto(f"{web.url}/session/{begun}?file=blob.bin")
    await expect(page.get_by_text("Not a text file")).to_be_visible()
    assert await web.axe(within="aside") == []


async def test_a_terminal_is_typed_into_left_and_found_again(web: WebConsole) -> None:
    """FM-52, S004-31: titles and the clipboard are not for programs; the page's own keys stay silent."""
    begun = await session(web)
    page = await open_page(web, f"/session/{begun}")
    await to_panel(page, "3")
    await page.get_by_role("button", name="Open terminal").click()
    screen = page.locator(".xterm-rows").first
    await expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    await page.keyboard.type("printf '\\033]0;evil\\007\\033]52;c;ZXZpbA==\\007'; echo $((40+2))c\n")
    await expect(screen).to_contain_text("42c")
    assert "evil" not in await page.title()
    await page.keyboard.type("c1g")
    assert page.url.endswith(f"/session/{begun}"), "the keys c, 1 and g did nothing but type"
    await expect(screen).to_contain_text("c1g")

    await page.keyboard.press("Shift+Escape")
    await expect(page.get_by_role("tab", name="Terminal 1")).to_be_focused()
    await page.reload()
    await expect(screen).to_contain_text("42c")
    await page.get_by_role("button", name="New terminal").click()
    await expect(page.get_by_role("tab", name="Terminal 2")).to_have_attribute("aria-selected", "true")
    await expect(page.locator(".xterm-helper-textarea").nth(1)).to_be_focused()
    await page.keyboard.type("exit 3\n")
    await expect(page.get_by_text("Exited with code 3.")).to_be_visible()
    await page.get_by_role("button", name="Close", exact=True).click()
    await page.get_by_role("tab", name="Terminal 1").press("Delete")
    await expect(page.get_by_text("No terminals")).to_be_visible()


async def test_a_device_that_may_not_use_terminals_is_told_so(web: WebConsole) -> None:
    page = await open_page(web, f"/session/{await session(web)}", scopes=("read", "operate", "approve"))
    await to_panel(page, "3")
    await expect(page.get_by_text("Terminals are not allowed on this device")).to_be_visible()


async def until_stored(web: WebConsole, session: str, titles: list[str]) -> None:
    """Wait until the tasks of people have this order on the server."""
    async with asyncio.timeout(DEADLINE):
        while True:
            tasks = (await web.server.get(f"/api/v1/sessions/{session}/tasks")).json["tasks"]
            mine = [task for task in tasks if task["source"] == "user"]
            if [task["title"] for task in sorted(mine, key=lambda task: task["sort_order"])] == titles:
                return
            await asyncio.sleep(0.02)


async def test_tasks_of_the_agent_come_by_themselves_and_those_of_people_are_theirs(web: WebConsole) -> None:
    """S002-3, S002-17: what the agent says is on the page without asking; and one can look where it has got to."""
    todos = [
        {"content": "Read the test", "status": "completed", "activeForm": "Reading"},
        {"content": "Take the lock", "status": "in_progress", "activeForm": "Taking the lock"},
    ]
    word = web.play("plans", Step(blocks=[Call("TodoWrite", {"todos": todos})]), Step(blocks=[Say("Planned.")]))
    begun = await session(web)
    page = await open_page(web, f"/session/{begun}")
    await to_panel(page, "4")
    await expect(page.get_by_text("No tasks yet")).to_be_visible()
    await web.server.post(f"/api/v1/sessions/{begun}/messages", {"content": f"plan {word}"})
    await expect(page.get_by_role("region", name="The agent's tasks")).to_contain_text("Taking the lock")

    yours = page.get_by_role("region", name="Your tasks").get_by_role("listitem")
    for title in ("First", "Second", "<b>Third</b>"):
        await page.get_by_label("New task").fill(title)
        await page.keyboard.press("Enter")
        await expect(yours.filter(has_text=title)).to_be_visible()
    await page.get_by_role("checkbox", name="Second").click()
    await expect(page.get_by_role("region", name="Your tasks")).to_contain_text("1 of 3")
    await page.get_by_role("button", name="First", exact=True).click()
    await page.get_by_label("Task name").fill("Zeroth")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Zeroth", exact=True).focus()
    await page.keyboard.press("Alt+ArrowDown")
    await expect(yours).to_have_text(["Second", "Zeroth", "<b>Third</b>"])
    await until_stored(web, begun, ["Second", "Zeroth", "<b>Third</b>"])  # shown before that
    await page.get_by_role("button", name="Delete Second").click()
    await expect(yours).to_have_count(2)
    await page.get_by_role("button", name="Undo").click()
    await expect(yours).to_have_text(["Second", "Zeroth", "<b>Third</b>"])
    assert await web.axe(within="aside") == []

    await to_panel(page, "6")
    listed = page.get_by_role("listbox").get_by_role("option").filter(has_text="tasks_replaced")
    await expect(listed).to_contain_text("1 of 2 done")
    await listed.click()
    entry = page.get_by_role("region", name="Log entry")
    await expect(entry).to_contain_text("Tasks panel:shown")
    await expect(entry).to_contain_text("Database:written, 2 rows")
    assert await web.axe(within="aside") == []


async def test_the_context_says_what_is_before_the_agent_and_who_decided(web: WebConsole) -> None:
    project(web)
    (web.work / "AGENTS.md").write_text("Be kind.\n")
    word = web.play("runs", Step(blocks=[Call("Bash", {"command": "touch asked"})]), Step(blocks=[Say("Done.")]))
    begun = await web.launch(f"run {word}", title="a session")
    await web.server.until_status(begun, "waiting_input")
    page = await open_page(web, f"/session/{begun}")
    await to_panel(page, "5")
    await expect(page.get_by_role("meter", name="Context used")).to_be_visible()
    await expect(page.get_by_role("region", name="Instructions")).to_contain_text("AGENTS.md")
    await page.get_by_role("button", name="Decisions").click()
    decisions = page.get_by_role("region", name="Decisions")
    await expect(decisions).to_contain_text("Waiting for you")
    asked = (await web.server.get("/api/v1/interactions")).json["interactions"][0]["summary"]
    verdict = {"decision": "deny", "reason": "Not now.", "input_sha256": asked["input_sha256"]}
    await web.server.post(f"/api/v1/interactions/{asked['id']}/decision", verdict)
    await expect(decisions).to_contain_text("Denied by ada")
    await expect(decisions).to_contain_text("Not now.")
    await expect(panel(page)).to_contain_text("Turns1Steps2 max 100 per turn")

    await page.get_by_role("button", name="Processes").click()
    workers = page.get_by_role("region", name="Processes")
    await workers.get_by_role("button", name="Stop").first.click()
    await expect(workers).to_contain_text("stopped")
    assert await web.axe(within="aside") == []


async def test_the_raw_log_is_shown_by_its_numbers_and_grows(web: WebConsole) -> None:
    """S002-17: what happened is seen as it was stored."""
    word = web.play("talks", Step(blocks=[Say("Good morning.")]))
    begun = await session(web)
    page = await open_page(web, f"/session/{begun}")
    await to_panel(page, "6")
    log = page.get_by_role("listbox", name="Log entries")
    await expect(log.get_by_role("option").filter(has_text="run_done")).to_be_visible()
    await web.server.post(f"/api/v1/sessions/{begun}/messages", {"content": f"hello {word}"})
    await page.get_by_label("Event type").select_option("run_done")
    await expect(log.get_by_role("option")).to_have_count(2)
    await log.get_by_role("option").last.click()
    entry = page.get_by_role("region", name="Log entry").locator("pre")
    assert json.loads(await entry.inner_text())["event"]["type"] == "run_done"
    await log.focus()
    await page.keyboard.press("ArrowUp")
    assert json.loads(await entry.inner_text())["event"]["type"] == "run_done"
    assert await web.axe(within="aside") == []


async def test_a_folder_of_many_files_is_walked_by_keys_with_only_the_rows_in_view_drawn(web: WebConsole) -> None:
    for number in range(500):
        (web.work / f"file-{number:03}.txt").touch()
    page = await open_page(web, f"/session/{await session(web)}")
    await to_panel(page, "2")
    rows = page.get_by_role("treeitem")
    await expect(rows.filter(has_text="file-000.txt")).to_be_visible()
    await page.get_by_role("tree", name="Files").focus()
    await page.keyboard.press("End")
    await expect(page.get_by_role("treeitem", name="src")).to_have_count(0)
    await expect(page.get_by_role("treeitem", name="run.sh")).to_be_in_viewport()
    assert await rows.count() < 100
    await page.keyboard.press("Home")
    await expect(rows.first).to_be_in_viewport()
    await expect(page.get_by_role("treeitem", name="run.sh")).to_have_count(0)


async def test_a_long_log_opens_at_its_end_and_stays_there_while_it_grows(web: WebConsole) -> None:
    project(web)
    written = WrittenLog(web.work, "long").prompt("hello")
    for number in range(400):
        written.say(f"sentence {number}")
    begun = written.end().save(web.folder / "bobstay")
    await web.restart()
    page = await open_page(web, f"/session/{begun}")
    await to_panel(page, "6")
    log = page.get_by_role("listbox", name="Log entries")
    rows = log.get_by_role("option")
    ended = rows.last.filter(has_text="run_done")
    await expect(ended).to_be_in_viewport()
    assert await rows.count() < 100
    await web.server.post(f"/api/v1/sessions/{begun}/messages", {"content": "again"})
    await expect(ended.filter(has_not_text=str(len(written.lines)))).to_be_in_viewport()
    await rows.last.click()
    await page.keyboard.press("ArrowUp")
    await expect(log.get_by_role("option", selected=True)).to_contain_text("message_done")
    await expect(log.get_by_role("option", selected=True)).to_be_in_viewport()


async def test_on_a_phone_the_panels_are_sheets(web: WebConsole) -> None:
    project(web)
    (web.work / "src/cart.py").write_text(CART.replace("line 7\n", "line seven\n"))
    page = await open_page(web, f"/session/{await session(web)}", size=PHONE, touch=True, theme="light")
    await page.get_by_role("button", name="Changes").click()
    sheet = page.get_by_role("dialog", name="Session panel")
    await expect(sheet.get_by_text("line seven")).to_be_visible()
    await sheet.get_by_role("tab", name="Tasks").click()
    field = sheet.get_by_label("New task")
    await field.fill("From the train")
    await sheet.get_by_role("button", name="Add").click()
    await expect(sheet.get_by_role("checkbox", name="From the train")).to_be_visible()
    assert await web.axe() == []
    small = await page.evaluate(
        """() => [...document.querySelectorAll("[role=dialog] button")].filter((each) => each.offsetParent)
            .map((each) => each.getBoundingClientRect()).filter((box) => box.height < 40).length"""
    )
    assert small == 0, "fingers need room"
    await sheet.get_by_role("button", name="Close").click()
    await expect(sheet).to_have_count(0)
    assert re.search(r"/session/[\w-]+$", page.url)
