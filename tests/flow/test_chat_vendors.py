"""A tool loop with each vendor of Chat Completions, against a double that refuses what the vendor refuses (H3-11)."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import Noted
from bobstay.providers.chat_completions import Chat
from bobstay.providers.ollama import Ollama
from tests.flow.world import Adapter, Listeners, World
from tests.modelserver.script import Call, Counts, Say, Step, Think
from tests.modelserver.server import ModelServer

Make = Callable[..., World]


class Vendor(Struct, frozen=True):
    name: str
    path: str
    model: str

    @property
    def adapter(self) -> Adapter:
        if self.name == "ollama":
            return lambda http, url: Ollama(http, base_url=url + self.path)
        return lambda http, url: Chat(http, base_url=url + self.path, api_key="dummy", name=self.name)


OPENAI = Vendor("openai", "/openai/v1", "o3")
GEMINI = Vendor("openrouter", "/openrouter/api/v1", "google/gemini-3-pro")
CLAUDE = Vendor("openrouter", "/openrouter/api/v1", "anthropic/claude-opus-5")
DEVSTRAL = Vendor("openrouter", "/openrouter/api/v1", "mistralai/devstral-medium")
DEEPSEEK = Vendor("deepseek", "/deepseek", "deepseek-v4-pro")
KIMI = Vendor("moonshot", "/moonshot/v1", "kimi-k2.6")
GLM = Vendor("zai", "/zai/api/paas/v4", "glm-5.2")
MISTRAL = Vendor("mistral", "/mistral/v1", "magistral-medium-latest")
OLLAMA = Vendor("ollama", "/ollama/v1", "qwen3:8b")
VLLM = Vendor("vllm", "/vllm/v1", "minimax-m2")
LMSTUDIO = Vendor("lmstudio", "/lmstudio/v1", "qwen3-8b")
LLAMACPP = Vendor("llamacpp", "/llamacpp/v1", "gpt-oss-120b")
VENDORS = (OPENAI, GEMINI, CLAUDE, DEVSTRAL, DEEPSEEK, KIMI, GLM, MISTRAL, OLLAMA, VLLM, LMSTUDIO, LLAMACPP)

NOTES = Listeners(PostToolUse=lambda _: HookOutcome(context=("a note of a hook",)))

every_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: f"{vendor.name}-{vendor.model}")


def run_tools(name: str, server: ModelServer) -> str:
    return server.play(
        name,
        Step(blocks=[Think("First I look."), Call("Bash", {"command": "echo one"})]),
        Step(
            blocks=[
                Think("Then twice."),
                Say("Two at once."),
                Call("Bash", {"command": "echo two"}),
                Call("Bash", {"command": "echo three"}),
            ]
        ),
        Step(blocks=[Call("Bash", {"command": "echo without a thought"})]),
        Step(blocks=[Think("Enough."), Say("Done.")]),
    )


def of(vendor: Vendor, make: Make, **options: Any) -> World:
    return make(allow=("Bash",), adapter=vendor.adapter, model=vendor.model, **options)


def assistants(server: ModelServer) -> list[dict[str, Any]]:
    """The answers that the last request sent back."""
    return [message for message in server.requests[-1].body["messages"] if message["role"] == "assistant"]


@every_vendor
async def test_a_loop_of_thinking_tools_and_notes_is_refused_nothing(
    server: ModelServer, world: Make, vendor: Vendor
) -> None:
    here = of(vendor, world, hooks=NOTES)
    done = await here.run(run_tools("tools", server))
    assert (server.refused, done.ending, done.text) == ([], "completed", "Done.")
    done = await here.run(server.play("again", Step(blocks=[Say("Again.")])))
    assert (server.refused, done.text) == ([], "Again.")


@every_vendor
async def test_a_history_of_another_vendor_is_refused_nothing(server: ModelServer, world: Make, vendor: Vendor) -> None:
    before = world(allow=("Bash",))
    await before.run(run_tools("before", server))
    await before.close()
    here = of(vendor, world)
    done = await here.run(run_tools("after", server))
    assert (server.refused, done.ending, done.text) == ([], "completed", "Done.")


@pytest.mark.parametrize(
    ("vendor", "field"),
    [
        (DEEPSEEK, "reasoning_content"),
        (KIMI, "reasoning_content"),
        (GLM, "reasoning_content"),
        (LMSTUDIO, "reasoning_content"),
        (OLLAMA, "reasoning"),
        (VLLM, "reasoning"),
    ],
    ids=lambda given: getattr(given, "name", given),
)
async def test_reasoning_goes_back_in_the_field_it_came_in(
    server: ModelServer, world: Make, vendor: Vendor, field: str
) -> None:
    await of(vendor, world).run(run_tools("tools", server))
    assert [sent.get(field) for sent in assistants(server)[:2]] == ["First I look.", "Then twice."]


async def test_glm_is_asked_to_keep_the_reasoning_of_earlier_turns(server: ModelServer, world: Make) -> None:
    await of(GLM, world).run(run_tools("tools", server))
    assert server.requests[-1].body["thinking"] == {"type": "enabled", "clear_thinking": False}


async def test_openrouter_gets_the_details_of_reasoning_as_they_came(server: ModelServer, world: Make) -> None:
    await of(CLAUDE, world).run(run_tools("tools", server))
    first, second, third = assistants(server)
    whole = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "signature": "c2lnbmF0dXJl"}
    assert first["reasoning_details"] == [{**whole, "text": "First I look."}]
    assert second["reasoning_details"] == [{**whole, "text": "Then twice."}]
    assert "reasoning_details" not in third


async def test_the_signature_of_each_gemini_call_goes_back_to_openrouter(server: ModelServer, world: Make) -> None:
    await of(GEMINI, world).run(run_tools("tools", server))
    for sent in assistants(server):
        signed = [each["id"] for each in sent["reasoning_details"] if each["type"] == "reasoning.encrypted"]
        assert signed == [call["id"] for call in sent["tool_calls"]]


async def test_gemini_signatures_that_are_refused_are_replaced(server: ModelServer, world: Make) -> None:
    """RooCodeInc/Roo-Code#10759 (2026-01): a signature may no longer be valid in a later session."""
    here = of(GEMINI, world)
    await here.run(run_tools("tools", server))
    await here.close()
    with ModelServer() as forgetful:
        later = World(forgetful, here.folder, allow=("Bash",), adapter=GEMINI.adapter, model=GEMINI.model)
        done = await later.run(run_tools("later", forgetful))
        await later.close()
    assert (forgetful.refused, done.text) == (
        ["Unable to submit request because Thought signature is not valid."],
        "Done.",
    )


async def test_reasoning_of_one_maker_is_not_shown_to_another_behind_the_same_broker(
    server: ModelServer, world: Make
) -> None:
    here = of(CLAUDE, world)
    await here.run(run_tools("tools", server))
    await here.close()
    other = Vendor("openrouter", CLAUDE.path, "openai/gpt-5.5")
    await of(other, world).run(server.play("other", Step(blocks=[Say("Hello.")])))
    assert not any("reasoning_details" in sent for sent in assistants(server))


async def test_the_old_deepseek_reasoner_that_refuses_reasoning_is_sent_none(server: ModelServer, world: Make) -> None:
    old = Vendor("deepseek", "/deepseek-r1", "deepseek-reasoner")
    done = await of(old, world).run(run_tools("tools", server))
    assert (len(server.refused), done.text) == (1, "Done.")


async def test_a_gateway_that_demands_reasoning_is_sent_it_from_its_first_refusal_on(
    server: ModelServer, world: Make
) -> None:
    gateway = Vendor("openai-chat", "/moonshot/v1", "company-model")
    before = world(allow=("Bash",))
    await before.run(run_tools("before", server))
    await before.close()
    done = await of(gateway, world).run(run_tools("tools", server))
    assert (len(server.refused), done.text) == (1, "Done.")


async def test_mistral_gets_its_thinking_back_as_parts_of_the_content(server: ModelServer, world: Make) -> None:
    await of(MISTRAL, world).run(run_tools("tools", server))
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Then twice."}], "closed": True}
    assert assistants(server)[1]["content"] == [thought, {"type": "text", "text": "Two at once."}]


@pytest.mark.parametrize("vendor", [MISTRAL, DEVSTRAL], ids=lambda vendor: vendor.name)
async def test_text_behind_a_result_follows_an_answer_where_mistral_serves(
    server: ModelServer, world: Make, vendor: Vendor
) -> None:
    await of(vendor, world, hooks=NOTES).run(run_tools("tools", server))
    roles = [message["role"] for message in server.requests[-1].body["messages"]]
    assert ("tool", "user") not in set(itertools.pairwise(roles))
    assert "a note of a hook" in str(server.requests[-1].body["messages"])


async def test_claude_behind_openrouter_is_asked_to_cache(server: ModelServer, world: Make) -> None:
    await of(CLAUDE, world).run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert server.requests[-1].body["cache_control"] == {"type": "ephemeral"}


async def test_other_models_behind_openrouter_get_no_cache_marks(server: ModelServer, world: Make) -> None:
    await of(GEMINI, world).run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert "cache_control" not in server.requests[-1].body


async def test_what_openrouter_says_an_answer_cost_is_what_it_cost(server: ModelServer, world: Make) -> None:
    here = of(GEMINI, world)
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")], usage=Counts(1_000, 100), cost=0.0125)))
    assert here.driver.state.cost == 0.0125


@pytest.mark.parametrize(
    ("vendor", "efforts"),
    [
        (OPENAI, ["max", "xhigh", "high", "high"]),
        (MISTRAL, ["max", "xhigh", "high", "high"]),
        (OLLAMA, ["max", "xhigh", "high", "high"]),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
async def test_an_effort_that_is_refused_goes_down_level_by_level_with_a_note(
    server: ModelServer, world: Make, vendor: Vendor, efforts: list[str]
) -> None:
    here = of(vendor, world, effort="max")
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    notes = [event.text for event in here.of(Noted)]
    await here.run("SCN:hello")
    assert [asked.body.get("reasoning_effort") for asked in server.requests] == efforts
    assert len(notes) == len(efforts) - 2
    assert "does not support the effort 'max'" in notes[0]
    assert here.of(Noted) == []


@pytest.mark.parametrize("effort", ["high", None])
async def test_a_model_that_reasons_beside_tools_on_responses_only_is_asked_not_to(
    server: ModelServer, world: Make, effort: str | None
) -> None:
    here = of(Vendor("openai", "/openai/v1", "gpt-5.5"), world, effort=effort)
    done = await here.run(run_tools("tools", server))
    (note,) = here.of(Noted)
    assert (len(server.refused), done.text) == (1, "Done.")
    assert {asked.body["reasoning_effort"] for asked in server.requests[1:]} == {"none"}
    assert "openai/gpt-5.5" in note.text


async def test_an_effort_that_no_level_of_is_taken_is_left_out(server: ModelServer, world: Make) -> None:
    here = of(MISTRAL, world, effort="medium")
    done = await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert [asked.body.get("reasoning_effort") for asked in server.requests] == ["medium", "low", None]
    assert done.text == "Hello."
