"""Which models a session can reach, how, and at what price."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bobstay.engine.engine_ports import Route
from bobstay.model.message import Usage
from bobstay.providers.base import SMALL_WINDOW, Provider
from bobstay.providers.catalogue import Catalogue, ModelInfo, cost
from bobstay.providers.http_client import HttpClient
from bobstay.providers.provider_registry import (
    LOCAL,
    MissingKey,
    NamedServer,
    ProviderKeys,
    build,
    build_named,
    parse_model,
    usual_name,
)
from bobstay.providers.thinking import EFFORTS

if TYPE_CHECKING:
    from bobstay.assembly.key_helper import KeyHelper

BY_KEY = (
    ("default", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    ("openai/gpt-5.5", ("OPENAI_API_KEY",)),
    ("gemini/gemini-4-argon", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
)
"""The model taken where none is named, by the first key that is there."""

_TELL_THEIR_COST = frozenset({"openrouter"})
"""Providers that say with each answer what it cost."""


class ModelRoutes:
    """Finds routes by name and keeps them. A provider's adapter is built when it is first asked."""

    def __init__(
        self, keys: ProviderKeys, http: HttpClient, catalogue: Catalogue, named: Mapping[str, NamedServer] | None = None
    ) -> None:
        """`named` are servers that the settings define."""
        self.http = http
        self.catalogue = catalogue
        self.helper: KeyHelper | None = None
        """Where a key for Anthropic comes from that is neither in the environment nor stored."""
        self._keys = keys
        self._named = named or {}
        self._routes: dict[str, Route] = {}
        self._providers: dict[str, Provider] = {}

    def default(self) -> str:
        """The model to use where nobody named one.

        Raises:
            MissingKey: no provider has a key.
        """
        if self.helper is not None:
            return BY_KEY[0][0]
        for model, variables in BY_KEY:
            if self._keys.get(*variables):
                return model
        raise MissingKey("anthropic", "ANTHROPIC_API_KEY")

    def route(self, name: str) -> Route:
        """Find the way to a model.

        Raises:
            ValueError: no such provider, or no key for it; the text says what to do.
        """
        if name not in self._routes:
            provider, model = parse_model(name, self._named)
            if provider not in self._providers:
                self._providers[provider] = self._built(provider)
            info = self.info(name)
            self._routes[name] = Route(
                shown(provider, model),
                model,
                self._providers[provider],
                info.context,
                info.output,
                _price_of(info),
                local=provider in LOCAL,
                thinks=info.thinks,
                # Elsewhere the adapter finds out itself what the server takes.
                efforts=info.efforts if provider == "anthropic" and info.known else EFFORTS,
            )
        return self._routes[name]

    def _built(self, provider: str) -> Provider:
        if provider in self._named:
            return build_named(provider, self._named[provider], self.http)
        helper = self.helper
        if provider != "anthropic" or helper is None:
            return build(provider, self.http, self._keys)
        from bobstay.assembly.key_helper import HelpedProvider

        def make(key: str) -> Provider:
            # One way only, since the API refuses both at once: gateways look for a bearer token.
            is_key = key.startswith("sk-ant-api") or not self._keys.get("ANTHROPIC_BASE_URL")
            name = "ANTHROPIC_API_KEY" if is_key else "ANTHROPIC_AUTH_TOKEN"
            return build(provider, self.http, replace(self._keys, values={**self._keys.values, name: key}))

        return HelpedProvider(provider, helper, make)

    def info(self, name: str) -> ModelInfo:
        """What is known of a model, whether or not it can be reached. Never fails."""
        return self.catalogue.lookup(usual_name(name))

    def cautions(self, names: Sequence[str], budget: float | None) -> list[str]:
        """What the person should know before these models are asked: a budget that cannot be kept, a small window."""
        found: list[str] = []
        for name in dict.fromkeys(names):
            info = self.info(name)
            provider = _provider_of(name)
            if budget and not info.priced and provider not in _TELL_THEIR_COST:
                found.append(
                    f"The budget of ${budget:g} cannot be kept: no price is known for {name}, so that it counts as "
                    'free. Add its price to "models" in the settings.'
                )
            if info.context < SMALL_WINDOW:
                found.append(
                    f"The context window of {name} is {info.context:,} tokens; below {SMALL_WINDOW:,} a coding agent "
                    "soon forgets what it was asked. Choose a model with a larger one, or correct "
                    '"models" in the settings.'
                )
        return found

    def listing(self) -> list[dict[str, Any]]:
        """The models a host may offer to choose from."""
        own = {name: name for name in self.catalogue.added if name.partition("/")[0] in self._named}
        listed = [_listed(name, model, self.info(model)) for name, model in {**self.catalogue.aliases, **own}.items()]
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


def _listed(name: str, model: str, info: ModelInfo) -> dict[str, Any]:
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


def shown(provider: str, model: str) -> str:
    """A name that leads back to the same route: the vendor's own where that alone is clear."""
    if provider == "demo" or (provider == "anthropic" and model.startswith("claude")):
        return model
    return f"{provider}/{model}"


def _price_of(info: ModelInfo) -> Any:
    def price(usage: Usage) -> float:
        return cost(info, usage)

    return price
