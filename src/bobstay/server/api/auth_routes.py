"""Coming in and being shown out over HTTP: codes, passwords, tickets, and the list of who has a key."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint, EndpointAnswer
from bobstay.server.auth.client_store import AuthClient, Kind
from bobstay.server.auth.cookies import clear_cookie
from bobstay.server.auth.login import LoggedIn
from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME
from bobstay.server.auth.principal import SCOPES, Principal, Scope, scopes_of
from bobstay.server.auth.user_store import LONGEST_PASSWORD, User
from bobstay.server.db.database_errors import translated
from bobstay.server.errors import ApiError

SMALL = 16 * 1024
"""Bytes: nothing here needs a longer body."""

PRINTABLE = "^[^\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]*$"
Label = Annotated[str, Meta(max_length=60, pattern=PRINTABLE)]
Secret = Annotated[str, Meta(max_length=LONGEST_PASSWORD)]


class CodeExchange(Struct, frozen=True, forbid_unknown_fields=True):
    code: Secret
    label: Label = ""
    """What to call this device in the list of clients."""


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=64)]
    password: Secret
    label: Label = ""


class NewPassword(Struct, frozen=True, forbid_unknown_fields=True):
    old: Secret
    new: Secret


class Me(Struct, frozen=True):
    name: str
    """What is written beside your decisions."""
    scopes: tuple[Scope, ...]
    client: str


class TicketRequest(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(max_length=1_000, pattern="^/")]
    """The path of the one connection, without a query."""


class TicketIssued(Struct, frozen=True):
    ticket: str
    """Put it into the query as `ticket`. It is good once, for seconds, for its path."""
    expires_at: float


class NewCode(Struct, frozen=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(min_length=1, max_length=60, pattern=PRINTABLE)]
    """What to call the device; decisions made on it carry your name and this."""
    scopes: tuple[Scope, ...] = ("read", "approve")
    expires_in: Annotated[float, Meta(ge=10, le=86_400)] = 600.0
    """Seconds until the code is worth nothing."""
    lifetime: Annotated[float, Meta(ge=60, le=31_536_000)] = COOKIE_LIFETIME
    """Seconds the device stays signed in."""


class OneTimeCode(Struct, frozen=True):
    code: str
    fragment: str
    """Append it to an address of this console, and the page signs in by itself."""
    expires_at: float


class ClientView(Struct, frozen=True):
    id: str
    kind: Kind
    who: str
    label: str
    scopes: tuple[Scope, ...]
    created_at: float
    created_by: str
    expires_at: float | None
    last_seen: float | None
    current: bool
    """Whether this very request came with it."""


class ClientList(Struct, frozen=True):
    clients: tuple[ClientView, ...]


class UserView(Struct, frozen=True):
    name: str
    scopes: tuple[Scope, ...]
    created_at: float
    created_by: str
    has_password: bool


class UserList(Struct, frozen=True):
    users: tuple[UserView, ...]


class PutUser(Struct, frozen=True, forbid_unknown_fields=True):
    scopes: tuple[Scope, ...]
    password: Secret | None = None
    """Left out, they keep the one they have; who has none comes in by a trusted reverse proxy only."""


async def exchange(call: ApiCall) -> EndpointAnswer:
    """Exchange a one-time code for a cookie."""
    body: CodeExchange = call.body
    doors = call.console.doors
    return _entered(await doors.entry.exchange(doors.threshold.visit(call.request.scope), body.code, body.label))


async def login(call: ApiCall) -> EndpointAnswer:
    """Sign in with a name and a password."""
    body: Login = call.body
    doors = call.console.doors
    visit = doors.threshold.visit(call.request.scope)
    return _entered(await doors.entry.login(visit, body.name, body.password, body.label))


async def logout(call: ApiCall) -> EndpointAnswer:
    """Revoke what this request came with, and clear the cookie."""
    doors = call.console.doors
    if call.principal.client:
        await doors.revoke(call.principal.client, call.principal.name)
    cookie = clear_cookie(doors.threshold.visit(call.request.scope), doors.rules.port)
    return EndpointAnswer(SignedOut(), 200, {"set-cookie": cookie})


class SignedOut(Struct, frozen=True):
    signed_out: bool = True


async def me(call: ApiCall) -> Me:
    """Say who asks and what they may do."""
    return _me(_somebody(call))


async def change_password(call: ApiCall) -> EndpointAnswer:
    """Change your own password; everything you are signed in with elsewhere ends."""
    body: NewPassword = call.body
    doors = call.console.doors
    name = _somebody(call).name
    visit = doors.threshold.visit(call.request.scope)
    user = await doors.entry.verified(visit, name, body.old)
    await _put(call, name, user.scopes, body.new)
    return _entered(await doors.entry.login(visit, name, body.new, ""))


async def ticket(call: ApiCall) -> TicketIssued:
    """Give out a ticket that lets one connection in without a header or cookie."""
    body: TicketRequest = call.body
    return TicketIssued(*call.console.doors.tickets.issue(_somebody(call).client, body.path))


async def code(call: ApiCall) -> OneTimeCode:
    """Make a one-time code for another device."""
    body: NewCode = call.body
    who = f"{call.principal.name[:100]}/{body.label}"
    with translated():
        secret, expires_at = await call.console.doors.codes.issue(
            who,
            _scopes(body.scopes),
            label=body.label,
            by=call.principal.name,
            expires_in=body.expires_in,
            lifetime=body.lifetime,
        )
    call.console.doors.audit.record(call.principal.name, "auth.code_made", {"for": who, "scopes": list(body.scopes)})
    return OneTimeCode(secret, f"#code={secret}", expires_at)


async def clients(call: ApiCall) -> ClientList:
    """List the tokens and browsers that can come in: everybody's for an admin, else your own."""
    who = _somebody(call)
    with translated():
        found = await call.console.doors.clients.listed(None if who.may("admin") else who.name)
    return ClientList(tuple(_client(client, who) for client in found))


async def revoke_client(call: ApiCall) -> None:
    """Revoke a token or browser; what it has open is closed within a second."""
    who = _somebody(call)
    with translated():
        client = await call.console.doors.clients.by_id(call.path["id"])
    if client is None or not (who.may("admin") or client.who == who.name):
        raise ApiError("not_found", "There is no such client: it was revoked, has expired, or is not yours.")
    await call.console.doors.revoke(client.id, who.name)


async def users(call: ApiCall) -> UserList:
    """List the people of the team."""
    with translated():
        return UserList(tuple(_user(user) for user in await call.console.doors.users.listed()))


async def put_user(call: ApiCall) -> UserView:
    """Add somebody to the team, or change what they may do; they have to sign in again."""
    body: PutUser = call.body
    return _user(await _put(call, call.path["name"], _scopes(body.scopes), body.password))


async def remove_user(call: ApiCall) -> None:
    """Remove somebody from the team; what they have open is closed."""
    name = call.path["name"]
    with translated():
        gone = await call.console.doors.users.remove(name)
    if not gone:
        raise ApiError("not_found", "There is no such person here.")
    await call.console.doors.revoke_all_of(name, call.principal.name)
    call.console.doors.audit.record(call.principal.name, "auth.user_removed", {"name": name})


async def _put(call: ApiCall, name: str, scopes: frozenset[Scope], password: str | None) -> User:
    doors = call.console.doors
    try:
        with translated():
            user = await doors.users.put(name, scopes, password, call.principal.name)
    except ValueError as error:
        raise ApiError("invalid", str(error)) from None
    # What was given out earlier had the old scopes or the old password behind it.
    await doors.revoke_all_of(name, call.principal.name)
    doors.audit.record(call.principal.name, "auth.user_put", {"name": name, "scopes": sorted(scopes)})
    return user


def _somebody(call: ApiCall) -> Principal:
    """Raises:
    ApiError: unauthorized, if nobody is known to ask.
    """
    if not call.principal.client:
        raise ApiError(
            "unauthorized",
            "Open the sign-in link from your terminal, or run: bobstay token code. Programs send a token as bearer.",
        )
    return call.principal


def _scopes(names: tuple[Scope, ...]) -> frozenset[Scope]:
    try:
        return scopes_of(names)
    except ValueError as error:
        raise ApiError("invalid", str(error)) from None


def _entered(entered: LoggedIn) -> EndpointAnswer:
    return EndpointAnswer(_me(entered.client.principal), 200, {"set-cookie": entered.cookie})


def _me(principal: Principal) -> Me:
    return Me(principal.name, _ordered(principal.scopes), principal.client)


def _ordered(scopes: frozenset[Scope]) -> tuple[Scope, ...]:
    return tuple(scope for scope in SCOPES if scope in scopes)


def _client(client: AuthClient, asks: Principal) -> ClientView:
    return ClientView(
        client.id,
        client.kind,
        client.who,
        client.label,
        _ordered(client.scopes),
        client.created_at,
        client.created_by,
        client.expires_at,
        client.last_seen,
        client.id == asks.client,
    )


def _user(user: User) -> UserView:
    return UserView(user.name, _ordered(user.scopes), user.created_at, user.created_by, user.has_password)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/auth/exchange", exchange, None, CodeExchange, None, Me, 200, ("bad_code", "too_many"), SMALL),
    Endpoint("POST", "/auth/login", login, None, Login, None, Me, 200, ("bad_code", "too_many"), SMALL),
    Endpoint("POST", "/auth/logout", logout, None, returns=SignedOut),
    Endpoint("GET", "/auth/me", me, None, returns=Me),
    Endpoint(
        "POST", "/auth/password", change_password, None, NewPassword, None, Me, 200, ("bad_code", "too_many"), SMALL
    ),
    Endpoint("POST", "/auth/tickets", ticket, None, TicketRequest, None, TicketIssued, 201, ("too_many",), SMALL),
    Endpoint("POST", "/auth/codes", code, "admin", NewCode, None, OneTimeCode, 201, body_limit=SMALL),
    Endpoint("GET", "/auth/clients", clients, None, returns=ClientList),
    Endpoint("DELETE", "/auth/clients/{id}", revoke_client, None, status=204, errors=("not_found",)),
    Endpoint("GET", "/auth/users", users, "admin", returns=UserList),
    Endpoint("PUT", "/auth/users/{name}", put_user, "admin", PutUser, None, UserView, body_limit=SMALL),
    Endpoint("DELETE", "/auth/users/{name}", remove_user, "admin", status=204, errors=("not_found",)),
)
"""Where the scope is None but somebody must be known, any scope will do: the handler asks."""
