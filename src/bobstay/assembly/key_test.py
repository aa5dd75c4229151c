"""Asks a provider whether it accepts a key: the smallest request there is, to a small model of its own."""

from contextlib import aclosing
from typing import Any, cast

import msgspec

from bobstay.assembly.auto_mode_judge import SMALL
from bobstay.assembly.provider_access import routes_for, settled
from bobstay.config.environment import Environment
from bobstay.config.provider_variables import KEYS
from bobstay.config.settings_files import LoadedSettings
from bobstay.model.message import Message, Text
from bobstay.providers.base import ProviderError, Request

_REFUSALS = frozenset({"authentication", "permission", "unreachable", "connection", "timeout"})
"""What says something about the key or the way to the server. Other refusals come behind the check of the key."""


async def why_refused(environment: Environment, loaded: LoadedSettings, provider: str, key: str) -> str:
    """A sentence for a person; "" if the key was accepted."""
    environment, _ = settled(environment, loaded)
    keys = {name: value for name, value in environment.keys.items() if name not in KEYS.get(provider, ())}
    named = dict(environment.named)
    if provider in KEYS:
        keys[KEYS[provider][0]] = key
    elif (variable := loaded.settings.providers[provider].key_env) is not None:
        named[variable] = key
    environment = msgspec.structs.replace(
        environment, keys=keys, named=named, stored={**environment.stored, provider: key}
    )
    routes = routes_for(environment, loaded)
    routes.helper = None
    listed = [name for name in routes.catalogue.added if name.startswith(f"{provider}/")]
    try:
        route = routes.route(SMALL.get(provider) or (listed[0] if listed else f"{provider}/test"))
        request = Request(route.model, (), (Message("user", (Text("Hi"),)),), max_tokens=16)
        async with aclosing(cast("Any", route.provider.stream(request))) as chunks:
            await anext(aiter(chunks), None)
    except ProviderError as error:
        return _words(error, provider) if error.kind in _REFUSALS else ""
    else:
        return ""
    finally:
        await routes.close()


def _words(error: ProviderError, provider: str) -> str:
    """What a vendor says of a bad key is often two words: with them goes what to do."""
    if error.kind not in ("authentication", "permission"):
        return str(error)
    said = str(error).rstrip(".")
    return f"The key was refused: {said}. Check that it was copied completely and is a key for {provider}."
