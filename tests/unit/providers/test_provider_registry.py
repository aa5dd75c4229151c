"""The provider registry: the provider of a model's name, and its key."""

import subprocess
import sys

import pytest

from bobstay.config.provider_variables import ADDRESSES, KEYS
from bobstay.http.client import HttpClient
from bobstay.model.message import Message, Text
from bobstay.providers.base import Request
from bobstay.providers.base_urls import complete_url
from bobstay.providers.provider_registry import (
    LOCAL_PROVIDERS,
    PROVIDERS,
    MissingKey,
    ProviderKeys,
    UnknownModelError,
    build_provider,
    parse_model,
)
from tests.modelserver import ModelServer, Say, Step


@pytest.mark.parametrize(
    ("spec", "provider", "model"),
    [
        ("claude-opus-5-5", "anthropic", "claude-opus-5-5"),
        ("sonnet", "anthropic", "claude-sonnet-5-5"),
        ("Opus", "anthropic", "claude-opus-5-5"),
        ("default", "anthropic", "claude-opus-5-5"),
        ("anthropic/haiku", "anthropic", "claude-haiku-5-5"),
        ("anthropic/claude-x", "anthropic", "claude-x"),
        ("gpt-6.1-sol", "openai", "gpt-6.1-sol"),
        ("o3", "openai", "o3"),
        ("o3-mini", "openai", "o3-mini"),
        ("codex-mini-latest", "openai", "codex-mini-latest"),
        ("openai-chat/gpt-4o", "openai-chat", "gpt-4o"),
        ("gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("ollama/qwen3:8b", "ollama", "qwen3:8b"),
        ("vllm/meta-llama/Llama-3.1-8B", "vllm", "meta-llama/Llama-3.1-8B"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5"),
        ("openrouter/sonnet", "openrouter", "sonnet"),
        ("bedrock/us.anthropic.claude-sonnet-5-5", "bedrock", "us.anthropic.claude-sonnet-5-5"),
        ("us.anthropic.claude-sonnet-5-5", "bedrock", "us.anthropic.claude-sonnet-5-5"),
        ("anthropic.claude-sonnet-5-5", "bedrock", "anthropic.claude-sonnet-5-5"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/x",
            "bedrock",
            "arn:aws:bedrock:us-east-1:1:inference-profile/x",
        ),
        ("vertex/claude-sonnet-4-5@20250929", "vertex", "claude-sonnet-4-5@20250929"),
        ("vertex/gemini-2.5-pro", "vertex", "gemini-2.5-pro"),
        ("demo", "demo", "demo"),
        ("demo/slow", "demo", "slow"),
        (" claude-x ", "anthropic", "claude-x"),
    ],
)
def test_a_models_name_says_who_serves_it(spec: str, provider: str, model: str) -> None:
    assert parse_model(spec) == (provider, model)


@pytest.mark.parametrize("spec", ["", "/", "llama3", "nobody/model", "anthropic/", "meta-llama/Llama-3.1-8B"])
def test_a_name_that_says_nothing_is_refused_with_the_ways_to_say_it(spec: str) -> None:
    with pytest.raises(UnknownModelError, match="openrouter"):
        parse_model(spec)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("openai-chat", "OPENAI_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_named_and_the_demo_offered(provider: str, variable: str) -> None:
    """H3-11."""
    with pytest.raises(MissingKey, match=variable) as caught:
        build_provider(provider, HttpClient(), ProviderKeys({variable: "  "}))
    assert "--model demo" in str(caught.value)
    assert build_provider(provider, HttpClient(), ProviderKeys({variable: "k"})).name


@pytest.mark.parametrize("provider", ["demo", *LOCAL_PROVIDERS])
def test_the_demo_and_servers_of_ones_own_need_no_key(provider: str) -> None:
    assert build_provider(provider, HttpClient(), ProviderKeys()).name == provider


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="anthropic"):
        build_provider("nobody", HttpClient(), ProviderKeys())


@pytest.mark.parametrize(
    ("provider", "address", "url"),
    [
        ("ollama", "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("ollama", "0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("ollama", "box.lan:9999/", "http://box.lan:9999/v1"),
        ("ollama", "https://ollama.example:443/v1", "https://ollama.example:443/v1"),
        ("ollama", "https://ollama.example.com", "https://ollama.example.com/v1"),
        ("ollama", "https://x.example/ollama", "https://x.example/ollama/v1"),
        ("ollama", "http://box.lan", "http://box.lan:11434/v1"),
        ("ollama", "box.lan/ollama/", "http://box.lan:11434/ollama/v1"),
        ("ollama", "::1", "http://[::1]:11434/v1"),
        ("ollama", "[::]:9999", "http://[::1]:9999/v1"),
        ("ollama", "https://me:secret@ollama.example", "https://me:secret@ollama.example/v1"),
        ("vllm", "http://gpu:8000", "http://gpu:8000/v1"),
        ("vllm", "gpu:8000/", "http://gpu:8000/v1"),
        ("vllm", "https://gpu.example/models/api", "https://gpu.example/models/api"),
        ("lmstudio", "http://127.0.0.1:1234", "http://127.0.0.1:1234/v1"),
        ("llamacpp", "http://box:8080/v1/chat/completions", "http://box:8080/v1"),
        ("vllm", "http://gpu:8000/v1/", "http://gpu:8000/v1"),
    ],
)
def test_addresses_are_completed_as_people_write_them(provider: str, address: str, url: str) -> None:
    assert complete_url(provider, address) == url


@pytest.mark.parametrize("provider", PROVIDERS)
def test_only_the_adapter_that_is_used_is_imported(provider: str) -> None:
    """H4-1."""
    adapters = {"anthropic": "anthropic", "openai": "responses", "gemini": "gemini", "demo": "demo_model"}
    adapters |= {"bedrock": "anthropic", "vertex": ""}  # Vertex waits for the name of a model
    own = adapters.get(provider, "chat_completions")
    program = (
        "import sys; from bobstay.providers.provider_registry import *;"
        "from bobstay.http.client import HttpClient;"
        "keys = ProviderKeys({name: 'k' for name in ('ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY',"
        " 'OPENROUTER_API_KEY')});"
        f"build_provider({provider!r}, HttpClient(), keys);"
        "names = 'anthropic responses chat_completions gemini demo_model error_kinds catalogue'.split();"
        "print(*(name for name in names if 'bobstay.providers.' + name in sys.modules),"
        " *({'botocore', 'google.auth', 'requests'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == own.split()


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if KEYS[name] and name != "bedrock"])
async def test_headers_for_anthropic_go_to_nobody_else_and_those_of_the_settings_to_their_provider(
    server: ModelServer, http: HttpClient, provider: str
) -> None:
    """`ANTHROPIC_CUSTOM_HEADERS` often holds the key of a gateway."""
    path = "" if provider in ("anthropic", "gemini") else "/v1"
    values = {KEYS[provider][0]: "own-key", ADDRESSES[provider]: server.url + path}
    added = {name: {"X-For": name} for name in PROVIDERS}
    adapter = build_provider(provider, http, ProviderKeys(values, {"X-Gateway-Key": "secret"}, added))
    message = Message("user", (Text(server.play("t", Step(blocks=[Say("Hello.")]))),))
    async for _ in adapter.stream(Request("m", (), (message,))):
        pass
    headers = server.requests[0].headers
    assert ("x-gateway-key" in headers) is (provider == "anthropic")
    assert headers["x-for"] == provider
