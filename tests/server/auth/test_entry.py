"""Coming in: the one-time code, codes for other devices, names and passwords, and what each may then do."""

import asyncio
from pathlib import Path

from sqlalchemy import select

from bobstay.server.db.own_tables import CLIENTS, CODES, USERS
from tests.server.auth.house import House, Reply

PASSWORD = "correct horse battery"


async def exchange(house: House, code: str) -> Reply:
    return await house.ask("POST", "/api/v1/auth/exchange", {"Origin": house.origin}, {"code": code, "label": "laptop"})


async def login(house: House, name: str, password: str) -> Reply:
    body = {"name": name, "password": password}
    return await house.ask("POST", "/api/v1/auth/login", {"Origin": house.origin}, body)


def cookie_of(house: House, reply: Reply) -> dict[str, str]:
    return {"Cookie": reply.header("set-cookie").split(";")[0], "Origin": house.origin}


async def test_the_start_code_is_exchanged_once_for_a_cookie_that_scripts_cannot_read(house: House) -> None:
    assert house.doors.address(house.code) == f"http://127.0.0.1:{house.port}/#code={house.code}"
    reply = await exchange(house, house.code)
    assert reply.json["name"] == "owner"
    assert reply.json["scopes"] == ["read", "operate", "approve", "terminal", "admin"]
    value, *attributes = reply.header("set-cookie").split("; ")
    assert value.startswith(f"bobstay_{house.port}=bst_")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes
    assert not [attribute for attribute in attributes if attribute.lower().startswith("domain")]
    again = await exchange(house, house.code)
    assert (again.status, again.code) == (401, "bad_code")
    assert again.header("set-cookie") == ""
    me = await house.ask("GET", "/api/v1/auth/me", cookie_of(house, reply))
    assert me.json == reply.json
    assert house.book.whats() == ["auth.entered", "auth.bad_code"]


async def test_of_many_who_come_with_the_same_code_one_gets_in(house: House) -> None:
    replies = await asyncio.gather(*(exchange(house, house.code) for _ in range(8)))
    assert sorted(reply.status for reply in replies) == [200] + [401] * 7


async def test_a_code_expires(house: House) -> None:
    house.clock.now += 3_601
    assert (await exchange(house, house.code)).code == "bad_code"


async def test_a_new_start_makes_the_codes_of_earlier_ones_worthless(house: House) -> None:
    newer = await house.doors.start_code()
    assert (await exchange(house, house.code)).status == 401
    assert (await exchange(house, newer)).status == 200


async def test_the_tables_hold_no_secret(house: House) -> None:
    page = await house.enter()
    _, bearer = await house.token("read")
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    unused = await house.doors.start_code()
    async with house.engine.connect() as connection:
        rows = [[*await connection.execute(select(table))] for table in (CLIENTS, CODES, USERS)]
    assert all(rows)
    secrets = (page["Cookie"].partition("=")[2], bearer["Authorization"].split()[1], house.code, unused, PASSWORD)
    files = b"".join(path.read_bytes() for path in house.folder.glob("doors.sqlite*"))
    for secret in secrets:
        assert secret not in repr(rows)
        assert secret.encode() not in files
    assert "$argon2id$" in repr(rows)


async def test_the_cookie_of_a_tls_origin_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    async with House(tmp_path, public_urls=("https://agents.example.com",)) as house:
        public = {"Origin": "https://agents.example.com"}
        reply = await house.ask(
            "POST", "/api/v1/auth/exchange", public, {"code": house.code}, host="agents.example.com"
        )
        value, *attributes = reply.header("set-cookie").split("; ")
        assert value.startswith(f"__Host-bobstay_{house.port}=")
        assert "Secure" in attributes
        shown = {**public, "Cookie": value}
        assert (await house.ask("GET", "/api/v1/things", shown, host="agents.example.com")).status == 200
        # Over TLS only the name counts that no neighbour can set.
        plain = {**public, "Cookie": value.removeprefix("__Host-")}
        assert (await house.ask("GET", "/api/v1/things", plain, host="agents.example.com")).status == 401


async def test_two_consoles_on_one_host_do_not_take_each_other_s_cookies(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with House(tmp_path / "one") as one, House(tmp_path / "two") as two:
        first, second = await one.enter(), await two.enter()
        both = f"{first['Cookie']}; {second['Cookie']}"
        for house in (one, two):
            shown = {"Cookie": both, "Origin": house.origin}
            assert (await house.ask("GET", "/api/v1/things", shown)).status == 200
        crossed = {"Cookie": first["Cookie"], "Origin": two.origin}
        assert (await two.ask("GET", "/api/v1/things", crossed)).status == 401


async def test_a_neighbour_s_cookie_of_the_same_name_does_not_shut_us_out(house: House) -> None:
    page = await house.enter()
    tossed = {**page, "Cookie": f"bobstay_{house.port}=tossed; {page['Cookie']}"}
    assert (await house.ask("GET", "/api/v1/things", tossed)).status == 200


async def test_wrong_codes_are_slowed_down_and_the_right_one_still_works(house: House) -> None:
    replies = [await exchange(house, f"wrong-{number}") for number in range(12)]
    assert [reply.status for reply in replies] == [401] * 10 + [429] * 2
    assert replies[-1].json["error"]["details"]["retry_after"] > 0
    assert house.book.whats() == ["auth.bad_code"] * 10
    assert (await exchange(house, house.code)).status == 200
    house.clock.now += 61
    assert (await exchange(house, "wrong")).status == 401


async def test_a_phone_is_paired_for_reading_and_approving_and_can_do_no_more(house: House) -> None:
    page = await house.enter()
    made = await house.ask("POST", "/api/v1/auth/codes", page, {"label": "phone", "expires_in": 60})
    assert made.status == 201
    assert made.json["expires_at"] == house.clock.now + 60
    assert made.json["fragment"] == f"#code={made.json['code']}"
    phone = await house.enter(made.json["code"])
    me = (await house.ask("GET", "/api/v1/auth/me", phone)).json
    assert (me["name"], me["scopes"]) == ("owner/phone", ["read", "approve"])
    assert (await house.ask("GET", "/api/v1/things", phone)).status == 200
    assert (await house.ask("POST", "/api/v1/approve", phone, {})).status == 200
    refused = await house.ask("POST", "/api/v1/act", phone, {})
    assert (refused.status, refused.code) == (403, "forbidden")
    assert refused.json["error"]["details"] == {"needed": "operate"}
    assert (await house.ask("POST", "/api/v1/auth/codes", phone, {"label": "more"})).status == 403
    assert (await house.ask("PUT", "/api/v1/auth/users/me", phone, {"scopes": ["admin"]})).status == 403
    assert house.app.state.acts == ["owner/phone"]


async def test_a_code_for_another_device_expires(house: House) -> None:
    page = await house.enter()
    made = (await house.ask("POST", "/api/v1/auth/codes", page, {"label": "phone", "expires_in": 60})).json
    house.clock.now += 60
    assert (await exchange(house, made["code"])).status == 401


async def test_a_paired_device_is_signed_out_when_its_time_is_over(house: House) -> None:
    page = await house.enter()
    made = (await house.ask("POST", "/api/v1/auth/codes", page, {"label": "phone", "lifetime": 3600})).json
    phone = await house.enter(made["code"])
    house.clock.now += 3_601
    assert (await house.ask("GET", "/api/v1/things", phone)).status == 401
    assert (await house.ask("GET", "/api/v1/things", page)).status == 200


async def test_a_wish_for_a_code_that_will_not_do_is_refused(house: House) -> None:
    page = await house.enter()
    wishes: list[dict[str, object]] = [{"label": ""}, {"scopes": []}, {"scopes": ["root"]}]
    wishes += [{"expires_in": 1e9}, {"lifetime": 0}, {"who": "ada"}]
    for wish in wishes:
        assert (await house.ask("POST", "/api/v1/auth/codes", page, {"label": "x", **wish})).status == 422
    assert (await house.ask("POST", "/api/v1/auth/codes", page, {})).status == 422


async def test_the_list_of_clients_is_everybody_s_for_an_admin_and_one_s_own_otherwise(house: House) -> None:
    page = await house.enter()
    code = (await house.ask("POST", "/api/v1/auth/codes", page, {"label": "phone"})).json["code"]
    phone = await house.enter(code)
    id, _ = await house.token("read")
    everybody = (await house.ask("GET", "/api/v1/auth/clients", page)).json["clients"]
    assert {client["who"] for client in everybody} == {"owner", "owner/phone", "token:test"}
    assert [client["who"] for client in everybody if client["current"]] == ["owner"]
    own = (await house.ask("GET", "/api/v1/auth/clients", phone)).json["clients"]
    assert [client["who"] for client in own] == ["owner/phone"]
    assert (await house.ask("DELETE", f"/api/v1/auth/clients/{id}", phone)).status == 404
    assert (await house.ask("DELETE", f"/api/v1/auth/clients/{own[0]['id']}", phone)).status == 204
    assert (await house.ask("GET", "/api/v1/things", phone)).status == 401
    assert (await house.ask("DELETE", "/api/v1/auth/clients/nobody", page)).status == 404


async def test_when_a_client_was_last_seen_is_noted(house: House) -> None:
    id, bearer = await house.token("read")
    house.clock.now += 5
    await house.ask("GET", "/api/v1/things", bearer)
    await house.doors.clients.note_seen()
    client = next(client for client in await house.doors.clients.listed() if client.id == id)
    assert client.last_seen == house.clock.now


async def test_people_of_a_team_sign_in_by_name_and_what_they_do_carries_it(house: House) -> None:
    page = await house.enter()
    ada = {"scopes": ["read", "approve"], "password": PASSWORD}
    assert (await house.ask("PUT", "/api/v1/auth/users/ada", page, ada)).json["has_password"] is True
    reply = await login(house, "ada", PASSWORD)
    assert reply.json["name"] == "ada"
    signed_in = cookie_of(house, reply)
    assert (await house.ask("POST", "/api/v1/approve", signed_in, {})).json == {"by": "ada"}
    assert (await house.ask("POST", "/api/v1/act", signed_in, {})).status == 403
    assert (await house.ask("GET", "/api/v1/auth/users", signed_in)).status == 403
    listed = (await house.ask("GET", "/api/v1/auth/users", page)).json["users"]
    assert [user["name"] for user in listed] == ["ada"]
    assert "password" not in str(listed).replace("has_password", "")


async def test_a_wrong_password_and_a_name_nobody_has_read_the_same(house: House) -> None:
    page = await house.enter()
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    await house.ask("PUT", "/api/v1/auth/users/bob", page, {"scopes": ["read"]})
    replies = [
        await login(house, "ada", "incorrect horse"),
        await login(house, "nobody", PASSWORD),
        await login(house, "bob", ""),
        await login(house, "ada'--", PASSWORD),
    ]
    assert {(reply.status, reply.body) for reply in replies} == {(401, replies[0].body)}


async def test_wrong_passwords_are_slowed_down_even_at_once_and_even_for_the_right_one(house: House) -> None:
    page = await house.enter()
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    await house.ask("PUT", "/api/v1/auth/users/bob", page, {"scopes": ["read"], "password": PASSWORD})
    replies = await asyncio.gather(*(login(house, "ada", f"wrong password {number}") for number in range(9)))
    assert sorted(reply.status for reply in replies) == [401] * 5 + [429] * 4
    assert (await login(house, "ada", PASSWORD)).status == 429
    assert (await login(house, "bob", PASSWORD)).status == 200
    house.clock.now += 61
    assert (await login(house, "ada", PASSWORD)).status == 200


async def test_many_right_passwords_are_not_slowed_down(house: House) -> None:
    page = await house.enter()
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    assert {(await login(house, "ada", PASSWORD)).status for _ in range(32)} == {200}


async def test_changing_what_somebody_may_do_ends_what_they_came_in_with(house: House) -> None:
    page = await house.enter()
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["admin"], "password": PASSWORD})
    ada = cookie_of(house, await login(house, "ada", PASSWORD))
    assert (await house.ask("GET", "/api/v1/auth/users", ada)).status == 200
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"]})
    assert (await house.ask("GET", "/api/v1/things", ada)).status == 401
    again = await login(house, "ada", PASSWORD)
    assert again.json["scopes"] == ["read"]
    assert (await house.ask("DELETE", "/api/v1/auth/users/ada", page)).status == 204
    assert (await house.ask("GET", "/api/v1/things", cookie_of(house, again))).status == 401
    assert (await login(house, "ada", PASSWORD)).status == 401
    assert (await house.ask("DELETE", "/api/v1/auth/users/ada", page)).status == 404


async def test_one_s_own_password_is_changed_with_the_old_one(house: House) -> None:
    page = await house.enter()
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    ada = cookie_of(house, await login(house, "ada", PASSWORD))
    wrong = {"old": "something else", "new": "another long password"}
    assert (await house.ask("POST", "/api/v1/auth/password", ada, wrong)).status == 401
    short = {"old": PASSWORD, "new": "short"}
    assert (await house.ask("POST", "/api/v1/auth/password", ada, short)).status == 422
    right = {"old": PASSWORD, "new": "another long password"}
    reply = await house.ask("POST", "/api/v1/auth/password", ada, right)
    assert reply.status == 200
    assert (await house.ask("GET", "/api/v1/things", ada)).status == 401
    assert (await house.ask("GET", "/api/v1/things", cookie_of(house, reply))).status == 200
    assert (await login(house, "ada", PASSWORD)).status == 401


async def test_names_that_could_be_taken_for_others_are_refused(house: House) -> None:
    page = await house.enter()
    body = {"scopes": ["read"], "password": PASSWORD}
    for name in ("owner", "local", "Ada", "token:x", "owner%2Fphone", "a%20b", "a" * 65, "%C3%A4", "-a"):
        assert (await house.ask("PUT", f"/api/v1/auth/users/{name}", page, body)).status in (404, 405, 422)
    assert await house.doors.users.listed() == []


async def test_hostile_bodies_are_refused_with_words(house: House) -> None:
    long = b'{"code": "' + b"x" * 20_000 + b'"}'
    for body in (b"", b"{", b"[]", b'{"code": 7}', b'{"code": "x", "scopes": ["admin"]}', long):
        for path in ("exchange", "login"):
            reply = await house.ask("POST", f"/api/v1/auth/{path}", {"Origin": house.origin}, body)
            assert reply.status in (400, 413, 422)
            assert reply.json["error"]["message"]


async def test_a_lone_surrogate_in_a_code_or_password_breaks_nothing(house: House) -> None:
    page = await house.enter()
    await house.ask("PUT", "/api/v1/auth/users/ada", page, {"scopes": ["read"], "password": PASSWORD})
    for body in (b'{"code": "\\ud800"}', b'{"code": "\\u0000"}'):
        reply = await house.ask("POST", "/api/v1/auth/exchange", {"Origin": house.origin}, body)
        assert reply.status in (400, 401, 422)
    odd = b'{"name": "ada", "password": "\\u0000\\ud800"}'
    assert (await house.ask("POST", "/api/v1/auth/login", {"Origin": house.origin}, odd)).status in (400, 401, 422)
