"""The desk itself: it would see a page that does what it must not, so its silence means something."""

import asyncio

from playwright.async_api import Page, expect

from tests.browser.desk import Desk, Seat
from tests.deadline import DEADLINE
from tests.modelserver.script import Say, Step

MISDEEDS = {
    "an error on the console": ("() => console.error('oh no')", "console: oh no"),
    "an error nobody caught": ("() => void setTimeout(() => { throw new Error('oops') })", "not caught: oops"),
    "a promise nobody caught": ("() => void Promise.reject(new Error('broken'))", "not caught: broken"),
    "a word to another place": (
        "() => void fetch('https://elsewhere.example/').catch(() => {})",
        "policy: connect-src: https://elsewhere.example",
    ),
    "a picture of another place": (
        "() => { new Image().src = 'https://elsewhere.example/x.png' }",
        "policy: img-src: https://elsewhere.example/x.png",
    ),
    "markup made of text": (
        "() => { try { document.body.innerHTML = '<b>x</b>' } catch {} }",
        "policy: require-trusted-types-for",
    ),
    "a script in an attribute": (
        "() => { try { document.body.setAttribute('onclick', 'alert(1)') } catch {} }",
        "policy: require-trusted-types-for",
    ),
    "a script as an address": (
        "() => { location.href = 'javascript:console.log(1)' }",
        "policy: script-src",
    ),
    "a script by its address": (
        "() => { try { document.createElement('script').src = '/x.js' } catch {} }",
        "policy: require-trusted-types-for",
    ),
    "a frame": (
        "() => { const made = document.createElement('iframe'); made.src = '/'; document.body.append(made) }",
        "policy: frame-src",
    ),
}


async def test_every_misdeed_of_a_page_is_noticed(plain_desk: Desk) -> None:
    page = await plain_desk.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    seat = plain_desk.seats[0]
    assert plain_desk.trouble() == []
    for misdeed, (script, complaint) in MISDEEDS.items():
        await page.evaluate(script)
        await until_heard(seat, complaint, misdeed)
        seat.watch.complaints.clear()
    plain_desk.expect("oh no|oops|broken|policy|violates|elsewhere|requires")
    await page.evaluate("() => console.error('oh no')")
    await until_heard(seat, "oh no")
    assert plain_desk.trouble() == []


async def test_a_request_to_another_origin_is_noticed(plain_desk: Desk) -> None:
    page = await plain_desk.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert plain_desk.seats[0].watch.elsewhere() == []
    other = f"http://localhost:{plain_desk.place.port}/plain.css"
    await page.goto(other)
    assert plain_desk.seats[0].watch.elsewhere() == [other]
    assert plain_desk.trouble() == [f"another origin: {other}"]
    plain_desk.expect("another origin")


async def test_axe_finds_what_is_wrong_and_nothing_where_nothing_is(plain_desk: Desk) -> None:
    page = await plain_desk.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert await plain_desk.axe() == []
    await page.evaluate("() => document.querySelector('main').append(Object.assign(new Image(), { src: 'data:,' }))")
    found = await plain_desk.axe()
    assert len(found) == 1
    assert found[0].startswith("image-alt (critical)")


async def test_a_server_that_comes_back_is_the_same_to_the_browser(plain_desk: Desk) -> None:
    page = await plain_desk.open()
    status = page.get_by_role("status")
    await expect(status).to_have_text("Live")
    await plain_desk.stop()
    await expect(status).to_contain_text("Not connected")
    await plain_desk.start()
    await expect(status).to_have_text("Live")
    plain_desk.expect("ERR_CONNECTION_REFUSED")


async def test_the_model_says_what_the_desk_plays(plain_desk: Desk) -> None:
    word = plain_desk.play("greeting", Step(blocks=[Say("Good morning.")]))
    session = await plain_desk.launch(f"hello {word}")
    view = await plain_desk.place.until_status(session, "completed")
    assert view.id == session
    page = await plain_desk.open()
    await expect(page.get_by_role("region", name="Sessions")).to_contain_text("completed")


async def test_a_phone_is_narrow_and_touched(plain_desk: Desk) -> None:
    phone = await plain_desk.phone(theme="light")
    page = await phone.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert await page.evaluate("() => [innerWidth, innerHeight, navigator.maxTouchPoints > 0]") == [390, 844, True]
    assert await matches(page, "(prefers-color-scheme: light)")
    assert not await matches(page, "(hover: hover)")


async def test_a_seat_has_only_the_scopes_it_was_given(plain_desk: Desk) -> None:
    seat = await plain_desk.seat(scopes=("read",), who="ada")
    page = await seat.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    status = """async () => (await fetch("/api/v1/sessions", {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ cwd: "/" }),
    })).status"""
    assert await page.evaluate(status) == 403
    seat.expect("403")


async def matches(page: Page, query: str) -> bool:
    return bool(await page.evaluate("(query) => matchMedia(query).matches", query))


async def until_heard(seat: Seat, text: str, why: str = "") -> None:
    """Wait until the browser complained of this, and no test expects it."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not any(text in each for each in seat.watch.complaints):
                # Complaints come with answers of the browser, in order.
                await seat.page.evaluate("() => new Promise(requestAnimationFrame)")
    except TimeoutError:
        raise AssertionError(f"{why or text}: {seat.watch.complaints}") from None
