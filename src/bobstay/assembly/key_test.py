"""Tests a provider's key with a minimal request to one of its small models."""

from contextlib import aclosing
from typing import Any, cast

import msgspec

from bobstay.assembly.auto_mode_judge import SMALL_MODELS
from bobstay.assembly.provider_access import build_routes, resolve_environment
from bobstay.config.environment import Environment
from bobstay.config.provider_variables import KEYS
from bobstay.config.settings_files import LoadedSettings
from bobstay.model.message import Message, Text
from bobstay.providers.base import ProviderError, Request

_REFUSALS = frozenset({"authentication", "permission", "unreachable", "connection", "timeout"})
"""Errors that concern the key or the connection. Servers report other errors only after they accepted the key."""
_TEST_MODELS = {**SMALL_MODELS, "bedrock": "bedrock/global.anthropic.claude-haiku-5-5"}


async def find_refusal(environment: Environment, loaded: LoadedSettings, provider: str, key: str) -> str:
    """Return why the key was refused, as a sentence for a person; "" if it was accepted."""
    environment, _ = resolve_environment(environment, loaded)
    keys = {name: value for name, value in environment.keys.items() if name not in KEYS.get(provider, ())}
    variables = dict(environment.all_variables)
    if provider in KEYS:
        keys[KEYS[provider][0]] = key
    elif (variable := loaded.settings.providers[provider].key_env) is not None:
        variables[variable] = key
    environment = msgspec.structs.replace(
        environment, keys=keys, all_variables=variables, stored={**environment.stored, provider: key}
    )
    routes = build_routes(environment, loaded)
    listed = [name for name in routes.catalogue.added if name.startswith(f"{provider}/")]
    try:
        route = routes.route(_TEST_MODELS.get(provider) or (listed[0] if listed else f"{provider}/test"))
        request = Request(route.model, (), (Message("user", (Text("Hi"),)),), max_tokens=16)
        async with aclosing(cast("Any", route.provider.stream(request))) as chunks:
            await anext(aiter(chunks), None)
    except ProviderError as error:
        return _refusal_text(error, provider) if error.kind in _REFUSALS else ""
    else:
        return ""
    finally:
        await routes.close()


def _refusal_text(error: ProviderError, provider: str) -> str:
    """Add what to do: vendors often describe a bad key in two words."""
    if error.kind not in ("authentication", "permission"):
        return str(error)
    reason = str(error).rstrip(".")
    return f"The key was refused: {reason}. Check that it was copied completely and is a key for {provider}."
