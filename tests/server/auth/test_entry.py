"""Coming in: the one-time code, codes for other devices, names and passwords, and what each may then do."""

import asyncio
from pathlib import Path

from sqlalchemy import select

from bobstay.server.db.own_tables import CLIENTS, CODES, USERS
from tests.kit.http_exchange import HttpReply
from tests.server.auth.auth_server import AuthServer

PASSWORD = "correct horse battery"


async def exchange(auth_server: AuthServer, code: str) -> HttpReply:
    return await auth_server.ask(
        "POST", "/api/v1/auth/exchange", {"Origin": auth_server.origin}, {"code": code, "label": "laptop"}
    )


async def login(auth_server: AuthServer, name: str, password: str) -> HttpReply:
    body = {"name": name, "password": password}
    return await auth_server.ask("POST", "/api/v1/auth/login", {"Origin": auth_server.origin}, body)


def cookie_of(auth_server: AuthServer, reply: HttpReply) -> dict[str, str]:
    return {"Cookie": reply.header("set-cookie").split(";")[0], "Origin": auth_server.origin}


async def test_the_start_code_is_exchanged_once_for_a_cookie_that_scripts_cannot_read(auth_server: AuthServer) -> None:
    assert auth_server.auth.address(auth_server.code) == f"http://127.0.0.1:{auth_server.port}/#code={auth_server.code}"
    reply = await exchange(auth_server, auth_server.code)
    assert reply.json["name"] == "owner"
    assert reply.json["scopes"] == ["read", "operate", "approve", "terminal", "admin"]
    value, *attributes = reply.header("set-cookie").split("; ")
    assert value.startswith(f"bobstay_{auth_server.port}=bst_")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes
    assert not [attribute for attribute in attributes if attribute.lower().startswith("domain")]
    again = await exchange(auth_server, auth_server.code)
    assert (again.status, again.code) == (401, "bad_code")
    assert again.header("set-cookie") == ""
    me = await auth_server.ask("GET", "/api/v1/auth/me", cookie_of(auth_server, reply))
    assert me.json == reply.json
    assert auth_server.audit.whats() == ["auth.entered", "auth.bad_code"]


async def test_of_many_who_come_with_the_same_code_one_gets_in(auth_server: AuthServer) -> None:
    replies = await asyncio.gather(*(exchange(auth_server, auth_server.code) for _ in range(8)))
    assert sorted(reply.status for reply in replies) == [200] + [401] * 7


async def test_a_code_expires(auth_server: AuthServer) -> None:
    auth_server.clock.now += 3_601
    assert (await exchange(auth_server, auth_server.code)).code == "bad_code"


async def test_a_new_start_makes_the_codes_of_earlier_ones_worthless(auth_server: AuthServer) -> None:
    newer = await auth_server.auth.start_code()
    assert (await exchange(auth_server, auth_server.code)).status == 401
    assert (await exchange(auth_server, newer)).status == 200


async def test_the_tables_hold_no_secret(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    _, bearer = await auth_server.token("read")
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    unused = await auth_server.auth.start_code()
    async with auth_server.engine.connect() as connection:
        rows = [[*await connection.execute(select(table))] for table in (CLIENTS, CODES, USERS)]
    assert all(rows)
    secrets = (page["Cookie"].partition("=")[2], bearer["Authorization"].split()[1], auth_server.code, unused, PASSWORD)
    files = b"".join(path.read_bytes() for path in auth_server.folder.glob("auth.sqlite*"))
    for secret in secrets:
        assert secret not in repr(rows)
        assert secret.encode() not in files
    assert "$argon2id$" in repr(rows)


async def test_the_cookie_of_a_tls_origin_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    async with AuthServer(tmp_path, public_urls=("https://agents.example.com",)) as auth_server:
        public = {"Origin": "https://agents.example.com"}
        reply = await auth_server.ask(
            "POST", "/api/v1/auth/exchange", public, {"code": auth_server.code}, host="agents.example.com"
        )
        value, *attributes = reply.header("set-cookie").split("; ")
        assert value.startswith(f"__Host-bobstay_{auth_server.port}=")
        assert "Secure" in attributes
        shown = {**public, "Cookie": value}
        assert (await auth_server.ask("GET", "/api/v1/things", shown, host="agents.example.com")).status == 200
        # Over TLS only the name counts that no neighbour can set.
        plain = {**public, "Cookie": value.removeprefix("__Host-")}
        assert (await auth_server.ask("GET", "/api/v1/things", plain, host="agents.example.com")).status == 401


async def test_two_consoles_on_one_host_do_not_take_each_other_s_cookies(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with AuthServer(tmp_path / "one") as one, AuthServer(tmp_path / "two") as two:
        first, second = await one.enter(), await two.enter()
        both = f"{first['Cookie']}; {second['Cookie']}"
        for auth_server in (one, two):
            shown = {"Cookie": both, "Origin": auth_server.origin}
            assert (await auth_server.ask("GET", "/api/v1/things", shown)).status == 200
        crossed = {"Cookie": first["Cookie"], "Origin": two.origin}
        assert (await two.ask("GET", "/api/v1/things", crossed)).status == 401


async def test_a_neighbour_s_cookie_of_the_same_name_does_not_shut_us_out(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    tossed = {**page, "Cookie": f"bobstay_{auth_server.port}=tossed; {page['Cookie']}"}
    assert (await auth_server.ask("GET", "/api/v1/things", tossed)).status == 200


async def test_wrong_codes_are_slowed_down_and_the_right_one_still_works(auth_server: AuthServer) -> None:
    replies = [await exchange(auth_server, f"wrong-{number}") for number in range(12)]
    assert [reply.status for reply in replies] == [401] * 10 + [429] * 2
    assert replies[-1].json["error"]["details"]["retry_after"] > 0
    assert auth_server.audit.whats() == ["auth.bad_code"] * 10
    assert (await exchange(auth_server, auth_server.code)).status == 200
    auth_server.clock.now += 61
    assert (await exchange(auth_server, "wrong")).status == 401


async def test_a_phone_is_paired_for_reading_and_approving_and_can_do_no_more(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    made = await auth_server.ask("POST", "/api/v1/auth/codes", page, {"label": "phone", "expires_in": 60})
    assert made.status == 201
    assert made.json["expires_at"] == auth_server.clock.now + 60
    assert made.json["fragment"] == f"#code={made.json['code']}"
    phone = await auth_server.enter(made.json["code"])
    me = (await auth_server.ask("GET", "/api/v1/auth/me", phone)).json
    assert (me["name"], me["scopes"]) == ("owner/phone", ["read", "approve"])
    assert (await auth_server.ask("GET", "/api/v1/things", phone)).status == 200
    assert (await auth_server.ask("POST", "/api/v1/approve", phone, {})).status == 200
    refused = await auth_server.ask("POST", "/api/v1/act", phone, {})
    assert (refused.status, refused.code) == (403, "forbidden")
    assert refused.json["error"]["details"] == {"needed": "operate"}
    assert (await auth_server.ask("POST", "/api/v1/auth/codes", phone, {"label": "more"})).status == 403
    assert (await auth_server.ask("PUT", "/api/v1/auth/users/me", phone, {"scopes": ["admin"]})).status == 403
    assert auth_server.app.state.acts == ["owner/phone"]


async def test_a_code_for_another_device_expires(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    made = (await auth_server.ask("POST", "/api/v1/auth/codes", page, {"label": "phone", "expires_in": 60})).json
    auth_server.clock.now += 60
    assert (await exchange(auth_server, made["code"])).status == 401


async def test_a_paired_device_is_signed_out_when_its_time_is_over(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    made = (await auth_server.ask("POST", "/api/v1/auth/codes", page, {"label": "phone", "lifetime": 3600})).json
    phone = await auth_server.enter(made["code"])
    auth_server.clock.now += 3_601
    assert (await auth_server.ask("GET", "/api/v1/things", phone)).status == 401
    assert (await auth_server.ask("GET", "/api/v1/things", page)).status == 200


async def test_a_wish_for_a_code_that_will_not_do_is_refused(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    variants: list[dict[str, object]] = [{"label": ""}, {"scopes": []}, {"scopes": ["root"]}]
    variants += [{"expires_in": 1e9}, {"lifetime": 0}, {"who": "ada"}]
    for fields in variants:
        assert (await auth_server.ask("POST", "/api/v1/auth/codes", page, {"label": "x", **fields})).status == 422
    assert (await auth_server.ask("POST", "/api/v1/auth/codes", page, {})).status == 422


async def test_the_list_of_clients_is_everybody_s_for_an_admin_and_one_s_own_otherwise(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    code = (await auth_server.ask("POST", "/api/v1/auth/codes", page, {"label": "phone"})).json["code"]
    phone = await auth_server.enter(code)
    id, _ = await auth_server.token("read")
    everybody = (await auth_server.ask("GET", "/api/v1/auth/clients", page)).json["clients"]
    assert {client["who"] for client in everybody} == {"owner", "owner/phone", "token:test"}
    assert [client["who"] for client in everybody if client["current"]] == ["owner"]
    own = (await auth_server.ask("GET", "/api/v1/auth/clients", phone)).json["clients"]
    assert [client["who"] for client in own] == ["owner/phone"]
    assert (await auth_server.ask("DELETE", f"/api/v1/auth/clients/{id}", phone)).status == 404
    assert (await auth_server.ask("DELETE", f"/api/v1/auth/clients/{own[0]['id']}", phone)).status == 204
    assert (await auth_server.ask("GET", "/api/v1/things", phone)).status == 401
    assert (await auth_server.ask("DELETE", "/api/v1/auth/clients/nobody", page)).status == 404


async def test_when_a_client_was_last_seen_is_noted(auth_server: AuthServer) -> None:
    id, bearer = await auth_server.token("read")
    auth_server.clock.now += 5
    await auth_server.ask("GET", "/api/v1/things", bearer)
    await auth_server.auth.clients.store_last_seen()
    client = next(client for client in await auth_server.auth.clients.list_clients() if client.id == id)
    assert client.last_seen == auth_server.clock.now


async def test_people_of_a_team_sign_in_by_name_and_what_they_do_carries_it(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    ada = {"scopes": ["read", "approve"], "password": PASSWORD}
    assert (await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, ada)).json["has_password"] is True
    reply = await login(auth_server, "ada", PASSWORD)
    assert reply.json["name"] == "ada"
    signed_in = cookie_of(auth_server, reply)
    assert (await auth_server.ask("POST", "/api/v1/approve", signed_in, {})).json == {"by": "ada"}
    assert (await auth_server.ask("POST", "/api/v1/act", signed_in, {})).status == 403
    assert (await auth_server.ask("GET", "/api/v1/auth/users", signed_in)).status == 403
    listed = (await auth_server.ask("GET", "/api/v1/auth/users", page)).json["users"]
    assert [user["name"] for user in listed] == ["ada"]
    assert "password" not in str(listed).replace("has_password", "")


async def test_a_wrong_password_and_a_name_nobody_has_read_the_same(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    await auth_server.ask("PUT", "/api/v1/auth/users/bob", page, {"scopes": ["read"]})
    replies = [
        await login(auth_server, "ada", "incorrect horse"),
        await login(auth_server, "nobody", PASSWORD),
        await login(auth_server, "bob", ""),
        await login(auth_server, "ada'--", PASSWORD),
    ]
    assert {(reply.status, reply.body) for reply in replies} == {(401, replies[0].body)}


async def test_wrong_passwords_are_slowed_down_even_at_once_and_even_for_the_right_one(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    await auth_server.ask("PUT", "/api/v1/auth/users/bob", page, {"scopes": ["read"], "password": PASSWORD})
    replies = await asyncio.gather(*(login(auth_server, "ada", f"wrong password {number}") for number in range(9)))
    assert sorted(reply.status for reply in replies) == [401] * 5 + [429] * 4
    assert (await login(auth_server, "ada", PASSWORD)).status == 429
    assert (await login(auth_server, "bob", PASSWORD)).status == 200
    auth_server.clock.now += 61
    assert (await login(auth_server, "ada", PASSWORD)).status == 200


async def test_many_right_passwords_are_not_slowed_down(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    assert {(await login(auth_server, "ada", PASSWORD)).status for _ in range(32)} == {200}


async def test_changing_what_somebody_may_do_ends_what_they_came_in_with(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["admin"], "password": PASSWORD})
    ada = cookie_of(auth_server, await login(auth_server, "ada", PASSWORD))
    assert (await auth_server.ask("GET", "/api/v1/auth/users", ada)).status == 200
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"]})
    assert (await auth_server.ask("GET", "/api/v1/things", ada)).status == 401
    again = await login(auth_server, "ada", PASSWORD)
    assert again.json["scopes"] == ["read"]
    assert (await auth_server.ask("DELETE", "/api/v1/auth/users/ada", page)).status == 204
    assert (await auth_server.ask("GET", "/api/v1/things", cookie_of(auth_server, again))).status == 401
    assert (await login(auth_server, "ada", PASSWORD)).status == 401
    assert (await auth_server.ask("DELETE", "/api/v1/auth/users/ada", page)).status == 404


async def test_one_s_own_password_is_changed_with_the_old_one(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    ada = cookie_of(auth_server, await login(auth_server, "ada", PASSWORD))
    wrong = {"old": "something else", "new": "another long password"}
    assert (await auth_server.ask("POST", "/api/v1/auth/password", ada, wrong)).status == 401
    short = {"old": PASSWORD, "new": "short"}
    assert (await auth_server.ask("POST", "/api/v1/auth/password", ada, short)).status == 422
    right = {"old": PASSWORD, "new": "another long password"}
    reply = await auth_server.ask("POST", "/api/v1/auth/password", ada, right)
    assert reply.status == 200
    assert (await auth_server.ask("GET", "/api/v1/things", ada)).status == 401
    assert (await auth_server.ask("GET", "/api/v1/things", cookie_of(auth_server, reply))).status == 200
    assert (await login(auth_server, "ada", PASSWORD)).status == 401


async def test_names_that_could_be_taken_for_others_are_refused(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    body = {"scopes": ["read"], "password": PASSWORD}
    for name in ("owner", "local", "Ada", "token:x", "owner%2Fphone", "a%20b", "a" * 65, "%C3%A4", "-a"):
        assert (await auth_server.ask("PUT", f"/api/v1/auth/users/{name}", page, body)).status in (404, 405, 422)
    assert await auth_server.auth.users.list_users() == []


async def test_hostile_bodies_are_refused_with_words(auth_server: AuthServer) -> None:
    long = b'{"code": "' + b"x" * 20_000 + b'"}'
    for body in (b"", b"{", b"[]", b'{"code": 7}', b'{"code": "x", "scopes": ["admin"]}', long):
        for path in ("exchange", "login"):
            reply = await auth_server.ask("POST", f"/api/v1/auth/{path}", {"Origin": auth_server.origin}, body)
            assert reply.status in (400, 413, 422)
            assert reply.json["error"]["message"]


async def test_a_lone_surrogate_in_a_code_or_password_breaks_nothing(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    for body in (b'{"code": "\\ud800"}', b'{"code": "\\u0000"}'):
        reply = await auth_server.ask("POST", "/api/v1/auth/exchange", {"Origin": auth_server.origin}, body)
        assert reply.status in (400, 401, 422)
    odd = b'{"name": "ada", "password": "\\u0000\\ud800"}'
    assert (await auth_server.ask("POST", "/api/v1/auth/login", {"Origin": auth_server.origin}, odd)).status in (
        400,
        401,
        422,
    )
