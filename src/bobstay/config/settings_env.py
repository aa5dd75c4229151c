"""What `env` in the settings means for bobstay itself: keys and addresses of models, proxies, authorities."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bobstay.config.environment import Environment
from bobstay.config.provider_variables import ADDRESSES, HEADERS, keys_sent_to
from bobstay.config.secret_variables import PROVIDER_VARIABLES
from bobstay.config.settings_files import SettingsLayer
from bobstay.system.network import Network

_PROXIES = frozenset(
    spelled for kind in ("http", "https", "all", "no") for spelled in (f"{kind}_proxy", f"{kind.upper()}_PROXY")
)
_AUTHORITIES = frozenset(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
_UNENCRYPTED = frozenset({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"})
"""Proxies that read requests to http:// addresses, with the keys in them."""
_NEVER_OF_FOLDER = _AUTHORITIES | _UNENCRYPTED
_FOLDER = ("local", "project")
_LIMITS = frozenset({"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS"})
_OWN = frozenset(PROVIDER_VARIABLES) | _PROXIES | _AUTHORITIES | _LIMITS | {"BOBSTAY_MODEL"}


def with_settings(
    environment: Environment, layers: Iterable[SettingsLayer], held: frozenset[str] = frozenset()
) -> tuple[Environment, list[str]]:
    """The environment with what the settings add to it, and warnings. What the process was given itself wins.

    A folder's own files count as far as it is trusted (`layers` has only what counts of it). Even then they cannot have
    the person's keys sent to another host: an address counts only with a key of its own, or where there is none to
    send. `held` are variables in whose place the person keeps a key elsewhere.
    """
    said = [(layer, _own(layer)) for layer in layers]
    persons = {*environment.keys, *held, *({HEADERS} if environment.headers else ())}
    persons |= {name for layer, own in said if layer.source not in _FOLDER for name in own}
    folder = _Folder(persons)
    added: dict[str, str] = {}
    of_folder: set[str] = set()
    for layer, own in said:
        counting = own
        if layer.source in _FOLDER:
            counting = folder.restricted(own, layer.file, {*environment.keys, *added})
            of_folder |= counting.keys() - added.keys()
        added = {**counting, **added}
    for layer, own in said:
        if layer.source not in _FOLDER:
            for name in folder.withheld & own.keys() - of_folder:
                added.pop(name, None)
    if not added:
        return environment, folder.warnings
    read = Environment.read({**added, "HOME": environment.paths.home})
    changes: dict[str, Any] = {
        "keys": {**read.keys, **{name: key for name, key in environment.keys.items() if name not in folder.withheld}},
        "headers": read.headers if HEADERS in folder.withheld else environment.headers or read.headers,
        "network": _joined(environment.network, read.network),
        "model": environment.model or read.model,
        "secrets": {**read.secrets, **environment.secrets},
        "named": {**added, **environment.named},
        "of_folder": frozenset(of_folder - environment.keys.keys()),
    }
    for field in ("max_output_tokens", "max_retries", "api_timeout_ms"):
        if getattr(environment, field) is None:
            changes[field] = getattr(read, field)
    return msgspec.structs.replace(environment, **changes), folder.warnings


def _own(layer: SettingsLayer) -> dict[str, str]:
    return {name: value for name, value in layer.settings.variables.items() if _is_own(name) and value.strip()}


def _is_own(name: str) -> bool:
    return name in _OWN or name.startswith("ANTHROPIC_")


class _Folder:
    """What counts of the variables in a trusted folder's files."""

    def __init__(self, persons: set[str]) -> None:
        """`persons` are variables for which the person has a value, wherever it is kept."""
        self.warnings: list[str] = []
        self.withheld: set[str] = set()
        """Variables of the person's that must not be sent, because the folder says where they would go."""
        self._persons = persons

    def restricted(self, own: dict[str, str], file: str, settled: set[str]) -> dict[str, str]:
        """`settled` are variables that have a value which the folder cannot change."""
        kept = {name: value for name, value in own.items() if name not in _NEVER_OF_FOLDER}
        for name in sorted(own.keys() - kept.keys()):
            why = "whom bobstay trusts" if name in _AUTHORITIES else "who reads what is sent unencrypted"
            self.warnings.append(f"{file}: env.{name} was left out: a project cannot choose {why}.")
        for address in sorted({*ADDRESSES.values()} & own.keys() - settled):
            keys = keys_sent_to(address)
            sent = (*keys, HEADERS) if address == ADDRESSES["anthropic"] else keys
            persons = [name for name in sent if name in self._persons]
            if any(name in own for name in keys):
                self.withheld.update(persons)  # the folder brings a key of its own, and only that one goes there
            elif persons:
                self.warnings.append(
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
