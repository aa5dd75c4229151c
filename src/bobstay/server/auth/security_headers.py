"""Security headers of every response."""

POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "frame-src 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types bobstay",
    )
)
"""Content-Security-Policy of the page. Scripts come from this server only, and text becomes markup or a script URL only
through the Trusted Types policy `bobstay`. Inline styles are allowed, since the terminal and the menus of the page
create style elements; a style cannot run code, and has nowhere to send what it matches."""

ALWAYS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_ALWAYS_NAMES = frozenset(name for name, _ in ALWAYS)
_POLICY = (b"content-security-policy", POLICY.encode())
_NO_STORE = (b"cache-control", b"no-store")
_NO_CACHE = (b"cache-control", b"no-cache")


def add_security_headers(headers: list[tuple[bytes, bytes]], *, static_file: bool) -> list[tuple[bytes, bytes]]:
    """Add the security headers to those of a response. A route may set its own CSP and Cache-Control."""
    kept: list[tuple[bytes, bytes]] = []
    own: set[bytes] = set()
    for name, value in headers:
        lower = name.lower()
        own.add(lower)
        if lower not in _ALWAYS_NAMES and not lower.startswith(b"access-control-"):
            kept.append((lower, value))
    kept.extend(ALWAYS)
    if b"content-security-policy" not in own:
        kept.append(_POLICY)
    if b"cache-control" not in own:
        kept.append(_NO_CACHE if static_file else _NO_STORE)
    return kept
