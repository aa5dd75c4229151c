"""The one place that decides whether a request comes in: Host, Origin, who asks, and what they may do."""

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeAlias

from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.requests import HTTPConnection

from bobstay.server.auth.audit_port import AuditLog, NoAuditLog
from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.auth.client_store import ClientStore
from bobstay.server.auth.cookies import secrets_in
from bobstay.server.auth.login import LoginService, LoginServices
from bobstay.server.auth.one_time_codes import COOKIE_LIFETIME, OneTimeCodes
from bobstay.server.auth.origin_policy import OURS, OriginPolicy, RequestOrigin
from bobstay.server.auth.principal import ANONYMOUS, OWNER, SCOPES, Principal, Scope, scopes_text
from bobstay.server.auth.recent_principals import RecentPrincipals, shown_by
from bobstay.server.auth.tickets import Tickets
from bobstay.server.auth.user_store import PREFIX, UserStore
from bobstay.server.db.database_errors import translated
from bobstay.server.db.own_tables import prepare
from bobstay.server.errors import ApiError

log = logging.getLogger(__name__)

Close: TypeAlias = Callable[[Literal["revoked"]], object]

LOOK_EVERY = 0.4
"""Seconds between two looks whether somebody with an open connection was revoked by another process."""
SEEN_EVERY = 30.0
NEVER_REVOKED = frozenset({OWNER.client, ANONYMOUS.client})
"""They came with nothing that is in the tables."""
START_LABEL = "start"
START_CODE_LIFETIME = 3_600.0


class Authorizer:
    """Asks everybody who comes in. `start` and `close` it with the server."""

    def __init__(
        self,
        engine: AsyncEngine,
        rules: AuthSettings,
        audit: AuditLog | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Raises:
        BadAddress: a public address or a proxy in `rules` is none.
        """
        self._engine = engine
        self.threshold = OriginPolicy(rules)
        self.rules = rules
        self.audit = audit or NoAuditLog()
        self.clock = clock
        self.clients = ClientStore(engine, clock)
        self.codes = OneTimeCodes(engine, clock)
        self.users = UserStore(engine, clock)
        self.tickets = Tickets(clock)
        self.entry = LoginService(LoginServices(rules.port, self.clients, self.codes, self.users, self.audit, clock))
        self._recent = RecentPrincipals(clock)
        self._watches: dict[str, dict[int, Close]] = {}
        self._watch = 0
        self._attended: list[tuple[Callable[[], Iterable[str]], Callable[[str], object]]] = []
        self._task: asyncio.Task[None] | None = None

    async def admit(self, connection: HTTPConnection, scope: Scope | None) -> Principal:
        """Who asks, if they may come in. With no scope everybody may, known or not.

        Raises:
            ApiError: bad_host, bad_origin, unauthorized, forbidden; storage or unavailable if the tables fail.
        """
        visit = self.threshold.visit(connection.scope)
        if visit.elsewhere:
            raise ApiError("bad_origin", "A link on another site led here. Open the console's own page instead.")
        principal = await self._identified(visit)
        if principal is None:
            if scope is not None or visit.websocket:
                raise ApiError("unauthorized", _why_not(visit))
            principal = ANONYMOUS
        if scope == "admin" and not principal.may(scope) and not principal.confirmed:
            text = "The database does not answer, and without it nobody is believed to be an admin. Try again soon."
            raise ApiError("unavailable", text)
        if not principal.may(scope):
            held = scopes_text(principal.scopes)
            text = f"This needs the scope `{scope}`, and you have {held}. Ask an admin for a token or code that has it."
            raise ApiError("forbidden", text, needed=scope)
        visit.admitted = True
        return principal

    @contextmanager
    def watching(self, principal: Principal, close: Close) -> Generator[None]:
        """Call `close("revoked")` within a second if what `principal` came with is revoked or expires. See FM-46."""
        watches = self._watches.setdefault(principal.client, {})
        self._watch += 1
        mine = self._watch
        watches[mine] = close
        try:
            yield
        finally:
            watches.pop(mine, None)
            if not watches and self._watches.get(principal.client) is watches:
                del self._watches[principal.client]

    def attend(self, present: Callable[[], Iterable[str]], end: Callable[[str], object]) -> None:
        """The same for whoever keeps many connections: `present` names whose they are, `end` closes those of one."""
        self._attended.append((present, end))

    async def revoke(self, id: str, by: str) -> bool:
        """End a client and all it has open. Whether it was alive."""
        with translated():
            gone = await self.clients.revoke(id)
        if gone:
            self._end(id)
            self.audit.record(by, "auth.revoked", {"client": id})
        return gone

    async def revoke_all_of(self, who: str, by: str) -> None:
        """End everything somebody came in with."""
        with translated():
            gone = await self.clients.revoke_all_of(who)
        for id in (*gone, PREFIX + who):
            self._end(id)
        if gone:
            self.audit.record(by, "auth.revoked", {"who": who, "clients": gone})

    async def start(self) -> None:
        """Make the tables where they are missing, and begin to look after open connections.

        Raises:
            ApiError: storage or unavailable.
        """
        if self._task is None:
            with translated():
                await prepare(self._engine)
            self._task = asyncio.create_task(self._look_after())

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            with suppress(ApiError), translated():
                await self.clients.note_seen()

    async def start_code(self) -> str:
        """The one-time code for whoever started the server. Those of earlier starts are worth nothing any more."""
        with translated():
            await self.codes.withdraw(START_LABEL)
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
        """Where a browser on this machine finds the console. The fragment never leaves the browser."""
        scheme = "https" if self.rules.tls else "http"
        host = self.rules.host if (self.rules.host, self.rules.port) in self.threshold.allowed.hosts else "127.0.0.1"
        place = f"[{host}]" if ":" in host else host
        return f"{scheme}://{place}:{self.rules.port}/" + (f"#code={code}" if code else "")

    async def look_after(self) -> None:
        """Close what belongs to clients that are no more, whoever ended them."""
        watched = {*self._watches, *(id for present, _ in self._attended for id in present())} - NEVER_REVOKED
        if not watched:
            return
        named = {id for id in watched if id.startswith(PREFIX)}
        with translated():
            living = await self.clients.living(watched - named)
            for id in named:
                if await self.users.get(id.removeprefix(PREFIX)) is not None:
                    living.add(id)
        for id in watched - living:
            self._end(id)

    async def _identified(self, visit: RequestOrigin) -> Principal | None:
        """Who shows something that is good; the strongest that is shown counts, and no other is tried after it."""
        if visit.ticket and (visit.websocket or visit.reads) and not visit.ticket_holder:
            visit.ticket_holder = self.tickets.take(visit.ticket, visit.path) or "nobody"
        shown = shown_by(visit, secrets_in(visit, self.rules.port) if _from_our_page(visit) else [])
        return await self._recent.identified(shown, lambda: self._looked_up(visit))

    async def _looked_up(self, visit: RequestOrigin) -> Principal | None:
        with translated():
            if visit.ticket:
                return await self._of_ticket(visit)
            if visit.bearer is not None:
                client = await self.clients.by_secret(visit.bearer, "token") if visit.bearer else None
                return client.principal if client is not None else None
            if not _from_our_page(visit):
                return None
            if visit.user:
                user = await self.users.get(visit.user)
                return user.principal if user is not None else None
            for secret in secrets_in(visit, self.rules.port):
                client = await self.clients.by_secret(secret, "browser")
                if client is not None:
                    return client.principal
        return None

    async def _of_ticket(self, visit: RequestOrigin) -> Principal | None:
        if not (visit.websocket or visit.reads):
            return None
        if visit.ticket_holder.startswith(PREFIX):
            user = await self.users.get(visit.ticket_holder.removeprefix(PREFIX))
            return user.principal if user is not None else None
        client = await self.clients.by_id(visit.ticket_holder)
        return client.principal if client is not None else None

    async def _look_after(self) -> None:
        noted = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.look_after()
                if time.monotonic() - noted >= SEEN_EVERY:
                    noted = time.monotonic()
                    await self.clients.note_seen()
            except Exception as error:  # noqa: BLE001 - the boundary of a task that must outlive any trouble
                # Not being able to ask does not mean that somebody was revoked.
                log.warning("Could not look who was revoked: %s", error)

    def _end(self, id: str) -> None:
        self._recent.forget(id)
        watches: dict[Any, Close] = self._watches.pop(id, {})
        for close in tuple(watches.values()):
            close("revoked")
        for _, end in self._attended:
            end(id)


def _from_our_page(visit: RequestOrigin) -> bool:
    """Whether a browser's own standing (cookie, proxy) may count: no other page can have made this request."""
    if visit.origin is not None:
        return True
    return visit.site in OURS and not visit.websocket


def _why_not(visit: RequestOrigin) -> str:
    if visit.ticket:
        return "The ticket is spent, expired, or for another path. Get a new one at /api/v1/auth/tickets."
    if visit.bearer is not None:
        return "This token is not known here, expired or revoked. Make one with: bobstay token create"
    if visit.user:
        return f"{visit.user[:64]} has no account here. An admin can make one at /api/v1/auth/users."
    if visit.cookies and not _from_our_page(visit):
        text = "A cookie alone does not count without an Origin of this server."
        return f"{text} Programs send a token instead: bobstay token create"
    return "Open the sign-in link from your terminal, or run: bobstay token code. Programs send a token as bearer."
