"""A tool loop with OpenAI's Responses API, against a double that refuses what OpenAI refuses (H3-11)."""

from collections.abc import Callable
from typing import Any

from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import BlockDone, Noted
from bobstay.model.message import Thinking
from bobstay.providers.responses import Responses
from tests.flow.world import Adapter, Listeners, World
from tests.modelserver.script import Call, Say, Step, Think
from tests.modelserver.server import ModelServer

Make = Callable[..., World]

SEARCHING = Step(
    blocks=[
        Think("I should search."),
        Think("", search="bobstay releases"),
        Think("Found it."),
        Call("Bash", {"command": "echo one"}),
    ]
)


def responses(path: str = "/v1") -> Adapter:
    return lambda http, url: Responses(http, base_url=url + path, api_key="dummy")


def openai(make: Make, model: str = "gpt-5.5", path: str = "/v1", **options: Any) -> World:
    return make(allow=("Bash",), adapter=responses(path), model=model, **options)


def sent(server: ModelServer, index: int = -1) -> list[str]:
    return [item["type"] for item in server.requests[index].body["input"]]


async def test_reasoning_keeps_the_hosted_search_that_followed_it(server: ModelServer, world: Make) -> None:
    here = openai(world)
    done = await here.run(server.play("search", SEARCHING, Step(blocks=[Say("Done.")])))
    assert (server.refused, done.text) == ([], "Done.")
    assert sent(server) == [
        "message",
        "reasoning",
        "web_search_call",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert server.requests[-1].body["input"][2]["action"] == {"type": "search", "query": "bobstay releases"}
    thoughts = [event.block.text for event in here.of(BlockDone) if isinstance(event.block, Thinking)]
    assert thoughts == ["I should search.", "Searched the web for: bobstay releases", "Found it."]


async def test_a_loop_with_notes_is_refused_nothing(server: ModelServer, world: Make) -> None:
    here = openai(world, hooks=Listeners(PostToolUse=lambda _: HookOutcome(context=("a note",))))
    calls = [Call("Bash", {"command": "echo 1"}), Call("Bash", {"command": "echo 2"})]
    both = Step(blocks=[Think("Two."), Say("Both."), *calls])
    done = await here.run(server.play("loop", both, SEARCHING, Step(blocks=[Say("Done.")])))
    assert (server.refused, done.text) == ([], "Done.")


async def test_a_refused_effort_goes_down_one_level_and_reasoning_stays(server: ModelServer, world: Make) -> None:
    here = openai(world, effort="max")
    await here.run(server.play("effort", SEARCHING, Step(blocks=[Say("Done.")])))
    assert [asked.body["reasoning"]["effort"] for asked in server.requests] == ["max", "xhigh", "xhigh"]
    assert "reasoning" in sent(server), "the encrypted history is still sent"
    assert "does not support the effort 'max'" in here.of(Noted)[0].text


async def test_a_refused_summary_is_all_that_is_left_out(server: ModelServer, world: Make) -> None:
    here = openai(world, path="/unverified/v1", thinking="adaptive", effort="high")
    await here.run(server.play("summary", SEARCHING, Step(blocks=[Say("Done.")])))
    assert [asked.body["reasoning"] for asked in server.requests] == [
        {"effort": "high", "summary": "auto"},
        {"effort": "high"},
        {"effort": "high"},
    ]
    assert "reasoning" in sent(server)
    assert "summaries" in here.of(Noted)[0].text


async def test_a_model_that_knows_no_reasoning_is_asked_without_at_once_or_after_its_refusal(
    server: ModelServer, world: Make
) -> None:
    await openai(world, "gpt-4.1", effort="high").run(server.play("plain", Step(blocks=[Say("Done.")])))
    assert server.refused == []


async def test_an_encrypted_history_that_is_refused_is_all_that_is_left_out(server: ModelServer, world: Make) -> None:
    """As when the key of another organization is used from here on."""
    here = openai(world)

    def stranger(body: Any) -> Step:
        known = not any(item["type"] == "reasoning" for item in body["input"])
        return Step(blocks=[Say("Done.")]) if known else Step(status=400, message="The encrypted content is invalid.")

    done = await here.run(server.play("stranger", SEARCHING, stranger))
    assert done.text == "Done."
    assert sent(server) == ["message", "function_call", "function_call_output"]
    assert server.requests[-1].body["include"] == ["reasoning.encrypted_content"]
