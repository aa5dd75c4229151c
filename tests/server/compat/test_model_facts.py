"""Window and price of a model have one source, the catalogue with what the settings say over it (S000-33)."""

import json
from pathlib import Path

import pytest

from bobstay.providers.catalogue import Catalogue, compute_cost
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Counts, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.compat.compat_clients import of_type, socket, sse

NAME = "claude-haiku-4-5"
OVERRIDES = {NAME: {"context": 123_456, "price": {"input": 7.0, "output": 11.0}}}


@pytest.mark.parametrize("overrides", [{}, OVERRIDES], ids=["shipped", "in the settings"])
async def test_every_view_of_a_session_has_the_same_window_and_cost(
    server: RunningConsole, model: ModelServer, overrides: dict[str, dict[str, object]]
) -> None:
    settings = Path(server.environment.paths.bobstay) / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"models": overrides}))
    prompt = model.play("hello", Step(blocks=[Say("Hello.")], usage=Counts(input=100_000, output=50)))
    id = await server.launch(prompt, model=NAME)
    view = await server.until_status(id, "completed")

    facts = Catalogue(overrides).lookup(NAME)
    cost: object = pytest.approx(compute_cost(facts, view.usage))
    assert (view.context_limit, view.cost) == (facts.context, cost)

    await server.services.database.wait_until_indexed(id, view.seq)
    spent = (await server.get("/api/v1/usage?group=session")).json["groups"][0]
    assert (spent["context_limit"], spent["cost"]) == (facts.context, cost)
    assert spent["level"] == ("warning" if overrides else "ok")

    old = (await server.get(f"/api/sessions/{id}")).json
    assert (old["contextLimit"], old["costUsd"]) == (facts.context, cost)
    async with sse(server, f"/api/sessions/{id}/stream") as stream:
        update = (await stream.until(of_type("token_update")))[-1]
    assert update["contextLimit"] == facts.context

    async with socket(server, f"/ws/session/{id}/worker/agent") as page:
        received = await page.until(of_type("activity", state="idle"))
    result = next(each["message"] for each in received if each.get("message", {}).get("type") == "result")
    (used,) = result["modelUsage"].values()
    assert (used["contextWindow"], used["maxOutputTokens"], used["costUSD"]) == (facts.context, facts.output, cost)
