"""Session cookie of a browser. Its name contains the port, because browsers share cookies between ports."""

from bobstay.server.auth.origin_policy import RequestOrigin

MOST = 3
"""Cookies of the right name that are tried: another server on this host may have set one with the same name."""


def set_cookie(secret: str, lifetime: float, request: RequestOrigin, port: int) -> str:
    """The value of Set-Cookie that signs a browser in."""
    return _header(_name(port, request.secure), secret, int(lifetime), request.secure)


def clear_cookie(request: RequestOrigin, port: int) -> str:
    return _header(_name(port, request.secure), "", 0, request.secure)


def cookie_secrets(request: RequestOrigin, port: int) -> list[str]:
    """The values of our cookies. Over TLS only the `__Host-` name counts, which no other host can set."""
    names = {_name(port, True)} if request.secure else {_name(port, True), _name(port, False)}
    found: list[str] = []
    for part in request.cookies.split(";"):
        name, _, value = part.strip().partition("=")
        if name in names and value:
            found.append(value)
    return found[:MOST]


def _name(port: int, secure: bool) -> str:
    return f"__Host-bobstay_{port}" if secure else f"bobstay_{port}"


def _header(name: str, value: str, age: int, secure: bool) -> str:
    return f"{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
