"""How models are asked to think, and what becomes of their thinking, from the options to the request."""

from pathlib import Path
from typing import Any

import pytest

from bobstay import RunDone, query
from tests.modelserver.script import Call, Say, Step, Think
from tests.modelserver.server import ModelServer

pytestmark = pytest.mark.usefixtures("embedded")
SECRET = "sk-ant-api03-" + "Zq7Lw2Xv9Tb4Rk8Np3Hs6Jd1" * 3


async def play(model: ModelServer, tmp_path: Path, model_id: str, *steps: Step, **more: Any) -> RunDone:
    done = [event async for event in query(model.play("x", *steps), cwd=tmp_path / "work", model=model_id, **more)][-1]
    assert isinstance(done, RunDone)
    return done


def reading(number: int, *before: Any) -> Step:
    return Step(blocks=[*before, Call("Read", {"file_path": "a.txt"}, f"r{number}")])


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


@pytest.mark.parametrize(
    ("model_id", "thinking"),
    [
        ("claude-opus-5-5", {"type": "adaptive", "display": "summarized"}),
        ("claude-sonnet-5-5", {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-4-6", {"type": "adaptive", "display": "summarized"}),
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 16_000}),
        ("claude-3-5-haiku", None),
    ],
)
async def test_a_model_that_can_think_does(model: ModelServer, tmp_path: Path, model_id: str, thinking: Any) -> None:
    done = await play(model, tmp_path, model_id, reading(1, Think("hm")), Step(blocks=[Say("done")]))
    assert (done.ending, model.refused) == ("completed", [])
    assert [asked.body.get("thinking") for asked in model.requests] == [thinking] * 2
    assert kinds(model.requests[1].body["messages"][1]) == ["thinking", "tool_use"]


@pytest.mark.parametrize("model_id", ["claude-opus-5-5", "claude-opus-5", "claude-sonnet-5-5", "claude-opus-4-7"])
async def test_a_budget_becomes_an_effort_where_budgets_are_refused(
    model: ModelServer, tmp_path: Path, model_id: str
) -> None:
    done = await play(model, tmp_path, model_id, Step(blocks=[Say("done")]), max_thinking_tokens=8000)
    assert (done.ending, model.refused) == ("completed", [])
    assert model.requests[0].body["thinking"]["type"] == "adaptive"
    assert model.requests[0].body["output_config"] == {"effort": "medium"}


@pytest.mark.parametrize(
    ("model_id", "thinking", "effort"),
    [
        ("claude-opus-5-5", None, "low"),
        ("claude-sonnet-5-5", {"type": "between_tools"}, "high"),
        ("claude-opus-5", {"type": "disabled"}, "high"),
        ("claude-haiku-4-5", None, None),
    ],
)
async def test_thinking_is_turned_off_as_far_as_a_model_lets_one(
    model: ModelServer, tmp_path: Path, model_id: str, thinking: Any, effort: Any
) -> None:
    asked = {} if effort == "low" else {"effort": "max"}
    done = await play(model, tmp_path, model_id, Step(blocks=[Say("done")]), thinking="disabled", **asked)
    assert (done.ending, model.refused) == ("completed", [])
    body = model.requests[0].body
    assert (body.get("thinking"), body.get("output_config", {}).get("effort")) == (thinking, effort)


@pytest.mark.parametrize("model_id", ["claude-opus-5-5", "claude-sonnet-4-5"])
async def test_a_thought_with_a_secret_in_it_does_not_end_the_turn(
    model: ModelServer, tmp_path: Path, model_id: str
) -> None:
    """The secret must not be kept, and what was signed cannot be changed: the turn goes on without that thought."""
    steps = (
        reading(1, Think("fine"), Think(f"the key is {SECRET}", "c2VjcmV0")),
        reading(2),
        Step(blocks=[Say("done")]),
    )
    done = await play(model, tmp_path, model_id, *steps)
    assert (done.ending, done.text) == ("completed", "done")
    assert all(SECRET not in asked.raw.decode() for asked in model.requests)
    assert "thinking" not in kinds(model.requests[-1].body["messages"][1])


async def test_thinking_bound_to_its_conversation_stays_valid_from_step_to_step(
    model: ModelServer, tmp_path: Path
) -> None:
    steps = [reading(number, Think("hm", f"c2ln{number}")) for number in range(4)]
    done = await play(model, tmp_path, "claude-opus-5-5", *steps, Step(blocks=[Say("done")]))
    assert (done.ending, model.refused) == ("completed", [])
    assert len(model.requests) == 5


@pytest.mark.parametrize("model_id", ["gemini/gemini-4-argon", "gemini/gemini-3.8-flash", "gemini/gemini-2.5-flash"])
@pytest.mark.parametrize("tokens", [None, 50_000, 0])
async def test_gemini_is_asked_to_think_only_as_it_accepts(
    model: ModelServer, tmp_path: Path, model_id: str, tokens: int | None
) -> None:
    steps = (reading(1), Step(blocks=[Say("done")]))
    done = await play(model, tmp_path, model_id, *steps, max_thinking_tokens=tokens)
    assert (done.ending, model.refused) == ("completed", [])
