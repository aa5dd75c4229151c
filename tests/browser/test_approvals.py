"""Pending approvals: what is asked is seen in full, answered by hand or key, and the agent hears the answer."""

import asyncio
import json
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.kit import WebConsole
from tests.browser.steps import init_repository
from tests.kit.process_sessions import FAKE
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step

DONE = Step(blocks=[Say("All done.")])
PLAN = "# Overview\n\nMake the cart safe.\n\n1. Add a lock\n2. Run the tests\n"
FILE = "".join(f"line {number}\n" for number in range(1, 31))
QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "PostgreSQL", "description": "As in production"}, {"label": "SQLite"}],
    },
    {
        "question": "Which tests?",
        "options": [{"label": "Unit"}, {"label": "End to end"}, {"label": "None"}],
        "multiSelect": True,
    },
]


@pytest.fixture(autouse=True)
def in_repository(web: WebConsole) -> None:
    """Sessions work in a repository, as they mostly do."""
    init_repository(web)


async def asked(web: WebConsole, name: str, *calls: Call, **config: Any) -> str:
    """A session that waits for a person because of these calls."""
    word = web.play(name, Step(blocks=list(calls)), DONE)
    session = await web.launch(f"please {word}", **config)
    await web.server.until(session, lambda view: len(view.interactions) > 0)
    return session


def bash(command: str) -> Call:
    return Call("Bash", {"command": command})


def approvals(page: Page) -> Locator:
    return page.get_by_role("region", name="Needs you")


def button(page: Page, name: str) -> Locator:
    return approvals(page).get_by_role("button", name=name, exact=True)


def names(web: WebConsole) -> list[str]:
    return sorted(path.name for path in web.work.iterdir() if path.name != ".git")


async def answers_read(web: WebConsole, session: str) -> str:
    """The answers to its calls, as the model read them."""
    await web.server.until_status(session, "completed")
    read = [each for each in web.model.requests if each.step == 1]
    return json.dumps(read[-1].body["messages"][-1])


async def test_a_command_is_allowed_by_a_key_that_never_fires_while_typing(web: WebConsole) -> None:
    session = await asked(web, "touch", bash("touch made"))
    page = await web.open(f"/session/{session}")
    await expect(approvals(page)).to_contain_text("touch made")
    await expect(button(page, "Allow")).to_be_enabled()
    message = page.get_by_label("Message")
    await message.press_sequentially("ad a")
    await expect(message).to_have_value("ad a")
    assert web.server.view(session).status == "waiting_input"
    await message.press("Escape")
    await page.keyboard.press("a")
    await expect(approvals(page)).to_have_count(0)
    await web.server.until_status(session, "completed")
    assert (web.work / "made").exists()
    status = page.get_by_role("status", name="Session status")
    await expect(status).to_have_text("Completed. Send a message to continue.")


async def test_a_denial_and_its_reason_reach_the_model(web: WebConsole) -> None:
    session = await asked(web, "deny", bash("rm -rf build"))
    page = await web.open(f"/session/{session}")
    await button(page, "Deny with reason").click()
    why = page.get_by_label("Reason")
    await expect(why).to_be_focused()
    await why.fill("Keep the folder, it is needed.")
    await why.press("Enter")
    assert web.server.view(session).status == "waiting_input", "Enter in a text field decides nothing"
    await button(page, "Deny with this reason").click()
    assert "Keep the folder, it is needed." in await answers_read(web, session)
    other = await asked(web, "deny-by-key", bash("touch never"))
    await page.goto(f"{web.url}/session/{other}?ask={web.server.view(other).interactions[0].id}")
    await expect(approvals(page)).to_be_focused()
    await expect(button(page, "Deny")).to_be_enabled()
    await page.keyboard.press("d")
    assert "does not want Bash" in await answers_read(web, other)
    assert not (web.work / "never").exists()


async def test_what_runs_is_what_was_edited(web: WebConsole) -> None:
    session = await asked(web, "edit", bash("touch wrong"))
    page = await web.open(f"/session/{session}")
    await button(page, "Edit input").click()
    command = approvals(page).get_by_role("textbox", name="Command")
    await expect(command).to_have_value("touch wrong")
    await command.fill("")
    await expect(approvals(page).get_by_role("alert")).to_have_text("The command is empty.")
    await expect(button(page, "Allow edited input")).to_be_disabled()
    await command.fill("touch right")
    await button(page, "Allow edited input").click()
    await web.server.until_status(session, "completed")
    assert names(web) == ["right"]


async def test_always_says_what_it_stores_and_stores_that(web: WebConsole) -> None:
    trusted = await web.server.post("/api/v1/trust", {"cwd": str(web.work)})
    assert trusted.status == 200, trusted.text
    session = await asked(web, "always", bash("pytest --version"))
    page = await web.open(f"/session/{session}")
    await button(page, "Allow pytest … always").click()
    menu = page.get_by_role("menu", name="Allow pytest … always")
    await expect(menu).to_contain_text("Adds rule Bash(pytest:*)")
    await expect(menu.get_by_role("menuitem", name="In this project")).to_contain_text("until you remove it")
    await menu.get_by_role("menuitem", name="In this project").click()
    await web.server.until_status(session, "completed")
    rules = (await web.server.get(f"/api/v1/permission-rules?cwd={web.work}")).text
    assert "Bash(pytest:*)" in rules
    again = await web.launch(f"again {web.play('again', Step(blocks=[bash('pytest --help')]), DONE)}")
    await web.server.until_status(again, "completed")
    assert not web.server.view(again).interactions


async def test_a_long_command_must_have_been_on_the_screen_before_it_is_allowed(web: WebConsole) -> None:
    """FM-38, also for what a stream would cut short; hidden characters are shown by name."""
    command = "\n".join([*(f"echo {number} {'x' * 200}" for number in range(200)), "touch the\u200bend"])
    session = await asked(web, "long", bash(command))
    page = await web.open(f"/session/{session}")
    region = approvals(page).get_by_role("region", name="Proposed action")
    await expect(region).to_contain_text("echo 0 ")
    await expect(region).to_contain_text("echo 100 ")
    await expect(region).to_contain_text("echo 199 ")
    await expect(region.get_by_text("ZWSP")).to_have_count(1)
    await expect(button(page, "Deny")).to_be_enabled()
    await expect(button(page, "Allow")).to_be_disabled()
    await expect(approvals(page)).to_contain_text("Scroll to the end to enable Allow")
    await page.keyboard.press("a")
    await region.press("End")
    await expect(button(page, "Allow")).to_be_enabled()
    assert web.server.view(session).status == "waiting_input", "the key did nothing before"
    await page.keyboard.press("a")
    await web.server.until_status(session, "completed")


async def test_of_an_edit_some_changes_are_taken_and_others_left(web: WebConsole) -> None:
    (web.work / "notes.txt").write_text(FILE, encoding="utf-8")
    wanted = FILE.replace("line 2\n", "line two\n").replace("line 25\n", "")
    word = web.play(
        "hunks",
        Step(blocks=[Call("Read", {"file_path": str(web.work / "notes.txt")})]),
        Step(blocks=[Call("Write", {"file_path": str(web.work / "notes.txt"), "content": wanted})]),
        DONE,
    )
    session = await web.launch(f"please {word}")
    await web.server.until_status(session, "waiting_input")
    page = await web.open(f"/session/{session}")
    leave = approvals(page).get_by_role("button", name="Exclude")
    await expect(leave).to_have_count(2)
    await leave.nth(1).click()
    await expect(button(page, "Allow 1 of 2 changes")).to_be_enabled()
    await button(page, "Allow 1 of 2 changes").click()
    await web.server.until_status(session, "completed")
    assert (web.work / "notes.txt").read_text(encoding="utf-8") == FILE.replace("line 2\n", "line two\n")


async def test_questions_are_answered_one_after_the_other_by_numbers_and_words(web: WebConsole) -> None:
    session = await asked(web, "ask", Call("AskUserQuestion", {"questions": QUESTIONS}))
    page = await web.open(f"/session/{session}")
    await expect(approvals(page)).to_contain_text("Question 1 of 2")
    await expect(button(page, "Next question")).to_be_disabled()
    await page.keyboard.press("2")
    await expect(approvals(page).get_by_role("radio", name="SQLite")).to_be_checked()
    await expect(button(page, "Next question")).to_be_enabled()
    await page.keyboard.press("a")
    await expect(approvals(page)).to_contain_text("Which tests?")
    await page.keyboard.press("1")
    await page.keyboard.press("3")
    await page.keyboard.press("3")
    await expect(approvals(page).get_by_role("checkbox", name="Unit")).to_be_checked()
    await expect(approvals(page).get_by_role("checkbox", name="None")).not_to_be_checked()
    other = approvals(page).get_by_label("Other answer")
    await other.fill("and one with 2 carts")
    await other.press("Enter")
    await button(page, "Back").click()
    await expect(approvals(page).get_by_role("radio", name="SQLite")).to_be_checked()
    await button(page, "Next question").click()
    await button(page, "Answer").click()
    answer = await answers_read(web, session)
    assert "SQLite" in answer
    assert "Unit, and one with 2 carts" in answer


async def test_an_edit_is_asked_for_in_whole_lines_of_its_file(web: WebConsole) -> None:
    (web.work / "README.md").write_text("# shop\n\nSells things.\n\nRun it:\n")
    change = {"file_path": str(web.work / "README.md"), "old_string": "# ", "new_string": "# The "}
    read = Call("Read", {"file_path": change["file_path"]})
    word = web.play("edit", Step(blocks=[read]), Step(blocks=[Call("Edit", change)]), Step(blocks=[Say("Done.")]))
    session = await web.launch(f"edit {word}")
    await web.server.until_status(session, "waiting_input")
    page = await web.open(f"/session/{session}")
    for text in ("# shop", "# The shop", "Sells things."):
        await expect(approvals(page)).to_contain_text(text)
    await button(page, "Allow").click()
    await web.server.until_status(session, "completed")
    assert (web.work / "README.md").read_text().startswith("# The shop\n")


async def test_a_plan_is_read_and_approved_into_a_mode_with_a_comment(web: WebConsole) -> None:
    session = await asked(web, "plan", Call("ExitPlanMode", {"plan": PLAN}), permission_mode="plan")
    page = await web.open(f"/session/{session}")
    await expect(approvals(page).get_by_role("heading", name="Overview")).to_be_visible()
    await approvals(page).get_by_label("Comment on the plan").fill("Begin with the tests.")
    radios = approvals(page).get_by_role("radio")
    await expect(radios).to_have_count(3)
    for place, name in enumerate(("Accept edits", "Ask for each edit", "Deny instead of asking")):
        await expect(radios.nth(place)).to_have_accessible_name(name)
    await approvals(page).get_by_role("radio", name="Accept edits").check()
    await button(page, "Approve plan").click()
    view = await web.server.until(session, lambda view: view.status == "completed" and not view.queued)
    assert view.permission_mode == "acceptEdits"
    await expect(page.get_by_role("button", name="Permission: Accept edits")).to_be_visible()
    async with asyncio.timeout(DEADLINE):  # the comment may follow in a turn of its own
        while not any("Begin with the tests." in json.dumps(each.body) for each in web.model.requests):
            await asyncio.sleep(0.02)
    other = await asked(web, "replan", Call("ExitPlanMode", {"plan": PLAN}), permission_mode="plan")
    await page.goto(f"{web.url}/session/{other}")
    await approvals(page).get_by_label("Comment on the plan").fill("Leave the lock out.")
    await button(page, "Keep planning").click()
    assert "Leave the lock out." in await answers_read(web, other)
    assert web.server.view(other).permission_mode == "plan"


async def test_a_session_that_only_plans_says_so_instead_of_offering_modes(web: WebConsole) -> None:
    session = await asked(web, "plans", Call("ExitPlanMode", {"plan": PLAN}), workflow="plan")
    page = await web.open(f"/session/{session}")
    await expect(approvals(page)).to_contain_text("This session only plans.")
    await expect(approvals(page).get_by_role("radio")).to_have_count(0)
    await button(page, "Approve plan").click()
    await web.server.until_status(session, "completed")


async def test_what_is_answered_elsewhere_says_by_whom_and_goes(web: WebConsole) -> None:
    session = await asked(web, "elsewhere", bash("touch by-ada"))
    page = await web.open(f"/session/{session}")
    await expect(button(page, "Allow")).to_be_enabled()
    ada = await web.device(who="ada")
    hers = await ada.open(f"/session/{session}")
    await expect(button(hers, "Allow")).to_be_enabled()
    await hers.keyboard.press("a")
    await expect(page.get_by_text("Bash: allowed by ada.")).to_be_visible()
    await expect(approvals(page)).to_have_count(0)
    await expect(hers.get_by_text("allowed by")).to_have_count(0)
    other = await asked(web, "own", bash("touch by-me"))
    await page.goto(f"{web.url}/session/{other}")
    second = await web.open(f"/session/{other}")
    await expect(button(page, "Allow")).to_be_enabled()
    await button(second, "Deny").click()
    await expect(page.get_by_text("Bash: denied by you in another window.")).to_be_visible()


async def test_two_requests_are_gone_through_and_a_key_means_the_one_in_view(web: WebConsole) -> None:
    outside = [web.folder / name for name in ("first.txt", "second.txt")]
    for path in outside:
        path.write_text(f"words of {path.name}", encoding="utf-8")
    session = await asked(web, "two", *(Call("Read", {"file_path": str(path)}) for path in outside))
    await web.server.until(session, lambda view: len(view.interactions) == 2)
    page = await web.open(f"/session/{session}")
    await expect(approvals(page)).to_contain_text("1 of 2")
    await button(page, "Next request").click()
    await expect(approvals(page)).to_contain_text("second.txt")
    await expect(button(page, "Allow")).to_be_enabled()
    await page.keyboard.press("a")
    await expect(approvals(page)).to_contain_text("first.txt")
    await expect(button(page, "Deny")).to_be_enabled()
    await page.keyboard.press("d")
    answers = await answers_read(web, session)
    assert "words of second.txt" in answers
    assert "words of first.txt" not in answers


async def test_a_request_of_a_sub_agent_says_whose_it_is(web: WebConsole) -> None:
    """FM-37."""
    web.server.services.options.engines["fake"] = FAKE
    assert (await web.server.post("/api/v1/trust", {"cwd": str(web.work)})).status == 200
    session = await web.launch("ask agent", engine="fake")
    page = await web.open(f"/session/{session}")
    await expect(approvals(page)).to_contain_text("Run this command?")
    await expect(approvals(page)).to_contain_text("asked by reviewer")
    await button(page, "Allow").click()
    await web.server.until_status(session, "completed")


async def test_who_may_not_decide_reads_what_is_asked_and_why_not(web: WebConsole) -> None:
    session = await asked(web, "reader", bash("touch x"))
    device = await web.device(scopes=("read",), who="ada")
    page = await device.open(f"/session/{session}")
    await expect(approvals(page)).to_contain_text("touch x")
    await expect(approvals(page).get_by_role("note")).to_have_text("You can read this request, but not answer it.")
    await expect(approvals(page).get_by_role("button")).to_have_count(0)
    await expect(page.get_by_label("Message")).to_be_disabled()
    await page.keyboard.press("a")
    assert web.server.view(session).status == "waiting_input"


async def test_on_a_phone_the_dock_is_a_sheet_that_can_wait(web: WebConsole) -> None:
    session = await asked(web, "phone", bash("touch by-thumb"))
    phone = await web.phone()
    page = await phone.open(f"/session/{session}")
    allow = button(page, "Allow")
    await expect(allow).to_be_enabled()
    box = await allow.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert await phone.axe(within="section[aria-label='Needs you']") == []
    await button(page, "Hide").tap()
    await expect(allow).to_have_count(0)
    await page.get_by_role("textbox", name="Message").fill("and then stop")
    await page.get_by_role("button", name="Queue").tap(trial=True)  # fails while something lies over it
    await approvals(page).get_by_role("button", name="1 decision waiting").tap()
    await expect(allow).to_be_enabled()
    await allow.tap()
    await web.server.until_status(session, "completed")
    assert (web.work / "by-thumb").exists()
