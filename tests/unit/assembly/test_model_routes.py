"""Routes to models, and the list of models for hosts."""

from pathlib import Path

import pytest

from bobstay.assembly.model_routes import ModelRoutes
from bobstay.assembly.provider_access import build_routes
from bobstay.config.environment import Environment
from bobstay.config.settings import ProviderSettings, Settings
from bobstay.config.settings_files import LoadedSettings, SettingsLayer, Source
from bobstay.http.client import HttpClient
from bobstay.model.message import Message, Text
from bobstay.providers.base import Request
from bobstay.providers.catalogue import Catalogue
from bobstay.providers.provider_registry import NamedServer, ProviderKeys
from tests.modelserver import ModelServer, Say, Step


async def test_a_model_of_a_named_provider_is_listed_with_the_efforts_it_accepts() -> None:
    catalogue = Catalogue({"corp/big": {"context": 200_000, "effort": ["low", "high"]}})
    server = NamedServer("chat", "https://llm.corp.example/v1")
    routes = ModelRoutes(ProviderKeys({}, {}, {}), HttpClient(), catalogue, {"corp": server})
    listed = {entry["value"]: entry for entry in routes.list_models()}
    assert listed["corp/big"]["supportsEffort"] is True
    assert listed["corp/big"]["supportedEffortLevels"] == ["low", "high"]
    await routes.close()


@pytest.mark.parametrize(("source", "sent"), [("user", "Bearer corp-key"), ("project", None), ("local", None)])
async def test_a_variable_that_a_folder_names_is_never_sent_as_a_key(source: Source, sent: str | None) -> None:
    """Such definitions are left out when the settings are read; should one come through, it gets no key either."""
    with ModelServer() as server:
        definition = ProviderSettings(api="chat", base_url=f"{server.url}/v1", key_env="CORP_KEY")
        settings = Settings(providers={"corp": definition})
        environment = Environment.read({"HOME": "/nonexistent", "CORP_KEY": "corp-key"})
        routes = build_routes(environment, LoadedSettings(settings, layers=(SettingsLayer(source, "file", settings),)))
        message = Message("user", (Text(server.play("t", Step(blocks=[Say("Hello.")]))),))
        async for _ in routes.route("corp/m").provider.stream(Request("m", (), (message,))):
            pass
        await routes.close()
        assert server.requests[0].headers.get("authorization") == sent


@pytest.mark.parametrize("named", [True, False], ids=["in the environment too", "in the settings only"])
async def test_the_address_of_a_built_in_provider_is_that_of_the_environment_then_of_the_settings(named: bool) -> None:
    with ModelServer() as server:
        there, nowhere = f"{server.url}/v1", "http://127.0.0.1:9/v1"
        settings = Settings(providers={"openrouter": ProviderSettings(base_url=nowhere if named else there)})
        variables = {"HOME": "/nonexistent", "OPENROUTER_API_KEY": "k"} | (
            {"OPENROUTER_BASE_URL": there} if named else {}
        )
        loaded = LoadedSettings(settings, layers=(SettingsLayer("user", "file", settings),))
        routes = build_routes(Environment.read(variables), loaded)
        message = Message("user", (Text(server.play("t", Step(blocks=[Say("Hello.")]))),))
        async for _ in routes.route("openrouter/m").provider.stream(Request("m", (), (message,))):
            pass
        await routes.close()
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("key", "header", "value"),
    [
        ("sk-ant-api03-abc", "x-api-key", "sk-ant-api03-abc"),
        ("token-of-a-gateway", "authorization", "Bearer token-of-a-gateway"),
    ],
)
async def test_the_key_of_a_helper_goes_one_way_only(tmp_path: Path, key: str, header: str, value: str) -> None:
    """The API refuses a key and a token at once; a gateway in its place looks for a token."""
    with ModelServer() as server:
        settings = Settings(api_key_helper=f"echo {key}")
        variables = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "ANTHROPIC_BASE_URL": server.url}
        routes = build_routes(Environment.read(variables), LoadedSettings(settings), str(tmp_path))
        assert routes.default() == "default"
        message = Message("user", (Text(server.play("t", Step(blocks=[Say("Hello.")]))),))
        async for _ in routes.route("default").provider.stream(Request("claude-x", (), (message,))):
            pass
        await routes.close()
        sent = server.requests[0].headers
        assert {name: sent[name] for name in ("x-api-key", "authorization") if name in sent} == {header: value}
