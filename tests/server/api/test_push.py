"""Web push against a real service on this machine: encrypted, signed, retried, and taken back with its client."""

import asyncio
import json
import os
import socket
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from bobstay.http.network import Network
from bobstay.http.proxies import Proxies
from bobstay.http.web_address import parse_url
from bobstay.server.notifications.notification import Notification
from bobstay.server.notifications.push_encryption import MOST, BadKeys, SubscriptionSecrets, encrypt
from bobstay.server.notifications.push_sender import BadEndpoint, check_endpoint, find_push_route, send_push
from bobstay.server.notifications.vapid import NAME, PushUnusable, Vapid, b64url
from bobstay.server.server_options import ServerOptions
from tests.kit.consoles import RunningConsole
from tests.kit.environments import KEY
from tests.kit.proxy_server import proxying
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.api.push_service import Browser, PushService, claims_of, unpadded

PUSH = "/api/v1/push"


@pytest.fixture
async def service() -> AsyncIterator[PushService]:
    async with PushService() as running:
        yield running


async def asking(server: RunningConsole, model: ModelServer, name: str = "ask") -> str:
    """A session that waits for permission. Its title is the prompt."""
    step = Step(blocks=[Call("Bash", {"command": "touch /secret/plans"}, "c")])
    id = await server.launch(model.play(name, step, Step(blocks=[Say("ok")])), title=f"Mend {name} {KEY}")
    await server.until_status(id, "waiting_input")
    return id


async def subscribed(server: RunningConsole, service: PushService, browser: Browser, **more: Any) -> Any:
    reply = await server.post(f"{PUSH}/subscriptions", service.subscription(browser, **more))
    assert reply.status == 201, reply.body
    return reply.json


async def test_a_question_reaches_the_device_and_nobody_between_can_read_it(
    server: RunningConsole, model: ModelServer, service: PushService
) -> None:
    """RFC 8291 and 8292: the browser's keys decrypt it, the server's key signed it; no input and no secret is in it."""
    browser = Browser()
    key = (await server.get(f"{PUSH}/key")).json["public_key"]
    device = await subscribed(server, service, browser, label="My phone")
    assert (device["label"], device["service"], device["mine"]) == ("My phone", "127.0.0.1", True)
    id = await asking(server, model)
    (received,) = await service.until(lambda found: len(found) == 1)
    (entry,) = server.view(id).interactions
    assert browser.read(received.body) == {
        "title": "Mend ask [masked API key]",
        "body": "Bash needs your permission.",
        "url": f"/session/{id}?ask={entry.id}",
        "tag": f"request-{entry.id}",
    }
    assert KEY not in json.dumps(browser.read(received.body))
    assert b"Mend" not in received.body
    claims = claims_of(received.headers["authorization"], key)
    assert claims["aud"] == service.origin
    assert time.time() < claims["exp"] <= time.time() + 24 * 3600
    assert claims["sub"].startswith("mailto:")
    assert received.headers["content-encoding"] == "aes128gcm"
    assert received.headers["urgency"] == "high"
    assert int(received.headers["ttl"]) > 0
    assert len(received.headers["topic"]) == 32


async def test_failures_are_told_and_ends_only_to_those_who_want_them(
    server: RunningConsole, model: ModelServer, service: PushService
) -> None:
    some, all_ = Browser(), Browser()
    await subscribed(server, service, some, name="some")
    await subscribed(server, service, all_, name="all", completed=True)
    done = await server.launch(model.play("fine", Step(blocks=[Say("ok")])), title="Fine")
    await server.until_status(done, "completed")
    failed = await server.launch(model.play("bad", Step(status=400)), title="Bad")
    await server.until_status(failed, "failed")
    received = await service.until(lambda found: len(found) == 3)
    notification = {
        (one.path.rpartition("/")[2], (all_ if "all" in one.path else some).read(one.body)["body"]) for one in received
    }
    assert notification == {
        ("all", "Done."),
        ("all", "It failed. Open it to see why."),
        ("some", "It failed. Open it to see why."),
    }


async def test_a_device_that_is_gone_is_forgotten(
    server: RunningConsole, model: ModelServer, service: PushService
) -> None:
    browser = Browser()
    await subscribed(server, service, browser)
    service.answers = [b"410 Gone\r\n"]
    await asking(server, model, "one")
    await service.until(lambda found: len(found) == 1)
    assert await wait_idle(server) == []
    await asking(server, model, "two")
    await wait_idle(server)
    assert len(service.received) == 1


async def test_a_service_is_reached_through_the_proxy_of_the_environment(model: ModelServer, tmp_path: Path) -> None:
    async with proxying({}) as proxy:
        there = RunningConsole(model, tmp_path)
        network = Network(Proxies(https=f"http://{proxy.address}"))
        there.environment = msgspec.structs.replace(there.environment, network=network)
        async with there as server:
            device = {"endpoint": "https://push.example.com/send/one", "keys": Browser().keys, "expirationTime": None}
            assert (await server.post(f"{PUSH}/subscriptions", device)).status == 201
            await asking(server, model)
            await until(lambda: proxy.asked)
    assert proxy.asked[0] == "CONNECT push.example.com:443 HTTP/1.1"


async def wait_idle(server: RunningConsole) -> Any:
    """Wait until nobody is being told anything; the devices there are then."""
    assert server.notifier is not None
    async with asyncio.timeout(DEADLINE):
        await server.notifier.wait_idle()
    return (await server.get(f"{PUSH}/subscriptions")).json["subscriptions"]


async def test_a_busy_service_is_asked_again_but_not_for_ever(
    server: RunningConsole, model: ModelServer, service: PushService
) -> None:
    assert server.notifier is not None
    server.notifier.pauses = (0.01, 0.01)
    await subscribed(server, service, Browser())
    service.answers = [b"429 Too Many Requests\r\n", b"503 Busy\r\n"]
    await asking(server, model, "one")
    await service.until(lambda found: len(found) == 3)
    service.answers = [b"500 Oh\r\n"] * 10
    await asking(server, model, "two")
    await service.until(lambda found: len(found) == 6)
    service.answers = [b"403 Forbidden\r\n"]
    await asking(server, model, "three")
    await service.until(lambda found: len(found) == 7)
    service.answers = []
    await asking(server, model, "four")
    await wait_idle(server)
    assert len(service.received) == 8


async def test_an_answered_question_is_not_told_any_more(
    server: RunningConsole, model: ModelServer, service: PushService
) -> None:
    assert server.notifier is not None
    server.notifier.pauses = (0.0,)
    await subscribed(server, service, Browser())
    service.answers = [b"503 Busy\r\n"]
    service.may_answer.clear()
    id = await asking(server, model, "one")
    await service.until(lambda found: len(found) == 1)
    (entry,) = server.view(id).interactions
    body = {"decision": "deny", "input_sha256": entry.input_sha256}
    assert (await server.post(f"/api/v1/interactions/{entry.id}/decision", body)).status == 200
    service.may_answer.set()
    await wait_idle(server)
    assert len(service.received) == 1


async def test_a_device_goes_with_its_client(server: RunningConsole, model: ModelServer, service: PushService) -> None:
    """FM-46: revoking a client ends what it had."""
    auth = server.auth
    client, secret = await auth.clients.create("token", "eve", ("read",), label="x", by="test", lifetime=None)
    headers = {"Authorization": f"Bearer {secret}"}
    browser = Browser()
    made = await server.post(f"{PUSH}/subscriptions", service.subscription(browser), headers=headers)
    assert made.status == 201
    assert await auth.revoke(client.id, "test")
    await asking(server, model)
    assert await wait_idle(server) == []
    assert service.received == []


async def test_devices_are_their_owners_alone(server: RunningConsole, service: PushService) -> None:
    auth = server.auth
    headers: dict[str, dict[str, str]] = {}
    for who in ("eve", "bob"):
        _, secret = await auth.clients.create("token", who, ("read",), label="x", by="test", lifetime=None)
        headers[who] = {"Authorization": f"Bearer {secret}"}
    body = service.subscription(Browser(), "eves", label="Eve's")
    made = (await server.post(f"{PUSH}/subscriptions", body, headers=headers["eve"])).json
    again = (await server.post(f"{PUSH}/subscriptions", body, headers=headers["eve"])).json
    listed = (await server.get(f"{PUSH}/subscriptions", headers=headers["eve"])).json["subscriptions"]
    assert [device["id"] for device in listed] == [again["id"]] != [made["id"]]
    assert "/send/" not in json.dumps(listed)
    assert (await server.get(f"{PUSH}/subscriptions", headers=headers["bob"])).json == {"subscriptions": []}
    path = f"{PUSH}/subscriptions/{again['id']}"
    assert (await server.ask("DELETE", path, headers=headers["bob"])).status == 404
    assert [one["mine"] for one in (await server.get(f"{PUSH}/subscriptions")).json["subscriptions"]] == [False]
    assert (await server.ask("DELETE", path, headers=headers["eve"])).status == 204
    assert (await server.ask("DELETE", path, headers=headers["eve"])).status == 404
    assert (await server.get(f"{PUSH}/key", headers={})).status == 401


async def test_what_was_asked_before_the_start_is_not_told_again(
    model: ModelServer, tmp_path: Path, service: PushService
) -> None:
    async with RunningConsole(model, tmp_path) as first:
        await subscribed(first, service, Browser())
        key = (await first.get(f"{PUSH}/key")).json
        await asking(first, model, "one")
        await service.until(lambda found: len(found) == 1)
    async with RunningConsole(model, tmp_path) as second:
        assert (await second.get(f"{PUSH}/key")).json == key
        gate = Gate()
        id = await second.launch(model.play("g", Step(status=400, gate=gate)), title="Next")
        await gate.reached()
        gate.open()
        await second.until_status(id, "failed")
        received = await service.until(lambda found: len(found) == 2)
        assert len(received) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "http://push.example.com/x"},
        {"endpoint": "ftp://push.example.com/x"},
        {"endpoint": "https://user:pass@push.example.com/x"},
        {"endpoint": "https://2130706433/x"},
        {"endpoint": "https://intranet/x"},
        {"endpoint": "https://push.example.com/" + "x" * 3000},
        {"endpoint": ""},
        {"keys": {"p256dh": "AAAA", "auth": "AAAA"}},
        {"keys": {"p256dh": b64url(b"\4" + b"\1" * 64), "auth": b64url(b"0" * 16)}},
        {"keys": {"p256dh": "ü", "auth": "?"}},
        {"keys": {}},
        {"label": "x" * 300},
    ],
)
async def test_strange_subscriptions_are_refused(
    server: RunningConsole, service: PushService, change: dict[str, Any]
) -> None:
    reply = await server.post(f"{PUSH}/subscriptions", {**service.subscription(Browser()), **change})
    assert (reply.status, reply.json["error"]["code"]) == (422, "invalid")


def test_only_a_server_of_tests_may_reach_this_machine() -> None:
    assert check_endpoint("http://127.0.0.1:9/x", loopback=True).port == 9
    for endpoint in ("http://127.0.0.1:9/x", "https://127.0.0.1/x", "https://localhost/x", "https://[::1]/x"):
        with pytest.raises(BadEndpoint):
            check_endpoint(endpoint, loopback=False)


async def test_who_may_read_cannot_have_requests_sent_to_this_machine(
    model: ModelServer, tmp_path: Path, service: PushService
) -> None:
    """Neither to its programs nor to those of its networks, as long as nobody configures it otherwise."""
    async with RunningConsole(model, tmp_path, push_to_loopback=ServerOptions(state="").push_to_loopback) as server:
        body = service.subscription(Browser())
        for endpoint in (body["endpoint"], "https://10.0.0.1/x", "https://192.168.0.1/x", "https://a.localhost/x"):
            reply = await server.post(f"{PUSH}/subscriptions", {**body, "endpoint": endpoint})
            assert (reply.status, reply.json["error"]["code"]) == (422, "invalid"), endpoint


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "169.254.169.254", "[fd00::1]", "[::ffff:10.0.0.1]"])
async def test_private_networks_are_never_reached(host: str) -> None:
    """However the name was spelled: what counts is the number it leads to."""
    target = parse_url(f"https://{host}/x")
    for loopback in (True, False):
        with pytest.raises(BadEndpoint):
            check_endpoint(f"https://{host}/x", loopback=loopback)
        with pytest.raises(BadEndpoint):
            await find_push_route(target, loopback=loopback)


async def test_a_name_that_leads_to_this_machine_is_sent_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks like any other when it is subscribed; what counts is where it leads when something is sent."""
    connections: list[str] = []

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append("a connection")
        writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1")
    port = listener.sockets[0].getsockname()[1]

    async def resolved(*_: object, **__: object) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved)
    browser = Browser()
    keys = SubscriptionSecrets.read(browser.keys["p256dh"], browser.keys["auth"])
    notification = Notification("ask", "s", "Title", "Body", "/", "tag")
    vapid, endpoint = Vapid.load(str(tmp_path)), f"https://push.example.com:{port}/x"
    posted = await send_push(endpoint, keys, notification, vapid, "mailto:a@b.example", loopback=False)
    listener.close()
    await listener.wait_closed()
    assert (posted.outcome, connections) == ("refused", [])
    assert "an address of this machine" in posted.reason


async def test_too_many_devices_of_one_client_are_refused(server: RunningConsole, service: PushService) -> None:
    browser = Browser()
    for number in range(20):
        await subscribed(server, service, browser, name=str(number))
    reply = await server.post(f"{PUSH}/subscriptions", service.subscription(browser, "one more"))
    assert reply.json["error"]["code"] == "invalid"  # a blank in the address
    reply = await server.post(f"{PUSH}/subscriptions", service.subscription(browser, "one-more"))
    assert (reply.status, reply.json["error"]["code"]) == (429, "too_many")


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first = Vapid.load(str(tmp_path)).public_key
    finally:
        os.umask(before)
    path = tmp_path / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Vapid.load(str(tmp_path)).public_key == first
    path.write_text("-----BEGIN PRIVATE KEY-----\nnonsense\n")
    with pytest.raises(PushUnusable, match="damaged"):
        Vapid.load(str(tmp_path))
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(PushUnusable, match="link"):
        Vapid.load(str(tmp_path))


def test_the_example_of_the_standard_is_read() -> None:
    """RFC 8291, section 5: so that this browser and our encryption are not wrong in the same way."""
    private = int.from_bytes(unpadded("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), "big")
    browser = Browser(ec.derive_private_key(private, ec.SECP256R1()), unpadded("BTBZMqHH6r4Tts7J_aSIgg"))
    body = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert browser.opened(unpadded(body)) == b"When I grow up, I want to be a watermelon"


def test_every_message_is_sealed_anew_and_its_length_says_little() -> None:
    browser = Browser()
    keys = SubscriptionSecrets.read(browser.keys["p256dh"], browser.keys["auth"] + "==")
    short, long = encrypt(b'{"a":1}', keys), encrypt(b'{"a":%d}' % 10**200, keys)
    assert len(short) == len(long)
    assert encrypt(b'{"a":1}', keys) != short
    assert browser.read(short) == {"a": 1}
    assert browser.read(encrypt(b'"' + b"x" * (MOST - 2) + b'"', keys)) == "x" * (MOST - 2)
    with pytest.raises(ValueError, match="too long"):
        encrypt(b"x" * (MOST + 1), keys)
    with pytest.raises(BadKeys):
        SubscriptionSecrets.read(browser.keys["p256dh"], "AA")
