"""Model catalogue: limits, capabilities and prices of models, read from `catalogue.json`."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Usage
from bobstay.providers.thinking import EFFORTS, Effort, ThinkingSupport


class Price(Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class LongPrice(Struct, frozen=True):
    """The price of calls whose prompt is longer than `above` tokens."""

    above: int
    price: Price


class ModelInfo(Struct, frozen=True):
    name: str = ""
    display: str = ""
    context: int = 32_768
    """Tokens of the context window, including the answer."""
    output: int = 8_192
    """Maximum tokens of an answer."""
    images: bool = False
    thinking: ThinkingSupport = "none"
    effort: bool | tuple[Effort, ...] = False
    """Whether it accepts effort levels, or the levels it accepts if not all."""
    patches: bool = False
    """Whether it was trained on the patch format of `apply_patch`."""
    price: Price | None = None
    long: LongPrice | None = None
    known: bool = True
    assumed: bool = False
    """Not known, but its name has the prefix of a known family."""

    @property
    def priced(self) -> bool:
        return self.price is not None

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The effort levels it accepts."""
        return self.effort if isinstance(self.effort, tuple) else EFFORTS if self.effort else ()

    @property
    def thinks(self) -> ThinkingSupport:
        """How it supports thinking; `unknown` for an unknown model."""
        return self.thinking if self.known or self.thinking != "none" else "unknown"


class _CatalogueFile(Struct):
    as_of: str
    aliases: dict[str, str]
    families: dict[str, ModelInfo]
    """By name prefix: what is safe to assume about a model that is newer than this file."""
    models: dict[str, ModelInfo]


UNKNOWN_WINDOW = 168_000
"""Context window to show for a model that only an external engine knows: the usual 200,000 tokens less an answer.

For requests of our own to an unknown model, `ModelInfo` assumes less."""

LOCAL = frozenset({"ollama", "vllm", "lmstudio", "llamacpp", "demo"})
"""Providers on the user's own machine, which are free."""

_FREE = Price(0, 0, 0, 0)
_CAMEL_CASE = {"cacheRead": "cache_read", "cacheWrite": "cache_write"}
_CACHE_FIELDS = tuple(_CAMEL_CASE.values())
_VARIANT_SUFFIX = (
    r"[-@:](\d{8}(-v\d+(:\d+)?)?|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{3}"
    r"|latest|preview(-[\d-]+)?|exp|v\d+(:\d+)?)"
)


class Catalogue:
    """The shipped facts, with the user's overrides.

    `overrides` maps a model's name to the fields of `ModelInfo` that replace the shipped ones.

    Raises:
        msgspec.ValidationError: An override is invalid.
    """

    def __init__(self, overrides: dict[str, dict[str, Any]] | None = None) -> None:
        file = _read_file()
        self.as_of = file.as_of
        self.aliases = file.aliases
        self._families = file.families
        self._models = file.models
        self.added = tuple(overrides or ())
        """Models that the settings describe."""
        if overrides:
            self._models = dict(file.models)
            for name, changes in overrides.items():
                self._models[self.resolve(name.lower())] = self._apply_override(name, changes)
        self._priced = {self.resolve(name.lower()) for name, changes in (overrides or {}).items() if "price" in changes}
        self._cache: dict[str, ModelInfo] = {}

    def resolve(self, model: str) -> str:
        """Return the model that an alias such as `sonnet` stands for; any other name is returned as it is."""
        return self.aliases.get(model, model)

    def lookup(self, model: str) -> ModelInfo:
        """Return what is known about `model`, which may be an alias, dated, or `provider/name`. Never fails."""
        found = self._cache.get(model)
        if found is None:
            found = self._cache[model] = self._lookup_uncached(model)
        return found

    def _lookup_uncached(self, model: str) -> ModelInfo:
        provider, slash, _ = model.partition("/")
        info = self._find(self.resolve(model))
        if slash and provider in LOCAL and not self._priced_by_user(info.name):
            return msgspec.structs.replace(info, price=_FREE, long=None)
        return info

    def _find(self, model: str) -> ModelInfo:
        for name in _spellings(model):
            if name in self._models:
                return msgspec.structs.replace(self._models[name], name=model)
            # The longest name first: `gpt-5-mini-2025-08-07` is a `gpt-5-mini` and not a `gpt-5`.
            for known in sorted(self._models, key=len, reverse=True):
                if name.startswith(known) and _is_variant(name[len(known) :]):
                    return msgspec.structs.replace(self._models[known], name=model)
        for prefix, info in self._families.items():
            if any(name.startswith(prefix) for name in _spellings(model)):
                return msgspec.structs.replace(info, name=model, display=model, known=False, assumed=True)
        return ModelInfo(name=model, display=model, known=False)

    def _apply_override(self, name: str, changes: dict[str, Any]) -> ModelInfo:
        base = _shipped_catalogue().lookup(name)
        fields = {**msgspec.to_builtins(base), "known": True, **changes}
        price = changes.get("price")
        if isinstance(price, dict):
            # Settings use camel case; both spellings are accepted.
            price = {_CAMEL_CASE.get(key, key): value for key, value in price.items()}
            # If the cache prices are unknown, cached tokens cost as much as other input.
            known = base.price is not None and base.price != _FREE
            defaults = msgspec.to_builtins(base.price) if known else dict.fromkeys(_CACHE_FIELDS, price.get("input"))
            fields["price"] = {**defaults, **price}
            # A price in the settings applies to prompts of any length, unless `long` is given too.
            fields["long"] = changes.get("long")
        return msgspec.convert(fields, ModelInfo)

    def _priced_by_user(self, model: str) -> bool:
        return any(name in self._priced for name in _spellings(model))


def lookup(model: str) -> ModelInfo:
    """`Catalogue.lookup` over the shipped facts."""
    return _shipped_catalogue().lookup(model)


def compute_cost(info: ModelInfo, usage: Usage) -> float:
    """Compute the cost of one call in US dollars; 0 if the price is unknown (see `info.priced`)."""
    price = info.price
    if price is None:
        return 0.0
    if info.long is not None and usage.input + usage.cache_read + usage.cache_write > info.long.above:
        price = info.long.price
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
    ) / 1_000_000


@cache
def _read_file() -> _CatalogueFile:
    data = Path(__file__).with_suffix(".json").read_bytes()
    return msgspec.json.decode(data, type=_CatalogueFile)


@cache
def _shipped_catalogue() -> Catalogue:
    return Catalogue()


def _spellings(model: str) -> list[str]:
    """Return alternative names of a model: without a provider, region or vendor prefix, with dashes for dots."""
    name = model.lower()
    last = name.rsplit("/", 1)[-1]
    made = last.split("anthropic.", 1)[-1]
    return list(dict.fromkeys((name, last, made, made.replace(".", "-"))))


def _is_variant(rest: str) -> bool:
    """Whether `rest` is a date or version suffix, or the size tag of a local model (`:8b`)."""
    return rest.startswith(":") or re.fullmatch(_VARIANT_SUFFIX, rest) is not None
