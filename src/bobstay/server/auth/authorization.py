"""Authorization: identifies the principal of a request, checks its scopes, and disconnects revoked clients."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.requests import HTTPConnection

from bobstay.server.auth.audit_port import AuditLog, NoAuditLog
from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.auth.client_store import ClientStore
from bobstay.server.auth.cookies import cookie_secrets
from bobstay.server.auth.login import LoginService, LoginServices
from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME, OneTimeCodes
from bobstay.server.auth.origin_policy import TRUSTED_SITES, OriginPolicy, RequestOrigin
from bobstay.server.auth.principal import ANONYMOUS, OWNER, SCOPES, Principal, Scope, scopes_text
from bobstay.server.auth.recent_principals import RecentPrincipals, presented_credentials
from bobstay.server.auth.tickets import Tickets
from bobstay.server.auth.user_store import PREFIX, UserStore
from bobstay.server.db.database_errors import translate_errors
from bobstay.server.db.own_tables import prepare
from bobstay.server.errors import ApiError

log = logging.getLogger(__name__)


REVOCATION_INTERVAL = 0.4
"""Seconds between two checks for clients with open connections that another process revoked."""
LAST_SEEN_INTERVAL = 30.0
NEVER_REVOKED = frozenset({OWNER.client, ANONYMOUS.client})
"""These principals have no row in the tables."""
START_LABEL = "start"
START_CODE_LIFETIME = 3_600.0


class Authorizer:
    """Authenticates and authorizes every request. `start` and `close` it with the server."""

    def __init__(
        self,
        engine: AsyncEngine,
        rules: AuthSettings,
        audit: AuditLog | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Raises:
        BadAddress: a public address or a proxy in `rules` is invalid.
        """
        self._engine = engine
        self.origin_policy = OriginPolicy(rules)
        self.rules = rules
        self.audit = audit or NoAuditLog()
        self.clock = clock
        self.clients = ClientStore(engine, clock)
        self.codes = OneTimeCodes(engine, clock)
        self.users = UserStore(engine, clock)
        self.tickets = Tickets(clock)
        self.login_service = LoginService(
            LoginServices(rules.port, self.clients, self.codes, self.users, self.audit, clock)
        )
        self._recent = RecentPrincipals(clock)
        self._trackers: list[tuple[Callable[[], Iterable[str]], Callable[[str], object]]] = []
        self._task: asyncio.Task[None] | None = None

    async def admit(self, connection: HTTPConnection, scope: Scope | None) -> Principal:
        """The principal of a request that is allowed. Without a scope everybody is, even anonymously.

        Raises:
            ApiError: bad_host, bad_origin, unauthorized, forbidden; storage or unavailable if the tables fail.
        """
        request = self.origin_policy.inspect(connection.scope)
        if request.cross_site:
            raise ApiError("bad_origin", "A link on another site led here. Open the console directly instead.")
        principal = await self._identify(request)
        if principal is None:
            if scope is not None or request.websocket:
                raise ApiError("unauthorized", _refusal_text(request))
            principal = ANONYMOUS
        if scope == "admin" and not principal.may(scope) and not principal.confirmed:
            text = "The database does not answer, so the admin scope cannot be confirmed. Try again soon."
            raise ApiError("unavailable", text)
        if not principal.may(scope):
            held = scopes_text(principal.scopes)
            text = f"This needs the scope `{scope}`, and you have {held}. Ask an admin for a token or code that has it."
            raise ApiError("forbidden", text, needed=scope)
        request.admitted = True
        return principal

    def track_connections(self, active_ids: Callable[[], Iterable[str]], close: Callable[[str], object]) -> None:
        """Call `close` with the id of a client within a second after it is revoked or expires.

        `active_ids` returns the clients that have connections open.
        """
        self._trackers.append((active_ids, close))

    async def revoke(self, id: str, by: str) -> bool:
        """Revoke a client and close its connections. Returns whether it was active."""
        with translate_errors():
            gone = await self.clients.revoke(id)
        if gone:
            self._end(id)
            self.audit.record(by, "auth.revoked", {"client": id})
        return gone

    async def revoke_all_of(self, who: str, by: str) -> None:
        """Revoke all clients of a person and close their connections."""
        with translate_errors():
            gone = await self.clients.revoke_all_of(who)
        for id in (*gone, PREFIX + who):
            self._end(id)
        if gone:
            self.audit.record(by, "auth.revoked", {"who": who, "clients": gone})

    async def start(self) -> None:
        """Create missing tables and start watching for revoked clients.

        Raises:
            ApiError: storage or unavailable.
        """
        if self._task is None:
            with translate_errors():
                await prepare(self._engine)
            self._task = asyncio.create_task(self._watch_revocations())

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            with suppress(ApiError), translate_errors():
                await self.clients.store_last_seen()

    async def start_code(self) -> str:
        """A new one-time code for the person who started the server. Codes of earlier starts are revoked."""
        with translate_errors():
            await self.codes.revoke_unused(START_LABEL)
            code, _ = await self.codes.issue(
                "owner",
                SCOPES,
                label=START_LABEL,
                by="owner",
                expires_in=START_CODE_LIFETIME,
                lifetime=COOKIE_LIFETIME,
            )
        return code

    def address(self, code: str = "") -> str:
        """The URL of the console for a browser on this machine. The fragment never leaves the browser."""
        scheme = "https" if self.rules.tls else "http"
        host = (
            self.rules.host if (self.rules.host, self.rules.port) in self.origin_policy.allowed.hosts else "127.0.0.1"
        )
        netloc = f"[{host}]" if ":" in host else host
        return f"{scheme}://{netloc}:{self.rules.port}/" + (f"#code={code}" if code else "")

    async def close_revoked(self) -> None:
        """Close the connections of clients that are revoked or expired, whichever process revoked them."""
        watched = {id for active_ids, _ in self._trackers for id in active_ids()} - NEVER_REVOKED
        if not watched:
            return
        named = {id for id in watched if id.startswith(PREFIX)}
        with translate_errors():
            active_ids = await self.clients.active_ids(watched - named)
            for id in named:
                if await self.users.get(id.removeprefix(PREFIX)) is not None:
                    active_ids.add(id)
        for id in watched - active_ids:
            self._end(id)

    async def _identify(self, request: RequestOrigin) -> Principal | None:
        """The principal of the strongest credential in the request; weaker ones are not tried after it fails."""
        if request.ticket and (request.websocket or request.read_only) and not request.ticket_holder:
            request.ticket_holder = self.tickets.redeem(request.ticket, request.path) or "nobody"
        secrets = cookie_secrets(request, self.rules.port) if _from_our_page(request) else []
        credentials = presented_credentials(request, secrets)
        return await self._recent.identify(credentials, lambda: self._look_up_principal(request))

    async def _look_up_principal(self, request: RequestOrigin) -> Principal | None:
        with translate_errors():
            if request.ticket:
                return await self._principal_of_ticket(request)
            if request.bearer is not None:
                client = await self.clients.by_secret(request.bearer, "token") if request.bearer else None
                return client.principal if client is not None else None
            if not _from_our_page(request):
                return None
            if request.user:
                user = await self.users.get(request.user)
                return user.principal if user is not None else None
            for secret in cookie_secrets(request, self.rules.port):
                client = await self.clients.by_secret(secret, "browser")
                if client is not None:
                    return client.principal
        return None

    async def _principal_of_ticket(self, request: RequestOrigin) -> Principal | None:
        if not (request.websocket or request.read_only):
            return None
        if request.ticket_holder.startswith(PREFIX):
            user = await self.users.get(request.ticket_holder.removeprefix(PREFIX))
            return user.principal if user is not None else None
        client = await self.clients.by_id(request.ticket_holder)
        return client.principal if client is not None else None

    async def _watch_revocations(self) -> None:
        noted = time.monotonic()
        while True:
            await asyncio.sleep(REVOCATION_INTERVAL)
            try:
                await self.close_revoked()
                if time.monotonic() - noted >= LAST_SEEN_INTERVAL:
                    noted = time.monotonic()
                    await self.clients.store_last_seen()
            except Exception as error:  # noqa: BLE001 - the boundary of a task that must outlive any trouble
                # An unreachable database does not mean that a client was revoked.
                log.warning("could not check for revoked clients: %s", error)

    def _end(self, id: str) -> None:
        self._recent.forget(id)
        for _, close_all in self._trackers:
            close_all(id)


def _from_our_page(request: RequestOrigin) -> bool:
    """Whether ambient credentials (cookie, proxy user) may count: no other page can have made this request."""
    if request.origin is not None:
        return True
    return request.site in TRUSTED_SITES and not request.websocket


def _refusal_text(request: RequestOrigin) -> str:
    if request.ticket:
        return "The ticket is spent, expired, or for another path. Get a new one at /api/v1/auth/tickets."
    if request.bearer is not None:
        return "This token is unknown, expired or revoked. Create one with: bobstay token create"
    if request.user:
        return f"{request.user[:64]} has no account here. An admin can make one at /api/v1/auth/users."
    if request.cookies and not _from_our_page(request):
        text = "A cookie alone does not count without an Origin of this server."
        return f"{text} Programs send a token instead: bobstay token create"
    return "Open the sign-in link from your terminal, or run: bobstay token code. Programs send a token as bearer."
