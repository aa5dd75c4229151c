"""Around the sessions: the list, the palette, keys, home and inbox, how the page tells that somebody is needed."""

import asyncio
import re

from playwright.async_api import Locator, Page, expect

from tests.browser.kit import WebConsole
from tests.browser.steps import (
    completed_session,
    init_repository,
    is_live,
    open_page,
    returning_user,
    running_session,
    session_link,
    session_list,
    waiting_session,
)
from tests.browser.written_log import WrittenLog
from tests.kit.waiting import DEADLINE, until

HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe"


async def rows(page: Page) -> list[str]:
    """What the list shows from top to bottom: headings and titles."""
    found: list[str] = (
        await session_list(page)
        .locator("li")
        .evaluate_all(
            """(rows) => rows.map((row) => [row.getBoundingClientRect().top, row.querySelector("h2, bdi").textContent])
            .sort((a, b) => a[0] - b[0]).map(([, text]) => text)"""
        )
    )
    return found


async def shows(page: Page, *wanted: str) -> None:
    """Wait until the list shows these rows."""
    found: list[str] = []
    try:
        async with asyncio.timeout(DEADLINE):
            while (found := await rows(page)) != list(wanted):
                await page.evaluate("() => new Promise(requestAnimationFrame)")
    except TimeoutError:
        raise AssertionError(f"the list shows {found}") from None


async def width(part: Locator) -> float:
    box = await part.bounding_box()
    assert box is not None
    return box["width"]


async def test_the_list_has_who_needs_somebody_first_and_names_do_no_harm(web: WebConsole) -> None:
    init_repository(web)
    await completed_session(web, HOSTILE)
    _, gate = await running_session(web, "builds the image")
    await waiting_session(web, "fix the cart")
    page = await open_page(web)
    await expect(session_link(page, "fix the cart")).to_be_visible()
    hostile = "<img src=x onerror=alert(1)> gnp.exe"
    await shows(page, "Needs you1", "fix the cart", "Running1", "builds the image", "Done1", hostile)
    await session_link(page, "builds the image").click()
    await expect(session_link(page, "builds the image")).to_have_attribute("aria-current", "page")
    await expect(page).to_have_title("(1) builds the image · bobstay")
    gate.open()
    await expect(session_list(page).get_by_role("heading", name="Running")).to_have_count(0)
    await expect(session_list(page).get_by_role("heading", name="Done")).to_have_text("Done2")


async def test_the_tab_says_by_title_and_sign_that_somebody_waits_and_stops_when_nobody_does(web: WebConsole) -> None:
    init_repository(web)
    page = await open_page(web)
    await expect(page).to_have_title("bobstay")
    sign = page.locator("link[rel=icon]")
    await expect(sign).to_have_attribute("href", "/icon.svg")
    await waiting_session(web, "fix the cart")
    await expect(page).to_have_title("(1) bobstay")
    await expect(sign).to_have_attribute("href", re.compile("^data:image/png;base64,"))
    await expect(session_list(page).get_by_role("link", name="Inbox")).to_contain_text("1")
    # Home shows what is asked: it is decided on the spot.
    box = page.get_by_role("region", name="Needs you")
    await expect(box).to_contain_text("touch asked")
    await expect(box.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    await page.keyboard.press("a")
    await expect(page).to_have_title("bobstay")
    await expect(sign).to_have_attribute("href", "/icon.svg")
    await expect(page.get_by_text("Nothing needs you")).to_be_visible()
    await expect(page.get_by_role("region", name="Recently finished")).to_contain_text("fix the cart")
    assert (web.work / "asked").exists()


async def test_keys_walk_the_list_open_choose_several_and_put_away_with_undo(web: WebConsole) -> None:
    init_repository(web)
    for title in ("apple", "pear", "plum", "cherry"):
        await completed_session(web, title)
    page = await open_page(web)
    await expect(session_link(page, "apple")).to_be_visible()
    titles = (await rows(page))[1:]
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(session_link(page, titles[1])).to_have_attribute("aria-current", "page")
    await page.keyboard.press("Shift+J")
    await page.keyboard.press("Shift+J")
    await expect(page.get_by_text("3 selected")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("3 selected")).to_have_count(0)
    await page.keyboard.press("Shift+K")
    await page.keyboard.press("e")
    await expect(session_link(page, titles[0])).to_have_count(0)
    await shows(page, "Done2", *titles[2:])
    await page.get_by_role("button", name="Undo").click()
    await expect(session_link(page, titles[0])).to_be_visible()
    await shows(page, "Done4", *titles)
    # A letter typed into nowhere puts nothing away.
    await page.keyboard.press("Escape")
    await page.get_by_role("region", name="Transcript").click(position={"x": 5, "y": 5})
    await page.keyboard.press("e")
    await shows(page, "Done4", *titles)
    # Letters are letters where somebody types.
    await page.get_by_role("searchbox", name="Filter sessions").fill("")
    await page.keyboard.type("jeck")
    await expect(page.get_by_text("No sessions match")).to_be_visible()
    assert page.url.startswith(web.url + "/session/")


async def test_filter_grouping_and_archive(web: WebConsole) -> None:
    for name in ("shop", "docs"):
        (web.folder / name).mkdir()
        await completed_session(web, f"work on {name}", cwd=str(web.folder / name))
    gone = await completed_session(web, "old work", cwd=str(web.folder / "docs"))
    await web.server.ask("PATCH", f"/api/v1/sessions/{gone}", {"archived": True})
    page = await open_page(web)
    box = page.get_by_role("searchbox", name="Filter sessions")
    await box.fill("shop")
    await expect(session_link(page, "work on docs")).to_have_count(0)
    await box.press("Escape")
    await expect(session_link(page, "work on docs")).to_be_visible()
    await page.get_by_role("button", name="Group by project").click()
    await shows(page, "docs1", "work on docs", "shop1", "work on shop")
    await page.get_by_role("button", name="Show archived").click()
    await expect(session_link(page, "old work")).to_be_visible()
    await page.reload()
    await is_live(page)
    await expect(session_list(page).get_by_role("heading", name="docs")).to_be_visible()
    await expect(session_link(page, "old work")).to_have_count(0)
    await page.get_by_role("link", name="New session in shop").click()
    await expect(page.get_by_role("combobox", name="Directory")).to_have_value(str(web.folder / "shop"))


async def test_a_thousand_sessions_are_a_list_like_any_other(web: WebConsole) -> None:
    for number in range(1000):
        written = WrittenLog(web.work, "needle" if number == 0 else f"session {number}").prompt("hello").say("Hello.")
        if number == 0:
            # Older than all others, so that it is not among those the page is told of at first.
            written.lines = [line.replace('"at": 1767', '"at": 1757') for line in written.lines]
        written.save(web.folder / "bobstay")
    await web.restart()
    # A page that is open while the server still reads the logs is told of each session.
    await until(lambda: not web.server.registry.pending)
    page = await open_page(web)
    heading = session_list(page).get_by_role("heading", name="Done")
    await expect(heading).to_have_text("Done200")
    assert await session_list(page).locator("li").count() < 80, "only what is seen is drawn"
    await page.get_by_role("button", name="Load older sessions").click()
    await session_list(page).locator("ul").evaluate("(list) => { list.parentElement.scrollTop = 0 }")
    await expect(heading).to_have_text(re.compile("Done(2[1-9]|3.|40)."))
    await page.get_by_role("searchbox", name="Filter sessions").fill("needle")
    await expect(session_link(page, "needle")).to_be_visible()
    await expect(heading).to_have_text("Done1")


async def test_the_palette_finds_sessions_and_runs_commands(web: WebConsole) -> None:
    init_repository(web)
    first = await completed_session(web, "write the manual")
    await completed_session(web, "fix the cart")
    page = await open_page(web)
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or run a command")
    await palette.get_by_role("combobox").fill("manual")
    await expect(palette.get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{web.url}/session/{first}")
    await page.keyboard.press("Control+k")
    await expect(palette.get_by_role("option", name="Stop the agent")).to_have_count(0)
    await palette.get_by_role("combobox").fill("usage")
    await expect(palette.get_by_role("option", name="Go to usage")).to_contain_text("G U")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{web.url}/usage")
    await page.keyboard.press("Control+k")
    recent = palette.get_by_role("group", name="Recent").get_by_role("option")
    await expect(recent).to_have_count(2)
    await expect(recent.first).to_contain_text("Go to usage")
    await page.keyboard.press("Escape")
    await expect(palette).to_have_count(0)


async def test_all_keys_are_on_one_sheet_and_lead_to_their_places(web: WebConsole) -> None:
    page = await open_page(web)
    await page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(sheet.get_by_text("Next request")).to_be_visible()
    await expect(sheet.get_by_role("region", name="Decisions")).to_contain_text("Allow")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
    for keys, place in (("gi", "/inbox"), ("gs", "/"), ("c", "/new")):
        await page.keyboard.type(keys)
        await expect(page).to_have_url(web.url + place)


async def test_the_inbox_holds_all_that_waits_and_its_keys_decide_what_is_in_view(web: WebConsole) -> None:
    init_repository(web)
    first = await waiting_session(web, "first one", "touch first")
    second = await waiting_session(web, "second one", "touch second")
    third = await waiting_session(web, "third one", "touch third")
    page = await open_page(web, "/inbox")
    inbox = page.get_by_role("region", name="Inbox")
    rows = inbox.get_by_role("link")
    await expect(rows).to_have_count(3)
    await expect(rows.first).to_contain_text("first one")
    detail = page.get_by_role("region", name="Request")
    await expect(detail).to_contain_text("touch first")
    await page.keyboard.press("j")
    await expect(detail).to_contain_text("touch second")
    await expect(detail.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    await page.keyboard.press("d")
    await web.server.until_status(second, "completed")
    await expect(detail).to_contain_text("touch third")
    await expect(inbox).to_contain_text("Denied by you")
    # Somebody else is faster: it stays where it was and says who.
    view = web.server.view(third)
    reply = await web.server.post(
        f"/api/v1/interactions/{view.interactions[0].id}/decision",
        {"decision": "allow", "input_sha256": view.interactions[0].input_sha256},
    )
    assert reply.status == 200
    await expect(detail).to_contain_text("Allowed by ada")
    await page.keyboard.press("k")
    await page.keyboard.press("k")
    await expect(detail).to_contain_text("touch first")
    await expect(detail.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    await page.keyboard.press("a")
    await web.server.until_status(first, "completed")
    await expect(inbox).to_contain_text("0 waiting")
    assert sorted(path.name for path in web.work.iterdir() if path.name != ".git") == ["first", "third"]
    await page.reload()
    await expect(page.get_by_text("Nothing needs you")).to_be_visible()


async def test_links_lead_to_places_and_the_back_button_leads_back(web: WebConsole) -> None:
    init_repository(web)
    session = await waiting_session(web, "fix the cart")
    ask = web.server.view(session).interactions[0].id
    page = await open_page(web, f"/session/{session}?ask={ask}")
    await expect(page.get_by_role("region", name="Needs you")).to_be_visible()
    assert page.url == f"{web.url}/session/{session}?ask={ask}"
    await session_list(page).get_by_role("link", name="Inbox").click()
    await session_list(page).get_by_role("link", name="New").click()
    await expect(page.get_by_role("form", name="New session")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("region", name="Inbox")).to_be_visible()
    await page.go_back()
    await expect(page).to_have_url(f"{web.url}/session/{session}?ask={ask}")
    await expect(page.get_by_role("region", name="Needs you")).to_be_visible()
    await page.keyboard.press("Control+Shift+J")
    await expect(page).to_have_url(f"{web.url}/session/{session}?ask={ask}")


async def test_theme_and_widths_are_remembered(web: WebConsole) -> None:
    init_repository(web)
    session = await completed_session(web, "fix the cart")
    page = await open_page(web, f"/session/{session}", theme="dark")
    look = page.locator("html")
    await expect(look).to_have_attribute("data-theme", "dark")
    await page.get_by_role("button", name="Toggle dark mode").click()
    await expect(look).to_have_attribute("data-theme", "light")
    edge = page.get_by_role("separator", name="Sidebar width")
    await edge.focus()
    for _ in range(3):
        await page.keyboard.press("ArrowRight")
    await expect(edge).to_have_attribute("aria-valuenow", "320")
    await page.keyboard.press("Control+j")
    await expect(page.get_by_role("complementary", name="Session panel")).to_have_count(0)
    await page.reload()
    await is_live(page)
    await expect(look).to_have_attribute("data-theme", "light")
    await expect(edge).to_have_attribute("aria-valuenow", "320")
    assert await width(session_list(page)) == 320
    await expect(page.get_by_role("complementary", name="Session panel")).to_have_count(0)
    await page.get_by_role("button", name="Show panel").click()
    await expect(page.get_by_role("complementary", name="Session panel")).to_be_visible()
    await page.keyboard.press("Control+b")
    await expect(session_list(page)).to_have_count(0)
    await page.get_by_role("button", name="Show sidebar").click()
    await expect(session_list(page)).to_be_visible()


async def test_on_a_small_desk_the_panel_lies_over_the_talk(web: WebConsole) -> None:
    init_repository(web)
    session = await completed_session(web, "fix the cart")
    page = await open_page(web, f"/session/{session}", size=(900, 800))
    panel = page.get_by_role("complementary", name="Session panel")
    await expect(panel).to_have_count(0)
    wide = await width(page.get_by_role("main"))
    await page.get_by_role("button", name="Show panel").click()
    await expect(panel).to_be_visible()
    assert await width(page.get_by_role("main")) == wide
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)


async def test_crossing_to_a_phones_width_and_back_asks_for_nothing_anew(web: WebConsole) -> None:
    """FM-25."""
    init_repository(web)
    session = await completed_session(web, "fix the cart")
    page = await open_page(web, f"/session/{session}")
    await web.devices[0].settled()
    before = len(web.devices[0].monitor.requests)
    await page.set_viewport_size({"width": 600, "height": 800})
    await expect(page.get_by_role("navigation", name="Navigation")).to_be_visible()
    await page.set_viewport_size({"width": 1440, "height": 900})
    await expect(session_list(page)).to_be_visible()
    await web.devices[0].settled()
    asked = [url for url in web.devices[0].monitor.requests[before:] if "/snapshot" in url or "/events" in url]
    assert asked == []
    assert len([url for url in web.devices[0].monitor.requests if url.startswith("ws:")]) == 1


async def test_the_explanation_can_be_sent_away_for_good(web: WebConsole) -> None:
    page = await web.open()
    await page.get_by_role("button", name="Don't show again").click()
    await expect(page.get_by_text("No sessions yet")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("No sessions yet")).to_be_visible()


async def test_on_a_phone_the_bar_leads_everywhere_and_panels_are_sheets(web: WebConsole) -> None:
    init_repository(web)
    session = await waiting_session(web, "fix the cart")
    await completed_session(web, "write the manual")
    page = await open_page(web, size=(390, 844), touch=True)
    bar = page.get_by_role("navigation", name="Navigation")
    await expect(session_link(page, "write the manual")).to_be_visible()
    for target in await page.locator("nav a:visible, nav button:visible").all():
        box = await target.bounding_box()
        assert box is not None
        assert box["height"] >= 44 or box["width"] >= 300, await target.text_content()
    await bar.get_by_role("link", name="Inbox").tap()
    await expect(bar.get_by_role("link", name="Inbox")).to_contain_text("1")
    await page.get_by_role("region", name="Inbox").get_by_role("link").tap()
    await expect(page).to_have_url(re.compile(f"/session/{session}\\?ask="))
    await page.get_by_role("button", name="Hide").tap()
    await page.get_by_role("navigation", name="Session panels").get_by_role("button", name="Files").tap()
    sheet = page.get_by_role("dialog", name="Session panel")
    await expect(sheet.get_by_role("tab", name="Files")).to_have_attribute("data-state", "active")
    await page.keyboard.press("Escape")
    await bar.get_by_role("link", name="Sessions").tap()
    await expect(session_link(page, "fix the cart")).to_be_visible()
    await bar.get_by_role("link", name="Session", exact=True).tap()
    await expect(page).to_have_url(re.compile(f"/session/{session}"))
    await bar.get_by_role("button", name="More").tap()
    await page.get_by_role("dialog", name="More").get_by_role("link", name="Usage").tap()
    await expect(page).to_have_url(f"{web.url}/usage")
    assert await page.evaluate("() => document.documentElement.scrollWidth") == 390


async def test_a_page_whose_files_the_server_no_longer_has_says_what_to_do(web: WebConsole) -> None:
    init_repository(web)
    page = await open_page(web)
    await is_live(page)
    web.devices[0].monitor.expect(r"status of 404 .*UsagePage|this part could not be loaded")
    await page.context.route(re.compile(r"/assets/UsagePage-"), lambda route: route.fulfill(status=404))
    await page.keyboard.type("gu")
    main = page.get_by_role("main")
    await expect(main.get_by_role("heading", name="This page cannot be shown")).to_be_visible()
    await expect(main).to_contain_text("This part could not be loaded. Nothing you wrote is lost.")
    await expect(session_list(page)).to_be_visible()
    await page.context.unroute_all()
    await main.get_by_role("button", name="Reload").click()
    await expect(page.get_by_role("heading", name="Usage")).to_be_visible()


async def test_a_palette_whose_files_cannot_be_had_leaves_the_page_as_it_is(web: WebConsole) -> None:
    init_repository(web)
    device = await returning_user(await web.device())
    device.monitor.expect(r"status of 404 .*PaletteSheet|this part could not be loaded")
    await device.context.route(re.compile(r"/assets/PaletteSheet-"), lambda route: route.fulfill(status=404))
    page = await device.open("/")
    await is_live(page)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_text("The command palette cannot be shown")).to_be_visible()
    await expect(session_list(page)).to_be_visible()
    await expect(page.get_by_role("main")).to_be_visible()
