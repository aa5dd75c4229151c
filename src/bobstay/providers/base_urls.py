"""Completes the addresses of model servers as people write them."""

from urllib.parse import SplitResult, urlsplit, urlunsplit

OLLAMA_PORT = 11434
_ENDPOINT = "/chat/completions"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a server listens on, which is no address to ask
"""Addresses to listen on, and the one by which this machine reaches itself."""


def local_url(provider: str, address: str) -> str:
    """The base URL behind what people write, such as `0.0.0.0:11434` or `http://gpu:8000`.

    What has a path is left as it is, but for Ollama, whose variable names the server and not its API. A port is added
    for Ollama only, and only where neither TLS nor a port says where it listens.
    """
    parts = urlsplit(_with_scheme(address.strip()))
    try:
        port = parts.port
    except ValueError:
        return address  # no URL: the request itself says so
    if port is None and provider == "ollama" and parts.scheme == "http":
        port = OLLAMA_PORT
    path = _path(provider, parts.path.rstrip("/"))
    return urlunsplit(SplitResult(parts.scheme, _location(parts, port), path, "", ""))


def _with_scheme(address: str) -> str:
    if "://" in address:
        return address
    host = address.partition("/")[0]
    # An IPv6 address without brackets has colons that are no port.
    return f"http://[{host}]{address[len(host) :]}" if host.count(":") > 1 and "[" not in host else f"http://{address}"


def _location(parts: SplitResult, port: int | None) -> str:
    host = _EVERYWHERE.get(parts.hostname or "", parts.hostname or "")
    shown = f"[{host}]" if ":" in host else host
    user = parts.netloc.rpartition("@")[0]
    return f"{user}@{shown}{_port(port)}" if user else f"{shown}{_port(port)}"


def _port(port: int | None) -> str:
    return "" if port is None else f":{port}"


def _path(provider: str, path: str) -> str:
    path = path.removesuffix(_ENDPOINT)
    if not path or (provider == "ollama" and not path.endswith("/v1")):
        return f"{path}/v1"
    return path
