"""A tool loop with each vendor of Chat Completions, against a double that refuses what the vendor refuses (H3-11)."""

import itertools
from typing import Any

import pytest
from msgspec import Struct

from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import Noted
from bobstay.providers.chat_completions import Chat
from bobstay.providers.ollama import Ollama
from tests.kit.scripted_session import Adapter, MakeSession, ScriptedHooks, ScriptedSession
from tests.modelserver.script import Call, Counts, Say, Step, Think
from tests.modelserver.server import ModelServer


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

NOTES = ScriptedHooks(PostToolUse=lambda _: HookOutcome(context=("a note of a hook",)))

every_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: f"{vendor.name}-{vendor.model}")


def run_tools(name: str, model: ModelServer) -> str:
    return model.play(
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


def of(vendor: Vendor, make: MakeSession, **options: Any) -> ScriptedSession:
    return make(allow=("Bash",), adapter=vendor.adapter, model=vendor.model, **options)


def assistants(model: ModelServer) -> list[dict[str, Any]]:
    """The answers that the last request sent back."""
    return [message for message in model.requests[-1].body["messages"] if message["role"] == "assistant"]


@every_vendor
async def test_a_loop_of_thinking_tools_and_notes_is_refused_nothing(
    model: ModelServer, make_session: MakeSession, vendor: Vendor
) -> None:
    session = of(vendor, make_session, hooks=NOTES)
    done = await session.run(run_tools("tools", model))
    assert (model.refused, done.ending, done.text) == ([], "completed", "Done.")
    done = await session.run(model.play("again", Step(blocks=[Say("Again.")])))
    assert (model.refused, done.text) == ([], "Again.")


@every_vendor
async def test_a_history_of_another_vendor_is_refused_nothing(
    model: ModelServer, make_session: MakeSession, vendor: Vendor
) -> None:
    before = make_session(allow=("Bash",))
    await before.run(run_tools("before", model))
    await before.close()
    session = of(vendor, make_session)
    done = await session.run(run_tools("after", model))
    assert (model.refused, done.ending, done.text) == ([], "completed", "Done.")


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
    model: ModelServer, make_session: MakeSession, vendor: Vendor, field: str
) -> None:
    await of(vendor, make_session).run(run_tools("tools", model))
    assert [sent.get(field) for sent in assistants(model)[:2]] == ["First I look.", "Then twice."]


async def test_glm_is_asked_to_keep_the_reasoning_of_earlier_turns(
    model: ModelServer, make_session: MakeSession
) -> None:
    await of(GLM, make_session).run(run_tools("tools", model))
    assert model.requests[-1].body["thinking"] == {"type": "enabled", "clear_thinking": False}


async def test_openrouter_gets_the_details_of_reasoning_as_they_came(
    model: ModelServer, make_session: MakeSession
) -> None:
    await of(CLAUDE, make_session).run(run_tools("tools", model))
    first, second, third = assistants(model)
    whole = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "signature": "c2lnbmF0dXJl"}
    assert first["reasoning_details"] == [{**whole, "text": "First I look."}]
    assert second["reasoning_details"] == [{**whole, "text": "Then twice."}]
    assert "reasoning_details" not in third


async def test_the_signature_of_each_gemini_call_goes_back_to_openrouter(
    model: ModelServer, make_session: MakeSession
) -> None:
    await of(GEMINI, make_session).run(run_tools("tools", model))
    for sent in assistants(model):
        signed = [each["id"] for each in sent["reasoning_details"] if each["type"] == "reasoning.encrypted"]
        assert signed == [call["id"] for call in sent["tool_calls"]]


async def test_gemini_signatures_that_are_refused_are_replaced(model: ModelServer, make_session: MakeSession) -> None:
    """RooCodeInc/Roo-Code#10759 (2026-01): a signature may no longer be valid in a later session."""
    session = of(GEMINI, make_session)
    await session.run(run_tools("tools", model))
    await session.close()
    with ModelServer() as forgetful:
        later = ScriptedSession(forgetful, session.folder, allow=("Bash",), adapter=GEMINI.adapter, model=GEMINI.model)
        done = await later.run(run_tools("later", forgetful))
        await later.close()
    assert (forgetful.refused, done.text) == (
        ["Unable to submit request because Thought signature is not valid."],
        "Done.",
    )


async def test_reasoning_of_one_maker_is_not_shown_to_another_behind_the_same_broker(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = of(CLAUDE, make_session)
    await session.run(run_tools("tools", model))
    await session.close()
    other = Vendor("openrouter", CLAUDE.path, "openai/gpt-5.5")
    await of(other, make_session).run(model.play("other", Step(blocks=[Say("Hello.")])))
    assert not any("reasoning_details" in sent for sent in assistants(model))


async def test_the_old_deepseek_reasoner_that_refuses_reasoning_is_sent_none(
    model: ModelServer, make_session: MakeSession
) -> None:
    old = Vendor("deepseek", "/deepseek-r1", "deepseek-reasoner")
    done = await of(old, make_session).run(run_tools("tools", model))
    assert (len(model.refused), done.text) == (1, "Done.")


async def test_a_gateway_that_demands_reasoning_is_sent_it_from_its_first_refusal_on(
    model: ModelServer, make_session: MakeSession
) -> None:
    gateway = Vendor("openai-chat", "/moonshot/v1", "company-model")
    before = make_session(allow=("Bash",))
    await before.run(run_tools("before", model))
    await before.close()
    done = await of(gateway, make_session).run(run_tools("tools", model))
    assert (len(model.refused), done.text) == (1, "Done.")


async def test_mistral_gets_its_thinking_back_as_parts_of_the_content(
    model: ModelServer, make_session: MakeSession
) -> None:
    await of(MISTRAL, make_session).run(run_tools("tools", model))
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Then twice."}], "closed": True}
    assert assistants(model)[1]["content"] == [thought, {"type": "text", "text": "Two at once."}]


@pytest.mark.parametrize("vendor", [MISTRAL, DEVSTRAL], ids=lambda vendor: vendor.name)
async def test_text_behind_a_result_follows_an_answer_where_mistral_serves(
    model: ModelServer, make_session: MakeSession, vendor: Vendor
) -> None:
    await of(vendor, make_session, hooks=NOTES).run(run_tools("tools", model))
    roles = [message["role"] for message in model.requests[-1].body["messages"]]
    assert ("tool", "user") not in set(itertools.pairwise(roles))
    assert "a note of a hook" in str(model.requests[-1].body["messages"])


async def test_claude_behind_openrouter_is_asked_to_cache(model: ModelServer, make_session: MakeSession) -> None:
    await of(CLAUDE, make_session).run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert model.requests[-1].body["cache_control"] == {"type": "ephemeral"}


async def test_other_models_behind_openrouter_get_no_cache_marks(model: ModelServer, make_session: MakeSession) -> None:
    await of(GEMINI, make_session).run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert "cache_control" not in model.requests[-1].body


async def test_what_openrouter_says_an_answer_cost_is_what_it_cost(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = of(GEMINI, make_session)
    await session.run(model.play("hello", Step(blocks=[Say("Hello.")], usage=Counts(1_000, 100), cost=0.0125)))
    assert session.driver.state.cost == 0.0125


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
    model: ModelServer, make_session: MakeSession, vendor: Vendor, efforts: list[str]
) -> None:
    session = of(vendor, make_session, effort="max")
    await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    notes = [event.text for event in session.of(Noted)]
    await session.run("SCN:hello")
    assert [asked.body.get("reasoning_effort") for asked in model.requests] == efforts
    assert len(notes) == len(efforts) - 2
    assert "does not support the effort 'max'" in notes[0]
    assert session.of(Noted) == []


@pytest.mark.parametrize("effort", ["high", None])
async def test_a_model_that_reasons_beside_tools_on_responses_only_is_asked_not_to(
    model: ModelServer, make_session: MakeSession, effort: str | None
) -> None:
    session = of(Vendor("openai", "/openai/v1", "gpt-5.5"), make_session, effort=effort)
    done = await session.run(run_tools("tools", model))
    (note,) = session.of(Noted)
    assert (len(model.refused), done.text) == (1, "Done.")
    assert {asked.body["reasoning_effort"] for asked in model.requests[1:]} == {"none"}
    assert "openai/gpt-5.5" in note.text


async def test_an_effort_that_no_level_of_is_taken_is_left_out(model: ModelServer, make_session: MakeSession) -> None:
    session = of(MISTRAL, make_session, effort="medium")
    done = await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert [asked.body.get("reasoning_effort") for asked in model.requests] == ["medium", "low", None]
    assert done.text == "Hello."
