"""Model providers that people name in their settings: what makes a definition complete, and who may define one."""

import re
from urllib.parse import urlsplit

import msgspec

from bobstay.config.provider_variables import ADDRESSES, KEYS
from bobstay.config.settings import ProviderSettings, Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class BadProviderError(ValueError):
    """A definition cannot be used. `path` is its place in the file."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path


def check_providers(settings: Settings) -> None:
    """Raises:
    BadProviderError: a definition is incomplete or has a value that cannot be used.
    """
    for name, definition in settings.providers.items():
        place = f"providers.{name}"
        if not _NAME.fullmatch(name):
            raise BadProviderError(place, "the name of a provider has letters, digits, - and _ only")
        if name in KEYS:
            _check_built_in(name, definition, place)
        else:
            _check_own(definition, place)
        for header, value in definition.headers.items():
            if not _HEADER.fullmatch(header) or not value.isascii() or not value.isprintable():
                raise BadProviderError(f"{place}.headers", f"the header {header!r} cannot be sent as it is written")


def _check_built_in(name: str, definition: ProviderSettings, place: str) -> None:
    if definition.api is not None or definition.key_env is not None:
        field = "api" if definition.api is not None else "key_env"
        raise BadProviderError(
            f"{place}.{field}",
            f"{name} is a built-in provider, of which only base_url, headers and models can be set; "
            "choose another name for a provider of your own",
        )
    if definition.base_url is not None:
        if name not in ADDRESSES:
            raise BadProviderError(f"{place}.base_url", f"{name} has no address")
        _check_url(definition.base_url, place)


def _check_own(definition: ProviderSettings, place: str) -> None:
    if definition.api is None:
        raise BadProviderError(place, "`api` is missing: one of anthropic, responses, chat, gemini")
    if definition.base_url is None:
        raise BadProviderError(place, "`base_url` is missing: the address of the server, such as https://host/v1")
    _check_url(definition.base_url, place)
    if definition.key_env is not None and not _VARIABLE.fullmatch(definition.key_env):
        raise BadProviderError(
            f"{place}.key_env",
            "expected the name of an environment variable; the key itself does not belong into a file, "
            "store it with: bobstay auth login NAME",
        )


def _check_url(url: str, place: str) -> None:
    wrong = BadProviderError(f"{place}.base_url", "expected an address that begins with http:// or https://")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not good or not url.isascii() or not url.isprintable() or " " in url:
        raise wrong
    if parts.username or parts.password:
        raise BadProviderError(
            f"{place}.base_url", "a password does not belong into an address; use key_env or headers"
        )


def named_path(data: bytes, path: str) -> str:
    """The path of a value that is no definition, with the name of the provider: decoding does not tell it."""
    beginning = "$.providers[...]"
    if not path.startswith(beginning):
        return path
    said = msgspec.json.decode(msgspec.json.decode(data, type=dict[str, msgspec.Raw])["providers"])
    for name, definition in said.items():
        try:
            msgspec.convert(definition, ProviderSettings)
        except msgspec.ValidationError:
            return f"$.providers.{name}{path[len(beginning) :]}"
    return path


def of_project(settings: Settings, taken: frozenset[str], file: str) -> tuple[Settings, list[str]]:
    """What of a trusted folder's definitions counts: servers of its own that get none of the person's keys.

    Whoever can write to a repository could otherwise have keys sent to a host of their choice.

    Args:
        settings: What the file says.
        taken: Names that the person or the machine's owner defined.
        file: For the warnings.
    """
    if not settings.providers:
        return settings, []
    kept: dict[str, ProviderSettings] = {}
    warnings: list[str] = []
    for name, definition in settings.providers.items():
        if name in KEYS or name in taken:
            warnings.append(f"{file}: a project cannot change the provider {name!r}, so that was left out.")
        elif definition.key_env is not None:
            warnings.append(
                f"{file}: the provider {name!r} was left out: a project cannot choose where your keys go "
                f"({definition.key_env}). If you want it, copy the definition to your own settings."
            )
        else:
            kept[name] = definition
    return msgspec.structs.replace(settings, providers=kept), warnings
