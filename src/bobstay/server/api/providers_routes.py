"""Model providers over HTTP: keys, a test of a key, local model servers, and the default model."""

import asyncio
from typing import Literal

from msgspec import Struct

from bobstay.assembly.key_test import find_refusal
from bobstay.assembly.provider_access import build_routes, resolve_environment
from bobstay.config.key_sources import (
    MAX_KEY_LENGTH,
    find_key_sources,
    list_key_variables,
    list_provider_names,
    load_person_settings,
    parse_key,
)
from bobstay.config.key_store import KeyStore, KeyStoreError
from bobstay.config.settings_files import LoadedSettings
from bobstay.permissions.rule_updates import UpdateFailed, set_value
from bobstay.providers.local_servers import LocalServer, find_servers
from bobstay.providers.provider_registry import LOCAL_PROVIDERS, ProviderKeys
from bobstay.redaction.redactor import Redactor
from bobstay.server.api.config_routes import models_of
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError

SECONDS = 20.0
"""Timeout of a key test."""
LABELS = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "gemini": "Google Gemini",
    "openrouter": "OpenRouter",
    "ollama": "Ollama",
    "vllm": "vLLM",
    "lmstudio": "LM Studio",
    "llamacpp": "llama.cpp",
    "bedrock": "Amazon Bedrock",
}


class ProviderView(Struct, frozen=True):
    name: str
    label: str
    key: Literal["environment", "settings", "helper", "stored", "none"]
    """Source of the key in use."""
    source: str
    """The variable or file that contains it."""
    stored: bool
    """Whether a key is stored, even if another one is in use."""
    local: bool
    """Whether it is a server on the user's own machine, which needs no key."""


class ProviderList(Struct, frozen=True):
    providers: tuple[ProviderView, ...]
    default_model: str
    """Model of sessions that name none; empty if no model is connected."""
    chosen_model: str
    """The default model of the user's settings; empty if they name none."""
    environment_model: str
    """The model from the server's environment, which overrides the settings."""
    warning: str
    """A problem with the settings or the stored keys."""


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    key: str


class KeyTest(Struct, frozen=True, forbid_unknown_fields=True):
    key: str = ""
    """Empty for the key in use."""


class KeyVerdict(Struct, frozen=True):
    accepted: bool
    problem: str


class DefaultModel(Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    """Empty to choose one for which there is a key."""


class LocalServers(Struct, frozen=True):
    servers: tuple[LocalServer, ...]


async def list_providers(call: ApiCall) -> ProviderList:
    """List the model providers, the source of each key, and the default model; no key is shown."""
    environment = call.services.environment
    default, _ = await models_of(environment)
    loaded, warning = await asyncio.to_thread(load_person_settings, environment)
    try:
        entries = await asyncio.to_thread(_store(call).entries)
    except KeyStoreError as error:
        entries, warning = {}, str(error)
    views = []
    for name in list_provider_names(loaded):
        sources = find_key_sources(name, entries.get(name), environment, loaded)
        views.append(
            ProviderView(
                name,
                LABELS.get(name, name),
                sources[0].kind if sources else "none",
                sources[0].location if sources else "",
                name in entries,
                name in LOCAL_PROVIDERS,
            )
        )
    chosen = loaded.settings.model or ""
    return ProviderList(tuple(views), default, chosen, environment.model, warning)


async def store_key(call: ApiCall) -> ProviderList:
    """Store the key of a provider in the system's keyring, or in a file that only the user can read."""
    name, _ = await _provider(call)
    key = _key(call.body.key)
    try:
        await asyncio.to_thread(_store(call).put, name, key)
    except KeyStoreError as error:
        raise ApiError("storage", str(error)) from error
    return await list_providers(call)


async def remove_key(call: ApiCall) -> ProviderList:
    """Remove the stored key of a provider."""
    name, _ = await _provider(call)
    try:
        await asyncio.to_thread(_store(call).remove, name)
    except KeyStoreError as error:
        raise ApiError("storage", str(error)) from error
    return await list_providers(call)


async def test_key(call: ApiCall) -> KeyVerdict:
    """Test whether a provider accepts a key, with a minimal request."""
    name, loaded = await _provider(call)
    key = _key(call.body.key) if call.body.key else await asyncio.to_thread(_used_key, call, name, loaded)
    if not key and name not in LOCAL_PROVIDERS:
        return KeyVerdict(accepted=False, problem="There is no key to test.")
    try:
        async with asyncio.timeout(SECONDS):
            problem = await find_refusal(call.services.environment, loaded, name, key)
    except TimeoutError:
        problem = f"{LABELS.get(name, name)} did not answer within {SECONDS:.0f} seconds."
    except ValueError as error:
        problem = str(error)
    return KeyVerdict(accepted=not problem, problem=Redactor({"key": key}).redact(problem))


async def set_default_model(call: ApiCall) -> ProviderList:
    """Set the model of sessions that name none, in the user's settings."""
    model = call.body.model.strip()
    environment = call.services.environment
    if model:
        loaded, _ = await asyncio.to_thread(load_person_settings, environment)
        routes = build_routes((await asyncio.to_thread(resolve_environment, environment, loaded))[0], loaded)
        try:
            routes.route(model)
        except ValueError as error:
            raise ApiError("invalid", str(error), field="model") from error
        finally:
            await routes.close()
    try:
        await asyncio.to_thread(set_value, environment.paths.user_settings[0], "model", model or None)
    except UpdateFailed as error:
        raise ApiError("storage", str(error)) from error
    return await list_providers(call)


async def find_local(call: ApiCall) -> LocalServers:
    """Find model servers on this machine: Ollama, LM Studio, vLLM, llama.cpp at their default addresses."""
    return LocalServers(await find_servers(ProviderKeys(call.services.environment.keys)))


async def _provider(call: ApiCall) -> tuple[str, LoadedSettings]:
    name = call.path["name"]
    loaded, _ = await asyncio.to_thread(load_person_settings, call.services.environment)
    if name not in list_provider_names(loaded):
        raise ApiError("not_found", f"There is no provider {name[:80]!r}: {', '.join(list_provider_names(loaded))}.")
    return name, loaded


def _key(given: str) -> str:
    key = parse_key(given) if len(given) <= MAX_KEY_LENGTH else ""
    if not key:
        text = "Invalid key: it must be one line of printable ASCII characters without spaces."
        raise ApiError("invalid", text, field="key")
    return key


def _used_key(call: ApiCall, name: str, loaded: LoadedSettings) -> str:
    environment = call.services.environment
    for variable in list_key_variables(loaded, name):
        found = [environment.all_variables, *(layer.settings.variables for layer in loaded.layers)]
        if value := next((each[variable] for each in found if each.get(variable)), ""):
            return value
    try:
        return _store(call).key(name)
    except KeyStoreError:
        return ""


def _store(call: ApiCall) -> KeyStore:
    return KeyStore(call.services.environment.paths.bobstay)


_KEY = "/providers/{name}/key"
ENDPOINTS = (
    Endpoint("GET", "/providers", list_providers, "admin", returns=ProviderList),
    Endpoint("PUT", _KEY, store_key, "admin", NewKey, None, ProviderList, 200, ("storage",)),
    Endpoint("DELETE", _KEY, remove_key, "admin", returns=ProviderList, errors=("storage",)),
    Endpoint("POST", "/providers/{name}/test", test_key, "admin", KeyTest, None, KeyVerdict),
    Endpoint("PUT", "/default-model", set_default_model, "admin", DefaultModel, None, ProviderList, 200, ("storage",)),
    Endpoint("POST", "/local-models", find_local, "admin", returns=LocalServers),
)
