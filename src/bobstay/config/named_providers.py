"""Named providers: validates the model providers that settings define, and restricts those of a project."""

import re
from urllib.parse import urlsplit

import msgspec

from bobstay.config.provider_variables import ADDRESSES, KEYS
from bobstay.config.settings import ProviderSettings, Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class BadProviderError(ValueError):
    """A definition cannot be used. `path` is its path in the file."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path


def check_providers(settings: Settings) -> None:
    """Validate all provider definitions.

    Raises:
        BadProviderError: a definition is incomplete or has a value that cannot be used.
    """
    for name, definition in settings.providers.items():
        path = f"providers.{name}"
        if not _NAME.fullmatch(name):
            raise BadProviderError(path, "the name of a provider may contain only letters, digits, - and _")
        if name in KEYS:
            _check_built_in(name, definition, path)
        else:
            _check_own(definition, path)
        for header, value in definition.headers.items():
            if not _HEADER.fullmatch(header) or not value.isascii() or not value.isprintable():
                raise BadProviderError(f"{path}.headers", f"the header {header!r} cannot be sent as it is written")


def _check_built_in(name: str, definition: ProviderSettings, path: str) -> None:
    if definition.api is not None or definition.key_env is not None:
        field = "api" if definition.api is not None else "key_env"
        raise BadProviderError(
            f"{path}.{field}",
            f"{name} is a built-in provider, of which only base_url, headers and models can be set; "
            "choose another name for a provider of your own",
        )
    if definition.base_url is not None:
        if name not in ADDRESSES:
            raise BadProviderError(f"{path}.base_url", f"{name} has no address")
        _check_url(definition.base_url, path)


def _check_own(definition: ProviderSettings, path: str) -> None:
    if definition.api is None:
        raise BadProviderError(path, "`api` is missing: one of anthropic, responses, chat, gemini")
    if definition.base_url is None:
        raise BadProviderError(path, "`base_url` is missing: the address of the server, such as https://host/v1")
    _check_url(definition.base_url, path)
    if definition.key_env is not None and not _VARIABLE.fullmatch(definition.key_env):
        raise BadProviderError(
            f"{path}.key_env",
            "expected the name of an environment variable; the key itself does not belong in a file, "
            "store it with: bobstay auth login NAME",
        )


def _check_url(url: str, path: str) -> None:
    invalid = BadProviderError(f"{path}.base_url", "expected an address that begins with http:// or https://")
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise invalid from None
    if not is_valid or not url.isascii() or not url.isprintable() or " " in url:
        raise invalid
    if parts.username or parts.password:
        raise BadProviderError(f"{path}.base_url", "a password does not belong in an address; use key_env or headers")


def resolve_provider_path(data: bytes, path: str) -> str:
    """Add the provider's name to the path of an invalid value, which the decoder's error does not contain."""
    prefix = "$.providers[...]"
    if not path.startswith(prefix):
        return path
    definitions = msgspec.json.decode(msgspec.json.decode(data, type=dict[str, msgspec.Raw])["providers"])
    for name, definition in definitions.items():
        try:
            msgspec.convert(definition, ProviderSettings)
        except msgspec.ValidationError:
            return f"$.providers.{name}{path[len(prefix) :]}"
    return path


def filter_project_providers(settings: Settings, taken: frozenset[str], file: str) -> tuple[Settings, list[str]]:
    """Keep those of a trusted folder's definitions that use none of the user's keys.

    Otherwise anyone who can write to a repository could have keys sent to a host of their choice.

    Args:
        settings: The settings of the file.
        taken: Names that the user's or the managed settings define.
        file: The file's name, for the warnings.
    """
    if not settings.providers:
        return settings, []
    kept: dict[str, ProviderSettings] = {}
    warnings: list[str] = []
    for name, definition in settings.providers.items():
        if name in KEYS or name in taken:
            warnings.append(f"{file}: a project cannot change the provider {name!r}, so it was ignored.")
        elif definition.key_env is not None:
            warnings.append(
                f"{file}: the provider {name!r} was ignored: a project cannot choose where your keys go "
                f"({definition.key_env}). If you want it, copy the definition to your own settings."
            )
        else:
            kept[name] = definition
    return msgspec.structs.replace(settings, providers=kept), warnings
