"""Which environment variables are keys, addresses of models, or secrets that no child process may see."""

from collections.abc import Mapping

PROVIDER_VARIABLES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "LLAMACPP_API_KEY",
    "LLAMACPP_BASE_URL",
    "LMSTUDIO_API_KEY",
    "LMSTUDIO_BASE_URL",
    "OLLAMA_API_KEY",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
    "OPENROUTER_BASE_URL",
    "VLLM_API_KEY",
    "VLLM_BASE_URL",
)
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
MISLEADING = frozenset({"CDPATH"})
"""No secret, but it would send `cd src` elsewhere than the permission check assumed."""


def is_secret(name: str) -> bool:
    """Whether a variable of this name is kept from child processes."""
    upper = name.upper()
    if upper in KEPT:
        return False
    return (
        upper in SECRET_NAMES
        or upper.startswith(SECRET_BEGINNINGS)
        or upper.endswith(SECRET_ENDINGS)
        or any(part in upper for part in SECRET_PARTS)
    )


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in MISLEADING and not is_secret(name)}
