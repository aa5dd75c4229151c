"""The model catalogue."""

import json
from importlib.resources import files

import msgspec
import pytest

from bobstay.model.message import Usage
from bobstay.providers.catalogue import Catalogue, compute_cost, lookup


@pytest.mark.parametrize(
    ("name", "context", "output", "price_in", "price_out"),
    [
        ("claude-opus-5-5", 1_000_000, 128_000, 4, 20),
        ("claude-sonnet-4-5", 200_000, 64_000, 3, 15),
        ("claude-haiku-4-5", 200_000, 64_000, 1, 5),
    ],
)
def test_facts_of_well_known_models(name: str, context: int, output: int, price_in: float, price_out: float) -> None:
    """H12-2."""
    info = lookup(name)
    assert (info.context, info.output) == (context, output)
    assert info.price is not None
    assert (info.price.input, info.price.output) == (price_in, price_out)
    assert info.known
    assert info.images


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("opus", "claude-opus-5-5"),
        ("default", "claude-opus-5-5"),
    ],
)
def test_a_model_is_known_by_its_dated_prefixed_and_short_names(spelling: str, name: str) -> None:
    found, wanted = lookup(spelling), lookup(name)
    assert found.display == wanted.display
    assert found.price == wanted.price
    assert found.known


@pytest.mark.parametrize("name", ["claude-opus-4-9", "claude-opus-5-5-mini", "gpt-5-mini-realtime", "gpt-77"])
def test_a_newer_sibling_is_not_given_the_price_of_an_older_one(name: str) -> None:
    info = lookup(name)
    assert not info.known
    assert not info.priced
    assert info.context >= 100_000


@pytest.mark.parametrize("name", ["", "/", "something-else", "a/b/c", "\0", "x" * 10_000])
def test_an_unknown_model_gets_careful_assumptions(name: str) -> None:
    info = lookup(name)
    assert not info.known
    assert 0 < info.output < info.context <= 32_768
    assert compute_cost(info, Usage(1000, 1000)) == 0


def test_a_call_is_priced_by_its_four_counts() -> None:
    usage = Usage(input=1_000_000, output=1_000_000, cache_read=1_000_000, cache_write=1_000_000)
    assert compute_cost(lookup("claude-sonnet-4-5"), usage) == pytest.approx(3 + 15 + 0.3 + 3.75)
    assert compute_cost(lookup("claude-opus-5-5"), Usage(input=100, output=20)) == pytest.approx(0.0008)


def test_a_long_prompt_is_priced_as_such() -> None:
    info = lookup("gemini-2.5-pro")
    assert compute_cost(info, Usage(input=200_000)) == pytest.approx(0.25)
    assert compute_cost(info, Usage(input=100_000, cache_read=100_001)) == pytest.approx(0.25 + 0.02500025)


def test_a_model_on_ones_own_machine_costs_nothing() -> None:
    assert lookup("ollama/qwen3:8b").priced
    assert compute_cost(lookup("ollama/qwen3:8b"), Usage(1_000_000, 1_000_000)) == 0
    assert lookup("ollama/qwen3:8b").context == lookup("qwen3").context
    assert not lookup("openrouter/qwen/qwen3").priced


def test_facts_can_be_overridden() -> None:
    catalogue = Catalogue(
        {
            "claude-sonnet-4-5": {"context": 1_000_000, "price": {"input": 6}},
            "my-model": {"context": 64_000, "price": {"input": 1, "output": 2, "cache_read": 0, "cache_write": 0}},
        }
    )
    sonnet = catalogue.lookup("claude-sonnet-4-5-20250929")
    assert (sonnet.context, sonnet.output) == (1_000_000, 64_000)
    assert compute_cost(sonnet, Usage(input=1_000_000, output=1_000_000)) == pytest.approx(6 + 15)
    assert catalogue.lookup("vllm/my-model").known
    assert compute_cost(catalogue.lookup("my-model"), Usage(output=1_000_000)) == 2
    assert lookup("claude-sonnet-4-5").context == 200_000
    with pytest.raises(msgspec.ValidationError):
        Catalogue({"x": {"context": "large"}})


@pytest.mark.parametrize("name", ["MyCorp/Big-Model", "mycorp/big", "openrouter/some/thing", "vllm/own", "sonnet"])
def test_any_model_can_be_given_a_price(name: str) -> None:
    price = {"input": 1, "output": 2, "cacheRead": 0.5, "cache_write": 4}
    info = Catalogue({name: {"price": price}}).lookup(name)
    million = 1_000_000
    assert compute_cost(info, Usage(million, million, million, million)) == pytest.approx(1 + 2 + 0.5 + 4)


def test_a_price_without_one_for_the_cache_takes_that_of_input() -> None:
    info = Catalogue({"mycorp/big": {"price": {"input": 3, "output": 9}}}).lookup("mycorp/big")
    assert compute_cost(info, Usage(cache_read=1_000_000, cache_write=1_000_000)) == pytest.approx(6)


def test_a_price_of_the_users_own_holds_for_long_prompts_too() -> None:
    info = Catalogue({"gemini-2.5-pro": {"price": {"input": 1}}}).lookup("gemini-2.5-pro")
    assert compute_cost(info, Usage(input=1_000_000)) == pytest.approx(1)


@pytest.mark.parametrize("price", [{"input": 1}, {"input": "much", "output": 1}, {"output": 2}])
def test_half_a_price_for_an_unknown_model_is_refused(price: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        Catalogue({"mycorp/big": {"price": price}})


def test_every_shipped_entry_makes_sense() -> None:
    catalogue = Catalogue()
    assert catalogue.as_of.startswith("20")
    for alias, name in catalogue.aliases.items():
        assert catalogue.lookup(alias).known, alias
        assert catalogue.resolve(alias) == name
    shipped = json.loads(files("bobstay.providers").joinpath("catalogue.json").read_bytes())["models"]
    for name, info in ((name, catalogue.lookup(name)) for name in shipped):
        assert info.display, name
        assert 0 < info.output <= info.context, name
        for price in (info.price, info.long.price if info.long else None):
            if price is not None:
                assert price.cache_read <= price.input <= price.output, name
