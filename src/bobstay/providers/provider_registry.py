"""Provider registry: finds the provider of a model's name, and builds its adapter with the given keys."""

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from msgspec import Struct

from bobstay.http.client import HttpClient
from bobstay.providers.base import Provider

PROVIDERS = (
    "anthropic",
    "openai",
    "openai-chat",
    "gemini",
    "ollama",
    "vllm",
    "lmstudio",
    "llamacpp",
    "openrouter",
    "bedrock",
    "vertex",
    "demo",
)

_PROVIDERS_BY_PREFIX = (
    ("claude", "anthropic"),
    ("gpt-oss", "ollama"),
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("codex", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "gemini"),
)


class LocalProvider(Struct, frozen=True):
    """A model server on the user's own machine, or at the address in the variable."""

    variable: str
    url: str
    key: str = ""
    """Variable of the key, which most such servers do not need."""
    start: str = ""
    """How to start it, for a person."""


LOCAL_PROVIDERS = {
    "ollama": LocalProvider(
        "OLLAMA_HOST", "http://127.0.0.1:11434", "OLLAMA_API_KEY", "Start Ollama with: ollama serve"
    ),
    "vllm": LocalProvider(
        "VLLM_BASE_URL", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", "Start it with: vllm serve MODEL"
    ),
    "lmstudio": LocalProvider(
        "LMSTUDIO_BASE_URL", "http://127.0.0.1:1234/v1", "LMSTUDIO_API_KEY", "Start its server with: lms server start"
    ),
    "llamacpp": LocalProvider(
        "LLAMACPP_BASE_URL",
        "http://127.0.0.1:8080/v1",
        "LLAMACPP_API_KEY",
        "Start it with: llama-server -m MODEL.gguf --jinja",
    ),
}


class NamedServer(Struct, frozen=True):
    """A server that the settings define, with its key."""

    api: Literal["anthropic", "responses", "chat", "gemini"]
    base_url: str
    key: str = ""
    variable: str = ""
    """The variable that should hold the key; "" for a server that may not need one."""
    headers: dict[str, str] = {}


class ProviderKeys(Struct, frozen=True):
    """Keys and addresses, by environment variable name."""

    values: dict[str, str] = {}
    headers: dict[str, str] = {}
    """Sent only to Anthropic, or the gateway in its place: they may contain a key of that gateway."""
    added: dict[str, dict[str, str]] = {}
    """Headers that the settings add for a provider."""
    learn_secrets: Callable[[Mapping[str, str]], None] | None = None
    """Told about credentials that are found later, so that they are redacted."""

    def get(self, *names: str) -> str:
        """Return the first of these that is set."""
        return next((value.strip() for name in names if (value := self.values.get(name, "")).strip()), "")


class MissingKey(ValueError):  # noqa: N818 - the name says what happened
    """A provider cannot be used without a key. The text says what to do."""

    def __init__(self, provider: str, *variables: str) -> None:
        wanted = " or ".join(variables)
        super().__init__(
            f"No key for {provider}: set {wanted} in the environment, "
            f"or store one with: bobstay auth login {provider}. "
            "To try bobstay without any key, use the built-in offline model: --model demo"
        )
        self.provider = provider
        self.variables = variables


class UnknownModelError(ValueError):
    """The provider of a model cannot be determined by its name."""


def normalise_model_name(spec: str) -> str:
    """Remove suffixes that only Claude Code uses: `opus[1m]` and `opusplan` become `opus`."""
    name = spec.strip().removesuffix("[1m]")
    return "opus" if name == "opusplan" else name


def parse_model(spec: str, named: Collection[str] = ()) -> tuple[str, str]:
    """Split `provider/name`; for a bare name, find the provider by its prefix. Aliases are resolved.

    `named` are the providers that the settings define.

    Raises:
        UnknownModelError: The provider cannot be determined.
    """
    spec = normalise_model_name(spec)
    provider, slash, name = spec.partition("/")
    if slash and provider in named and name:
        return provider, name
    if spec.startswith("arn:aws") or "anthropic.claude" in provider:
        return "bedrock", spec
    if slash and provider in PROVIDERS and name:
        return provider, _resolve_alias(name) if provider == "anthropic" else name
    if not slash:
        if spec == "demo":
            return "demo", "demo"
        name = _resolve_alias(spec)
        lowered = name.lower()
        for prefix, vendor in _PROVIDERS_BY_PREFIX:
            if lowered.startswith(prefix):
                return vendor, name
    raise UnknownModelError(
        f"The provider of the model {spec!r} is unknown. Write provider/model, "
        f"where provider is one of {', '.join((*PROVIDERS, *named))}; for example ollama/{spec or 'qwen3'}."
    )


def build_provider(provider: str, http: HttpClient, keys: ProviderKeys) -> Provider:
    """Build the provider's adapter; no other adapter is imported.

    Raises:
        MissingKey: It needs a key that is not set.
        ValueError: It needs a package that is not installed, or a variable has a value that cannot be used.
        UnknownModelError: There is no provider of this name.
    """
    match provider:
        case "anthropic":
            return _build_anthropic(http, keys)
        case "openai":
            return _build_openai(http, keys)
        case "gemini":
            return _build_gemini(http, keys)
        case "demo":
            from bobstay.providers.demo_model import Demo

            return Demo()
        case "bedrock":
            from bobstay.providers.cloud_setup import build_bedrock

            return build_bedrock(http, keys)
        case "vertex":
            from bobstay.providers.cloud_setup import build_vertex

            return build_vertex(http, keys)
        case "openai-chat" | "openrouter":
            return _build_hosted_chat(provider, http, keys)
        case _ if provider in LOCAL_PROVIDERS:
            return _build_local(provider, http, keys)
        case _:
            raise UnknownModelError(f"There is no provider {provider!r}; there are {', '.join(PROVIDERS)}.")


def build_named_provider(name: str, server: NamedServer, http: HttpClient) -> Provider:
    """Build the adapter of a server that the settings define.

    Raises:
        MissingKey: The variable of its key is not set.
    """
    if server.variable and not server.key:
        raise MissingKey(name, server.variable)
    url, key, headers = server.base_url, server.key, server.headers
    match server.api:
        case "anthropic":
            from bobstay.providers.anthropic import Anthropic

            return Anthropic(http, base_url=url, api_key=key, headers=headers, origin=name)
        case "responses":
            from bobstay.providers.responses import Responses

            return Responses(http, base_url=url, api_key=key, headers=headers, origin=name)
        case "gemini":
            from bobstay.providers.gemini import Gemini

            return Gemini(http, base_url=url, api_key=key, headers=headers)
        case "chat":
            from bobstay.providers.chat_completions import Chat

            return Chat(http, base_url=url, api_key=key, headers=headers, name=name)


def _resolve_alias(name: str) -> str:
    if name.startswith("claude") or not name.isalpha():
        return name  # no alias looks like that, so the catalogue is not read
    from bobstay.providers.catalogue import Catalogue

    return Catalogue().aliases.get(name.lower(), name)


def _build_anthropic(http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.anthropic import Anthropic

    key, token = keys.get("ANTHROPIC_API_KEY"), keys.get("ANTHROPIC_AUTH_TOKEN")
    if not key and not token:
        raise MissingKey("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    url = keys.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    headers = {**keys.headers, **keys.added.get("anthropic", {})}
    return Anthropic(http, base_url=url, api_key=key, auth_token=token, headers=headers)


def _build_openai(http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.responses import Responses

    key = keys.get("OPENAI_API_KEY")
    if not key:
        raise MissingKey("openai", "OPENAI_API_KEY")
    url = keys.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return Responses(http, base_url=url, api_key=key, headers=keys.added.get("openai"))


def _build_gemini(http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.gemini import Gemini

    key = keys.get("GEMINI_API_KEY", "GOOGLE_API_KEY")
    if not key:
        raise MissingKey("gemini", "GEMINI_API_KEY", "GOOGLE_API_KEY")
    url = keys.get("GOOGLE_GEMINI_BASE_URL") or "https://generativelanguage.googleapis.com"
    return Gemini(http, base_url=url, api_key=key, headers=keys.added.get("gemini"))


def _build_hosted_chat(provider: str, http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.chat_completions import Chat

    variable = "OPENROUTER_API_KEY" if provider == "openrouter" else "OPENAI_API_KEY"
    url = keys.get("OPENROUTER_BASE_URL") or "https://openrouter.ai/api/v1"
    if provider == "openai-chat":
        from bobstay.providers.base_urls import complete_url

        url = complete_url(provider, keys.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    key = keys.get(variable)
    if not key and not (provider == "openai-chat" and keys.get("OPENAI_BASE_URL")):
        # A custom base URL is the user's own server, and many of those need no key.
        raise MissingKey(provider, variable)
    return Chat(http, base_url=url, api_key=key, headers=keys.added.get(provider), name=provider)


def _build_local(provider: str, http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.base_urls import complete_url

    server = LOCAL_PROVIDERS[provider]
    url = complete_url(provider, keys.get(server.variable) or server.url)
    http.hint(url, f"{server.start}. If it runs elsewhere, set its address in {server.variable}.")
    if provider == "ollama":
        from bobstay.providers.ollama import Ollama

        return Ollama(http, base_url=url, api_key=keys.get(server.key), headers=keys.added.get(provider))
    from bobstay.providers.chat_completions import Chat

    return Chat(http, base_url=url, api_key=keys.get(server.key), headers=keys.added.get(provider), name=provider)
