"""What is known about models: sizes, abilities and prices. The facts are in `catalogue.json`."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Usage
from bobstay.providers.thinking import EFFORTS, Effort, Thinks


class Price(Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class LongPrice(Struct, frozen=True):
    """What a call costs whose prompt is longer than `above` tokens."""

    above: int
    price: Price


class ModelInfo(Struct, frozen=True):
    name: str = ""
    display: str = ""
    context: int = 32_768
    """Tokens the model can have before it, its answer included."""
    output: int = 8_192
    """Tokens of the longest answer."""
    images: bool = False
    thinking: Thinks = "none"
    effort: bool | tuple[Effort, ...] = False
    """Whether it can be told how hard to try, and where that is not all of them, in which words."""
    price: Price | None = None
    long: LongPrice | None = None
    known: bool = True
    assumed: bool = False
    """Not known, but its name begins like those of a family that is."""

    @property
    def priced(self) -> bool:
        return self.price is not None

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The efforts it accepts."""
        return self.effort if isinstance(self.effort, tuple) else EFFORTS if self.effort else ()

    @property
    def thinks(self) -> Thinks:
        """How it thinks; of a model nobody knows nothing is said."""
        return self.thinking if self.known or self.thinking != "none" else "unknown"


class _File(Struct):
    as_of: str
    aliases: dict[str, str]
    families: dict[str, ModelInfo]
    """By how a name begins: what is safe to assume of a model that came out after this file."""
    models: dict[str, ModelInfo]


LOCAL = frozenset({"ollama", "vllm", "lmstudio", "llamacpp", "demo"})
"""Providers on the user's own machine: nobody sends a bill."""

_FREE = Price(0, 0, 0, 0)
_SPELLED = {"cacheRead": "cache_read", "cacheWrite": "cache_write"}
_CACHED = tuple(_SPELLED.values())
_DATED = re.compile(
    r"[-@:](\d{8}(-v\d+(:\d+)?)?|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{3}|latest|preview(-[\d-]+)?|exp|v\d+(:\d+)?)"
)


class Catalogue:
    """The shipped facts, and over them those of the user.

    `overrides` maps a model's name to the fields of `ModelInfo` that replace the shipped ones.

    Raises:
        msgspec.ValidationError: An override does not fit.
    """

    def __init__(self, overrides: dict[str, dict[str, Any]] | None = None) -> None:
        file = _file()
        self.as_of = file.as_of
        self.aliases = file.aliases
        self._families = file.families
        self._models = file.models
        self.added = tuple(overrides or ())
        """Models that the settings describe."""
        if overrides:
            self._models = dict(file.models)
            for name, changes in overrides.items():
                self._models[self.resolve(name.lower())] = self._changed(name, changes)
        self._priced = {self.resolve(name.lower()) for name, changes in (overrides or {}).items() if "price" in changes}
        self._found: dict[str, ModelInfo] = {}

    def resolve(self, model: str) -> str:
        """The name behind an alias such as `sonnet`; any other name is its own."""
        return self.aliases.get(model, model)

    def lookup(self, model: str) -> ModelInfo:
        """What is known of `model`, which may be an alias, dated, or `provider/name`. Never fails."""
        found = self._found.get(model)
        if found is None:
            found = self._found[model] = self._look(model)
        return found

    def _look(self, model: str) -> ModelInfo:
        provider, slash, _ = model.partition("/")
        info = self._find(self.resolve(model))
        if slash and provider in LOCAL and not self._priced_by_user(info.name):
            return msgspec.structs.replace(info, price=_FREE, long=None)
        return info

    def _find(self, model: str) -> ModelInfo:
        for name in _spellings(model):
            if name in self._models:
                return msgspec.structs.replace(self._models[name], name=model)
            # The longest first: `gpt-5-mini-2025-08-07` is a `gpt-5-mini`.
            for known in sorted(self._models, key=len, reverse=True):
                if name.startswith(known) and _is_variant(name[len(known) :]):
                    return msgspec.structs.replace(self._models[known], name=model)
        for beginning, info in self._families.items():
            if any(name.startswith(beginning) for name in _spellings(model)):
                return msgspec.structs.replace(info, name=model, display=model, known=False, assumed=True)
        return ModelInfo(name=model, display=model, known=False)

    def _changed(self, name: str, changes: dict[str, Any]) -> ModelInfo:
        base = _shipped().lookup(name)
        fields = {**msgspec.to_builtins(base), "known": True, **changes}
        price = changes.get("price")
        if isinstance(price, dict):
            # Settings are written in camel case; both are taken.
            price = {_SPELLED.get(key, key): value for key, value in price.items()}
            # Where nothing is known of the cache, what goes through it costs as much as any input.
            known = base.price is not None and base.price != _FREE
            usual = msgspec.to_builtins(base.price) if known else dict.fromkeys(_CACHED, price.get("input"))
            fields["price"] = {**usual, **price}
            # A price of the user's own is for prompts of any length, unless they say otherwise.
            fields["long"] = changes.get("long")
        return msgspec.convert(fields, ModelInfo)

    def _priced_by_user(self, model: str) -> bool:
        return any(name in self._priced for name in _spellings(model))


def lookup(model: str) -> ModelInfo:
    """`Catalogue.lookup` over the shipped facts."""
    return _shipped().lookup(model)


def cost(info: ModelInfo, usage: Usage) -> float:
    """What one call cost in US dollars; 0 where the price is not known (`info.priced` tells)."""
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
def _file() -> _File:
    data = Path(__file__).with_suffix(".json").read_bytes()
    return msgspec.json.decode(data, type=_File)


@cache
def _shipped() -> Catalogue:
    return Catalogue()


def _spellings(model: str) -> list[str]:
    """How else a model may be called: with a provider, a region or a maker before it, with dots for dashes."""
    name = model.lower()
    last = name.rsplit("/", 1)[-1]
    made = last.split("anthropic.", 1)[-1]
    return list(dict.fromkeys((name, last, made, made.replace(".", "-"))))


def _is_variant(rest: str) -> bool:
    """`rest` is a date or the like, or the size tag of a local model (`:8b`, which says nothing else of it)."""
    return rest.startswith(":") or _DATED.fullmatch(rest) is not None
