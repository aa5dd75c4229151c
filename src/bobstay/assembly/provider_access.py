"""Provider access: resolves providers, keys and the model from environment, settings and stored keys."""

import msgspec

from bobstay.assembly.model_choice import choose_model
from bobstay.assembly.model_routes import ModelRoutes
from bobstay.config.environment import Environment
from bobstay.config.key_store import KeyStore, KeyStoreError
from bobstay.config.options import Options
from bobstay.config.provider_variables import ADDRESSES, KEYS
from bobstay.config.secret_variables import header_secrets, secret_values
from bobstay.config.settings import ProviderSettings
from bobstay.config.settings_files import LoadedSettings, load
from bobstay.http.client import HttpClient
from bobstay.permissions.rule import BEHAVIORS, Rule
from bobstay.providers.catalogue import Catalogue
from bobstay.providers.provider_registry import NamedServer, ProviderKeys
from bobstay.redaction.randomness import looks_random
from bobstay.redaction.redactor import Redactor

_FOLDER_SOURCES = ("local", "project")


class ProviderAccess(msgspec.Struct):
    """The settings and environment of a session, and the model it would use."""

    cwd: str
    loaded: LoadedSettings
    environment: Environment
    routes: ModelRoutes
    model: str
    redactor: Redactor
    """Removes the secrets of the session from what is stored and shown."""
    setting_warnings: list[str]
    """Warnings about settings and keys that are not used."""
    model_warnings: list[str]


def resolve_provider_access(options: Options, environment: Environment, cwd: str) -> ProviderAccess:
    """Read the settings and choose the model.

    Raises:
        BrokenSettings, ValueError: a file cannot be used, or the model cannot be reached.
    """
    loaded = load(
        cwd,
        environment.paths,
        settings=options.settings,
        setting_sources=options.setting_sources,
        trust=options.trust,
        check_rule=_check_rule,
    )
    environment, key_warnings = resolve_environment(environment, loaded)
    redactor = Redactor({**environment.secrets, **secret_values(loaded.settings.variables)})
    routes = build_routes(environment, loaded, cwd, redactor)
    setting_warnings = [*loaded.warnings, *key_warnings]
    model, model_warnings = choose_model(options, loaded, environment, routes, setting_warnings)
    return ProviderAccess(cwd, loaded, environment, routes, model, redactor, setting_warnings, model_warnings)


def _check_rule(text: str, behavior: str) -> None:
    Rule.parse(text, BEHAVIORS[behavior])


def resolve_environment(environment: Environment, loaded: LoadedSettings) -> tuple[Environment, list[str]]:
    """Add settings and stored keys to the environment; returns it with warnings. The process's own variables win."""
    stored, warnings = read_stored_keys(environment)
    has_helper = bool(loaded.settings.api_key_helper)
    held = {KEYS[provider][0] for provider in stored if KEYS.get(provider)}
    held |= set(KEYS["anthropic"][:1]) if has_helper else set()
    if any(layer.settings.env for layer in loaded.layers):
        from bobstay.config.settings_env import apply_settings

        environment, more = apply_settings(environment, loaded.layers, frozenset(held))
        warnings += more
    return _add_secrets(environment, stored, loaded, has_helper=has_helper), warnings


def read_stored_keys(environment: Environment) -> tuple[dict[str, str], list[str]]:
    """Read the keys that a person stored, by provider; returns them with warnings about unusable ones."""
    store = KeyStore(environment.paths.bobstay)
    keys: dict[str, str] = {}
    warnings: list[str] = []
    try:
        providers = list(store.entries())
    except KeyStoreError as error:
        return {}, [str(error)]
    for provider in providers:
        try:
            keys[provider] = store.key(provider)
        except KeyStoreError as error:
            warnings.append(str(error))
    return keys, warnings


def _add_secrets(
    environment: Environment, stored: dict[str, str], loaded: LoadedSettings, *, has_helper: bool
) -> Environment:
    """Add stored keys for unset variables, and mark all keys as secrets that are redacted and not inherited."""
    keys = dict(environment.keys)
    secrets = {**environment.secrets, **{f"stored key of {name}": key for name, key in stored.items()}}
    for provider, key in stored.items():
        variables = KEYS.get(provider, ())
        is_helped = provider == "anthropic" and has_helper
        if variables and not any(keys.get(name) for name in variables) and not is_helped:
            keys[variables[0]] = key
    for name, definition in loaded.settings.providers.items():
        if definition.headers:
            found = header_secrets(f"header of {name}:", definition.headers).items()
            secrets |= {label: value for label, value in found if looks_random(value)}
    named = frozenset(each.key_env for each in loaded.settings.providers.values() if each.key_env)
    secrets |= {name: value for name in named if (value := environment.all_variables.get(name))}
    children = {name: value for name, value in environment.children.items() if name not in named}
    return msgspec.structs.replace(
        environment, keys=keys, secrets=secrets, children=children, stored=stored, key_variables=named
    )


def build_routes(
    environment: Environment, loaded: LoadedSettings | None, cwd: str = "/", redactor: Redactor | None = None
) -> ModelRoutes:
    """Build the routes to all models. `environment` is one that `resolve_environment` returned.

    `redactor` learns the keys that the settings' helper prints.
    """
    settings = loaded.settings if loaded is not None else None
    providers = settings.providers if settings is not None else {}
    # A provider that a project defines never gets a key of the user's, including stored ones.
    user_defined = frozenset(
        name
        for layer in (loaded.layers if loaded is not None else ())
        if layer.source not in _FOLDER_SOURCES
        for name in layer.settings.providers
    )
    values = dict(environment.keys)
    for name, definition in providers.items():
        if name in ADDRESSES and definition.base_url:
            values.setdefault(ADDRESSES[name], definition.base_url)
    named = {
        name: _build_named_server(name, definition, environment, is_user_defined=name in user_defined)
        for name, definition in providers.items()
        if name not in KEYS
    }
    # Headers may contain a key: those the user set for a provider are not sent to an address that a folder chose.
    added = {
        name: each.headers
        for name, each in providers.items()
        if name in KEYS and each.headers and ADDRESSES.get(name) not in environment.folder_variables
    }
    facts = {f"{name}/{model}": each for name, one in providers.items() for model, each in one.models.items()}
    facts |= settings.models if settings is not None else {}
    helper = None
    if settings is not None and settings.api_key_helper and not any(values.get(name) for name in KEYS["anthropic"]):
        from bobstay.assembly.key_helper import KeyHelper

        learning = redactor or Redactor()
        helper = KeyHelper(settings.api_key_helper, learning, cwd=cwd, environment=environment.all_variables)
    return ModelRoutes(
        ProviderKeys(values, environment.headers, added, redactor.add_secrets if redactor is not None else None),
        HttpClient(environment.network),
        Catalogue(facts or None),
        named,
        helper,
    )


def _build_named_server(
    name: str, definition: ProviderSettings, environment: Environment, *, is_user_defined: bool
) -> NamedServer:
    variable = (definition.key_env or "") if is_user_defined else ""
    key = environment.all_variables.get(variable, "").strip() if variable else ""
    if not key and is_user_defined:
        key = environment.stored.get(name, "")
    assert definition.api is not None  # the settings were checked
    return NamedServer(definition.api, definition.base_url or "", key, variable, definition.headers)
