"""bobstay inside another program: the documented Python API, used as its users would."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest

import bobstay
from bobstay import Answer, InteractionOpened, RunDone, Session, StartError, TextDelta, ToolDone, query, tool
from bobstay.model.live_events import ToolProgress
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

pytestmark = pytest.mark.usefixtures("embedded")


def options(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {"cwd": tmp_path / "work", "model": "claude-sonnet-4-5", **more}


async def test_one_question_is_asked_and_watched(model: ModelServer, tmp_path: Path) -> None:
    prompt = model.play("ask", Step(blocks=[Say("Forty-two.")]))
    events = [event async for event in query(prompt, **options(tmp_path))]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Forty-two."
    assert isinstance(events[-1], RunDone)
    assert events[-1].text == "Forty-two."


async def test_the_demo_model_needs_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "BOBSTAY_HOME"):
        monkeypatch.delenv(name, raising=False)
    done = [event async for event in query("hello", model="demo", cwd=tmp_path)][-1]
    assert isinstance(done, RunDone)
    assert done.ending == "completed"


async def test_a_function_of_ones_own_becomes_a_tool(model: ModelServer, tmp_path: Path) -> None:
    @tool(read_only=True)
    async def add(a: Annotated[int, "one number"], b: int) -> str:
        """Add two numbers."""
        return f"sum={a + b}"

    prompt = model.play("add", Step(blocks=[Call("add", {"a": 2, "b": 3}, "t")]), Step(blocks=[Say("Five.")]))
    async with Session(**options(tmp_path, tools=[add])) as session:
        events = [event async for event in session.run(prompt)]
    assert [event.reply.text for event in events if isinstance(event, ToolDone)] == ["sum=5"]
    offered = {each["name"]: each for each in model.requests[0].body["tools"]}
    assert offered["add"]["input_schema"]["properties"]["a"]["description"] == "one number"


async def test_questions_go_to_the_program(model: ModelServer, tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(opened: InteractionOpened) -> Answer | bool:
        asked.append(opened.call.input["command"])
        return bool(opened.call.input["command"] == "touch yes")

    steps = [Step(blocks=[Call("Bash", {"command": f"touch {name}"}, name)]) for name in ("yes", "no")]
    async with Session(**options(tmp_path, ask=ask)) as session:
        async for _ in session.run(model.play("touch", *steps, Step(blocks=[Say("Done.")]))):
            pass
    assert asked == ["touch yes", "touch no"]
    assert (tmp_path / "work" / "yes").exists()
    assert not (tmp_path / "work" / "no").exists()


async def test_a_session_is_resumed_by_its_id(model: ModelServer, tmp_path: Path) -> None:
    async with Session(**options(tmp_path)) as first:
        async for _ in first.run(model.play("one", Step(blocks=[Say("First answer.")]))):
            pass
        assert first.totals.cost_usd > 0
        name = first.id
    async with Session(**options(tmp_path, resume=name)) as second:
        async for _ in second.run(model.play("two", Step(blocks=[Say("Second.")]))):
            pass
    assert "First answer." in str(model.requests[-1].body["messages"])


async def test_what_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with pytest.raises(StartError, match=r"ANTHROPIC_API_KEY.*--model demo"):
        async with Session(model="claude-sonnet-4-5", cwd=tmp_path):
            pass
    with pytest.raises(RuntimeError, match="not open"):
        Session(model="demo").run("hi")


def test_the_public_names_are_there_and_nothing_else_is_promised() -> None:
    """The public API, frozen: a change here is a change for people who embed bobstay."""
    assert dir(bobstay) == sorted(bobstay.__all__)
    for name in bobstay.__all__:
        assert getattr(bobstay, name) is not None
    with pytest.raises(AttributeError):
        bobstay.nonsense  # noqa: B018


async def test_a_message_during_the_last_answer_is_answered_in_the_same_turn(
    model: ModelServer, tmp_path: Path
) -> None:
    """H3-9"""
    prompt = model.play("steer", Step(blocks=[Say("First answer.")]), Step(blocks=[Say("With that in mind.")]))
    async with Session(**options(tmp_path)) as session:
        events = []
        async for event in session.run(prompt):
            if isinstance(event, TextDelta) and not session.state.queued and len(model.requests) == 1:
                session.steer("mind this")
            events.append(event)
        assert session.state.queued == ()
    ends = [event for event in events if isinstance(event, RunDone)]
    assert [end.text for end in ends] == ["With that in mind."]
    assert "mind this" in str(model.requests[-1].body["messages"][-1])


async def test_a_word_left_over_from_an_ended_turn_is_read_before_the_next_prompt(
    model: ModelServer, tmp_path: Path
) -> None:
    """H3-9"""
    async with Session(**options(tmp_path, max_turns=1, allowed_tools=["Bash"])) as session:
        steps = [Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")])]
        async for event in session.run(model.play("limit", steps[0])):
            if isinstance(event, RunDone):
                assert event.ending == "max_turns"
        session.steer("the earlier word")
        async for _ in session.run(model.play("next", steps[1]) + " the newer prompt"):
            pass
    message = str(model.requests[-1].body["messages"][-1])
    assert message.index("the earlier word") < message.index("the newer prompt")


async def test_a_question_is_over_when_its_background_commands_are(model: ModelServer, tmp_path: Path) -> None:
    """H1-12"""
    bash = {"command": "until [ -e go ]; do sleep 0.01; done", "run_in_background": True}
    prompt = model.play(
        "wait", Step(blocks=[Call("Bash", bash, "b")]), Step(blocks=[Say("It runs.")]), Step(blocks=[Say("It ended.")])
    )
    texts = []
    async for event in query(prompt, **options(tmp_path, allowed_tools=["Bash"])):
        if isinstance(event, RunDone):
            texts.append(event.text)
            (tmp_path / "work" / "go").touch()
    assert texts == ["It runs.", "It ended."]


async def test_a_question_that_a_limit_ended_waits_for_no_background_command(
    model: ModelServer, tmp_path: Path
) -> None:
    """H1-12"""
    bash = {"command": "sleep 300", "run_in_background": True}
    prompt = model.play("limit", Step(blocks=[Call("Bash", bash, "b")]), Step(blocks=[Say("never")]))
    async with asyncio.timeout(DEADLINE):
        events = [event async for event in query(prompt, **options(tmp_path, allowed_tools=["Bash"], max_turns=1))]
    assert [event.ending for event in events if isinstance(event, RunDone)] == ["max_turns"]


async def test_a_session_can_go_on_with_what_its_background_commands_bring(model: ModelServer, tmp_path: Path) -> None:
    """H1-12"""
    bash = {"command": "echo up; until [ -e go ]; do sleep 0.01; done"}
    prompt = model.play(
        "bring", Step(blocks=[Call("Bash", bash, "b")]), Step(blocks=[Say("Later.")]), Step(blocks=[Say("It ended.")])
    )
    async with Session(**options(tmp_path, allowed_tools=["Bash"])) as session:
        async for event in session.run(prompt):
            if isinstance(event, ToolProgress):
                assert len(session.to_background()) == 1
        (tmp_path / "work" / "go").touch()
        events = [event async for event in session.run_background()]
        assert isinstance(events[-1], RunDone)
        assert events[-1].text == "It ended."
        assert [event async for event in session.run_background()] == []


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        *(("max_seconds", value) for value in (-1, 0, float("nan"), float("inf"))),
        *(("max_turns", value) for value in (0, -1)),
        *(("max_budget_usd", value) for value in (-0.5, 0, float("nan"))),
        *((name, value) for name in ("max_tokens_total", "task_budget") for value in (0, -1)),
        ("max_thinking_tokens", -1),
    ],
)
def test_a_limit_that_means_nothing_is_refused_at_once(tmp_path: Path, limit: str, value: float) -> None:
    with pytest.raises(ValueError, match=limit):
        Session(**options(tmp_path, **{limit: value}))


def test_limits_that_mean_something_are_accepted(tmp_path: Path) -> None:
    Session(**options(tmp_path, max_seconds=0.5, max_turns=1, max_budget_usd=0.01, max_thinking_tokens=0))


async def test_a_program_chooses_a_style_and_whether_mentions_count(model: ModelServer, tmp_path: Path) -> None:
    prompt = "see @a.txt " + model.play("v", Step(blocks=[Say("ok")]))
    async with Session(**options(tmp_path)) as session:
        with pytest.raises(ValueError, match="Explanatory"):
            session.set_output_style("nothing")
        session.set_output_style("Learning")
        _ = [event async for event in session.run(prompt, verbatim=True)]
        _ = [event async for event in session.run(prompt)]
    sent = [str(request.body["messages"]) for request in model.requests]
    assert ["TODO(human)" in text for text in sent] == [True, True]
    assert ["Called the Read tool" in text for text in sent] == [False, True]
