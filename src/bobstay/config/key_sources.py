"""Where the key of each model provider comes from: environment, settings, a helper command, or the key store."""

from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.key_store import Stored
from bobstay.config.provider_variables import KEYS
from bobstay.config.settings import Settings
from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load

LONGEST_KEY = 20_000
Kind: TypeAlias = Literal["environment", "settings", "helper", "stored"]


class KeySource(Struct, frozen=True):
    """One place that has a key. The key itself is never here."""

    kind: Kind
    place: str
    """The variable, the file with the field in it, or `file` or `keyring`."""


def person_settings(environment: Environment) -> tuple[LoadedSettings, str]:
    """The user's and the managed settings, and what is wrong with them. A folder has no say in where keys go."""
    try:
        return load("/", environment.paths, setting_sources=("user",)), ""
    except BrokenSettings as error:
        return LoadedSettings(Settings()), str(error)


def provider_names(loaded: LoadedSettings) -> list[str]:
    """The providers a key can be stored for: the built-in ones, and those the settings define."""
    own = [name for name in loaded.settings.providers if name not in KEYS]
    return [*(name for name in KEYS if name not in ("demo", "openai-chat")), *own]


def key_variables(loaded: LoadedSettings, provider: str) -> tuple[str, ...]:
    """The environment variables that may hold the key of a provider."""
    if provider in KEYS:
        return KEYS[provider]
    definition = loaded.settings.providers.get(provider)
    return (definition.key_env,) if definition is not None and definition.key_env else ()


def key_sources(
    provider: str, entry: Stored | None, environment: Environment, loaded: LoadedSettings
) -> list[KeySource]:
    """All places that have a key for a provider; the first is the one that is used."""
    names = key_variables(loaded, provider)
    found = [KeySource("environment", name) for name in names if environment.named.get(name)]
    for layer in loaded.layers if provider in KEYS else ():  # `key_env` is looked up in the environment only
        variables = layer.settings.variables
        found += [KeySource("settings", f"{layer.file} (env.{name})") for name in names if variables.get(name)]
    if provider == "anthropic" and loaded.settings.api_key_helper:
        found.append(KeySource("helper", "apiKeyHelper"))
    if entry is not None:
        found.append(KeySource("stored", entry.where))
    return found


def checked_key(said: str) -> str:
    """The key without blanks around it; "" if it cannot be one."""
    key = said.strip()
    good = key.isascii() and key.isprintable() and " " not in key and len(key) <= LONGEST_KEY
    return key if good else ""
