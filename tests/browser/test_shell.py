"""Around the sessions: the list, the palette, keys, home and inbox, how the page tells that somebody is needed."""

import re

from playwright.async_api import Locator, Page, expect

from tests.browser.around import asking, come, done, is_live, known, line, repository, running, sessions
from tests.browser.desk import Desk
from tests.browser.written import Written

HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe"


async def order(page: Page) -> list[str]:
    """What the list shows from top to bottom: headings and titles."""
    found: list[str] = (
        await sessions(page)
        .locator("li")
        .evaluate_all(
            """(rows) => rows.map((row) => [row.getBoundingClientRect().top, row.querySelector("h2, bdi").textContent])
            .sort((a, b) => a[0] - b[0]).map(([, text]) => text)"""
        )
    )
    return found


async def width(part: Locator) -> float:
    box = await part.bounding_box()
    assert box is not None
    return box["width"]


async def test_the_list_has_who_needs_somebody_first_and_names_do_no_harm(desk: Desk) -> None:
    repository(desk)
    await done(desk, HOSTILE)
    _, gate = await running(desk, "builds the image")
    await asking(desk, "fix the cart")
    page = await come(desk)
    await expect(line(page, "fix the cart")).to_be_visible()
    assert await order(page) == [
        "Needs you1",
        "fix the cart",
        "Running1",
        "builds the image",
        "Done1",
        "<img src=x onerror=alert(1)> gnp.exe",
    ]
    await line(page, "builds the image").click()
    await expect(line(page, "builds the image")).to_have_attribute("aria-current", "page")
    await expect(page).to_have_title("(1) builds the image · bobstay")
    gate.open()
    await expect(sessions(page).get_by_role("heading", name="Running")).to_have_count(0)
    await expect(sessions(page).get_by_role("heading", name="Done")).to_have_text("Done2")


async def test_the_tab_says_by_title_and_sign_that_somebody_waits_and_stops_when_nobody_does(desk: Desk) -> None:
    repository(desk)
    page = await come(desk)
    await expect(page).to_have_title("bobstay")
    sign = page.locator("link[rel=icon]")
    await expect(sign).to_have_attribute("href", "/icon.svg")
    await asking(desk, "fix the cart")
    await expect(page).to_have_title("(1) bobstay")
    await expect(sign).to_have_attribute("href", re.compile("^data:image/png;base64,"))
    await expect(sessions(page).get_by_role("link", name="Inbox")).to_contain_text("1")
    # Home shows what is asked: it is decided on the spot.
    box = page.get_by_role("region", name="Needs you")
    await expect(box).to_contain_text("touch asked")
    await expect(box.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    await page.keyboard.press("a")
    await expect(page).to_have_title("bobstay")
    await expect(sign).to_have_attribute("href", "/icon.svg")
    await expect(page.get_by_text("Nothing needs you")).to_be_visible()
    await expect(page.get_by_role("region", name="Recently finished")).to_contain_text("fix the cart")
    assert (desk.work / "asked").exists()


async def test_keys_walk_the_list_open_choose_several_and_put_away_with_undo(desk: Desk) -> None:
    repository(desk)
    for title in ("apple", "pear", "plum", "cherry"):
        await done(desk, title)
    page = await come(desk)
    await expect(line(page, "apple")).to_be_visible()
    titles = (await order(page))[1:]
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(line(page, titles[1])).to_have_attribute("aria-current", "page")
    await page.keyboard.press("Shift+J")
    await page.keyboard.press("Shift+J")
    await expect(page.get_by_text("3 selected")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("3 selected")).to_have_count(0)
    await page.keyboard.press("Shift+K")
    await page.keyboard.press("e")
    await expect(line(page, titles[0])).to_have_count(0)
    assert len(await order(page)) == 3
    await page.get_by_role("button", name="Undo").click()
    await expect(line(page, titles[0])).to_be_visible()
    assert (await order(page))[1:] == titles
    # A letter typed into nowhere puts nothing away.
    await page.keyboard.press("Escape")
    await page.get_by_role("region", name="Transcript").click(position={"x": 5, "y": 5})
    await page.keyboard.press("e")
    assert (await order(page))[1:] == titles
    # Letters are letters where somebody types.
    await page.get_by_role("searchbox", name="Filter sessions").fill("")
    await page.keyboard.type("jeck")
    await expect(page.get_by_text("No sessions match")).to_be_visible()
    assert page.url.startswith(desk.url + "/session/")


async def test_filter_grouping_and_archive(desk: Desk) -> None:
    for name in ("shop", "docs"):
        (desk.folder / name).mkdir()
        await done(desk, f"work on {name}", cwd=str(desk.folder / name))
    gone = await done(desk, "old work", cwd=str(desk.folder / "docs"))
    await desk.place.ask("PATCH", f"/api/v1/sessions/{gone}", {"archived": True})
    page = await come(desk)
    box = page.get_by_role("searchbox", name="Filter sessions")
    await box.fill("shop")
    await expect(line(page, "work on docs")).to_have_count(0)
    await box.press("Escape")
    await expect(line(page, "work on docs")).to_be_visible()
    await page.get_by_role("button", name="Group by project").click()
    assert await order(page) == ["docs1", "work on docs", "shop1", "work on shop"]
    await page.get_by_role("button", name="Show archived").click()
    await expect(line(page, "old work")).to_be_visible()
    await page.reload()
    await is_live(page)
    await expect(sessions(page).get_by_role("heading", name="docs")).to_be_visible()
    await expect(line(page, "old work")).to_have_count(0)
    await page.get_by_role("link", name="New session in shop").click()
    await expect(page.get_by_role("combobox", name="Directory")).to_have_value(str(desk.folder / "shop"))


async def test_a_thousand_sessions_are_a_list_like_any_other(desk: Desk) -> None:
    for number in range(1000):
        written = Written(desk.work, "needle" if number == 0 else f"session {number}").prompt("hello").say("Hello.")
        if number == 0:
            # Older than all others, so that it is not among those the page is told of at first.
            written.lines = [line.replace('"at": 1767', '"at": 1757') for line in written.lines]
        written.save(desk.folder / "bobstay")
    await desk.restart()
    page = await come(desk)
    heading = sessions(page).get_by_role("heading", name="Done")
    await expect(heading).to_have_text("Done200")
    assert await sessions(page).locator("li").count() < 80, "only what is seen is drawn"
    await page.get_by_role("button", name="Load older sessions").click()
    await sessions(page).locator("ul").evaluate("(list) => { list.parentElement.scrollTop = 0 }")
    await expect(heading).to_have_text(re.compile("Done(2[1-9]|3.|40)."))
    await page.get_by_role("searchbox", name="Filter sessions").fill("needle")
    await expect(line(page, "needle")).to_be_visible()
    await expect(heading).to_have_text("Done1")


async def test_the_palette_finds_sessions_and_runs_commands(desk: Desk) -> None:
    repository(desk)
    first = await done(desk, "write the manual")
    await done(desk, "fix the cart")
    page = await come(desk)
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or run a command")
    await palette.get_by_role("combobox").fill("manual")
    await expect(palette.get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{desk.url}/session/{first}")
    await page.keyboard.press("Control+k")
    await expect(palette.get_by_role("option", name="Stop the agent")).to_have_count(0)
    await palette.get_by_role("combobox").fill("usage")
    await expect(palette.get_by_role("option", name="Go to usage")).to_contain_text("G U")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{desk.url}/usage")
    await page.keyboard.press("Control+k")
    recent = palette.get_by_role("group", name="Recent").get_by_role("option")
    await expect(recent).to_have_count(2)
    await expect(recent.first).to_contain_text("Go to usage")
    await page.keyboard.press("Escape")
    await expect(palette).to_have_count(0)


async def test_all_keys_are_on_one_sheet_and_lead_to_their_places(desk: Desk) -> None:
    page = await come(desk)
    await page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(sheet.get_by_text("Next request")).to_be_visible()
    await expect(sheet.get_by_role("region", name="Decisions")).to_contain_text("Allow")
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
    for keys, place in (("gi", "/inbox"), ("gs", "/"), ("c", "/new")):
        await page.keyboard.type(keys)
        await expect(page).to_have_url(desk.url + place)


async def test_the_inbox_holds_all_that_waits_and_its_keys_decide_what_is_in_view(desk: Desk) -> None:
    repository(desk)
    first = await asking(desk, "first one", "touch first")
    second = await asking(desk, "second one", "touch second")
    third = await asking(desk, "third one", "touch third")
    page = await come(desk, "/inbox")
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
    await desk.place.until_status(second, "completed")
    await expect(detail).to_contain_text("touch third")
    await expect(inbox).to_contain_text("Denied by you")
    # Somebody else is faster: it stays where it was and says who.
    view = desk.place.view(third)
    reply = await desk.place.post(
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
    await desk.place.until_status(first, "completed")
    await expect(inbox).to_contain_text("0 waiting")
    assert sorted(path.name for path in desk.work.iterdir() if path.name != ".git") == ["first", "third"]
    await page.reload()
    await expect(page.get_by_text("Nothing needs you")).to_be_visible()


async def test_links_lead_to_places_and_the_back_button_leads_back(desk: Desk) -> None:
    repository(desk)
    session = await asking(desk, "fix the cart")
    ask = desk.place.view(session).interactions[0].id
    page = await come(desk, f"/session/{session}?ask={ask}")
    await expect(page.get_by_role("region", name="Needs you")).to_be_visible()
    assert page.url == f"{desk.url}/session/{session}?ask={ask}"
    await sessions(page).get_by_role("link", name="Inbox").click()
    await sessions(page).get_by_role("link", name="New").click()
    await expect(page.get_by_role("form", name="New session")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("region", name="Inbox")).to_be_visible()
    await page.go_back()
    await expect(page).to_have_url(f"{desk.url}/session/{session}?ask={ask}")
    await expect(page.get_by_role("region", name="Needs you")).to_be_visible()
    await page.keyboard.press("Control+Shift+J")
    await expect(page).to_have_url(f"{desk.url}/session/{session}?ask={ask}")


async def test_theme_and_widths_are_remembered(desk: Desk) -> None:
    repository(desk)
    session = await done(desk, "fix the cart")
    page = await come(desk, f"/session/{session}", theme="dark")
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
    assert await width(sessions(page)) == 320
    await expect(page.get_by_role("complementary", name="Session panel")).to_have_count(0)
    await page.get_by_role("button", name="Show panel").click()
    await expect(page.get_by_role("complementary", name="Session panel")).to_be_visible()
    await page.keyboard.press("Control+b")
    await expect(sessions(page)).to_have_count(0)
    await page.get_by_role("button", name="Show sidebar").click()
    await expect(sessions(page)).to_be_visible()


async def test_on_a_small_desk_the_panel_lies_over_the_talk(desk: Desk) -> None:
    repository(desk)
    session = await done(desk, "fix the cart")
    page = await come(desk, f"/session/{session}", size=(900, 800))
    panel = page.get_by_role("complementary", name="Session panel")
    await expect(panel).to_have_count(0)
    wide = await width(page.get_by_role("main"))
    await page.get_by_role("button", name="Show panel").click()
    await expect(panel).to_be_visible()
    assert await width(page.get_by_role("main")) == wide
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)


async def test_crossing_to_a_phones_width_and_back_asks_for_nothing_anew(desk: Desk) -> None:
    """FM-25."""
    repository(desk)
    session = await done(desk, "fix the cart")
    page = await come(desk, f"/session/{session}")
    await desk.seats[0].settled()
    before = len(desk.seats[0].watch.requests)
    await page.set_viewport_size({"width": 600, "height": 800})
    await expect(page.get_by_role("navigation", name="Navigation")).to_be_visible()
    await page.set_viewport_size({"width": 1440, "height": 900})
    await expect(sessions(page)).to_be_visible()
    await desk.seats[0].settled()
    asked = [url for url in desk.seats[0].watch.requests[before:] if "/snapshot" in url or "/events" in url]
    assert asked == []
    assert len([url for url in desk.seats[0].watch.requests if url.startswith("ws:")]) == 1


async def test_the_explanation_can_be_sent_away_for_good(desk: Desk) -> None:
    page = await desk.open()
    await page.get_by_role("button", name="Don't show again").click()
    await expect(page.get_by_text("No sessions yet")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("No sessions yet")).to_be_visible()


async def test_on_a_phone_the_bar_leads_everywhere_and_panels_are_sheets(desk: Desk) -> None:
    repository(desk)
    session = await asking(desk, "fix the cart")
    await done(desk, "write the manual")
    page = await come(desk, size=(390, 844), touch=True)
    bar = page.get_by_role("navigation", name="Navigation")
    await expect(line(page, "write the manual")).to_be_visible()
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
    await expect(line(page, "fix the cart")).to_be_visible()
    await bar.get_by_role("link", name="Session", exact=True).tap()
    await expect(page).to_have_url(re.compile(f"/session/{session}"))
    await bar.get_by_role("button", name="More").tap()
    await page.get_by_role("dialog", name="More").get_by_role("link", name="Usage").tap()
    await expect(page).to_have_url(f"{desk.url}/usage")
    assert await page.evaluate("() => document.documentElement.scrollWidth") == 390


async def test_a_page_whose_files_the_server_no_longer_has_says_what_to_do(desk: Desk) -> None:
    repository(desk)
    page = await come(desk)
    await is_live(page)
    desk.seats[0].watch.expect(r"status of 404 .*UsagePage|this part could not be loaded")
    await page.context.route(re.compile(r"/assets/UsagePage-"), lambda route: route.fulfill(status=404))
    await page.keyboard.type("gu")
    main = page.get_by_role("main")
    await expect(main.get_by_role("heading", name="This page cannot be shown")).to_be_visible()
    await expect(main).to_contain_text("This part could not be loaded. Nothing you wrote is lost.")
    await expect(sessions(page)).to_be_visible()
    await page.context.unroute_all()
    await main.get_by_role("button", name="Reload").click()
    await expect(page.get_by_role("heading", name="Usage")).to_be_visible()


async def test_a_palette_whose_files_cannot_be_had_leaves_the_page_as_it_is(desk: Desk) -> None:
    repository(desk)
    seat = await known(await desk.seat())
    seat.watch.expect(r"status of 404 .*PaletteSheet|this part could not be loaded")
    await seat.context.route(re.compile(r"/assets/PaletteSheet-"), lambda route: route.fulfill(status=404))
    page = await seat.open("/")
    await is_live(page)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_text("The command palette cannot be shown")).to_be_visible()
    await expect(sessions(page)).to_be_visible()
    await expect(page.get_by_role("main")).to_be_visible()
