"""How one comes in: the code in the address, who is told what, and links that lead into the page."""

import gzip
import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.around import asking, repository
from tests.browser.desk import Desk

PLACES = ("/", "/new", "/inbox", "/search", "/usage", "/settings/permissions", "/compare")


async def is_in(page: Page) -> None:
    """The console is there, with nobody asked to sign in."""
    await expect(page.get_by_role("navigation", name="Sessions")).to_be_visible()


async def test_the_code_in_the_address_leads_into_the_console_and_leaves_the_address(desk: Desk) -> None:
    """FM-45: a code that stays in the address would be in histories, bookmarks and pictures of the screen."""
    seat = await desk.seat()
    code = await seat.code()
    page = await seat.open(code=code)
    await is_in(page)
    assert page.url == f"{desk.url}/"
    await page.reload()
    await is_in(page)
    assert await page.evaluate("() => document.cookie") == "", "scripts of the page cannot read the cookie"
    kept = "() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.title])"
    assert code not in await page.evaluate(kept)
    assert not [url for url in seat.watch.requests if code in url.partition("#")[0]]


async def test_a_code_that_was_used_is_told_in_words(desk: Desk) -> None:
    first = await desk.seat()
    code = await first.code()
    await is_in(await first.open(code=code))
    second = await desk.seat()
    second.expect("401")
    page = await second.open(code=code)
    await expect(page.get_by_text("was already used")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Sessions")).to_have_count(0)
    assert "code=" not in page.url


async def test_a_used_code_does_not_matter_to_who_is_in_already(desk: Desk) -> None:
    """Somebody opens the printed address again, from the terminal or a bookmark."""
    seat = await desk.seat()
    code = await seat.code()
    await is_in(await seat.open(code=code))
    seat.expect("401")
    again = await seat.open(code=code)
    await is_in(again)
    assert "code=" not in again.url


async def test_without_a_code_one_is_told_where_to_get_one(desk: Desk) -> None:
    seat = await desk.seat()
    seat.expect("401")
    page = await seat.open(code="")
    await expect(page.get_by_text("bobstay token code")).to_be_visible()
    assert await seat.axe() == []


async def test_who_came_in_is_still_in_after_a_reload_and_in_a_new_tab(desk: Desk) -> None:
    page = await desk.open()
    await is_in(page)
    await page.reload()
    await is_in(page)
    await is_in(await desk.tab())


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.strip("/").replace("/", "-") or "home")
async def test_a_link_leads_to_its_place_at_once(desk: Desk, place: str) -> None:
    """Also for somebody who is not in yet: the code is exchanged and the place kept."""
    page = await desk.open(place)
    await is_in(page)
    assert page.url == desk.url + place
    await page.reload()
    await is_in(page)
    assert page.url == desk.url + place
    assert desk.seats[0].watch.elsewhere() == []


async def test_a_link_to_a_session_leads_to_it(desk: Desk) -> None:
    repository(desk)
    session = await desk.launch("a prompt of many words", model="demo")
    await desk.place.until_status(session, "completed")
    page = await desk.open(f"/session/{session}")
    await is_in(page)
    await expect(page.get_by_role("main")).to_be_visible()
    assert page.url == f"{desk.url}/session/{session}"


async def test_an_address_that_leads_nowhere_says_so(desk: Desk) -> None:
    page = await desk.open("/no/such/place.html")
    await expect(page.get_by_text("Page not found")).to_be_visible()
    await page.get_by_role("link", name="Back to sessions").click()
    await expect(page).to_have_url(f"{desk.url}/")


async def test_files_with_a_hash_in_their_name_are_fetched_once(desk: Desk) -> None:
    page = await desk.open()
    await is_in(page)
    assert await sizes(page), "the page is made of such files"
    assert all(size > 0 for size in (await sizes(page)).values())
    again = await desk.tab()
    await is_in(again)
    assert set((await sizes(again)).values()) == {0}


async def test_the_first_load_is_small(desk: Desk) -> None:
    """At most 250 KB, packed, before anything is opened; what is large and seldom needed comes when it is."""
    page = await desk.open()
    await is_in(page)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await fits(desk, page, "index")


async def test_the_first_load_is_small_where_somebody_is_needed(desk: Desk) -> None:
    """Also with a decision on the first page, and for who follows a link to the session that asks."""
    repository(desk)
    session = await asking(desk, "fix the cart")
    page = await desk.open()
    await expect(page.get_by_role("button", name="Allow", exact=False).first).to_be_visible()
    await fits(desk, page, "Overview", "ApprovalCard")
    seat = await desk.seat()
    page = await seat.open(f"/session/{session}")
    await expect(page.get_by_role("region", name="Needs you").get_by_role("button", name="Deny").first).to_be_visible()
    await expect(page.get_by_role("tabpanel", name="Changes").get_by_text("No changes", exact=True)).to_be_visible()
    await fits(desk, page, "SessionPage", "ApprovalCard", "DiffPanel")


async def fits(desk: Desk, page: Page, *parts: str) -> None:
    """All that was fetched is 250 KB at most, `parts` among it. Later, when it is calm, the page fetches more."""
    names: list[str] = await page.evaluate(
        """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
            .map((entry) => new URL(entry.name).pathname).filter((name) => !name.startsWith("/api/"))"""
    )
    # What is fetched beforehand begins with these, which nobody has asked for here.
    calm = next((place for place, name in enumerate(names) if "/SheetBox-" in name or "/ConfirmBox-" in name), None)
    names = names[:calm]
    packed = {name: len(gzip.compress((await desk.place.get(name)).body, 9)) for name in set(names)}
    assert [part for part in parts if not any(f"/{part}-" in name for name in packed)] == []
    assert sum(packed.values()) <= 250 * 1024, (sum(packed.values()), packed)


async def test_everything_the_page_names_is_there(desk: Desk) -> None:
    """Browsers fetch icons and the manifest when they like, so nobody would notice one that is missing."""
    index = (await desk.place.get("/")).text
    named = set(re.findall(r'(?:href|src)="(/[^"]+)"', index))
    assert any(name.endswith(".js") for name in named)
    manifests = [name for name in named if name.endswith(".webmanifest")]
    for name in manifests:
        named |= {icon["src"] for icon in (await desk.place.get(name)).json["icons"]}
    for name in sorted(named):
        reply = await desk.place.get(name)
        assert reply.status == 200, name
        assert reply.headers["content-type"] not in ("application/octet-stream", "text/html; charset=utf-8"), name


async def sizes(page: Page) -> dict[str, int]:
    """How many bytes came over the network for each file with a hash in its name."""
    found: dict[str, int] = await page.evaluate(
        """() => Object.fromEntries(performance.getEntriesByType("resource")
            .filter((entry) => new URL(entry.name).pathname.startsWith("/assets/"))
            .map((entry) => [entry.name, entry.transferSize]))"""
    )
    return found
