"""What `env` in the settings means for bobstay itself: keys and addresses of models, proxies, authorities."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bobstay.config.environment import Environment
from bobstay.config.keys import PROVIDER_VARIABLES
from bobstay.config.provider_variables import ADDRESSES, keys_sent_to
from bobstay.config.sources import Layer
from bobstay.kit.dial import Network

_PROXIES = frozenset(
    spelled for kind in ("http", "https", "all", "no") for spelled in (f"{kind}_proxy", f"{kind.upper()}_PROXY")
)
_AUTHORITIES = frozenset(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
_LIMITS = frozenset({"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS"})
_OWN = frozenset(PROVIDER_VARIABLES) | _PROXIES | _AUTHORITIES | _LIMITS | {"BOBSTAY_MODEL"}


def with_settings(
    environment: Environment, layers: Iterable[Layer], held: frozenset[str] = frozenset()
) -> tuple[Environment, list[str]]:
    """The environment with what the settings add to it, and warnings. What the process was given itself wins.

    A folder's own files count as far as it is trusted (`layers` has only what counts of it). Even then they cannot have
    the person's keys sent to another host: an address counts only with a key of its own, or where there is none to
    send. `held` are variables in whose place the person keeps a key elsewhere.
    """
    added: dict[str, str] = {}
    warnings: list[str] = []
    withheld: set[str] = set()
    for layer in layers:
        own = {name: value for name, value in layer.settings.variables.items() if _is_own(name) and value}
        if layer.source in ("local", "project"):
            own = _of_folder(own, layer.file, {*environment.keys, *held}, warnings, withheld)
        for name, value in own.items():
            added.setdefault(name, value)
    if not added:
        return environment, warnings
    read = Environment.read({**added, "HOME": environment.paths.home})
    keys = {name: value for name, value in environment.keys.items() if name not in withheld}
    changes: dict[str, Any] = {
        "keys": {**read.keys, **keys},
        "headers": environment.headers or read.headers,
        "network": _joined(environment.network, read.network),
        "model": environment.model or read.model,
        "secrets": {**read.secrets, **environment.secrets},
        "named": {**added, **environment.named},
    }
    for field in ("max_output_tokens", "max_retries", "api_timeout_ms"):
        if getattr(environment, field) is None:
            changes[field] = getattr(read, field)
    return msgspec.structs.replace(environment, **changes), warnings


def _is_own(name: str) -> bool:
    return name in _OWN or name.startswith("ANTHROPIC_")


def _of_folder(
    own: dict[str, str], file: str, given: set[str], warnings: list[str], withheld: set[str]
) -> dict[str, str]:
    kept = dict(own)
    for name in own:
        if name in _AUTHORITIES:
            warnings.append(f"{file}: env.{name} was left out: a project cannot choose whom bobstay trusts.")
            del kept[name]
    for address in sorted({*ADDRESSES.values()} & own.keys()):
        if address in given:
            continue  # it does not count anyway
        names = keys_sent_to(address)
        persons = [name for name in names if name in given]
        if any(name in own for name in names):
            withheld.update(persons)  # the folder brings a key of its own, and only that one goes there
        elif persons:
            warnings.append(
                f"{file}: env.{address} was left out: a project cannot choose where your key goes ({persons[0]}). "
                "If you want it, put it into your own settings or the environment."
            )
            del kept[address]
    return kept


def _joined(first: Network, second: Network) -> Network:
    return Network(_filled(first.proxies, second.proxies), _filled(first.authorities, second.authorities))


def _filled(first: Any, second: Any) -> Any:
    values = {name: getattr(first, name) or getattr(second, name) for name in first.__struct_fields__}
    return type(first)(**values)
