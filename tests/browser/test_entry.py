"""How one comes in: the code in the address, who is told what, and links that lead into the page."""

import gzip
import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.kit import WebConsole
from tests.browser.steps import init_repository, waiting_session

PATHS = ("/", "/new", "/inbox", "/search", "/usage", "/settings/permissions", "/compare")


NO_PREFETCH = """const start = setTimeout;
window.setTimeout = (run, wait, ...more) => start(run, wait === 5000 ? 2 ** 31 - 1 : wait, ...more);
"""
"""After some seconds a page fetches what may be needed later; on a busy machine, before all it needs now has come."""


async def is_in(page: Page) -> None:
    """The console is there, with nobody asked to sign in."""
    await expect(page.get_by_role("navigation", name="Sessions")).to_be_visible()


async def test_the_code_in_the_address_leads_into_the_console_and_leaves_the_address(web: WebConsole) -> None:
    """FM-45: a code that stays in the address would be in histories, bookmarks and pictures of the screen."""
    device = await web.device()
    code = await device.code()
    page = await device.open(code=code)
    await is_in(page)
    assert page.url == f"{web.url}/"
    await page.reload()
    await is_in(page)
    assert await page.evaluate("() => document.cookie") == "", "scripts of the page cannot read the cookie"
    kept = "() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.title])"
    assert code not in await page.evaluate(kept)
    assert not [url for url in device.monitor.requests if code in url.partition("#")[0]]


async def test_a_code_that_was_used_is_told_in_words(web: WebConsole) -> None:
    first = await web.device()
    code = await first.code()
    await is_in(await first.open(code=code))
    second = await web.device()
    second.expect("401")
    page = await second.open(code=code)
    await expect(page.get_by_text("was already used")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Sessions")).to_have_count(0)
    assert "code=" not in page.url


async def test_a_used_code_does_not_matter_to_who_is_in_already(web: WebConsole) -> None:
    """Somebody opens the printed address again, from the terminal or a bookmark."""
    device = await web.device()
    code = await device.code()
    await is_in(await device.open(code=code))
    device.expect("401")
    again = await device.open(code=code)
    await is_in(again)
    assert "code=" not in again.url


async def test_without_a_code_one_is_told_where_to_get_one(web: WebConsole) -> None:
    device = await web.device()
    device.expect("401")
    page = await device.open(code="")
    await expect(page.get_by_text("bobstay token code")).to_be_visible()
    assert await device.axe() == []


async def test_who_came_in_is_still_in_after_a_reload_and_in_a_new_tab(web: WebConsole) -> None:
    page = await web.open()
    await is_in(page)
    await page.reload()
    await is_in(page)
    await is_in(await web.tab())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.strip("/").replace("/", "-") or "home")
async def test_a_link_leads_to_its_page_at_once(web: WebConsole, path: str) -> None:
    """Also for somebody who is not in yet: the code is exchanged and the path kept."""
    page = await web.open(path)
    await is_in(page)
    assert page.url == web.url + path
    await page.reload()
    await is_in(page)
    assert page.url == web.url + path
    assert web.devices[0].monitor.foreign_requests() == []


async def test_a_link_to_a_session_leads_to_it(web: WebConsole) -> None:
    init_repository(web)
    session = await web.launch("a prompt of many words", model="demo")
    await web.server.until_status(session, "completed")
    page = await web.open(f"/session/{session}")
    await is_in(page)
    await expect(page.get_by_role("main")).to_be_visible()
    assert page.url == f"{web.url}/session/{session}"


async def test_an_address_that_leads_nowhere_says_so(web: WebConsole) -> None:
    page = await web.open("/no/such/place.html")
    await expect(page.get_by_text("Page not found")).to_be_visible()
    await page.get_by_role("link", name="Back to sessions").click()
    await expect(page).to_have_url(f"{web.url}/")


async def test_files_with_a_hash_in_their_name_are_fetched_once(web: WebConsole) -> None:
    await (await web.device()).context.add_init_script(NO_PREFETCH)
    page = await web.open()
    await is_in(page)
    assert await sizes(page), "the page is made of such files"
    assert all(size > 0 for size in (await sizes(page)).values())
    again = await web.tab()
    await is_in(again)
    assert set((await sizes(again)).values()) == {0}


async def test_the_first_load_is_small(web: WebConsole) -> None:
    """At most 250 KB, packed, before anything is opened; what is large and seldom needed comes when it is."""
    await (await web.device()).context.add_init_script(NO_PREFETCH)
    page = await web.open()
    await is_in(page)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await fits(web, page, "index")


async def test_the_first_load_is_small_where_somebody_is_needed(web: WebConsole) -> None:
    """Also with a decision on the first page, and for who follows a link to the session that asks."""
    init_repository(web)
    session = await waiting_session(web, "fix the cart")
    await (await web.device()).context.add_init_script(NO_PREFETCH)
    page = await web.open()
    await expect(page.get_by_role("button", name="Allow", exact=False).first).to_be_visible()
    await fits(web, page, "Overview", "ApprovalCard")
    device = await web.device()
    await device.context.add_init_script(NO_PREFETCH)
    page = await device.open(f"/session/{session}")
    await expect(page.get_by_role("region", name="Needs you").get_by_role("button", name="Deny").first).to_be_visible()
    await expect(page.get_by_role("tabpanel", name="Changes").get_by_text("No changes", exact=True)).to_be_visible()
    await fits(web, page, "SessionPage", "ApprovalCard", "DiffPanel")


async def fits(web: WebConsole, page: Page, *parts: str) -> None:
    """All that was fetched is 250 KB at most, `parts` among it."""
    names: list[str] = await page.evaluate(
        """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
            .map((entry) => new URL(entry.name).pathname).filter((name) => !name.startsWith("/api/"))"""
    )
    packed = {name: len(gzip.compress((await web.server.get(name)).body, 9)) for name in set(names)}
    assert [part for part in parts if not any(f"/{part}-" in name for name in packed)] == []
    assert sum(packed.values()) <= 250 * 1024, (sum(packed.values()), packed)


async def test_everything_the_page_names_is_there(web: WebConsole) -> None:
    """Browsers fetch icons and the manifest when they like, so nobody would notice one that is missing."""
    index = (await web.server.get("/")).text
    named = set(re.findall(r'(?:href|src)="(/[^"]+)"', index))
    assert any(name.endswith(".js") for name in named)
    manifests = [name for name in named if name.endswith(".webmanifest")]
    for name in manifests:
        named |= {icon["src"] for icon in (await web.server.get(name)).json["icons"]}
    for name in sorted(named):
        reply = await web.server.get(name)
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
