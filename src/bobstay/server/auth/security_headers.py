"""Headers of every answer: what browsers must not do with it."""

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
"""What the page may load and do. Scripts come from this server only, and text becomes markup or the address of a script
only by the one policy `bobstay` that the page names. Styles may be set in place, since the terminal and the menus of
the page make style elements; a style cannot run anything, and has nowhere to send what it sees."""

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


def hardened(headers: list[tuple[bytes, bytes]], *, shell: bool) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, made safe. A route may have a policy and a rule for caches of its own."""
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
        kept.append(_NO_CACHE if shell else _NO_STORE)
    return kept
