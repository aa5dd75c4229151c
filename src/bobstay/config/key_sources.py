"""Key sources: finds where each provider's key comes from (environment, settings, helper command or key store)."""

from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.key_store import StoredKey
from bobstay.config.provider_variables import KEYS
from bobstay.config.settings import Settings
from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load

MAX_KEY_LENGTH = 20_000
Kind: TypeAlias = Literal["environment", "settings", "helper", "stored"]


class KeySource(Struct, frozen=True):
    """One source of a key. It never contains the key itself."""

    kind: Kind
    location: str
    """The variable, the file and field, or `file` or `keyring`."""


def load_person_settings(environment: Environment) -> tuple[LoadedSettings, str]:
    """Load the user's and the managed settings, and an error text. A folder cannot choose where keys go."""
    try:
        return load("/", environment.paths, setting_sources=("user",)), ""
    except BrokenSettings as error:
        return LoadedSettings(Settings()), str(error)


def list_provider_names(loaded: LoadedSettings) -> list[str]:
    """List the providers a key can be stored for: the built-in ones and those the settings define."""
    own = [name for name in loaded.settings.providers if name not in KEYS]
    return [*(name for name, variables in KEYS.items() if variables and name != "openai-chat"), *own]


def list_key_variables(loaded: LoadedSettings, provider: str) -> tuple[str, ...]:
    """List the environment variables that may hold the key of a provider."""
    if provider in KEYS:
        return KEYS[provider]
    definition = loaded.settings.providers.get(provider)
    return (definition.key_env,) if definition is not None and definition.key_env else ()


def find_key_sources(
    provider: str, entry: StoredKey | None, environment: Environment, loaded: LoadedSettings
) -> list[KeySource]:
    """Find all sources that have a key for a provider; the first is the one that is used."""
    names = list_key_variables(loaded, provider)
    found = [KeySource("environment", name) for name in names if environment.all_variables.get(name)]
    for layer in loaded.layers if provider in KEYS else ():  # `key_env` is looked up in the environment only
        variables = layer.settings.variables
        found += [KeySource("settings", f"{layer.file} (env.{name})") for name in names if variables.get(name)]
    if provider == "anthropic" and loaded.settings.api_key_helper:
        found.append(KeySource("helper", "apiKeyHelper"))
    if entry is not None:
        found.append(KeySource("stored", entry.where))
    return found


def parse_key(text: str) -> str:
    """Return the key without surrounding blanks; "" if the text cannot be a key."""
    key = text.strip()
    is_valid = key.isascii() and key.isprintable() and " " not in key and len(key) <= MAX_KEY_LENGTH
    return key if is_valid else ""
