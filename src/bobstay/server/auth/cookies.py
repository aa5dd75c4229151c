"""The cookie of a browser: its name is bound to the port, because cookies themselves are not."""

from bobstay.server.auth.origin_policy import RequestOrigin

MOST = 3
"""Cookies of the right name that are tried: another server on this host may have put one of its own before ours."""


def set_cookie(secret: str, lifetime: float, visit: RequestOrigin, port: int) -> str:
    """The header that gives a browser its cookie."""
    return _header(_name(port, visit.secure), secret, int(lifetime), visit.secure)


def clear_cookie(visit: RequestOrigin, port: int) -> str:
    return _header(_name(port, visit.secure), "", 0, visit.secure)


def secrets_in(visit: RequestOrigin, port: int) -> list[str]:
    """What the cookies of our name hold. Over TLS only the name counts that nobody else can set."""
    names = {_name(port, True)} if visit.secure else {_name(port, True), _name(port, False)}
    found: list[str] = []
    for part in visit.cookies.split(";"):
        name, _, value = part.strip().partition("=")
        if name in names and value:
            found.append(value)
    return found[:MOST]


def _name(port: int, secure: bool) -> str:
    return f"__Host-bobstay_{port}" if secure else f"bobstay_{port}"


def _header(name: str, value: str, age: int, secure: bool) -> str:
    return f"{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
