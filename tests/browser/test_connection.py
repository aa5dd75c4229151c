"""When the connection goes and comes back, nothing is lost, doubled or cleared; and who looks elsewhere is told."""

import asyncio
import json
import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.kit import Device, WebConsole
from tests.browser.steps import (
    connection_state,
    init_repository,
    is_live,
    open_page,
    reconnect,
    returning_user,
    running_session,
    session_link,
    session_list,
    waiting_session,
)
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Say, Step
from tests.server.api.push_service import Browser as Subscriber
from tests.server.api.push_service import PushService

GONE = "ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|ERR_FAILED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|1012"
SHOWN = """async () => {
    for (let tries = 0; tries < 50; tries += 1) {
        const found = await registration.getNotifications();
        if (found.length > 0) return found.map((each) => [each.title, each.body, each.tag]);
        await new Promise((go) => setTimeout(go, 10));
    }
    return [] }"""
NOTIFIED = """
    window.told = [];
    window.Notification = class { constructor(title, given) { this.title = title; told.push([title, given.body, this]) }
        close() { this.closed = true } static permission = "granted";
        static async requestPermission() { return "granted" } };
    window.unseen = (hidden) => Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
"""


async def test_ten_tabs_are_all_live_at_once(web: WebConsole) -> None:
    """FM-16: a browser opens six connections to one host; a stream each would leave tabs without an answer."""
    init_repository(web)
    session, gate = await running_session(web, "builds the image")
    device = await returning_user(await web.device())
    tabs = [await device.open(f"/session/{session}") for _ in range(10)]
    for page in tabs:
        await is_live(page)
        await expect(page.get_by_text("First words.")).to_be_visible()
    gate.open()
    for page in tabs:
        await expect(page.get_by_text("Last words.")).to_be_visible()
    assert len([url for url in device.monitor.requests if url.startswith("ws:")]) == 10


async def test_without_a_network_the_page_says_so_and_catches_up_afterwards(web: WebConsole) -> None:
    """FM-18, FM-19."""
    init_repository(web)
    session, gate = await running_session(web, "builds the image")
    page = await open_page(web, f"/session/{session}")
    await expect(page.get_by_text("First words.")).to_be_visible()
    web.expect(GONE)
    await web.devices[0].offline()
    await expect(connection_state(page)).to_contain_text("This device is offline.")
    await expect(page.get_by_text("First words.")).to_be_visible()
    gate.open()
    await web.server.until_status(session, "completed")
    await expect(page.get_by_text("Last words.")).to_have_count(0)
    await web.devices[0].offline(False)
    await is_live(page)
    await once(page, "First words.", "Last words.")
    await expect(session_link(page, "builds the image")).to_contain_text("Done")


async def test_work_that_a_restart_cut_off_is_shown_with_its_reason_and_resumed(web: WebConsole) -> None:
    init_repository(web)
    names = ("builds the image", "writes the docs", "fixes the cart")
    cut = [await running_session(web, name) for name in names]
    page = await open_page(web, "/")
    await expect(page.get_by_role("region", name="Running").get_by_role("listitem")).to_have_count(3)
    web.expect(GONE)
    await web.stop()
    await expect(connection_state(page)).to_contain_text("Can't reach the server.")
    await expect(page.get_by_text("agents go on")).to_have_count(0)
    await web.start()
    for _, gate in cut:
        gate.open()
    await reconnect(page)
    work = page.get_by_role("region", name="Interrupted")
    await expect(work.get_by_role("listitem")).to_have_count(3)
    await expect(work).to_contain_text("The server ended while this ran.")
    await expect(session_list(page)).to_contain_text("Needs you")
    await expect(page.get_by_role("link", name=re.compile("Inbox"))).to_contain_text("3")
    await session_link(page, "writes the docs").click()
    await expect(page.get_by_role("status", name="Session status")).to_contain_text("The server ended")
    await expect(page.get_by_role("feed")).to_contain_text("The server ended while this ran.")
    await expect(page.get_by_text("interrupted by user")).to_have_count(0)
    await page.get_by_role("button", name="Resume", exact=True).click()
    await web.server.until_status(cut[1][0], "completed")
    await page.goto(f"{web.url}/inbox")
    await expect(work.get_by_role("listitem")).to_have_count(2)
    await work.get_by_role("button", name="Resume all 2").click()
    for session, _ in cut:
        await web.server.until_status(session, "completed")
    await expect(work).to_have_count(0)
    await expect(page.get_by_text("Nothing needs you")).to_be_visible()


async def test_a_server_that_restarts_in_mid_stream_loses_doubles_and_clears_nothing(web: WebConsole) -> None:
    init_repository(web)
    word = web.play("before", Step(blocks=[Say("Said before all that.")]))
    session = await web.launch(f"first {word}", title="fix the cart")
    await web.server.until_status(session, "completed")
    again = web.play("again", Step(blocks=[Say("Said after all that.")]))
    other, gate = await running_session(web, "builds the image")
    device = await returning_user(await web.device())
    await device.context.clock.install()
    page = await device.open(f"/session/{session}")
    await expect(page.get_by_text("Said before all that.")).to_be_visible()
    await session_link(page, "builds the image").click()
    await expect(page.get_by_text("First words.")).to_be_visible()
    web.expect(GONE)
    await web.stop()
    await expect(connection_state(page)).to_contain_text("Can't reach the server.")
    foot = page.get_by_role("navigation", name="Sessions")
    await expect(foot).to_contain_text("Retrying in")
    await expect(page.get_by_text("First words.")).to_be_visible()
    await session_link(page, "fix the cart").click()
    await expect(page.get_by_text("Said before all that.")).to_be_visible()
    # With its clock stopped the page does not try by itself: it is the button that does.
    await page.clock.pause_at(await page.evaluate("() => Date.now() + 60_000"))
    await web.start()
    gate.open()
    async with page.expect_websocket():
        await page.get_by_role("button", name="Retry now").click()
    await page.clock.resume()
    await is_live(page)
    await once(page, "Said before all that.")
    await expect(session_link(page, "builds the image")).to_contain_text("Interrupted")
    await web.server.post(f"/api/v1/sessions/{session}/messages", {"content": f"more {again}"})
    await once(page, "Said before all that.", "Said after all that.")
    await page.goto(f"{web.url}/session/{other}")
    await once(page, "First words.")


async def test_a_server_of_another_version_asks_for_a_reload_and_takes_nothing_away(
    web: WebConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await open_page(web)
    await session_list(page).get_by_role("link", name="New").click()
    await page.get_by_role("textbox", name="Prompt").fill("half a thought")
    web.expect(GONE)
    monkeypatch.setattr("bobstay.server.build_console.__version__", "99.0.0")
    await web.restart()
    await expect(page.get_by_role("status").filter(has_text="The server was updated.")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Prompt")).to_have_value("half a thought")
    monkeypatch.setattr("bobstay.server.api.config_routes.__version__", "99.0.0")
    await page.get_by_role("button", name="Reload").click()
    await is_live(page)
    await expect(page.get_by_role("textbox", name="Prompt")).to_have_value("half a thought")


async def test_without_a_server_the_page_opens_with_what_was_seen_before(web: WebConsole) -> None:
    """S004-28: the service worker keeps the page, the browser's own store what was read."""
    init_repository(web)
    word = web.play("seen", Step(blocks=[Say("Words that were read.")]))
    session = await web.launch(f"first {word}", title="fix the cart")
    await web.server.until_status(session, "completed")
    page = await open_page(web, f"/session/{session}")
    await expect(page.get_by_text("Words that were read.")).to_be_visible()
    await is_kept(page)
    web.expect(GONE)
    await web.stop()
    await page.reload()
    await expect(session_link(page, "fix the cart")).to_be_visible()
    await expect(page.get_by_text("Words that were read.")).to_be_visible()
    await expect(connection_state(page)).to_contain_text("Can't reach the server.")
    await web.start()
    await reconnect(page)
    await once(page, "Words that were read.")


async def test_the_service_worker_keeps_the_page_and_never_the_api(web: WebConsole) -> None:
    page = await open_page(web)
    await is_kept(page)
    kept: list[str] = await page.evaluate(
        """async () => (await Promise.all((await caches.keys()).map(async (name) =>
            (await (await caches.open(name)).keys()).map((request) => new URL(request.url).pathname)))).flat()"""
    )
    assert "/" in kept
    assert "/manifest.webmanifest" in kept
    assert any(name.startswith("/assets/index-") for name in kept)
    assert not [name for name in kept if name.startswith(("/api", "/ws"))]
    # The build has named no file that is not there.
    worker = (await web.server.get("/sw.js")).text
    listed = next(each for each in re.findall(r"[`\"']([^`\"']*)[`\"']", worker) if each.startswith("/|")).split("|")
    assert set(listed) <= set(kept)


async def test_who_looks_elsewhere_is_told_by_the_desktop_once(web: WebConsole) -> None:
    init_repository(web)
    device = await returning_user(await web.device())
    await device.context.add_init_script(NOTIFIED)
    page = await device.open("/")
    await is_live(page)
    await session_list(page).get_by_role("button", name="Notifications on this device").click()
    in_background = page.get_by_role("switch", name="When this tab is in the background")
    await in_background.click()
    await expect(in_background).to_be_checked()
    await page.keyboard.press("Escape")
    await page.evaluate("() => unseen(true)")
    session = await waiting_session(web, "fix the cart")
    told = "() => told.map(([title, body, made]) => [title, body, made.closed ?? false])"
    await page.wait_for_function("() => told.length === 1")
    assert await page.evaluate(told) == [["fix the cart", "Bash needs your permission.", False]]
    # A click leads to the request.
    await page.evaluate("() => told[0][2].onclick()")
    await expect(page.get_by_role("region", name="Needs you")).to_be_visible()
    ask = web.server.view(session).interactions[0]
    assert page.url == f"{web.url}/session/{session}?ask={ask.id}"
    await web.server.post(
        f"/api/v1/interactions/{ask.id}/decision", {"decision": "deny", "input_sha256": ask.input_sha256}
    )
    await web.server.until_status(session, "completed")
    # Work that is done is no news unless somebody wants it so; what is seen is none at all.
    await page.evaluate("() => unseen(false)")
    await waiting_session(web, "write the manual")
    await expect(session_link(page, "write the manual")).to_contain_text("Needs you")
    assert len(await page.evaluate(told)) == 1


async def test_a_device_is_told_by_push_while_the_page_is_closed_and_led_to_the_request(web: WebConsole) -> None:
    """The push service is one on this machine; what the browser would get from it is handed to its service worker."""
    init_repository(web)
    subscriber = Subscriber()
    async with PushService() as service:
        device = await returning_user(await web.device())
        await device.context.grant_permissions(["notifications"], origin=web.url)
        await device.context.add_init_script(subscribing(f"{service.origin}/device", subscriber))
        page = await device.open("/")
        await is_live(page)
        await is_kept(page)
        await session_list(page).get_by_role("button", name="Notifications on this device").click()
        await page.get_by_role("switch", name="When the page is closed").click()
        await expect(page.get_by_role("switch", name="When the page is closed")).to_be_checked()
        await page.keyboard.press("Escape")
        session = await waiting_session(web, "fix the cart")
        received = await service.until(lambda found: len(found) > 0)
        message: dict[str, Any] = subscriber.read(received[0].body)
        ask = web.server.view(session).interactions[0].id
        assert message["url"] == f"/session/{session}?ask={ask}"
        blank = await device.tab()
        await page.close()
        shown = await delivered(blank, device, message, wanted=True)
        assert shown == [["fix the cart", "Bash needs your permission.", f"request-{ask}"]]
        page = await device.open("/")
        await is_live(page)
        await device.context.service_workers[0].evaluate(
            """async () => { const [made] = await registration.getNotifications();
                dispatchEvent(new NotificationEvent("notificationclick", { notification: made })) }"""
        )
        await expect(page).to_have_url(f"{web.url}{message['url']}")
        # Somebody who looks at the page sees it there; and what leads elsewhere is not shown at all.
        assert await delivered(blank, device, message) == []
        await page.close()
        assert await delivered(blank, device, {**message, "url": "//elsewhere.example/"}) == []


async def once(page: Page, *texts: str) -> None:
    """Each of these stands in the transcript, and once."""
    for text in texts:
        await expect(page.get_by_role("main").get_by_text(text)).to_have_count(1)


async def is_kept(page: Page) -> None:
    """Wait until the service worker is in charge and the list was written down."""
    await page.evaluate("() => navigator.serviceWorker.ready")
    await page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    await page.evaluate(
        """async () => {
            const kept = (base) => new Promise((go) => {
                const asked = base.transaction("page").objectStore("page").count();
                asked.onsuccess = () => go(asked.result > 0);
            });
            // Opened only when the page has made it: who opens it first gives it its shape.
            const made = async () => (await indexedDB.databases()).some((each) => each.name === "bobstay");
            for (;;) {
                await new Promise((go) => setTimeout(go, 50));
                if (!(await made())) continue;
                const base = await new Promise((go) => {
                    const opening = indexedDB.open("bobstay");
                    opening.onsuccess = () => go(opening.result);
                });
                const there = await kept(base);
                base.close();
                if (there) return;
            }
        }"""
    )


def subscribing(endpoint: str, subscriber: Subscriber) -> str:
    """A browser's push manager, as far as the browser's vendor would play a part in it."""
    given = json.dumps({"endpoint": endpoint, "keys": subscriber.keys})
    return f"""
        let made = null;
        const kept = {{ toJSON: () => ({given}), unsubscribe: async () => {{ made = null; return true }} }};
        PushManager.prototype.getSubscription = async () => made;
        PushManager.prototype.subscribe = async (options) => {{
            if (!options.userVisibleOnly || options.applicationServerKey.length !== 65) throw new Error("bad key");
            return (made = kept); }};"""


async def delivered(page: Page, device: Device, message: dict[str, Any], *, wanted: bool = False) -> list[list[str]]:
    """Hand a message to the service worker as the browser does; the notifications it then shows.

    One that is `wanted` is sent again until it is shown.
    """
    session = await device.context.new_cdp_session(page)
    found: asyncio.Queue[str] = asyncio.Queue()

    def on_registration(event: dict[str, Any]) -> None:
        for each in event["registrations"]:
            found.put_nowait(each["registrationId"])

    session.on("ServiceWorker.workerRegistrationUpdated", on_registration)
    await session.send("ServiceWorker.enable")
    worker = device.context.service_workers[0]
    await worker.evaluate("async () => { for (const each of await registration.getNotifications()) each.close() }")
    shown: list[list[str]]
    push = {"origin": device.web.url, "registrationId": await found.get(), "data": json.dumps(message)}
    async with asyncio.timeout(DEADLINE):
        while True:
            await session.send("ServiceWorker.deliverPushMessage", push)
            shown = await worker.evaluate(SHOWN)
            # A tab that was just closed counts as looked at for a moment longer: then nothing is shown, and rightly so.
            if shown or not wanted:
                await session.detach()
                return shown
