"""Classifies environment variables: model keys and addresses, and secrets that child processes must not inherit."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bobstay.config.provider_variables import ADDRESSES, HEADERS, KEYS
from bobstay.redaction.randomness import is_path, looks_random

PROVIDER_VARIABLES = tuple(sorted({*ADDRESSES.values(), *(name for names in KEYS.values() for name in names)}))
SEARCH_VARIABLES = ("BRAVE_API_KEY", "SEARXNG_URL", "TAVILY_API_KEY")

SECRET_PREFIXES = ("ANTHROPIC_", "AWS_", "AZURE_", "GEMINI_", "OPENAI_", "OPENROUTER_")
"""All variables of these vendors: keys, but also addresses and headers that may contain one."""
SECRET_SUFFIXES = (
    "_ACCESS_KEY",
    "_ACCESS_KEY_ID",
    "_APIKEY",
    "_API_KEY",
    "_AUTH",
    "_CREDENTIALS",
    "_KEY",
    "_PAT",
    "_PRIVATE_KEY",
    "_SECRET",
    "_SECRETS",
    "_TOKEN",
)
SECRET_SUBSTRINGS = ("PASSWD", "PASSWORD", "PASSPHRASE", "SECRET")
SECRET_NAMES = frozenset({"API_KEY", "APIKEY", "AWS_BEARER_TOKEN_BEDROCK", "PGPASSFILE", "SECRET", "TOKEN"})
NOT_SECRET_NAMES = frozenset({"AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_REGION", "GPG_KEY"})
"""Names that look like secrets and are not."""
NOT_SECRET_SUFFIXES = (
    *(
        "_MODEL",
        "_REGION",
        "_LOCATION",
        "_PROFILE",
        "_VERSION",
        "_SUBSCRIPTION_ID",
        "_TENANT_ID",
        "_CLIENT_ID",
        "_ORG_ID",
    ),
    *("_PROJECT_ID", "_ACCOUNT_ID", "_RESOURCE_GROUP", "_DEPLOYMENT"),
)
"""Variables of these vendors that hold no key."""
UNSAFE_VARIABLES = frozenset({"CDPATH"})
"""Not secret, but `cd src` would end up elsewhere than the permission check assumed."""


def is_secret(name: str) -> bool:
    """Whether a variable of this name is withheld from child processes."""
    upper = name.upper()
    is_vendor_secret = upper.startswith(SECRET_PREFIXES) and not upper.endswith(NOT_SECRET_SUFFIXES)
    return upper not in NOT_SECRET_NAMES and (is_vendor_secret or _is_secret_name(upper))


def select_passed(
    withheld: Mapping[str, str], patterns: Iterable[str], model_keys: Collection[str] = ()
) -> dict[str, str]:
    """Select the withheld variables that the user passes to commands, by name or by a pattern with `*` and `?`.

    Model keys are passed by their exact names only; `model_keys` are those that the settings name.
    """
    exact = {*PROVIDER_VARIABLES, HEADERS, *model_keys}
    wanted = tuple(patterns)
    return {
        name: value
        for name, value in withheld.items()
        if name in wanted or (name not in exact and any(_matches(name, pattern) for pattern in wanted))
    }


def _matches(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return ("*" in pattern or "?" in pattern) and fnmatchcase(name, pattern)


def has_secret(name: str, value: str) -> bool:
    """Whether a variable is withheld from child processes, or has a password in its value."""
    return is_secret(name) or bool(_url_password(value))


def find_secret_in_argument(argument: str) -> str:
    """Return the part of a command line argument that may be secret: inline settings, or a password in a URL."""
    _, equals, value = argument.partition("=")
    text = value if equals and argument.startswith("--") else argument
    return text if text.startswith("{") else _url_password(text)


def is_provider_key(name: str) -> bool:
    """Whether a variable of this name holds a model key, which is for bobstay alone."""
    return any(name.upper() in names for names in KEYS.values())


def remove_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in UNSAFE_VARIABLES and not is_secret(name)}


def secret_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values that must not be stored or shown, by variable name: secret by name, and random-looking.

    A vendor's variables without a key, such as a model's name or an address, are withheld from child processes but
    not redacted; of an address only the password is secret.
    """
    return {name: value for name, value in _named_secrets(environ) if looks_random(value)}


def unredacted_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return variables whose names suggest a secret but whose values are ordinary words, so they are not redacted."""
    return tuple(
        name for name, value in _named_secrets(environ) if not looks_random(value) and _is_plausible_secret(value)
    )


def _is_plausible_secret(value: str) -> bool:
    return not is_path(value) and len(value) >= 6 and not value.isdigit()


def _named_secrets(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        upper = name.upper()
        if upper == HEADERS:
            yield from _parse_header_secrets(name, value).items()
        elif password := _url_password(value):
            yield name, password
        elif _is_secret_name(upper):
            yield name, value


def _parse_header_secrets(name: str, text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines())
    return header_secrets(name, {header.strip(): value for header, _, value in lines})


def header_secrets(name: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets in headers, by label: without a `Bearer` prefix, and each value of a cookie separately."""
    found: dict[str, str] = {}
    for header, value in headers.items():
        if not any(part in header.lower() for part in ("auth", "cookie", "key", "secret", "token")):
            continue
        cookies = "cookie" in header.lower()
        pieces = [each.partition("=")[2] for each in value.split(";")] if cookies else value.split()[-1:]
        for index, piece in enumerate(pieces):
            found[f"{name} {header} {index + 1}" if index else f"{name} {header}"] = piece.strip()
    return found


def _url_password(value: str) -> str:
    """Return the password in a URL such as `postgres://user:password@host/`."""
    _, scheme, rest = value.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return user.partition(":")[2] if scheme and at else ""


def _is_secret_name(upper: str) -> bool:
    return upper not in NOT_SECRET_NAMES and (
        upper in SECRET_NAMES or upper.endswith(SECRET_SUFFIXES) or any(part in upper for part in SECRET_SUBSTRINGS)
    )
