"""Which models a session can reach, how, and at what price."""

from collections.abc import Sequence
from typing import Any

from bobstay.engine.ports import Route
from bobstay.model.message import Usage
from bobstay.providers.base import Provider
from bobstay.providers.catalogue import Catalogue, ModelInfo, cost
from bobstay.providers.choose import LOCAL, Keys, MissingKey, build, parse_model
from bobstay.providers.http import HttpClient
from bobstay.providers.thinking import EFFORTS

BY_KEY = (
    ("default", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    ("openai/gpt-5.5", ("OPENAI_API_KEY",)),
    ("gemini/gemini-4-argon", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
)
"""The model taken where none is named, by the first key that is there."""

SMALL_WINDOW = 16_384
"""Tokens; a prompt with tools takes a quarter of it before the first word."""
_TELL_THEIR_COST = frozenset({"openrouter"})
"""Providers that say with each answer what it cost."""


class ModelRoutes:
    """Finds routes by name and keeps them. A provider's adapter is built when it is first asked."""

    def __init__(self, keys: Keys, http: HttpClient, catalogue: Catalogue) -> None:
        self.http = http
        self.catalogue = catalogue
        self._keys = keys
        self._routes: dict[str, Route] = {}
        self._providers: dict[str, Provider] = {}

    def default(self) -> str:
        """The model to use where nobody named one.

        Raises:
            MissingKey: no provider has a key.
        """
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
            provider, model = parse_model(name)
            if provider not in self._providers:
                self._providers[provider] = build(provider, self.http, self._keys)
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

    def info(self, name: str) -> ModelInfo:
        """What is known of a model, whether or not it can be reached. Never fails."""
        return self.catalogue.lookup(name)

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
        listed = []
        for alias, model in self.catalogue.aliases.items():
            info = self.info(model)
            listed.append(
                {
                    "value": alias,
                    "resolvedModel": model,
                    "displayName": info.display or model,
                    "description": f"{info.context // 1000}k window",
                    "supportsEffort": bool(info.efforts),
                    "supportedEffortLevels": list(info.efforts),
                }
            )
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
