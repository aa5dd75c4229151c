"""Completes the addresses of model servers to base URLs."""

from urllib.parse import SplitResult, urlsplit, urlunsplit

OLLAMA_PORT = 11434
_ENDPOINT = "/chat/completions"
_LISTEN_ALL = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses to listen on, replaced below
"""Wildcard addresses that servers listen on, and the loopback address to use instead."""


def complete_url(provider: str, address: str) -> str:
    """Return the base URL for an address such as `0.0.0.0:11434` or `http://gpu:8000`.

    A path is kept, except for Ollama, whose variable names the server and not its API. A port is added for Ollama
    only, and only if the address has neither TLS nor a port.
    """
    parts = urlsplit(_add_scheme(address.strip()))
    try:
        port = parts.port
    except ValueError:
        return address  # not a URL: the request itself will fail with a message
    if port is None and provider == "ollama" and parts.scheme == "http":
        port = OLLAMA_PORT
    path = _build_path(provider, parts.path.rstrip("/"))
    return urlunsplit(SplitResult(parts.scheme, _build_netloc(parts, port), path, "", ""))


def _add_scheme(address: str) -> str:
    if "://" in address:
        return address
    host = address.partition("/")[0]
    # The colons of an IPv6 address without brackets do not separate a port.
    return f"http://[{host}]{address[len(host) :]}" if host.count(":") > 1 and "[" not in host else f"http://{address}"


def _build_netloc(parts: SplitResult, port: int | None) -> str:
    host = _LISTEN_ALL.get(parts.hostname or "", parts.hostname or "")
    shown = f"[{host}]" if ":" in host else host
    user = parts.netloc.rpartition("@")[0]
    return f"{user}@{shown}{_port_suffix(port)}" if user else f"{shown}{_port_suffix(port)}"


def _port_suffix(port: int | None) -> str:
    return "" if port is None else f":{port}"


def _build_path(provider: str, path: str) -> str:
    path = path.removesuffix(_ENDPOINT)
    if not path or (provider == "ollama" and not path.endswith("/v1")):
        return f"{path}/v1"
    return path
