"""`bobstay auth`: keys of model providers, stored so that they need not stand in the environment."""

import sys

from bobstay.config.environment import Environment
from bobstay.config.key_sources import (
    LONGEST_KEY,
    KeySource,
    checked_key,
    key_sources,
    key_variables,
    person_settings,
    provider_names,
)
from bobstay.config.key_store import KeyStore, KeysUnusable, Stored, Where
from bobstay.config.settings_files import LoadedSettings

USAGE = """\
Usage: bobstay auth login [provider] [--stdin] [--test] [--file|--keyring]
       bobstay auth list
       bobstay auth logout [provider]

login asks for a key without showing it (--stdin: reads it from there) and stores it in the system's keyring, if one
works, or in a file that only you can read; --file and --keyring choose. --test asks the provider whether it accepts the
key.
A key in the environment wins over a stored one. Keys are never printed. The provider is anthropic if none is named.
"""
_FLAGS = frozenset({"--stdin", "--test", "--file", "--keyring"})


def run(arguments: list[str]) -> int:
    """Return 0 if done, 1 if not, 2 if it was not understood."""
    words = [word for word in arguments if not word.startswith("-")]
    flags = {word for word in arguments if word.startswith("-")}
    if flags & {"--help", "-h"}:
        sys.stdout.write(USAGE)
        return 0
    action, *names = words or [""]
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
    except KeysUnusable as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _person_settings(environment: Environment) -> LoadedSettings:
    loaded, problem = person_settings(environment)
    if problem:
        sys.stderr.write(f"Warning: {problem}\n")
    return loaded


def _login(store: KeyStore, environment: Environment, loaded: LoadedSettings, provider: str, flags: set[str]) -> int:
    if provider not in provider_names(loaded):
        known = ", ".join(provider_names(loaded))
        sys.stderr.write(
            f"There is no provider {provider!r}; there are {known}. Define your own under `providers` in "
            f"{environment.paths.user_settings[0]}.\n"
        )
        return 2
    key = _key(provider, from_stdin="--stdin" in flags)
    if not key:
        sys.stderr.write("That is no key: it must be one line of printable ASCII characters without blanks.\n")
        return 1
    if "--test" in flags and (problem := _test(environment, loaded, provider, key)):
        sys.stderr.write(f"The key was not stored: {problem}\n")
        return 1
    wanted: Where | None = "file" if "--file" in flags else "keyring" if "--keyring" in flags else None
    where = store.put(provider, key, wanted)
    sys.stdout.write(f"Stored the key of {provider} in {_place(store, where)}.\n")
    if variable := next((name for name in key_variables(loaded, provider) if environment.named.get(name)), ""):
        sys.stdout.write(f"It is not used as long as {variable} is set in the environment.\n")
    return 0


def _key(provider: str, *, from_stdin: bool) -> str:
    if from_stdin or not sys.stdin.isatty():
        said = sys.stdin.read(LONGEST_KEY + 1)
    else:
        from getpass import getpass

        try:
            said = getpass(f"Key of {provider} (not shown): ")
        except (EOFError, KeyboardInterrupt):
            sys.stderr.write("\n")
            return ""
    return checked_key(said)


def _test(environment: Environment, loaded: LoadedSettings, provider: str, key: str) -> str:
    """Why the provider does not accept the key; "" if it does."""
    import asyncio

    from bobstay.assembly.key_test import why_refused

    return asyncio.run(why_refused(environment, loaded, provider, key))


def _logout(store: KeyStore, provider: str) -> int:
    if store.remove(provider):
        sys.stdout.write(f"The stored key of {provider} is gone.\n")
        return 0
    sys.stdout.write(f"No key of {provider} is stored.\n")
    return 1


def _list(store: KeyStore, environment: Environment, loaded: LoadedSettings) -> int:
    entries = store.entries()
    for provider in (*provider_names(loaded), *(name for name in entries if name not in provider_names(loaded))):
        sys.stdout.write(f"{provider:<16}{_source(provider, entries.get(provider), environment, loaded, store)}\n")
    return 0


def _source(
    provider: str, entry: Stored | None, environment: Environment, loaded: LoadedSettings, store: KeyStore
) -> str:
    """Where the key of a provider comes from; the first that has one is used."""
    found = [_told(source, store) for source in key_sources(provider, entry, environment, loaded)]
    return f"{found[0]}; not used: {', '.join(found[1:])}" if len(found) > 1 else found[0] if found else "none"


def _told(source: KeySource, store: KeyStore) -> str:
    match source.kind:
        case "environment" | "helper":
            return f"{source.kind} ({source.place})"
        case "settings":
            return source.place
        case "stored":
            where: Where = "keyring" if source.place == "keyring" else "file"
            return f"{where} ({_place(store, where)})"


def _place(store: KeyStore, where: Where) -> str:
    return "the system's keyring" if where == "keyring" else f"{store.path}, which only you can read"
