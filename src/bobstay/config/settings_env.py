"""Applies `env` of the settings to bobstay itself: model keys and addresses, proxies, certificate authorities."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bobstay.config.environment import Environment
from bobstay.config.provider_variables import (
    ADDRESSES,
    CLOUD_CREDENTIALS,
    CLOUD_SWITCHES,
    CLOUD_VARIABLES,
    HEADERS,
    keys_sent_to,
)
from bobstay.config.secret_variables import PROVIDER_VARIABLES
from bobstay.config.settings_files import SettingsLayer
from bobstay.http.network import Network

_PROXIES = frozenset(
    name for kind in ("http", "https", "all", "no") for name in (f"{kind}_proxy", f"{kind.upper()}_PROXY")
)
_AUTHORITIES = frozenset(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
_UNENCRYPTED_PROXIES = frozenset({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"})
"""Proxies that can read requests to http:// addresses, including the keys in them."""
_CLOUD = frozenset({*CLOUD_CREDENTIALS, ADDRESSES["bedrock"], ADDRESSES["vertex"]})
"""With these a folder would choose who the user is in a cloud, or have requests sent elsewhere in the user's name:
nobody knows in advance whether the vendor's library will find credentials."""
_NEVER_FROM_FOLDER = _AUTHORITIES | _UNENCRYPTED_PROXIES | _CLOUD
_FOLDER_SOURCES = ("local", "project")
_LIMITS = frozenset({"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS"})
_OWN_VARIABLES = frozenset({*PROVIDER_VARIABLES, *CLOUD_VARIABLES, "BOBSTAY_MODEL"}) | _PROXIES | _AUTHORITIES | _LIMITS


def apply_settings(
    environment: Environment, layers: Iterable[SettingsLayer], held: frozenset[str] = frozenset()
) -> tuple[Environment, list[str]]:
    """Add the variables of the settings to the environment; returns it with warnings. The process's own values win.

    `layers` contains a folder's files only as far as the folder is trusted. Even then they cannot have the user's keys
    sent to another host: an address is used only with a key of the folder's own, or if there is no key to send.
    `held` are variables whose key the user keeps elsewhere.
    """
    by_layer = [(layer, _own_variables(layer)) for layer in layers]
    held_by_user = {*environment.keys, *held, *({HEADERS} if environment.headers else ())}
    held_by_user |= {name for layer, own in by_layer if layer.source not in _FOLDER_SOURCES for name in own}
    folder = _FolderVariables(held_by_user)
    added: dict[str, str] = {}
    folder_variables: set[str] = set()
    for layer, own in by_layer:
        kept = own
        if layer.source in _FOLDER_SOURCES:
            kept = folder.restrict(own, layer.file, {*environment.keys, *added})
            folder_variables |= kept.keys() - added.keys()
        added = {**kept, **added}
    for layer, own in by_layer:
        if layer.source not in _FOLDER_SOURCES:
            for name in folder.withheld & own.keys() - folder_variables:
                added.pop(name, None)
    if not added:
        return environment, folder.warnings
    read = Environment.read({**added, "HOME": environment.paths.home})
    changes: dict[str, Any] = {
        "keys": {**read.keys, **{name: key for name, key in environment.keys.items() if name not in folder.withheld}},
        "headers": read.headers if HEADERS in folder.withheld else environment.headers or read.headers,
        "network": _merge_networks(environment.network, read.network),
        "model": environment.model or read.model,
        "secrets": {**read.secrets, **environment.secrets},
        "all_variables": {**added, **environment.all_variables},
        "folder_variables": frozenset(folder_variables - environment.keys.keys()),
    }
    for field in ("max_output_tokens", "max_retries", "api_timeout_ms"):
        if getattr(environment, field) is None:
            changes[field] = getattr(read, field)
    return msgspec.structs.replace(environment, **changes), folder.warnings


def _own_variables(layer: SettingsLayer) -> dict[str, str]:
    return {name: value for name, value in layer.settings.variables.items() if _is_own_variable(name) and value.strip()}


def _is_own_variable(name: str) -> bool:
    return name in _OWN_VARIABLES or name.startswith("ANTHROPIC_")


class _FolderVariables:
    """Restricts the variables in a trusted folder's files."""

    def __init__(self, held_by_user: set[str]) -> None:
        """`held_by_user` are the variables for which the user has a value, wherever it is kept."""
        self.warnings: list[str] = []
        self.withheld: set[str] = set()
        """The user's variables that must not be sent, because the folder chose the address."""
        self._held_by_user = held_by_user

    def restrict(self, own: dict[str, str], file: str, fixed: set[str]) -> dict[str, str]:
        """Return the variables that are kept. `fixed` are variables whose value the folder cannot change."""
        kept = {name: value for name, value in own.items() if name not in _NEVER_FROM_FOLDER}
        ignored = own.keys() - kept.keys()
        if not {*CLOUD_SWITCHES} & {*own, *fixed}:
            ignored -= {*CLOUD_CREDENTIALS}  # they are for the project's commands, as so often
        for name in sorted(ignored):
            self.warnings.append(f"{file}: env.{name} was ignored: a project cannot choose {_forbidden_choice(name)}.")
        for address in sorted({*ADDRESSES.values()} & kept.keys() - fixed):
            keys = keys_sent_to(address)
            sent = (*keys, HEADERS) if address == ADDRESSES["anthropic"] else keys
            exposed = [name for name in sent if name in self._held_by_user]
            if any(name in own for name in keys):
                self.withheld.update(exposed)  # the folder has a key of its own, and only that one is sent there
            elif exposed:
                self.warnings.append(
                    f"{file}: env.{address} was ignored: a project cannot choose where your key goes ({exposed[0]}). "
                    "If you want it, put it into your own settings or the environment."
                )
                del kept[address]
        return kept


def _forbidden_choice(name: str) -> str:
    if name in _CLOUD:
        return "how your credentials of a cloud are used"
    return "whom bobstay trusts" if name in _AUTHORITIES else "who reads unencrypted requests"


def _merge_networks(first: Network, second: Network) -> Network:
    return Network(_fill_missing(first.proxies, second.proxies), _fill_missing(first.authorities, second.authorities))


def _fill_missing(first: Any, second: Any) -> Any:
    values = {name: getattr(first, name) or getattr(second, name) for name in first.__struct_fields__}
    return type(first)(**values)
