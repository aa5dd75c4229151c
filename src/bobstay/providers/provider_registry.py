"""Finds the provider for a model's name, and builds it with the keys at hand."""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from bobstay.providers.base import Provider
from bobstay.providers.http_client import HttpClient

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
    "demo",
)

_BEGINNINGS = (
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


class Local(Struct, frozen=True):
    """A model server on the user's own machine, or wherever the variable says."""

    variable: str
    url: str
    key: str = ""
    """Variable of the key, which most such servers do without."""
    start: str = ""
    """How a person gets it running."""


LOCAL = {
    "ollama": Local("OLLAMA_HOST", "http://127.0.0.1:11434", "OLLAMA_API_KEY", "Start Ollama with: ollama serve"),
    "vllm": Local("VLLM_BASE_URL", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", "Start it with: vllm serve MODEL"),
    "lmstudio": Local(
        "LMSTUDIO_BASE_URL", "http://127.0.0.1:1234/v1", "LMSTUDIO_API_KEY", "Start its server with: lms server start"
    ),
    "llamacpp": Local(
        "LLAMACPP_BASE_URL",
        "http://127.0.0.1:8080/v1",
        "LLAMACPP_API_KEY",
        "Start it with: llama-server -m MODEL.gguf --jinja",
    ),
}


class NamedServer(Struct, frozen=True):
    """A server under a name that the settings gave it, with the key that was found for it."""

    api: Literal["anthropic", "responses", "chat", "gemini"]
    base_url: str
    key: str = ""
    variable: str = ""
    """Where the key should be; "" for a server that may want none."""
    headers: dict[str, str] = {}


class ProviderKeys(Struct, frozen=True):
    """Keys and addresses by the name of their environment variable. Whoever makes it has read the environment."""

    values: dict[str, str] = {}
    headers: dict[str, str] = {}
    """Sent to Anthropic, or the gateway in its place, and to nobody else: they may carry a key of that gateway."""
    added: dict[str, dict[str, str]] = {}
    """Headers that the settings add for a provider."""

    def get(self, *names: str) -> str:
        """The first of these that is set."""
        return next((value.strip() for name in names if (value := self.values.get(name, "")).strip()), "")


class MissingKey(ValueError):  # noqa: N818 - what is wrong is in the name already
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
    """The name says nothing about who serves the model."""


def usual_name(spec: str) -> str:
    """A model's name without what only Claude Code means by it: `opus[1m]` and `opusplan` are `opus` here."""
    name = spec.strip().removesuffix("[1m]")
    return "opus" if name == "opusplan" else name


def parse_model(spec: str, named: Collection[str] = ()) -> tuple[str, str]:
    """Split `provider/name`; for a bare name, find the provider by how it begins. Aliases are resolved.

    `named` are providers that the settings define.

    Raises:
        UnknownModelError: Neither says who serves it.
    """
    spec = usual_name(spec)
    provider, slash, name = spec.partition("/")
    if slash and provider in named and name:
        return provider, name
    if slash and provider in PROVIDERS and name:
        return provider, _behind_alias(name) if provider == "anthropic" else name
    if not slash:
        if spec == "demo":
            return "demo", "demo"
        name = _behind_alias(spec)
        lowered = name.lower()
        for beginning, maker in _BEGINNINGS:
            if lowered.startswith(beginning):
                return maker, name
    raise UnknownModelError(
        f"Nothing is known about who serves the model {spec!r}. Write provider/model, "
        f"where provider is one of {', '.join((*PROVIDERS, *named))}; for example ollama/{spec or 'qwen3'}."
    )


def build(provider: str, http: HttpClient, keys: ProviderKeys) -> Provider:
    """Make the provider's adapter; no other is imported.

    Raises:
        MissingKey: It needs a key that is not there.
        UnknownModelError: There is no provider of this name.
    """
    match provider:
        case "anthropic":
            return _anthropic(http, keys)
        case "openai":
            return _openai(http, keys)
        case "gemini":
            return _gemini(http, keys)
        case "demo":
            from bobstay.providers.demo_model import Demo

            return Demo()
        case "openai-chat" | "openrouter":
            return _hosted_chat(provider, http, keys)
        case _ if provider in LOCAL:
            return _local(provider, http, keys)
        case _:
            raise UnknownModelError(f"There is no provider {provider!r}; there are {', '.join(PROVIDERS)}.")


def build_named(name: str, server: NamedServer, http: HttpClient) -> Provider:
    """Make the adapter of a server that the settings name.

    Raises:
        MissingKey: its key is not where the settings say it is.
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


def _behind_alias(name: str) -> str:
    if name.startswith("claude") or not name.isalpha():
        return name  # no alias looks like that: the catalogue need not be read
    from bobstay.providers.catalogue import Catalogue

    return Catalogue().aliases.get(name.lower(), name)


def _anthropic(http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.anthropic import Anthropic

    key, token = keys.get("ANTHROPIC_API_KEY"), keys.get("ANTHROPIC_AUTH_TOKEN")
    if not key and not token:
        raise MissingKey("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    url = keys.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    headers = {**keys.headers, **keys.added.get("anthropic", {})}
    return Anthropic(http, base_url=url, api_key=key, auth_token=token, headers=headers)


def _openai(http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.responses import Responses

    key = keys.get("OPENAI_API_KEY")
    if not key:
        raise MissingKey("openai", "OPENAI_API_KEY")
    url = keys.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return Responses(http, base_url=url, api_key=key, headers=keys.added.get("openai"))


def _gemini(http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.gemini import Gemini

    key = keys.get("GEMINI_API_KEY", "GOOGLE_API_KEY")
    if not key:
        raise MissingKey("gemini", "GEMINI_API_KEY", "GOOGLE_API_KEY")
    url = keys.get("GOOGLE_GEMINI_BASE_URL") or "https://generativelanguage.googleapis.com"
    return Gemini(http, base_url=url, api_key=key, headers=keys.added.get("gemini"))


def _hosted_chat(provider: str, http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.chat_completions import Chat

    variable = "OPENROUTER_API_KEY" if provider == "openrouter" else "OPENAI_API_KEY"
    url = keys.get("OPENROUTER_BASE_URL") or "https://openrouter.ai/api/v1"
    if provider == "openai-chat":
        from bobstay.providers.base_urls import local_url

        url = local_url(provider, keys.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    key = keys.get(variable)
    if not key and not (provider == "openai-chat" and keys.get("OPENAI_BASE_URL")):
        # A base URL of one's own is somebody's own server, and many of those want no key.
        raise MissingKey(provider, variable)
    return Chat(http, base_url=url, api_key=key, headers=keys.added.get(provider), name=provider)


def _local(provider: str, http: HttpClient, keys: ProviderKeys) -> Provider:
    from bobstay.providers.base_urls import local_url

    server = LOCAL[provider]
    url = local_url(provider, keys.get(server.variable) or server.url)
    http.hint(url, f"{server.start}. If it runs elsewhere, say where in {server.variable}.")
    if provider == "ollama":
        from bobstay.providers.ollama import Ollama

        return Ollama(http, base_url=url, api_key=keys.get(server.key), headers=keys.added.get(provider))
    from bobstay.providers.chat_completions import Chat

    return Chat(http, base_url=url, api_key=keys.get(server.key), headers=keys.added.get(provider), name=provider)
