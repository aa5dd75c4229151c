"""Which models a session can reach, and what hosts are told of them."""

from bobstay.assembly.models import ModelRoutes
from bobstay.providers.catalogue import Catalogue
from bobstay.providers.choose import Keys, NamedServer
from bobstay.providers.http import HttpClient


async def test_a_model_of_a_named_provider_is_listed_with_the_efforts_it_accepts() -> None:
    catalogue = Catalogue({"corp/big": {"context": 200_000, "effort": ["low", "high"]}})
    server = NamedServer("chat", "https://llm.corp.example/v1")
    routes = ModelRoutes(Keys({}, {}, {}), HttpClient(), catalogue, {"corp": server})
    listed = {entry["value"]: entry for entry in routes.listing()}
    assert listed["corp/big"]["supportsEffort"] is True
    assert listed["corp/big"]["supportedEffortLevels"] == ["low", "high"]
    await routes.close()
