"""`bobstay auth`: stores keys of model providers outside the environment."""

import sys

from bobstay.config.environment import Environment
from bobstay.config.key_sources import (
    MAX_KEY_LENGTH,
    KeySource,
    find_key_sources,
    list_key_variables,
    list_provider_names,
    load_person_settings,
    parse_key,
)
from bobstay.config.key_store import KeyStore, KeyStoreError, StoredKey, Where
from bobstay.config.settings_files import LoadedSettings

USAGE = """\
Usage: bobstay auth login [provider] [--stdin] [--test] [--file|--keyring]
       bobstay auth list
       bobstay auth logout [provider]

login prompts for a key without echo (--stdin: reads it from stdin) and stores it in the system's keyring, if it works,
or in a file that only you can read; --file and --keyring choose. --test checks with the provider whether it accepts the
key.
A key in the environment takes precedence over a stored one. Keys are never printed. The default provider is anthropic.
"""
_FLAGS = frozenset({"--stdin", "--test", "--file", "--keyring"})


def run(arguments: list[str]) -> int:
    """Return 0 on success, 1 on failure, 2 for an invalid command line."""
    positional = [argument for argument in arguments if not argument.startswith("-")]
    flags = {argument for argument in arguments if argument.startswith("-")}
    if flags & {"--help", "-h"}:
        sys.stdout.write(USAGE)
        return 0
    action, *names = positional or [""]
    allowed = _FLAGS if action == "login" else frozenset[str]()
    most = {"login": 1, "logout": 1, "list": 0}.get(action, -1)
    if len(names) > most or not flags <= allowed or {"--file", "--keyring"} <= flags:
        sys.stderr.write(USAGE)
        return 2
    environment = Environment.read()
    loaded = _person_settings(environment)
    store = KeyStore(environment.paths.bobstay)
    provider = names[0] if names else "anthropic"
    try:
        if action == "list":
            return _list(store, environment, loaded)
        if action == "logout":
            return _logout(store, provider)
        return _login(store, environment, loaded, provider, flags)
    except KeyStoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _person_settings(environment: Environment) -> LoadedSettings:
    loaded, problem = load_person_settings(environment)
    if problem:
        sys.stderr.write(f"Warning: {problem}\n")
    return loaded


def _login(store: KeyStore, environment: Environment, loaded: LoadedSettings, provider: str, flags: set[str]) -> int:
    if provider not in list_provider_names(loaded):
        known = ", ".join(list_provider_names(loaded))
        sys.stderr.write(
            f"There is no provider {provider!r}; there are {known}. Define your own under `providers` in "
            f"{environment.paths.user_settings[0]}.\n"
        )
        return 2
    key = _read_key(provider, from_stdin="--stdin" in flags)
    if not key:
        sys.stderr.write("That is not a key: it must be one line of printable ASCII characters without spaces.\n")
        return 1
    if "--test" in flags and (problem := _test(environment, loaded, provider, key)):
        sys.stderr.write(f"The key was not stored: {problem}\n")
        return 1
    wanted: Where | None = "file" if "--file" in flags else "keyring" if "--keyring" in flags else None
    where = store.put(provider, key, wanted)
    sys.stdout.write(f"Stored the key of {provider} in {_describe_location(store, where)}.\n")
    if variable := next(
        (name for name in list_key_variables(loaded, provider) if environment.all_variables.get(name)), ""
    ):
        sys.stdout.write(f"It is not used as long as {variable} is set in the environment.\n")
    return 0


def _read_key(provider: str, *, from_stdin: bool) -> str:
    if from_stdin or not sys.stdin.isatty():
        text = sys.stdin.read(MAX_KEY_LENGTH + 1)
    else:
        from getpass import getpass

        try:
            text = getpass(f"Key of {provider} (not shown): ")
        except (EOFError, KeyboardInterrupt):
            sys.stderr.write("\n")
            return ""
    return parse_key(text)


def _test(environment: Environment, loaded: LoadedSettings, provider: str, key: str) -> str:
    """Why the provider does not accept the key; "" if it does."""
    import asyncio

    from bobstay.assembly.key_test import find_refusal

    return asyncio.run(find_refusal(environment, loaded, provider, key))


def _logout(store: KeyStore, provider: str) -> int:
    if store.remove(provider):
        sys.stdout.write(f"Removed the stored key of {provider}.\n")
        return 0
    sys.stdout.write(f"No key of {provider} is stored.\n")
    return 1


def _list(store: KeyStore, environment: Environment, loaded: LoadedSettings) -> int:
    entries = store.entries()
    for provider in (
        *list_provider_names(loaded),
        *(name for name in entries if name not in list_provider_names(loaded)),
    ):
        sys.stdout.write(
            f"{provider:<16}{_describe_sources(provider, entries.get(provider), environment, loaded, store)}\n"
        )
    return 0


def _describe_sources(
    provider: str, entry: StoredKey | None, environment: Environment, loaded: LoadedSettings, store: KeyStore
) -> str:
    """The sources that have a key of the provider; the first is used."""
    sources = [_describe_source(source, store) for source in find_key_sources(provider, entry, environment, loaded)]
    return (
        f"{sources[0]}; not used: {', '.join(sources[1:])}" if len(sources) > 1 else sources[0] if sources else "none"
    )


def _describe_source(source: KeySource, store: KeyStore) -> str:
    match source.kind:
        case "environment" | "helper":
            return f"{source.kind} ({source.location})"
        case "settings":
            return source.location
        case "stored":
            where: Where = "keyring" if source.location == "keyring" else "file"
            return f"{where} ({_describe_location(store, where)})"


def _describe_location(store: KeyStore, where: Where) -> str:
    return "the system's keyring" if where == "keyring" else f"{store.path}, which only you can read"
