"""`bobstay token`: tokens for scripts and one-time codes for browsers. Works with or without a running server."""

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

A token gives a script access to the console's server, as `Authorization: Bearer …`. It is shown once. A code logs one
browser in, once: append #code=CODE to the address of the console. Scopes are read, operate, approve, terminal and
admin, which includes all of them. Times are a number and s, m, h or d, or `never`; a token is valid for 30d by default.
A running server closes the connections of a revoked token within a second. --db URL chooses the database; put a URL
with a password into --db-file FILE or the variable BOBSTAY_DB, as for `bobstay serve`.
"""
ACTIONS = ("create", "list", "revoke", "code")
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
MAX_LIFETIME = 3_650 * 86_400
TOKEN_LIFETIME = "30d"  # noqa: S105 - a duration
CODE_LIFETIME = "10m"
BY = "command line"


class _UsageError(Exception):
    """The command line is invalid; the text says why."""


class _TokenOptions(Struct):
    action: str
    id: str = ""
    scope: str = ""
    expires: str = ""
    name: str = ""
    db: str = ""
    db_file: str | None = None


def run(arguments: list[str]) -> int:
    """Return 0 on success, 1 on failure, 2 for an invalid command line."""
    if arguments and arguments[0] in ("--help", "-h"):
        sys.stdout.write(USAGE)
        return 0
    try:
        options = _parse(arguments)
        action = _choose_action(options)
        options.db = _database(options)
    except _UsageError as error:
        sys.stderr.write(f"{error}\n\n{USAGE}")
        return 2
    return asyncio.run(_run_with_database(options, action))


def _parse(arguments: list[str]) -> _TokenOptions:
    remaining = list(arguments)
    if not remaining or remaining[0] not in ACTIONS:
        raise _UsageError("Name an action: create, list, revoke or code.")
    options = _TokenOptions(remaining.pop(0))
    while remaining:
        argument = remaining.pop(0)
        flag, equals, value = argument.partition("=")
        if flag in ("--scope", "--expires", "--name", "--db", "--db-file"):
            if not equals and not remaining:
                raise _UsageError(f"{flag} needs a value.")
            setattr(options, flag[2:].replace("-", "_"), value if equals else remaining.pop(0))
        elif argument.startswith("-") or options.action != "revoke" or options.id:
            raise _UsageError(f"{_printable(argument)} is not understood.")
        else:
            options.id = argument
    if options.action == "revoke" and not options.id:
        raise _UsageError("The id is missing. `bobstay token list` shows the ids.")
    if len(options.name) > 60 or not options.name.isprintable():
        raise _UsageError("A name has at most 60 printable characters.")
    return options


def _choose_action(options: _TokenOptions) -> Callable[["AsyncEngine"], Awaitable[int]]:
    """Choose the database operation. Errors in the arguments are found before the database is opened."""
    from bobstay.server.auth.principal import SCOPES, scopes_of

    if options.action == "list":
        return _list
    if options.action == "revoke":
        return lambda engine: _revoke(engine, options.id)
    if options.action == "create" and not options.scope:
        raise _UsageError(f"The scope is missing. Choose with --scope from: {', '.join(SCOPES)}.")
    try:
        scopes = scopes_of(options.scope.split(",")) if options.scope else frozenset(SCOPES)
    except ValueError as error:
        raise _UsageError(_printable(str(error))) from None
    if options.action == "create":
        lifetime = _parse_seconds(options.expires or TOKEN_LIFETIME)
        return lambda engine: _create(engine, options.name, scopes, lifetime)
    expires = _parse_seconds(options.expires or CODE_LIFETIME)
    if expires is None or expires > 86_400:
        raise _UsageError("A code is valid for a day at most.")
    return lambda engine: _code(engine, options.name, scopes, expires)


def _database(options: _TokenOptions) -> str:
    try:
        return database_url(options.db, options.db_file)
    except ValueError as error:
        raise _UsageError(_printable(str(error))) from None


def _parse_seconds(text: str) -> float | None:
    """Parse a duration; None for `never`."""
    if text == "never":
        return None
    digits, unit = text[:-1], text[-1:]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9 and unit in UNITS):
        raise _UsageError(f"{_printable(text)} is not a duration. Write 30m, 8h or 7d.")
    seconds = int(digits) * UNITS[unit]
    if not 0 < seconds <= MAX_LIFETIME:
        raise _UsageError("That is too short or too long. Write 30m, 8h, 7d, or never.")
    return float(seconds)


async def _run_with_database(options: _TokenOptions, action: Callable[["AsyncEngine"], Awaitable[int]]) -> int:
    from bobstay.server.auth.private_files import NotPrivate, private_file, private_folder
    from bobstay.server.db.database_engines import connect, resolve
    from bobstay.server.db.database_errors import translate_errors
    from bobstay.server.db.migration import migrate
    from bobstay.server.db.own_tables import prepare
    from bobstay.server.errors import ApiError

    try:
        state = private_folder(f"{Paths.read(os.environ).bobstay}/server")
        url = resolve(options.db, state)
        if not options.db:
            private_file(url.database or "")
        engines = connect(url)
        try:
            await migrate(engines)
            with translate_errors():
                await prepare(engines.own)
                return await action(engines.own)
        finally:
            await engines.dispose()
    except (ApiError, NotPrivate, OSError) as error:
        sys.stderr.write(f"{_printable(str(error))}\n")
        return 1


async def _create(engine: "AsyncEngine", name: str, scopes: frozenset[Any], lifetime: float | None) -> int:
    from bobstay.server.auth.client_store import ClientStore
    from bobstay.server.auth.credential_hashes import new_id

    label = name or new_id()[:6]
    clients = ClientStore(engine, time.time)
    client, secret = await clients.create("token", f"token:{label}", scopes, label=label, by=BY, lifetime=lifetime)
    await _write_audit_row(engine, "auth.token_made", {"client": client.id, "name": label, "scopes": sorted(scopes)})
    until = f"until {_format_time(client.expires_at)}" if client.expires_at else "until you revoke it"
    sys.stderr.write(f"Token {client.id} for {', '.join(sorted(scopes))}, {until}. It is not shown again:\n")
    sys.stdout.write(f"{secret}\n")
    return 0


async def _list(engine: "AsyncEngine") -> int:
    from bobstay.server.auth.client_store import ClientStore
    from bobstay.server.auth.principal import scopes_text

    clients = await ClientStore(engine, time.time).list_clients()
    if not clients:
        sys.stdout.write("There are no tokens. Create one with: bobstay token create --scope read\n")
    for client in clients:
        until = f"until {_format_time(client.expires_at)}" if client.expires_at else "no expiry"
        seen = f"last used {_format_time(client.last_seen)}" if client.last_seen else "never used"
        who = _printable(client.who if client.kind == "token" else f"{client.who} in a browser ({client.label})")
        sys.stdout.write(f"{client.id}  {scopes_text(client.scopes)}  {until}  {seen}  {who}\n")
    return 0


async def _revoke(engine: "AsyncEngine", id: str) -> int:
    from bobstay.server.auth.client_store import ClientStore

    if not await ClientStore(engine, time.time).revoke(id):
        sys.stderr.write(f"There is no valid token or browser {_printable(id[:64])}. See: bobstay token list\n")
        return 1
    await _write_audit_row(engine, "auth.revoked", {"client": id})
    sys.stdout.write(f"{_printable(id)} is revoked.\n")
    return 0


async def _code(engine: "AsyncEngine", name: str, scopes: frozenset[Any], expires: float) -> int:
    from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME, OneTimeCodes

    who = f"owner/{name}" if name else "owner"
    code, until = await OneTimeCodes(engine, time.time).issue(
        who, scopes, label=name, by=BY, expires_in=expires, lifetime=COOKIE_LIFETIME
    )
    await _write_audit_row(engine, "auth.code_made", {"for": who, "scopes": sorted(scopes)})
    sys.stderr.write(f"Valid once, until {_format_time(until)}. Append it to the address of the console:\n")
    sys.stdout.write(f"#code={code}\n")
    return 0


async def _write_audit_row(engine: "AsyncEngine", what: str, detail: dict[str, Any]) -> None:
    import msgspec

    from bobstay.server.db.own_tables import audit

    row = {"at": time.time(), "who": BY, "what": what, "detail": msgspec.json.encode(detail).decode()}
    async with engine.begin() as connection:
        await connection.execute(audit.insert().values(row))


def _format_time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _printable(text: str) -> str:
    """Replace control characters: untrusted names must not control the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
