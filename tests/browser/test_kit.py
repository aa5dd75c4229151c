"""The kit itself: it detects what a page must not do, so that a test without errors means something."""

import asyncio
import re
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.kit import ROOT, Device, WebConsole
from tests.browser.steps import init_repository
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Gate, Say, Step

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


async def test_every_misdeed_of_a_page_is_noticed(plain_web: WebConsole) -> None:
    page = await plain_web.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    device = plain_web.devices[0]
    assert plain_web.errors() == []
    for misdeed, (script, error) in MISDEEDS.items():
        await page.evaluate(script)
        await until_reported(device, error, misdeed)
        device.monitor.errors.clear()
    plain_web.expect("oh no|oops|broken|policy|violates|elsewhere|requires")
    await page.evaluate("() => console.error('oh no')")
    await until_reported(device, "oh no")
    assert plain_web.errors() == []


async def test_a_request_to_another_origin_is_noticed(plain_web: WebConsole) -> None:
    page = await plain_web.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert plain_web.devices[0].monitor.foreign_requests() == []
    other = f"http://localhost:{plain_web.server.port}/plain.css"
    await page.goto(other)
    assert plain_web.devices[0].monitor.foreign_requests() == [other]
    assert plain_web.errors() == [f"another origin: {other}"]
    plain_web.expect("another origin")


async def test_axe_finds_what_is_wrong_and_nothing_where_nothing_is(plain_web: WebConsole) -> None:
    page = await plain_web.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert await plain_web.axe() == []
    await page.evaluate("() => document.querySelector('main').append(Object.assign(new Image(), { src: 'data:,' }))")
    found = await plain_web.axe()
    assert len(found) == 1
    assert found[0].startswith("image-alt (critical)")


async def test_a_server_that_comes_back_is_the_same_to_the_browser(plain_web: WebConsole) -> None:
    page = await plain_web.open()
    status = page.get_by_role("status")
    await expect(status).to_have_text("Live")
    await plain_web.stop()
    await expect(status).to_contain_text("Not connected")
    await plain_web.start()
    await expect(status).to_have_text("Live")
    plain_web.expect("ERR_CONNECTION_REFUSED")


async def test_the_model_says_what_is_played(plain_web: WebConsole) -> None:
    word = plain_web.play("greeting", Step(blocks=[Say("Good morning.")]))
    session = await plain_web.launch(f"hello {word}")
    view = await plain_web.server.until_status(session, "completed")
    assert view.id == session
    page = await plain_web.open()
    await expect(page.get_by_role("region", name="Sessions")).to_contain_text("completed")


async def test_a_phone_is_narrow_and_touched(plain_web: WebConsole) -> None:
    phone = await plain_web.phone(theme="light")
    page = await phone.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert await page.evaluate("() => [innerWidth, innerHeight, navigator.maxTouchPoints > 0]") == [390, 844, True]
    assert await matches(page, "(prefers-color-scheme: light)")
    assert not await matches(page, "(hover: hover)")


async def test_a_device_has_only_the_scopes_it_was_given(plain_web: WebConsole) -> None:
    device = await plain_web.device(scopes=("read",), who="ada")
    page = await device.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    status = """async () => (await fetch("/api/v1/sessions", {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ cwd: "/" }),
    })).status"""
    assert await page.evaluate(status) == 403
    device.expect("403")


async def matches(page: Page, query: str) -> bool:
    return bool(await page.evaluate("(query) => matchMedia(query).matches", query))


async def until_reported(device: Device, text: str, why: str = "") -> None:
    """Wait until the browser has reported this."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not any(text in each for each in device.monitor.errors):
                # Errors come with answers of the browser, in order.
                await device.page.evaluate("() => new Promise(requestAnimationFrame)")
    except TimeoutError:
        raise AssertionError(f"{why or text}: {device.monitor.errors}") from None


async def test_the_example_of_the_documentation_passes(web: WebConsole) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/browser-tests.md").read_text(), re.M | re.S)
    names: dict[str, Any] = {"WebConsole": WebConsole, "Gate": Gate, "Say": Say, "Step": Step}
    names |= {"expect": expect, "init_repository": init_repository}
    exec(compile(code, "browser-tests.md", "exec"), names)
    await names["test_an_answer_appears_while_it_is_written"](web)
