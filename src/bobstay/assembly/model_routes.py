"""Model routes: finds the provider, limits and price for a model's name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bobstay.config.environment import find_cloud_switches
from bobstay.engine.engine_ports import Route
from bobstay.http.client import HttpClient
from bobstay.model.message import Usage
from bobstay.providers.base import SMALL_WINDOW, Provider
from bobstay.providers.catalogue import Catalogue, ModelInfo, compute_cost
from bobstay.providers.provider_registry import (
    LOCAL_PROVIDERS,
    MissingKey,
    NamedServer,
    ProviderKeys,
    build_named_provider,
    build_provider,
    normalise_model_name,
    parse_model,
)
from bobstay.providers.thinking import EFFORTS

if TYPE_CHECKING:
    from bobstay.assembly.key_helper import KeyHelper

DEFAULT_MODELS = (
    ("default", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    ("openai/gpt-5.5", ("OPENAI_API_KEY",)),
    ("gemini/gemini-4-argon", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
)
"""The default model by the first key that is present."""

_CLAUDE_HOSTS = frozenset({"anthropic", "bedrock", "vertex"})
"""Providers whose adapter is that of Anthropic's API, or derived from it."""
_REPORT_COST = frozenset({"openrouter"})
"""Providers that report the cost with each answer."""


class ModelRoutes:
    """Finds routes by name and caches them. A provider's adapter is built when it is first used."""

    def __init__(
        self,
        keys: ProviderKeys,
        http: HttpClient,
        catalogue: Catalogue,
        named: Mapping[str, NamedServer] | None = None,
        helper: "KeyHelper | None" = None,
    ) -> None:
        """`named` are the servers that the settings define.

        `helper` provides the key for Anthropic if it is neither in the environment nor stored.
        """
        self.http = http
        self.catalogue = catalogue
        self._helper = helper
        self._keys = keys
        self._named = named or {}
        self._in_cloud = bool(find_cloud_switches(keys.values))
        self._routes: dict[str, Route] = {}
        self._providers: dict[str, Provider] = {}

    def default(self) -> str:
        """Return the model to use when none is configured.

        Raises:
            MissingKey: no provider has a key.
        """
        if self._helper is not None or self._in_cloud:
            return DEFAULT_MODELS[0][0]
        for model, variables in DEFAULT_MODELS:
            if self._keys.get(*variables):
                return model
        raise MissingKey("anthropic", "ANTHROPIC_API_KEY")

    def route(self, name: str) -> Route:
        """Find the route to a model.

        Raises:
            ValueError: no such provider, or no key for it; the text says what to do.
        """
        if name not in self._routes:
            provider, model = self._locate(name)
            if provider not in self._providers:
                self._providers[provider] = self._build_provider(provider)
            info = self.info(name)
            self._routes[name] = Route(
                route_name(provider, model),
                model,
                self._providers[provider],
                info.context,
                info.output,
                _price_function(info),
                local=provider in LOCAL_PROVIDERS,
                thinks=info.thinks,
                # Other adapters find out by themselves which efforts the server accepts.
                efforts=info.efforts if provider in _CLAUDE_HOSTS and info.known else EFFORTS,
            )
        return self._routes[name]

    def _locate(self, name: str) -> tuple[str, str]:
        """Return the provider of a model and its name there."""
        provider, model = parse_model(name, self._named)
        if provider != "anthropic" or not self._in_cloud or name.startswith("anthropic/"):
            return provider, model
        from bobstay.providers.cloud_setup import locate_claude

        return locate_claude(normalise_model_name(name).lower(), model, self._keys)

    def _build_provider(self, provider: str) -> Provider:
        if provider in self._named:
            return build_named_provider(provider, self._named[provider], self.http)
        helper = self._helper
        if provider != "anthropic" or helper is None:
            return build_provider(provider, self.http, self._keys)
        from bobstay.assembly.key_helper import KeyHelperProvider

        def make(key: str) -> Provider:
            # One credential only, since the API refuses both at once; gateways expect a bearer token.
            is_key = key.startswith("sk-ant-api") or not self._keys.get("ANTHROPIC_BASE_URL")
            name = "ANTHROPIC_API_KEY" if is_key else "ANTHROPIC_AUTH_TOKEN"
            return build_provider(provider, self.http, replace(self._keys, values={**self._keys.values, name: key}))

        return KeyHelperProvider(provider, helper, make)

    def info(self, name: str) -> ModelInfo:
        """Return what is known about a model, whether or not it can be reached. Never fails."""
        return self.catalogue.lookup(normalise_model_name(name))

    def list_warnings(self, names: Sequence[str], budget: float | None) -> list[str]:
        """Warn about models whose price is unknown, so that a budget cannot be enforced, or whose window is small."""
        warnings: list[str] = []
        for name in dict.fromkeys(names):
            info = self.info(name)
            provider = _provider_of(name)
            if budget and not info.priced and provider not in _REPORT_COST:
                warnings.append(
                    f"The budget of ${budget:g} cannot be enforced: no price is known for {name}, so it counts as "
                    'free. Add its price to "models" in the settings.'
                )
            if info.context < SMALL_WINDOW:
                warnings.append(
                    f"The context window of {name} is {info.context:,} tokens; below {SMALL_WINDOW:,} a coding agent "
                    "soon forgets what it was asked. Choose a model with a larger one, or correct "
                    '"models" in the settings.'
                )
        return warnings

    def list_models(self) -> list[dict[str, Any]]:
        """List the models a host may offer to choose from."""
        own = {name: name for name in self.catalogue.added if name.partition("/")[0] in self._named}
        listed = [
            _model_entry(name, model, self.info(model)) for name, model in {**self.catalogue.aliases, **own}.items()
        ]
        listed.append(
            {
                "value": "demo",
                "resolvedModel": "demo",
                "displayName": "Offline demo (scripted)",
                "description": "No key, no network, no intelligence",
            }
        )
        return listed

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()
        await self.http.close()


def _model_entry(name: str, model: str, info: ModelInfo) -> dict[str, Any]:
    return {
        "value": name,
        "resolvedModel": model,
        "displayName": info.display or model,
        "description": f"{info.context // 1000}k window",
        "supportsEffort": bool(info.efforts),
        "supportedEffortLevels": list(info.efforts),
    }


def _provider_of(name: str) -> str:
    try:
        return parse_model(name)[0]
    except ValueError:
        return ""


def route_name(provider: str, model: str) -> str:
    """Return a name that resolves to the same route: the vendor's own name where that is unambiguous."""
    if provider == "demo" or (provider == "anthropic" and model.startswith("claude")):
        return model
    return f"{provider}/{model}"


def _price_function(info: ModelInfo) -> Any:
    def price(usage: Usage) -> float:
        return compute_cost(info, usage)

    return price
