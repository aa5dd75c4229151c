"""Finds model servers on this machine by querying the default addresses for their models."""

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.http.client import HttpClient
from bobstay.http.http_error import HttpError
from bobstay.providers.base_urls import complete_url
from bobstay.providers.provider_registry import LOCAL_PROVIDERS, ProviderKeys

TIMEOUT = 2.0
"""Seconds for all servers together: a port where nothing listens refuses at once."""
MAX_SIZE = 1 << 20
MAX_MODELS = 100
MAX_NAME_LENGTH = 200


class LocalServer(Struct, frozen=True):
    provider: str
    url: str
    models: tuple[str, ...]
    """Names as `provider/model`."""


async def find_servers(keys: ProviderKeys) -> tuple[LocalServer, ...]:
    """Return the servers that answer. A configured address replaces the default one."""
    async with HttpClient(connect_timeout=TIMEOUT) as http:
        found = await asyncio.gather(*(_query_server(http, provider, keys) for provider in LOCAL_PROVIDERS))
    return tuple(server for server in found if server is not None)


async def _query_server(http: HttpClient, provider: str, keys: ProviderKeys) -> LocalServer | None:
    server = LOCAL_PROVIDERS[provider]
    base = complete_url(provider, keys.get(server.variable) or server.url)
    key = keys.get(server.key) if server.key else ""
    try:
        async with asyncio.timeout(TIMEOUT):
            reply = await http.get(f"{base}/models", {"authorization": f"Bearer {key}"} if key else None)
            body = await reply.read(MAX_SIZE)
    except (HttpError, TimeoutError):
        return None
    if reply.status != 200:
        return None
    names = _parse_model_names(body)
    if names is None:
        return None
    return LocalServer(provider, base, tuple(f"{provider}/{name}" for name in names))


def _parse_model_names(body: bytes) -> list[str] | None:
    """Parse an OpenAI-compatible list of models, which all of these servers return; None for anything else."""
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    entries = data.get("data")
    if not isinstance(entries, list):
        return None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    valid = [name for name in names if isinstance(name, str) and name.isprintable() and len(name) <= MAX_NAME_LENGTH]
    return valid[:MAX_MODELS]
