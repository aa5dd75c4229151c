"""Origin policy: checks Host, Origin and Sec-Fetch-Site of a connection and extracts its credentials."""

from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlencode

from msgspec import Struct
from starlette.types import Scope as Connection

from bobstay.server.auth.auth_settings import AuthSettings, parse_networks
from bobstay.server.auth.credential_hashes import MARK
from bobstay.server.auth.host_names import (
    LONGEST,
    Origin,
    allowed_names,
    is_loopback,
    parse_host,
    parse_origin,
    plain_address,
)
from bobstay.server.errors import ApiError

KEY = "bobstay.request_origin"
"""Key of the `RequestOrigin` in the connection's ASGI scope."""
TRUSTED_SITES = ("same-origin", "none")
"""Values of Sec-Fetch-Site that no other site can cause."""
_SINGLE = (b"host", b"origin", b"authorization", b"sec-fetch-site", b"sec-fetch-mode")
_MARK = MARK.encode()


class RequestOrigin(Struct):
    path: str
    websocket: bool
    read_only: bool
    """Whether the method is GET or HEAD."""
    origin: Origin | None
    site: str
    """Sec-Fetch-Site; empty if the client sent none."""
    cross_site: bool
    """Whether a link on another site led here: only static files are allowed then."""
    secure: bool
    """Whether the client's side of the connection is known to be TLS."""
    address: str
    """The client's IP address, for limits and the audit log."""
    bearer: str | None
    cookies: str
    ticket: str
    user: str
    """The user that a trusted reverse proxy names."""
    ticket_holder: str = ""
    """The client of the ticket, kept here because a ticket can be redeemed only once."""
    admitted: bool = False
    static_file: bool = False


class OriginPolicy:
    """Compiled once from the settings, applied to every connection."""

    def __init__(self, rules: AuthSettings) -> None:
        """Raises:
        BadAddress: a public address or a proxy is invalid.
        """
        self.rules = rules
        self.allowed = allowed_names(rules.host, rules.port, rules.tls, rules.public_urls)
        self._proxies = parse_networks(rules.proxies)
        self._user_header = rules.user_header.lower().encode()
        self._wanted = frozenset((*_SINGLE, b"cookie", b"x-forwarded-for", self._user_header))

    def inspect(self, scope: Connection) -> RequestOrigin:
        """Check a connection and return what it presents; computed once per connection.

        Raises:
            ApiError: bad_host, bad_origin, bad_request.
        """
        request: RequestOrigin | None = scope.get(KEY)
        if request is None:
            request = scope[KEY] = self._read_request(scope)
        return request

    def _read_request(self, scope: Connection) -> RequestOrigin:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            # ASGI requires lower-case names, but not every server complies.
            lower = name.lower()
            if lower in self._wanted:
                headers.setdefault(lower, []).append(value.decode("latin-1"))
        if any(len(headers.get(name, ())) > 1 for name in _SINGLE if name != b"host"):
            raise ApiError("bad_request", "A header that must occur once occurs twice.")
        ticket = _without_secrets(scope)
        self._check_host(headers.get(b"host", []))
        origin = self._origin(headers)
        websocket = scope["type"] == "websocket"
        read_only = not websocket and scope["method"] in ("GET", "HEAD")
        site = _first(headers, b"sec-fetch-site").strip().lower()
        cross_site = bool(site) and site not in TRUSTED_SITES
        if cross_site and not (read_only and _first(headers, b"sec-fetch-mode") == "navigate"):
            raise ApiError("bad_origin", "Your browser says that another site made this request. Only this page may.")
        peer = scope["client"][0] if scope.get("client") else ""
        return RequestOrigin(
            path=scope["path"],
            websocket=websocket,
            read_only=read_only,
            origin=origin,
            site=site,
            cross_site=cross_site,
            secure=scope["scheme"] in ("https", "wss") or (origin is not None and origin[0] == "https"),
            address=self._address(peer, headers),
            bearer=_bearer(headers),
            cookies="; ".join(headers.get(b"cookie", ())),
            ticket=ticket,
            user=self._user(peer, headers),
        )

    def _check_host(self, values: list[str]) -> None:
        host = parse_host(values[0]) if len(values) == 1 else None
        if host is None or host not in self.allowed.hosts:
            given = f" ({values[0][:100]!r})" if len(values) == 1 and len(values[0]) <= LONGEST else ""
            raise ApiError(
                "bad_host",
                f"This server does not answer under that host name{given}, because another site could point it here."
                " Use the address the server printed, or restart it with this name as a public address.",
            )

    def _origin(self, headers: dict[bytes, list[str]]) -> Origin | None:
        if b"origin" not in headers:
            return None
        origin = parse_origin(_first(headers, b"origin"))
        if origin is None or origin not in self.allowed.origins:
            raise ApiError("bad_origin", "Another page made this request. Only pages of this server may.")
        return origin

    def _address(self, peer: str, headers: dict[bytes, list[str]]) -> str:
        """The last forwarded address that is not a trusted proxy. Addresses before it can be forged."""
        if not self._is_proxy(peer):
            return peer
        hops = ",".join(headers.get(b"x-forwarded-for", ())).split(",")
        for hop in reversed(hops[-20:]):
            text = hop.strip()
            try:
                plain_address(text)
            except ValueError:
                break
            if not self._is_proxy(text):
                return text
        return peer

    def _user(self, peer: str, headers: dict[bytes, list[str]]) -> str:
        values = headers.get(self._user_header, []) if self._user_header else []
        trusted = self._is_proxy(peer) if self._proxies else is_loopback(peer)
        return values[0].strip() if len(values) == 1 and trusted else ""

    def _is_proxy(self, peer: str) -> bool:
        if not self._proxies:
            return False
        try:
            address = plain_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


def _first(headers: dict[bytes, list[str]], name: bytes) -> str:
    return headers.get(name, [""])[0]


def _bearer(headers: dict[bytes, list[str]]) -> str | None:
    if b"authorization" not in headers:
        return None
    scheme, _, secret = headers[b"authorization"][0].partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _without_secrets(scope: Connection) -> str:
    """Remove the ticket from the URL, so that no log line has it; refuse long-lived secrets there.

    Raises:
        ApiError: bad_request.
    """
    query: bytes = scope["query_string"]
    if _MARK in unquote_to_bytes(query) or MARK in scope["path"]:
        scope.update({"path": "/", "raw_path": b"/", "query_string": b""})
        text = "Do not put a token into a URL, where logs and histories keep it. Send it as a header:"
        raise ApiError("bad_request", f"{text} `Authorization: Bearer …`. Revoke this one.")
    if b"ticket" not in query:
        return ""
    pairs: list[tuple[Any, Any]] = parse_qsl(query, keep_blank_values=True)
    found = [value for name, value in pairs if name == b"ticket"]
    scope["query_string"] = urlencode([pair for pair in pairs if pair[0] != b"ticket"]).encode()
    if len(found) > 1:
        raise ApiError("bad_request", "Send one ticket only.")
    return found[0].decode("latin-1") if found else ""
