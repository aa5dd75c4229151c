"""Model providers over HTTP: their keys, a test of a key, servers on this machine, and the default model."""

import asyncio
from typing import Literal

from msgspec import Struct

from bobstay.assembly.key_test import why_refused
from bobstay.assembly.provider_access import routes_for, settled
from bobstay.config.key_sources import (
    LONGEST_KEY,
    checked_key,
    key_sources,
    key_variables,
    person_settings,
    provider_names,
)
from bobstay.config.key_store import KeyStore, KeysUnusable
from bobstay.config.settings_files import LoadedSettings
from bobstay.permissions.rule_updates import UpdateFailed, set_value
from bobstay.providers.local_servers import LocalServer, find_servers
from bobstay.providers.provider_registry import LOCAL, ProviderKeys
from bobstay.redaction.redactor import Redactor
from bobstay.server.api.config_routes import models_of
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError

SECONDS = 20.0
"""A test of a key takes at most this long."""
LABELS = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "gemini": "Google Gemini",
    "openrouter": "OpenRouter",
    "ollama": "Ollama",
    "vllm": "vLLM",
    "lmstudio": "LM Studio",
    "llamacpp": "llama.cpp",
}


class ProviderView(Struct, frozen=True):
    name: str
    label: str
    key: Literal["environment", "settings", "helper", "stored", "none"]
    """Where the key that is used comes from."""
    source: str
    """The variable or the file that has it."""
    stored: bool
    """Whether a key is stored, used or not."""
    local: bool
    """A server on the user's own machine, which needs no key."""


class ProviderList(Struct, frozen=True):
    providers: tuple[ProviderView, ...]
    default_model: str
    """What a session gets that names none; empty where no model is connected."""
    chosen_model: str
    """The default model of the user's settings; empty if they name none."""
    environment_model: str
    """A model that the environment of the server names, which wins over the settings."""
    warning: str
    """What is wrong with the settings or the stored keys."""


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    key: str


class KeyTest(Struct, frozen=True, forbid_unknown_fields=True):
    key: str = ""
    """Empty: the key that is used now."""


class KeyVerdict(Struct, frozen=True):
    accepted: bool
    problem: str


class DefaultModel(Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    """Empty: whatever there is a key for."""


class LocalServers(Struct, frozen=True):
    servers: tuple[LocalServer, ...]


async def list_providers(call: ApiCall) -> ProviderList:
    """List the model providers, where the key of each comes from, and the default model; no key is shown."""
    environment = call.console.environment
    default, _ = await models_of(environment)
    loaded, warning = await asyncio.to_thread(person_settings, environment)
    try:
        entries = await asyncio.to_thread(_store(call).entries)
    except KeysUnusable as error:
        entries, warning = {}, str(error)
    views = []
    for name in provider_names(loaded):
        sources = key_sources(name, entries.get(name), environment, loaded)
        views.append(
            ProviderView(
                name,
                LABELS.get(name, name),
                sources[0].kind if sources else "none",
                sources[0].place if sources else "",
                name in entries,
                name in LOCAL,
            )
        )
    chosen = loaded.settings.model or ""
    return ProviderList(tuple(views), default, chosen, environment.model, warning)


async def store_key(call: ApiCall) -> ProviderList:
    """Store a key for a provider, in the system's keyring or a file that only the user can read."""
    name, _ = await _provider(call)
    key = _key(call.body.key)
    try:
        await asyncio.to_thread(_store(call).put, name, key)
    except KeysUnusable as error:
        raise ApiError("storage", str(error)) from error
    return await list_providers(call)


async def remove_key(call: ApiCall) -> ProviderList:
    """Forget the stored key of a provider."""
    name, _ = await _provider(call)
    try:
        await asyncio.to_thread(_store(call).remove, name)
    except KeysUnusable as error:
        raise ApiError("storage", str(error)) from error
    return await list_providers(call)


async def test_key(call: ApiCall) -> KeyVerdict:
    """Ask a provider whether it accepts a key, by the smallest request there is."""
    name, loaded = await _provider(call)
    key = _key(call.body.key) if call.body.key else await asyncio.to_thread(_used_key, call, name, loaded)
    if not key and name not in LOCAL:
        return KeyVerdict(accepted=False, problem="There is no key to test.")
    try:
        async with asyncio.timeout(SECONDS):
            problem = await why_refused(call.console.environment, loaded, name, key)
    except TimeoutError:
        problem = f"{LABELS.get(name, name)} did not answer within {SECONDS:.0f} seconds."
    except ValueError as error:
        problem = str(error)
    return KeyVerdict(accepted=not problem, problem=Redactor({"key": key}).text(problem))


async def set_default_model(call: ApiCall) -> ProviderList:
    """Choose the model of sessions that name none: it is written to the user's settings."""
    model = call.body.model.strip()
    environment = call.console.environment
    if model:
        loaded, _ = await asyncio.to_thread(person_settings, environment)
        routes = routes_for((await asyncio.to_thread(settled, environment, loaded))[0], loaded)
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
    """Look for model servers on this machine: Ollama, LM Studio, vLLM, llama.cpp at their usual addresses."""
    return LocalServers(await find_servers(ProviderKeys(call.console.environment.keys)))


async def _provider(call: ApiCall) -> tuple[str, LoadedSettings]:
    name = call.path["name"]
    loaded, _ = await asyncio.to_thread(person_settings, call.console.environment)
    if name not in provider_names(loaded):
        raise ApiError("not_found", f"There is no provider {name[:80]!r}: {', '.join(provider_names(loaded))}.")
    return name, loaded


def _key(said: str) -> str:
    key = checked_key(said) if len(said) <= LONGEST_KEY else ""
    if not key:
        text = "That is no key: it must be one line of printable ASCII characters without blanks."
        raise ApiError("invalid", text, field="key")
    return key


def _used_key(call: ApiCall, name: str, loaded: LoadedSettings) -> str:
    environment = call.console.environment
    for variable in key_variables(loaded, name):
        found = [environment.named, *(layer.settings.variables for layer in loaded.layers)]
        if value := next((each[variable] for each in found if each.get(variable)), ""):
            return value
    try:
        return _store(call).key(name)
    except KeysUnusable:
        return ""


def _store(call: ApiCall) -> KeyStore:
    return KeyStore(call.console.environment.paths.bobstay)


_KEY = "/providers/{name}/key"
ENDPOINTS = (
    Endpoint("GET", "/providers", list_providers, "admin", returns=ProviderList),
    Endpoint("PUT", _KEY, store_key, "admin", NewKey, None, ProviderList, 200, ("storage",)),
    Endpoint("DELETE", _KEY, remove_key, "admin", returns=ProviderList, errors=("storage",)),
    Endpoint("POST", "/providers/{name}/test", test_key, "admin", KeyTest, None, KeyVerdict),
    Endpoint("PUT", "/default-model", set_default_model, "admin", DefaultModel, None, ProviderList, 200, ("storage",)),
    Endpoint("POST", "/local-models", find_local, "admin", returns=LocalServers),
)
