"""Which providers a session can reach, and with which keys: from the environment, the settings and the stored keys."""

import msgspec

from bobstay.assembly.model_choice import chosen_model
from bobstay.assembly.model_routes import ModelRoutes
from bobstay.config.environment import Environment
from bobstay.config.key_store import KeyStore, KeysUnusable
from bobstay.config.options import Options
from bobstay.config.provider_variables import ADDRESSES, KEYS
from bobstay.config.secret_variables import header_secrets
from bobstay.config.settings import ProviderSettings
from bobstay.config.settings_files import LoadedSettings, load
from bobstay.permissions.rule import BEHAVIORS, Rule
from bobstay.providers.catalogue import Catalogue
from bobstay.providers.http_client import HttpClient
from bobstay.providers.provider_registry import NamedServer, ProviderKeys
from bobstay.redaction.randomness import looks_random

_FOLDER = ("local", "project")


class ProviderAccess(msgspec.Struct):
    """What settings and environment say about a session, and the model it would ask."""

    cwd: str
    loaded: LoadedSettings
    environment: Environment
    routes: ModelRoutes
    model: str
    left_out: list[str]
    """Warnings about settings and keys that are not used."""
    about_model: list[str]


def reach(options: Options, environment: Environment, cwd: str) -> ProviderAccess:
    """Read the settings and find the model.

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
    environment, about_keys = settled(environment, loaded)
    routes = routes_for(environment, loaded, cwd)
    left_out = [*loaded.warnings, *about_keys]
    model, about_model = chosen_model(options, loaded, environment, routes, left_out)
    return ProviderAccess(cwd, loaded, environment, routes, model, left_out, about_model)


def _check_rule(text: str, verdict: str) -> None:
    Rule.parse(text, BEHAVIORS[verdict])


def settled(environment: Environment, loaded: LoadedSettings) -> tuple[Environment, list[str]]:
    """The environment with what settings and stored keys add to it, and warnings. The process's own variables win."""
    stored, warnings = stored_keys(environment)
    helped = bool(loaded.settings.api_key_helper)
    held = {KEYS[provider][0] for provider in stored if KEYS.get(provider)}
    held |= set(KEYS["anthropic"][:1]) if helped else set()
    if any(layer.settings.env for layer in loaded.layers):
        from bobstay.config.settings_env import with_settings

        environment, more = with_settings(environment, loaded.layers, frozenset(held))
        warnings += more
    return _with_secrets(environment, stored, loaded, helped=helped), warnings


def stored_keys(environment: Environment) -> tuple[dict[str, str], list[str]]:
    """The keys that a person stored, by provider, and what is wrong with the others."""
    store = KeyStore(environment.paths.bobstay)
    keys: dict[str, str] = {}
    warnings: list[str] = []
    try:
        providers = list(store.entries())
    except KeysUnusable as error:
        return {}, [str(error)]
    for provider in providers:
        try:
            keys[provider] = store.key(provider)
        except KeysUnusable as error:
            warnings.append(str(error))
    return keys, warnings


def _with_secrets(
    environment: Environment, stored: dict[str, str], loaded: LoadedSettings, *, helped: bool
) -> Environment:
    """Fill what the environment leaves open, and have all keys masked and kept from child processes."""
    keys = dict(environment.keys)
    secrets = {**environment.secrets, **{f"stored key of {name}": key for name, key in stored.items()}}
    for provider, key in stored.items():
        variables = KEYS.get(provider, ())
        if variables and not any(keys.get(name) for name in variables) and not (provider == "anthropic" and helped):
            keys[variables[0]] = key
    for name, definition in loaded.settings.providers.items():
        if definition.headers:
            said = header_secrets(f"header of {name}:", definition.headers).items()
            secrets |= {shown: value for shown, value in said if looks_random(value)}
    named = frozenset(each.key_env for each in loaded.settings.providers.values() if each.key_env)
    secrets |= {name: value for name in named if (value := environment.named.get(name))}
    children = {name: value for name, value in environment.children.items() if name not in named}
    return msgspec.structs.replace(
        environment, keys=keys, secrets=secrets, children=children, stored=stored, key_variables=named
    )


def routes_for(environment: Environment, loaded: LoadedSettings | None, cwd: str = "/") -> ModelRoutes:
    """The models that can be reached. `environment` is settled."""
    settings = loaded.settings if loaded is not None else None
    providers = settings.providers if settings is not None else {}
    # A project's own definition never gets a key of the person's, stored ones included.
    persons = frozenset(
        name
        for layer in (loaded.layers if loaded is not None else ())
        if layer.source not in _FOLDER
        for name in layer.settings.providers
    )
    values = dict(environment.keys)
    for name, definition in providers.items():
        if name in ADDRESSES and definition.base_url:
            values.setdefault(ADDRESSES[name], definition.base_url)
    named = {
        name: _named(name, definition, environment, of_person=name in persons)
        for name, definition in providers.items()
        if name not in KEYS
    }
    # Headers may hold a key: those the person set for a provider do not go to an address that a folder chose.
    added = {
        name: each.headers
        for name, each in providers.items()
        if name in KEYS and each.headers and ADDRESSES.get(name) not in environment.of_folder
    }
    facts = {f"{name}/{model}": each for name, one in providers.items() for model, each in one.models.items()}
    facts |= settings.models if settings is not None else {}
    routes = ModelRoutes(
        ProviderKeys(values, environment.headers, added),
        HttpClient(environment.network),
        Catalogue(facts or None),
        named,
    )
    if settings is not None and settings.api_key_helper and not any(values.get(name) for name in KEYS["anthropic"]):
        from bobstay.assembly.key_helper import KeyHelper

        routes.helper = KeyHelper(settings.api_key_helper, cwd=cwd, environment=environment.named)
    return routes


def _named(name: str, definition: ProviderSettings, environment: Environment, *, of_person: bool) -> NamedServer:
    variable = (definition.key_env or "") if of_person else ""
    key = environment.named.get(variable, "").strip() if variable else ""
    if not key and of_person:
        key = environment.stored.get(name, "")
    assert definition.api is not None  # the settings were checked
    return NamedServer(definition.api, definition.base_url or "", key, variable, definition.headers)
