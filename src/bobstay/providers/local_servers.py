"""Finds model servers on this machine: asks the usual addresses which models they serve."""

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.providers.base import ProviderError
from bobstay.providers.base_urls import local_url
from bobstay.providers.http_client import HttpClient
from bobstay.providers.provider_registry import LOCAL, ProviderKeys

SECONDS = 2.0
"""For all servers together: a port where nothing listens answers at once."""
LARGEST = 1 << 20
MOST_MODELS = 100
LONGEST_NAME = 200


class LocalServer(Struct, frozen=True):
    provider: str
    url: str
    models: tuple[str, ...]
    """As they are named for a session: `provider/model`."""


async def find_servers(keys: ProviderKeys) -> tuple[LocalServer, ...]:
    """The servers that answer. An address of the user's own stands in for the usual one."""
    http = HttpClient(connect_timeout=SECONDS)
    try:
        found = await asyncio.gather(*(_ask(http, provider, keys) for provider in LOCAL))
    finally:
        await http.close()
    return tuple(server for server in found if server is not None)


async def _ask(http: HttpClient, provider: str, keys: ProviderKeys) -> LocalServer | None:
    server = LOCAL[provider]
    base = local_url(provider, keys.get(server.variable) or server.url)
    key = keys.get(server.key) if server.key else ""
    try:
        async with asyncio.timeout(SECONDS):
            reply = await http.get(f"{base}/models", {"authorization": f"Bearer {key}"} if key else None)
            said = await reply.read(LARGEST)
    except (ProviderError, TimeoutError, OSError):
        return None
    if reply.status != 200:
        return None
    names = _names(said)
    if names is None:
        return None
    return LocalServer(provider, base, tuple(f"{provider}/{name}" for name in names))


def _names(said: bytes) -> list[str] | None:
    """The models of an OpenAI-compatible list, which all of these servers give; None for anything else."""
    try:
        found: Any = msgspec.json.decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    entries = found.get("data")
    if not isinstance(entries, list):
        return None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    sound = [name for name in names if isinstance(name, str) and name.isprintable() and len(name) <= LONGEST_NAME]
    return sound[:MOST_MODELS]
