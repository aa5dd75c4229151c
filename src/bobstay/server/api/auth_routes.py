"""Authentication over HTTP: sign in and out, tickets, one-time codes, clients and users."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint, EndpointAnswer
from bobstay.server.auth.client_store import AuthClient, Kind
from bobstay.server.auth.cookies import clear_cookie
from bobstay.server.auth.login import LoggedIn
from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME
from bobstay.server.auth.principal import SCOPES, Principal, Scope, scopes_of
from bobstay.server.auth.user_store import LONGEST_PASSWORD, User
from bobstay.server.db.database_errors import translate_errors
from bobstay.server.errors import ApiError

SMALL = 16 * 1024
"""Maximum bytes of a request body here."""

PRINTABLE = "^[^\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]*$"
Label = Annotated[str, Meta(max_length=60, pattern=PRINTABLE)]
Secret = Annotated[str, Meta(max_length=LONGEST_PASSWORD)]


class CodeExchange(Struct, frozen=True, forbid_unknown_fields=True):
    code: Secret
    label: Label = ""
    """Name of this device in the list of clients."""


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=64)]
    password: Secret
    label: Label = ""


class NewPassword(Struct, frozen=True, forbid_unknown_fields=True):
    old: Secret
    new: Secret


class Me(Struct, frozen=True):
    name: str
    """The name recorded with your decisions."""
    scopes: tuple[Scope, ...]
    client: str


class TicketRequest(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(max_length=1_000, pattern="^/")]
    """The path of the connection, without a query."""


class TicketIssued(Struct, frozen=True):
    ticket: str
    """Send it in the query as `ticket`. It is valid once, for its path, for some seconds."""
    expires_at: float


class NewCode(Struct, frozen=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(min_length=1, max_length=60, pattern=PRINTABLE)]
    """Name of the device; decisions made on it are recorded under your name and this."""
    scopes: tuple[Scope, ...] = ("read", "approve")
    expires_in: Annotated[float, Meta(ge=10, le=86_400)] = 600.0
    """Seconds until the code expires."""
    lifetime: Annotated[float, Meta(ge=60, le=31_536_000)] = COOKIE_LIFETIME
    """Seconds the device stays signed in."""


class OneTimeCode(Struct, frozen=True):
    code: str
    fragment: str
    """Append it to the URL of this console: the page then signs in automatically."""
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
    """Whether this request was made with it."""


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
    """If left out, it stays unchanged. A user without a password can sign in through a trusted reverse proxy only."""


async def exchange(call: ApiCall) -> EndpointAnswer:
    """Exchange a one-time code for a cookie."""
    body: CodeExchange = call.body
    auth = call.services.auth
    request = auth.origin_policy.inspect(call.request.scope)
    return _sign_in_answer(await auth.login_service.exchange(request, body.code, body.label))


async def login(call: ApiCall) -> EndpointAnswer:
    """Sign in with a name and a password."""
    body: Login = call.body
    auth = call.services.auth
    request = auth.origin_policy.inspect(call.request.scope)
    return _sign_in_answer(await auth.login_service.login(request, body.name, body.password, body.label))


async def logout(call: ApiCall) -> EndpointAnswer:
    """Sign out: revoke the credential of this request and clear the cookie."""
    auth = call.services.auth
    if call.principal.client:
        await auth.revoke(call.principal.client, call.principal.name)
    cookie = clear_cookie(auth.origin_policy.inspect(call.request.scope), auth.rules.port)
    return EndpointAnswer(SignedOut(), 200, {"set-cookie": cookie})


class SignedOut(Struct, frozen=True):
    signed_out: bool = True


async def me(call: ApiCall) -> Me:
    """Show your name and scopes."""
    return _me(_require_principal(call))


async def change_password(call: ApiCall) -> EndpointAnswer:
    """Change your own password and sign out all your other clients."""
    body: NewPassword = call.body
    auth = call.services.auth
    name = _require_principal(call).name
    request = auth.origin_policy.inspect(call.request.scope)
    user = await auth.login_service.verify(request, name, body.old)
    await _save_user(call, name, user.scopes, body.new)
    return _sign_in_answer(await auth.login_service.login(request, name, body.new, ""))


async def ticket(call: ApiCall) -> TicketIssued:
    """Create a ticket that authorizes one connection without a header or cookie."""
    body: TicketRequest = call.body
    return TicketIssued(*call.services.auth.tickets.issue(_require_principal(call).client, body.path))


async def code(call: ApiCall) -> OneTimeCode:
    """Create a one-time code that signs in another device."""
    body: NewCode = call.body
    who = f"{call.principal.name[:100]}/{body.label}"
    with translate_errors():
        secret, expires_at = await call.services.auth.codes.issue(
            who,
            _scopes(body.scopes),
            label=body.label,
            by=call.principal.name,
            expires_in=body.expires_in,
            lifetime=body.lifetime,
        )
    call.services.auth.audit.record(call.principal.name, "auth.code_made", {"for": who, "scopes": list(body.scopes)})
    return OneTimeCode(secret, f"#code={secret}", expires_at)


async def clients(call: ApiCall) -> ClientList:
    """List the active tokens and browsers: everybody's for an admin, else your own."""
    who = _require_principal(call)
    with translate_errors():
        found = await call.services.auth.clients.list_clients(None if who.may("admin") else who.name)
    return ClientList(tuple(_client(client, who) for client in found))


async def revoke_client(call: ApiCall) -> None:
    """Revoke a token or browser; its connections are closed within a second."""
    who = _require_principal(call)
    with translate_errors():
        client = await call.services.auth.clients.by_id(call.path["id"])
    if client is None or not (who.may("admin") or client.who == who.name):
        raise ApiError("not_found", "There is no such client: it was revoked, has expired, or is not yours.")
    await call.services.auth.revoke(client.id, who.name)


async def users(call: ApiCall) -> UserList:
    """List the users."""
    with translate_errors():
        return UserList(tuple(_user(user) for user in await call.services.auth.users.list_users()))


async def put_user(call: ApiCall) -> UserView:
    """Create a user, or change their scopes or password; they have to sign in again."""
    body: PutUser = call.body
    return _user(await _save_user(call, call.path["name"], _scopes(body.scopes), body.password))


async def remove_user(call: ApiCall) -> None:
    """Remove a user and close their connections."""
    name = call.path["name"]
    with translate_errors():
        gone = await call.services.auth.users.remove(name)
    if not gone:
        raise ApiError("not_found", "There is no such user.")
    await call.services.auth.revoke_all_of(name, call.principal.name)
    call.services.auth.audit.record(call.principal.name, "auth.user_removed", {"name": name})


async def _save_user(call: ApiCall, name: str, scopes: frozenset[Scope], password: str | None) -> User:
    auth = call.services.auth
    try:
        with translate_errors():
            user = await auth.users.put(name, scopes, password, call.principal.name)
    except ValueError as error:
        raise ApiError("invalid", str(error)) from None
    # Existing clients were created with the old scopes or the old password.
    await auth.revoke_all_of(name, call.principal.name)
    auth.audit.record(call.principal.name, "auth.user_put", {"name": name, "scopes": sorted(scopes)})
    return user


def _require_principal(call: ApiCall) -> Principal:
    """Raises:
    ApiError: unauthorized, if the request is anonymous.
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


def _sign_in_answer(logged_in: LoggedIn) -> EndpointAnswer:
    return EndpointAnswer(_me(logged_in.client.principal), 200, {"set-cookie": logged_in.cookie})


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
"""Some endpoints with the scope None need an authenticated principal with any scope: their functions check it."""
