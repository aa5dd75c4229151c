"""Sign-in of people: exchanges a one-time code or a password for a cookie, with a limit on failed attempts."""

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
from bobstay.server.db.database_errors import translate_errors
from bobstay.server.errors import ApiError

WINDOW = 60.0
MOST_CODES = 10
MOST_PASSWORDS = 5
"""Failed attempts per minute: codes by address, passwords by person and address."""
MOST_BY_ADDRESS = 30
MOST_BY_NAME = 60


class LoggedIn(Struct, frozen=True):
    client: AuthClient
    cookie: str
    """The value of the header Set-Cookie."""


class LoginServices(Struct, frozen=True):
    """Stores and settings that sign-in needs."""

    port: int
    clients: ClientStore
    codes: OneTimeCodes
    users: UserStore
    audit: AuditLog
    clock: Callable[[], float]


class LoginService:
    def __init__(self, services: LoginServices) -> None:
        self._services = services
        self._codes = Attempts(MOST_CODES, WINDOW, services.clock)
        self._pairs = Attempts(MOST_PASSWORDS, WINDOW, services.clock)
        self._addresses = Attempts(MOST_BY_ADDRESS, WINDOW, services.clock)
        self._names = Attempts(MOST_BY_NAME, WINDOW, services.clock)

    async def exchange(self, request: RequestOrigin, code: str, label: str) -> LoggedIn:
        """A cookie for a one-time code.

        A right code is accepted even from an address that is limited: nobody guesses 160 bits, and on one machine all
        users have the same address, so one of them could lock out the others.

        Raises:
            ApiError: bad_code, too_many.
        """
        with translate_errors():
            found = await self._services.codes.redeem(code)
        if found is None:
            wait = self._codes.wait(request.address)
            if wait:
                raise _slow_down(wait)
            self._codes.record_failure(request.address)
            self._services.audit.record("", "auth.bad_code", {"address": request.address})
            text = "This code is unknown, was already used, or has expired."
            raise ApiError("bad_code", f"{text} Get another with: bobstay token code")
        return await self._log_in(
            request, found.who, found.scopes, label or found.label, found.created_by, found.lifetime
        )

    async def login(self, request: RequestOrigin, name: str, password: str, label: str) -> LoggedIn:
        """A cookie for a name and a password.

        Raises:
            ApiError: bad_code, too_many.
        """
        user = await self.verify(request, name, password)
        return await self._log_in(request, user.name, user.scopes, label, user.name, COOKIE_LIFETIME)

    async def verify(self, request: RequestOrigin, name: str, password: str) -> User:
        """The user of this name and password. An attempt counts as failed until it succeeds, in case many run at once.

        Raises:
            ApiError: bad_code, too_many.
        """
        pair = f"{request.address} {name[:64]}"
        counted = ((self._pairs, pair), (self._addresses, request.address), (self._names, name[:64]))
        wait = max(attempts.wait(key) for attempts, key in counted)
        if wait:
            raise _slow_down(wait)
        for attempts, key in counted:
            attempts.record_failure(key)
        with translate_errors():
            user = await self._services.users.verify(name, password)
        if user is None:
            self._services.audit.record("", "auth.bad_password", {"name": name[:64], "address": request.address})
            raise ApiError("bad_code", "The name or the password is wrong.")
        self._pairs.forget(pair)
        self._names.forget(name[:64])
        self._addresses.remove_last_failure(request.address)
        return user

    async def _log_in(
        self, request: RequestOrigin, who: str, scopes: frozenset[Scope], label: str, by: str, lifetime: float
    ) -> LoggedIn:
        with translate_errors():
            client, secret = await self._services.clients.create(
                "browser", who, scopes, label=label[:200], by=by, lifetime=lifetime
            )
        self._services.audit.record(who, "auth.entered", {"client": client.id, "address": request.address})
        return LoggedIn(client, set_cookie(secret, lifetime, request, self._services.port))


def _slow_down(wait: float) -> ApiError:
    seconds = int(wait) + 1
    return ApiError("too_many", f"Too many failed attempts. Wait {seconds} s and try again.", retry_after=seconds)
