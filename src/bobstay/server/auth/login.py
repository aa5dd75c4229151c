"""The ways in for people: a one-time code or a password for a cookie. How often one may be wrong is limited."""

from collections.abc import Callable

from msgspec import Struct

from bobstay.server.auth.attempt_limits import Attempts
from bobstay.server.auth.audit_port import AuditLog
from bobstay.server.auth.client_store import AuthClient, ClientStore
from bobstay.server.auth.cookies import set_cookie
from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME, OneTimeCodes
from bobstay.server.auth.origin_policy import RequestOrigin
from bobstay.server.auth.principal import Scope
from bobstay.server.auth.user_store import User, UserStore
from bobstay.server.db.database_errors import translated
from bobstay.server.errors import ApiError

WINDOW = 60.0
MOST_CODES = 10
MOST_PASSWORDS = 5
"""Wrong ones a minute: of codes by address, of passwords by person and address."""
MOST_BY_ADDRESS = 30
MOST_BY_NAME = 60


class LoggedIn(Struct, frozen=True):
    client: AuthClient
    cookie: str
    """The value of the header Set-Cookie."""


class LoginServices(Struct, frozen=True):
    """What the ways in need of the doors."""

    port: int
    clients: ClientStore
    codes: OneTimeCodes
    users: UserStore
    audit: AuditLog
    clock: Callable[[], float]


class LoginService:
    def __init__(self, parts: LoginServices) -> None:
        self._parts = parts
        self._codes = Attempts(MOST_CODES, WINDOW, parts.clock)
        self._pairs = Attempts(MOST_PASSWORDS, WINDOW, parts.clock)
        self._addresses = Attempts(MOST_BY_ADDRESS, WINDOW, parts.clock)
        self._names = Attempts(MOST_BY_NAME, WINDOW, parts.clock)

    async def exchange(self, visit: RequestOrigin, code: str, label: str) -> LoggedIn:
        """A cookie for a one-time code.

        A right code is taken even from an address that sent wrong ones: nobody guesses 160 bits, and on one machine all
        users have the same address, so one of them could keep the others out.

        Raises:
            ApiError: bad_code, too_many.
        """
        with translated():
            found = await self._parts.codes.take(code)
        if found is None:
            wait = self._codes.wait(visit.address)
            if wait:
                raise _slow_down(wait)
            self._codes.failed(visit.address)
            self._parts.audit.record("", "auth.bad_code", {"address": visit.address})
            text = "This code is not known, was used already, or has expired."
            raise ApiError("bad_code", f"{text} Get another with: bobstay token code")
        return await self._enter(visit, found.who, found.scopes, label or found.label, found.created_by, found.lifetime)

    async def login(self, visit: RequestOrigin, name: str, password: str, label: str) -> LoggedIn:
        """A cookie for a name and a password.

        Raises:
            ApiError: bad_code, too_many.
        """
        user = await self.verified(visit, name, password)
        return await self._enter(visit, user.name, user.scopes, label, user.name, COOKIE_LIFETIME)

    async def verified(self, visit: RequestOrigin, name: str, password: str) -> User:
        """The user of this name and password. Each try counts as wrong until it is right: many at once gain nothing.

        Raises:
            ApiError: bad_code, too_many.
        """
        pair = f"{visit.address} {name[:64]}"
        counted = ((self._pairs, pair), (self._addresses, visit.address), (self._names, name[:64]))
        wait = max(attempts.wait(key) for attempts, key in counted)
        if wait:
            raise _slow_down(wait)
        for attempts, key in counted:
            attempts.failed(key)
        with translated():
            user = await self._parts.users.verify(name, password)
        if user is None:
            self._parts.audit.record("", "auth.bad_password", {"name": name[:64], "address": visit.address})
            raise ApiError("bad_code", "Name and password do not belong together.")
        self._pairs.forget(pair)
        self._names.forget(name[:64])
        self._addresses.forgive(visit.address)
        return user

    async def _enter(
        self, visit: RequestOrigin, who: str, scopes: frozenset[Scope], label: str, by: str, lifetime: float
    ) -> LoggedIn:
        with translated():
            client, secret = await self._parts.clients.create(
                "browser", who, scopes, label=label[:200], by=by, lifetime=lifetime
            )
        self._parts.audit.record(who, "auth.entered", {"client": client.id, "address": visit.address})
        return LoggedIn(client, set_cookie(secret, lifetime, visit, self._parts.port))


def _slow_down(wait: float) -> ApiError:
    seconds = int(wait) + 1
    return ApiError("too_many", f"Too many wrong ones. Wait {seconds} s and try again.", retry_after=seconds)
