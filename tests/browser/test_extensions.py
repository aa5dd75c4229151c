"""Sub-agents, background work, MCP servers, commands and questions of servers in the page, by real clicks."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from bobstay.assembly import session_servers
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from tests.browser.kit import WebConsole
from tests.browser.steps import init_repository, open_page, returning_user
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.oauth_server import ProtectedServer, protected_server
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step

WAIT = {
    "command": "until [ -e go ]; do sleep 0.01; done",
    "description": "Wait for go",
    "run_in_background": True,
}
DEPLOY = "---\ndescription: Ship it\nargument-hint: <where>\n---\nGo"
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "title": "Your age", "minimum": 18},
        "size": {"type": "string", "title": "Size", "enum": ["small", "large"]},
        "news": {"type": "boolean", "title": "Send me news"},
    },
    "required": ["name"],
}


@pytest.fixture(autouse=True)
def prepared(web: WebConsole, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions work in a repository; a busy machine does not decide whether a server is there in time."""
    init_repository(web)
    for name in ("FIRST_WAIT", "NAMED_WAIT"):
        monkeypatch.setattr(session_servers, name, DEADLINE)


@pytest_asyncio.fixture(loop_scope="session")
async def protected() -> AsyncIterator[ProtectedServer]:
    async with protected_server() as made:
        yield made


def agent(prompt: str, about: str, **more: Any) -> Call:
    return Call("Agent", {"description": about, "subagent_type": "Explore", "prompt": prompt, **more})


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def user_servers(web: WebConsole, **servers: Any) -> None:
    write(web.folder / "bobstay" / "settings.json", {"mcpServers": servers})


def needs_you(page: Page) -> Locator:
    return page.get_by_role("region", name="Needs you")


def background(page: Page) -> Locator:
    return page.get_by_role("region", name="Background")


def mcp_server(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name="MCP servers").get_by_role("listitem", name=name, exact=True)


async def open_context(page: Page) -> None:
    await page.get_by_role("tab", name="Context", exact=True).click()


async def completed(web: WebConsole, name: str = "hello") -> str:
    session = await web.launch(web.play(name, Step(blocks=[Say("Hello.")])))
    await web.server.until_status(session, "completed")
    return session


async def test_children_stand_under_their_calls_and_the_card_names_the_one_that_asks(web: WebConsole) -> None:
    """H2-8, S000-80"""
    gate = Gate()
    looks = web.play("looks", Step(blocks=[Say("I look at "), Say("everything.")], gate=gate, gate_after=1))
    writes = web.play(
        "writes", Step(blocks=[Call("Write", {"file_path": "b.txt", "content": "b"})]), Step(blocks=[Say("Written.")])
    )
    calls = [
        agent(looks, "find the race", run_in_background=False),
        agent(writes, "write the note", run_in_background=False, subagent_type="general-purpose"),
    ]
    session = await web.launch(web.play("parent", Step(blocks=[*calls]), Step(blocks=[Say("Both are back.")])))
    await web.server.until_status(session, "waiting_input")
    page = await open_page(web, f"/session/{session}")
    first = page.get_by_role("button", name="Task: find the race")
    second = page.get_by_role("button", name="Task: write the note")
    await expect(first).to_be_visible()
    await expect(second).to_contain_text("needs you")
    await expect(page.get_by_text("I look at")).to_be_visible()
    await expect(needs_you(page)).to_contain_text("asked by general-purpose: write the note")
    await page.get_by_role("link", name="Inbox").first.click()
    await expect(page.get_by_role("region", name="Request")).to_contain_text("asked by general-purpose: write the note")
    await expect(page.get_by_role("region", name="Inbox")).to_contain_text(
        "needs approval for Write, asked by general-purpose: write the note"
    )
    await page.get_by_role("button", name="Allow", exact=True).click()
    gate.open()
    await web.server.until_status(session, "completed")
    assert (web.work / "b.txt").read_text() == "b"


async def test_the_background_list_shows_what_runs_and_stop_stops_it(web: WebConsole) -> None:
    gate = Gate()
    child = web.play("child", Step(blocks=[Say("Found.")], gate=gate))
    steps = [
        Step(blocks=[Call("Bash", WAIT), agent(child, "find the race")]),
        Step(blocks=[Say("Both run.")]),
    ]
    session = await web.launch(web.play("both", *steps), allowed_tools=["Bash"])
    await web.server.until(session, lambda view: view.status == "completed" and len(view.background) == 2)
    page = await open_page(web, f"/session/{session}")
    await page.get_by_role("button", name="2 in background").click()
    items = background(page).get_by_role("listitem")
    await expect(items).to_have_count(2)
    command, child_line = items.filter(has_text="Wait for go"), items.filter(has_text="find the race")
    await expect(command).to_contain_text("Command · running")
    await expect(child_line).to_contain_text("Explore · running")
    await background(page).get_by_role("button", name="Stop Wait for go").click()
    await expect(command).to_contain_text("stopped")
    await page.reload()
    await expect(command).to_contain_text("stopped")
    await expect(child_line).to_contain_text("running")
    await background(page).get_by_role("button", name="Stop find the race").click()
    await expect(child_line).to_contain_text("stopped")
    await expect(page.get_by_role("button", name=re.compile(r"^\d+ in background"))).to_have_count(0)
    gate.open()


async def test_the_list_is_right_after_a_restart_and_opens_by_its_key(web: WebConsole) -> None:
    steps = [Step(blocks=[Call("Bash", WAIT)]), Step(blocks=[Say("It runs.")])]
    session = await web.launch(web.play("one", *steps), allowed_tools=["Bash"])
    await web.server.until(session, lambda view: view.status == "completed" and len(view.background) == 1)
    await web.restart()
    page = await open_page(web, f"/session/{session}")
    await expect(page.get_by_role("tablist", name="Panels")).to_be_visible()
    await page.keyboard.press("b")
    await expect(background(page)).to_contain_text("Wait for go")
    await expect(background(page)).to_contain_text("lost")


async def test_servers_are_shown_with_state_and_tools_and_switched(web: WebConsole) -> None:
    """H8-3"""
    user_servers(web, good=scripted_entry(), broken=scripted_entry(MCP_MODE="exit"))
    page = await open_page(web, f"/session/{await completed(web)}")
    await open_context(page)
    good, broken = mcp_server(page, "good"), mcp_server(page, "broken")
    await expect(good).to_contain_text("connected")
    await expect(good).to_contain_text("user")
    await expect(broken).to_contain_text("failed")
    await expect(broken).to_contain_text("no token was given")
    await good.get_by_role("button", name="good", exact=False).first.click()
    await expect(good).to_contain_text("shout")
    await expect(good).to_contain_text("scripted_mcp_server.py")
    await good.get_by_role("button", name="Switch off good").click()
    await expect(good).to_contain_text("off")
    await good.get_by_role("button", name="Switch on good").click()
    await expect(good).to_contain_text("connected")
    await good.get_by_role("button", name="Reconnect good").click()
    await expect(good).to_contain_text("connected")


async def test_a_server_of_the_project_is_approved_by_its_entry(web: WebConsole) -> None:
    write(web.work / ".mcp.json", {"mcpServers": {"theirs": scripted_entry()}})
    TrustStore(web.server.environment.paths.bobstay).put(str(web.work), executable_parts(str(web.work)))
    page = await open_page(web, f"/session/{await completed(web)}")
    await open_context(page)
    theirs = mcp_server(page, "theirs")
    await expect(theirs).to_contain_text("needs approval")
    await expect(theirs).to_contain_text("scripted_mcp_server.py")
    await theirs.get_by_role("button", name="Approve theirs").click()
    await expect(theirs).to_contain_text("connected")


async def test_a_person_signs_in_in_another_tab_and_the_server_is_connected(
    web: WebConsole, protected: ProtectedServer
) -> None:
    """H8-3"""
    user_servers(web, tracker={"type": "http", "url": protected.url})
    device = await returning_user(await web.device())
    device.expect(r"http://127\.0\.0\.1:\d+/(authorize|callback|favicon)")
    page = await device.open(f"/session/{await completed(web)}")
    await open_context(page)
    tracker = mcp_server(page, "tracker")
    await expect(tracker).to_contain_text("sign-in needed")
    async with page.context.expect_page() as opened:
        await tracker.get_by_role("button", name="Sign in tracker").click()
    tab = await opened.value
    await expect(tab.get_by_role("heading", name="Signed in")).to_be_visible()
    await tab.close()
    await expect(tracker).to_contain_text("connected")


async def test_commands_skills_and_agents_are_listed_and_broken_ones_named(web: WebConsole) -> None:
    write(web.work / ".bobstay" / "commands" / "deploy.md", "---\ndescription: Ship it\n---\nGo")
    write(web.work / ".bobstay" / "agents" / "nameless.md", "---\ncolor: red\n---\nHm.")
    TrustStore(web.server.environment.paths.bobstay).put(str(web.work), executable_parts(str(web.work)))
    page = await open_page(web, f"/session/{await completed(web)}")
    await open_context(page)
    await page.get_by_role("button", name="Commands").click()
    commands = page.get_by_role("region", name="Commands")
    await expect(commands).to_contain_text("deploy")
    await expect(commands).to_contain_text("project")
    await expect(commands).to_contain_text("commands/deploy.md")
    await page.get_by_role("button", name="Agents").click()
    await expect(page.get_by_role("region", name="Agents")).to_contain_text("Explore")
    await expect(page.get_by_role("region", name="Agents")).to_contain_text("bundled")
    await expect(page.get_by_role("tabpanel").first).to_contain_text("nameless.md")


async def test_a_slash_completes_commands_skills_prompts_and_built_in_ones(web: WebConsole) -> None:
    """H9-1"""
    user_servers(web, srv=scripted_entry())
    write(
        web.work / ".bobstay" / "commands" / "deploy.md", "---\ndescription: Ship it\nargument-hint: <where>\n---\nGo"
    )
    TrustStore(web.server.environment.paths.bobstay).put(str(web.work), executable_parts(str(web.work)))
    page = await open_page(web, f"/session/{await completed(web)}")
    message = page.get_by_role("textbox", name="Message")
    await message.press_sequentially("/")
    options = page.get_by_role("listbox", name="Commands").get_by_role("option")
    await expect(options.filter(has_text="/deploy")).to_contain_text("<where>")
    await expect(options.filter(has_text="/deploy")).to_contain_text("Ship it")
    await expect(options.filter(has_text="/cost")).to_contain_text("without the model")
    await message.press_sequentially("gre")
    await expect(options).to_have_count(1)
    await expect(options).to_contain_text("/mcp__srv__greet")
    await expect(options).to_contain_text("MCP prompt")
    await message.fill("")
    await message.press_sequentially("/cos")
    await message.press("Enter")
    await expect(message).to_have_value("/cost ")
    asked = len(web.model.requests)
    await message.press("Enter")
    await expect(page.get_by_text("Total cost:")).to_be_visible()
    assert len(web.model.requests) == asked, "it is answered without the model"


async def elicited(web: WebConsole, **given: Any) -> tuple[str, Page]:
    user_servers(web, srv=scripted_entry())
    steps = [Step(blocks=[Call("mcp__srv__ask", given)]), Step(blocks=[Say("Thank you.")])]
    session = await web.launch(web.play("ask", *steps), allowed_tools=["mcp__srv"])
    await web.server.until_status(session, "waiting_input")
    return session, await open_page(web, f"/session/{session}")


def reported(web: WebConsole) -> Any:
    content = web.model.requests[-1].body["messages"][-1]["content"]
    block = next(each for each in content if each["type"] == "tool_result")
    inner = block["content"]
    return json.loads(inner if isinstance(inner, str) else inner[0]["text"])


async def test_a_question_of_a_server_is_a_form(web: WebConsole) -> None:
    """H8-4"""
    session, page = await elicited(web, schema=SCHEMA)
    card = needs_you(page)
    await expect(card).to_contain_text("srv asks")
    await card.get_by_label("Your age").fill("12")
    send = card.get_by_role("button", name="Send")
    await send.click()
    await expect(card).to_contain_text("Needed.")
    await expect(card).to_contain_text("At least 18.")
    await card.get_by_label("Your name").fill("Ada")
    await card.get_by_label("Your age").fill("36")
    await card.get_by_label("Size").select_option("large")
    await card.get_by_label("Send me news").check()
    await send.click()
    await web.server.until_status(session, "completed")
    assert reported(web) == {"action": "accept", "content": {"name": "Ada", "age": 36, "size": "large", "news": True}}


async def test_a_question_of_a_server_is_declined(web: WebConsole) -> None:
    session, page = await elicited(web)
    await needs_you(page).get_by_role("button", name="Decline").click()
    await web.server.until_status(session, "completed")
    assert reported(web)["action"] == "decline"


async def test_an_address_is_shown_and_opened_only_when_asked_to(web: WebConsole) -> None:
    address = f"{web.url}/health?confirm=1"
    session, page = await elicited(web, url=address)
    await expect(needs_you(page)).to_contain_text(address)
    async with page.context.expect_page() as opened:
        await needs_you(page).get_by_role("button", name="Open address").click()
    tab = await opened.value
    assert tab.url == address
    await web.server.until_status(session, "completed")
    assert reported(web)["action"] == "accept"
