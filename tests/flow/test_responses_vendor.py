"""A tool loop with OpenAI's Responses API, against a double that refuses what OpenAI refuses (H3-11)."""

from typing import Any

from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import BlockDone, Noted
from bobstay.model.message import Thinking
from bobstay.providers.responses import Responses
from tests.kit.scripted_session import Adapter, MakeSession, ScriptedHooks, ScriptedSession
from tests.modelserver.script import Call, Say, Step, Think
from tests.modelserver.server import ModelServer

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


def openai(make: MakeSession, model_id: str = "gpt-5.5", path: str = "/v1", **options: Any) -> ScriptedSession:
    return make(allow=("Bash",), adapter=responses(path), model=model_id, **options)


def sent(model: ModelServer, index: int = -1) -> list[str]:
    return [item["type"] for item in model.requests[index].body["input"]]


async def test_reasoning_keeps_the_hosted_search_that_followed_it(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = openai(make_session)
    done = await session.run(model.play("search", SEARCHING, Step(blocks=[Say("Done.")])))
    assert (model.refused, done.text) == ([], "Done.")
    assert sent(model) == [
        "message",
        "reasoning",
        "web_search_call",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert model.requests[-1].body["input"][2]["action"] == {"type": "search", "query": "bobstay releases"}
    thoughts = [event.block.text for event in session.of(BlockDone) if isinstance(event.block, Thinking)]
    assert thoughts == ["I should search.", "Searched the web for: bobstay releases", "Found it."]


async def test_a_loop_with_notes_is_refused_nothing(model: ModelServer, make_session: MakeSession) -> None:
    session = openai(make_session, hooks=ScriptedHooks(PostToolUse=lambda _: HookOutcome(context=("a note",))))
    calls = [Call("Bash", {"command": "echo 1"}), Call("Bash", {"command": "echo 2"})]
    both = Step(blocks=[Think("Two."), Say("Both."), *calls])
    done = await session.run(model.play("loop", both, SEARCHING, Step(blocks=[Say("Done.")])))
    assert (model.refused, done.text) == ([], "Done.")


async def test_a_refused_effort_goes_down_one_level_and_reasoning_stays(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = openai(make_session, effort="max")
    await session.run(model.play("effort", SEARCHING, Step(blocks=[Say("Done.")])))
    assert [asked.body["reasoning"]["effort"] for asked in model.requests] == ["max", "xhigh", "xhigh"]
    assert "reasoning" in sent(model), "the encrypted history is still sent"
    assert "does not support the effort 'max'" in session.of(Noted)[0].text


async def test_a_refused_summary_is_all_that_is_left_out(model: ModelServer, make_session: MakeSession) -> None:
    session = openai(make_session, path="/unverified/v1", thinking="adaptive", effort="high")
    await session.run(model.play("summary", SEARCHING, Step(blocks=[Say("Done.")])))
    assert [asked.body["reasoning"] for asked in model.requests] == [
        {"effort": "high", "summary": "auto"},
        {"effort": "high"},
        {"effort": "high"},
    ]
    assert "reasoning" in sent(model)
    assert "summaries" in session.of(Noted)[0].text


async def test_a_model_that_knows_no_reasoning_is_asked_without_at_once_or_after_its_refusal(
    model: ModelServer, make_session: MakeSession
) -> None:
    await openai(make_session, "gpt-4.1", effort="high").run(model.play("plain", Step(blocks=[Say("Done.")])))
    assert model.refused == []


async def test_an_encrypted_history_that_is_refused_is_all_that_is_left_out(
    model: ModelServer, make_session: MakeSession
) -> None:
    """As when the key of another organization is used from here on."""
    session = openai(make_session)

    def stranger(body: Any) -> Step:
        known = not any(item["type"] == "reasoning" for item in body["input"])
        return Step(blocks=[Say("Done.")]) if known else Step(status=400, message="The encrypted content is invalid.")

    done = await session.run(model.play("stranger", SEARCHING, stranger))
    assert done.text == "Done."
    assert sent(model) == ["message", "function_call", "function_call_output"]
    assert model.requests[-1].body["include"] == ["reasoning.encrypted_content"]
