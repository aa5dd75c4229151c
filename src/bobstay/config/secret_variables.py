"""Which environment variables are keys, addresses of models, or secrets that no child process may see."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bobstay.config.provider_variables import ADDRESSES, HEADERS, KEYS
from bobstay.redaction.randomness import is_path, looks_random

PROVIDER_VARIABLES = tuple(sorted({*ADDRESSES.values(), *(name for names in KEYS.values() for name in names)}))
SEARCH_VARIABLES = ("BRAVE_API_KEY", "SEARXNG_URL", "TAVILY_API_KEY")

SECRET_BEGINNINGS = ("ANTHROPIC_", "AWS_", "AZURE_", "GEMINI_", "OPENAI_", "OPENROUTER_")
"""Everything of these makers: keys, but also addresses that carry one and headers that are one."""
SECRET_ENDINGS = (
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
SECRET_PARTS = ("PASSWD", "PASSWORD", "PASSPHRASE", "SECRET")
SECRET_NAMES = frozenset({"API_KEY", "APIKEY", "PGPASSFILE", "SECRET", "TOKEN"})
KEPT = frozenset({"AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_REGION", "GPG_KEY"})
"""Look like secrets and are none."""
NOT_SECRET_ENDINGS = (
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
"""What is no key among the variables of these makers."""
MISLEADING = frozenset({"CDPATH"})
"""No secret, but it would send `cd src` elsewhere than the permission check assumed."""


def is_secret(name: str) -> bool:
    """Whether a variable of this name is kept from child processes."""
    upper = name.upper()
    makers = upper.startswith(SECRET_BEGINNINGS) and not upper.endswith(NOT_SECRET_ENDINGS)
    return upper not in KEPT and (makers or _names_a_secret(upper))


def passed(withheld: Mapping[str, str], patterns: Iterable[str], model_keys: Collection[str] = ()) -> dict[str, str]:
    """Those of the withheld variables that a person lets commands have: by name, or by a pattern with `*` and `?`.

    Keys of model providers are passed by their exact names only; `model_keys` are those that the settings name.
    """
    exact = {*PROVIDER_VARIABLES, HEADERS, *model_keys}
    wanted = tuple(patterns)
    return {
        name: value
        for name, value in withheld.items()
        if name in wanted or (name not in exact and any(_fits(name, pattern) for pattern in wanted))
    }


def _fits(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return ("*" in pattern or "?" in pattern) and fnmatchcase(name, pattern)


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable is kept from child processes, or has a password in its value."""
    return is_secret(name) or bool(_password(value))


def secret_in_argument(argument: str) -> str:
    """The part of an argument of the command line that may be secret: inline settings, or a password in an address."""
    _, equals, value = argument.partition("=")
    text = value if equals and argument.startswith("--") else argument
    return text if text.startswith("{") else _password(text)


def is_provider_key(name: str) -> bool:
    """Whether a variable of this name pays for models: it is for bobstay alone, whoever else asks for it."""
    return name.upper() in PROVIDER_VARIABLES and name.upper().endswith(("_API_KEY", "_AUTH_TOKEN"))


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in MISLEADING and not is_secret(name)}


def secret_values(environ: Mapping[str, str]) -> dict[str, str]:
    """What must not be stored or shown, by the name of its variable: by its name a secret, and by its looks one.

    A maker's variables that hold no key, such as the name of a model or an address, are kept from child processes but
    would be hard to talk without; of an address only the password in it is a secret.
    """
    return {name: value for name, value in _named_secrets(environ) if looks_random(value)}


def unredacted_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables whose names promise a secret but whose values are ordinary words, so that they are not redacted."""
    return tuple(
        name for name, value in _named_secrets(environ) if not looks_random(value) and _could_be_meant_as_secret(value)
    )


def _could_be_meant_as_secret(value: str) -> bool:
    return not is_path(value) and len(value) >= 6 and not value.isdigit()


def _named_secrets(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        upper = name.upper()
        if upper == HEADERS:
            yield from _header_values(name, value).items()
        elif password := _password(value):
            yield name, password
        elif _names_a_secret(upper):
            yield name, value


def _header_values(name: str, text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines())
    return header_secrets(name, {header.strip(): value for header, _, value in lines})


def header_secrets(name: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The secrets in headers, by what stands for them: without `Bearer` before them, of cookies each value."""
    found: dict[str, str] = {}
    for header, value in headers.items():
        if not any(part in header.lower() for part in ("auth", "cookie", "key", "secret", "token")):
            continue
        cookies = "cookie" in header.lower()
        pieces = [each.partition("=")[2] for each in value.split(";")] if cookies else value.split()[-1:]
        for place, piece in enumerate(pieces):
            found[f"{name} {header} {place + 1}" if place else f"{name} {header}"] = piece.strip()
    return found


def _password(value: str) -> str:
    """The password in an address such as `postgres://user:password@host/`."""
    _, scheme, rest = value.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return user.partition(":")[2] if scheme and at else ""


def _names_a_secret(upper: str) -> bool:
    return upper not in KEPT and (
        upper in SECRET_NAMES or upper.endswith(SECRET_ENDINGS) or any(part in upper for part in SECRET_PARTS)
    )
