"""`bobstay token`: keys for scripts, and one-time codes for browsers. Works whether the server runs or not."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bobstay.cli.database_url import database_url
from bobstay.config.paths import Paths

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

USAGE = """\
Usage: bobstay token create --scope SCOPE[,SCOPE…] [--expires 8h] [--name NAME]
       bobstay token list
       bobstay token revoke ID
       bobstay token code [--scope SCOPE[,SCOPE…]] [--expires 10m] [--name NAME]

A token lets a script into the console's server, as `Authorization: Bearer …`. It is shown once. A code lets one browser
in, once: append #code=CODE to the address of the console. Scopes are read, operate, approve, terminal and admin, which
is all of them. Times are a number and s, m, h or d, or `never`; a token lasts 30d unless you say otherwise. A running
server closes what a revoked token has open within a second. With --db URL they are those of that database; a URL with a
password belongs into --db-file FILE or the variable BOBSTAY_DB, as for `bobstay serve`.
"""
ACTIONS = ("create", "list", "revoke", "code")
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
LONGEST = 3_650 * 86_400
TOKEN_LIFETIME = "30d"  # noqa: S105 - a length of time
CODE_LIFETIME = "10m"
BY = "command line"


class _WrongUseError(Exception):
    """The words on the command line will not do; the text says why."""


class _TokenOptions(Struct):
    action: str
    id: str = ""
    scope: str = ""
    expires: str = ""
    name: str = ""
    db: str = ""
    db_file: str | None = None


def run(arguments: list[str]) -> int:
    """Return 0 if done, 1 if it could not be, 2 if the command line is wrong."""
    if arguments and arguments[0] in ("--help", "-h"):
        sys.stdout.write(USAGE)
        return 0
    try:
        wish = _parse(arguments)
        action = _action(wish)
        wish.db = _database(wish)
    except _WrongUseError as error:
        sys.stderr.write(f"{error}\n\n{USAGE}")
        return 2
    return asyncio.run(_with_tables(wish, action))


def _parse(arguments: list[str]) -> _TokenOptions:
    words = list(arguments)
    if not words or words[0] not in ACTIONS:
        raise _WrongUseError("Say what to do: create, list, revoke or code.")
    wish = _TokenOptions(words.pop(0))
    while words:
        word = words.pop(0)
        flag, equals, value = word.partition("=")
        if flag in ("--scope", "--expires", "--name", "--db", "--db-file"):
            if not equals and not words:
                raise _WrongUseError(f"{flag} needs a value.")
            setattr(wish, flag[2:].replace("-", "_"), value if equals else words.pop(0))
        elif word.startswith("-") or wish.action != "revoke" or wish.id:
            raise _WrongUseError(f"{_plain(word)} is not understood.")
        else:
            wish.id = word
    if wish.action == "revoke" and not wish.id:
        raise _WrongUseError("Which one? `bobstay token list` shows their ids.")
    if len(wish.name) > 60 or not wish.name.isprintable():
        raise _WrongUseError("A name has up to 60 characters that can be seen.")
    return wish


def _action(wish: _TokenOptions) -> Callable[["AsyncEngine"], Awaitable[int]]:
    """What is to be done with the tables. All that can be wrong with the words is found before they are opened."""
    from bobstay.server.auth.principal import SCOPES, scopes_of

    if wish.action == "list":
        return _list
    if wish.action == "revoke":
        return lambda engine: _revoke(engine, wish.id)
    if wish.action == "create" and not wish.scope:
        raise _WrongUseError(f"What may it do? Choose with --scope from: {', '.join(SCOPES)}.")
    try:
        scopes = scopes_of(wish.scope.split(",")) if wish.scope else frozenset(SCOPES)
    except ValueError as error:
        raise _WrongUseError(_plain(str(error))) from None
    if wish.action == "create":
        lifetime = _seconds(wish.expires or TOKEN_LIFETIME)
        return lambda engine: _create(engine, wish.name, scopes, lifetime)
    expires = _seconds(wish.expires or CODE_LIFETIME)
    if expires is None or expires > 86_400:
        raise _WrongUseError("A code is good for a day at most.")
    return lambda engine: _code(engine, wish.name, scopes, expires)


def _database(wish: _TokenOptions) -> str:
    try:
        return database_url(wish.db, wish.db_file)
    except ValueError as error:
        raise _WrongUseError(_plain(str(error))) from None


def _seconds(text: str) -> float | None:
    """A length of time; None for `never`."""
    if text == "never":
        return None
    digits, unit = text[:-1], text[-1:]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9 and unit in UNITS):
        raise _WrongUseError(f"{_plain(text)} is no length of time. Write 30m, 8h or 7d.")
    seconds = int(digits) * UNITS[unit]
    if not 0 < seconds <= LONGEST:
        raise _WrongUseError("That is too short or too long. Write 30m, 8h, 7d, or never.")
    return float(seconds)


async def _with_tables(wish: _TokenOptions, action: Callable[["AsyncEngine"], Awaitable[int]]) -> int:
    from bobstay.server.auth.private_files import NotPrivate, private_file, private_folder
    from bobstay.server.db.database_engines import connect, resolve
    from bobstay.server.db.database_errors import translated
    from bobstay.server.db.migration import migrate
    from bobstay.server.db.own_tables import prepare
    from bobstay.server.errors import ApiError

    try:
        state = private_folder(f"{Paths.read(os.environ).bobstay}/server")
        url = resolve(wish.db, state)
        if not wish.db:
            private_file(url.database or "")
        engines = connect(url)
        try:
            await migrate(engines)
            with translated():
                await prepare(engines.own)
                return await action(engines.own)
        finally:
            await engines.dispose()
    except (ApiError, NotPrivate, OSError) as error:
        sys.stderr.write(f"{_plain(str(error))}\n")
        return 1


async def _create(engine: "AsyncEngine", name: str, scopes: frozenset[Any], lifetime: float | None) -> int:
    from bobstay.server.auth.client_store import ClientStore
    from bobstay.server.auth.credential_hashes import new_name

    label = name or new_name()[:6]
    clients = ClientStore(engine, time.time)
    client, secret = await clients.create("token", f"token:{label}", scopes, label=label, by=BY, lifetime=lifetime)
    await _note(engine, "auth.token_made", {"client": client.id, "name": label, "scopes": sorted(scopes)})
    until = f"until {_when(client.expires_at)}" if client.expires_at else "until you revoke it"
    sys.stderr.write(f"Token {client.id} for {', '.join(sorted(scopes))}, {until}. It is not shown again:\n")
    sys.stdout.write(f"{secret}\n")
    return 0


async def _list(engine: "AsyncEngine") -> int:
    from bobstay.server.auth.client_store import ClientStore
    from bobstay.server.auth.principal import scopes_text

    found = await ClientStore(engine, time.time).listed()
    if not found:
        sys.stdout.write("Nobody has a key. Make one with: bobstay token create --scope read\n")
    for client in found:
        until = f"until {_when(client.expires_at)}" if client.expires_at else "for ever"
        seen = f"seen {_when(client.last_seen)}" if client.last_seen else "not seen yet"
        who = _plain(client.who if client.kind == "token" else f"{client.who} in a browser ({client.label})")
        sys.stdout.write(f"{client.id}  {scopes_text(client.scopes)}  {until}  {seen}  {who}\n")
    return 0


async def _revoke(engine: "AsyncEngine", id: str) -> int:
    from bobstay.server.auth.client_store import ClientStore

    if not await ClientStore(engine, time.time).revoke(id):
        sys.stderr.write(f"There is no live token or browser {_plain(id[:64])}. See: bobstay token list\n")
        return 1
    await _note(engine, "auth.revoked", {"client": id})
    sys.stdout.write(f"{_plain(id)} is revoked.\n")
    return 0


async def _code(engine: "AsyncEngine", name: str, scopes: frozenset[Any], expires: float) -> int:
    from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME, OneTimeCodes

    who = f"owner/{name}" if name else "owner"
    code, until = await OneTimeCodes(engine, time.time).issue(
        who, scopes, label=name, by=BY, expires_in=expires, lifetime=COOKIE_LIFETIME
    )
    await _note(engine, "auth.code_made", {"for": who, "scopes": sorted(scopes)})
    sys.stderr.write(f"Good once, until {_when(until)}. Append it to the address of the console:\n")
    sys.stdout.write(f"#code={code}\n")
    return 0


async def _note(engine: "AsyncEngine", what: str, detail: dict[str, Any]) -> None:
    import msgspec

    from bobstay.server.db.own_tables import audit

    row = {"at": time.time(), "who": BY, "what": what, "detail": msgspec.json.encode(detail).decode()}
    async with engine.begin() as connection:
        await connection.execute(audit.insert().values(row))


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _plain(text: str) -> str:
    """Names come from elsewhere: they must not steer the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
