"""Hooks as the loop calls them: the fields of each event, and the effect of each answer (H9-6, H2-3, H5-3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.engine.limits import Limits
from bobstay.hooks.hook_event import HookCall, HookMessage, HookOutcome
from bobstay.model.event import (
    HookRan,
    InteractionClosed,
    InteractionOpened,
    Noted,
    Prompted,
    ToolDone,
    ToolStarted,
)
from bobstay.model.session_events import SessionChanged
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


def hook(**outcome: Any) -> Callable[[HookCall], HookOutcome]:
    return lambda _: HookOutcome(**outcome)


def bash(command: str, id_: str = "a") -> Step:
    return Step(blocks=[Call("Bash", {"command": command}, id_)])


def sent(model: ModelServer) -> str:
    return str(model.requests[-1].body["messages"])


# ---------------------------------------------------------------- the prompt


async def test_a_blocked_prompt_is_never_sent_with_the_next(model: ModelServer, make_session: MakeSession) -> None:
    def judge(call: HookCall) -> HookOutcome:
        bad = "FORBIDDEN" in call.fields["prompt"]
        return HookOutcome(decision="block", reason="not that", context=("BESIDE IT",)) if bad else HookOutcome()

    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=judge))
    done = await session.run(model.play("blocked", END) + " FORBIDDEN")
    assert done.ending == "prompt_blocked"
    assert "not that" in done.text
    assert [event.blocked for event in session.of(Prompted)] == [True]
    await session.run(model.play("fine", END))
    assert "FORBIDDEN" not in sent(model)
    assert "BESIDE IT" not in sent(model)
    await session.close()
    again = make_session(hooks=ScriptedHooks())
    await again.run(model.play("resumed", END))
    assert "FORBIDDEN" not in sent(model)


async def test_a_queued_prompt_that_is_blocked_leaves_the_queue(model: ModelServer, make_session: MakeSession) -> None:
    from bobstay.model.event import InputQueued
    from bobstay.model.message import Text

    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=hook(decision="block", reason="no")))
    session.driver.queue(InputQueued("q1", (Text("later"),), "queue"))
    async for _ in session.driver.turn((Text("later"),), id="q1"):
        pass
    assert session.driver.state.queued == ()


async def test_a_prompt_that_a_hook_only_stops_is_kept(model: ModelServer, make_session: MakeSession) -> None:
    answers = [HookOutcome(stop=True, stop_reason="ENOUGH"), HookOutcome()]
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=lambda _: answers.pop(0)))
    done = await session.run(model.play("stopped", END) + " REMEMBER")
    assert (done.ending, done.text) == ("prompt_blocked", "Operation stopped by hook: ENOUGH")
    assert not model.requests
    await session.run(model.play("next", END))
    assert "REMEMBER" in sent(model)


async def test_the_hook_of_a_prompt_gets_its_id_the_mode_and_the_effort(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(UserPromptSubmit=hook(), Stop=hook())
    session = make_session(hooks=hooks, effort="low")
    await session.run(model.play("facts", END))
    prompt, stop = hooks.calls
    assert prompt.fields["prompt_id"] == stop.fields["prompt_id"] == session.of(Prompted)[0].id
    assert prompt.fields["permission_mode"] == "default"
    assert prompt.fields["effort"] == stop.fields["effort"] == {"level": "low"}
    assert stop.fields["background_tasks"] == []
    assert "effort" not in session.driver.agent.toolbox.facts(), "between turns there is none"


async def test_a_hook_may_name_the_session(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=hook(title="A title")))
    await session.run(model.play("title", END))
    assert [event.title for event in session.of(SessionChanged)] == ["A title"]


async def test_an_interrupt_ends_a_prompt_whose_hook_does_not_answer(
    model: ModelServer, make_session: MakeSession
) -> None:
    class Hanging(ScriptedHooks):
        async def run(self, call: HookCall) -> HookOutcome:
            session.driver.interrupt()
            await asyncio.Event().wait()
            raise AssertionError

    session = make_session(hooks=Hanging(UserPromptSubmit=hook()))
    done = await session.run(model.play("hangs", END))
    assert done.ending == "interrupted_streaming"
    assert not model.requests


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize(("limits", "most"), [(Limits(), 8), (Limits(stop_blocks=2), 2)])
async def test_a_stop_hook_that_always_blocks_comes_to_an_end(
    model: ModelServer, make_session: MakeSession, limits: Limits, most: int
) -> None:
    hooks = ScriptedHooks(Stop=hook(decision="block", reason="MORE"))
    session = make_session(hooks=hooks, limits=limits)
    done = await session.run(model.play("endless", *[Step(blocks=[Say(f"w{n}")]) for n in range(20)]))
    assert (done.ending, done.text) == ("completed", f"w{most}")
    assert len(model.requests) == most + 1
    assert [call.fields["stop_hook_active"] for call in hooks.calls] == [False] + [True] * most
    (note,) = session.of(Noted)
    assert note.level == "warning"
    assert f"{most + 1} times in a row" in note.text


async def test_work_between_two_ends_begins_the_count_anew(model: ModelServer, make_session: MakeSession) -> None:
    """So the first implementation does it: only ends without a tool call between count (seen 2026-11-17)."""
    seen: list[int] = []

    def stop(_: HookCall) -> HookOutcome:
        seen.append(1)
        return HookOutcome(decision="block", reason="MORE") if len(seen) < 5 else HookOutcome()

    session = make_session(hooks=ScriptedHooks(Stop=stop), limits=Limits(stop_blocks=1))
    steps = [step for n in range(5) for step in (bash(f"echo {n}", f"c{n}"), Step(blocks=[Say(f"w{n}")]))]
    done = await session.run(model.play("works", *steps))
    assert (done.ending, done.text, len(seen)) == ("completed", "w4", 5)
    assert not session.of(Noted)


async def test_context_of_a_stop_hook_sends_the_model_back_too(model: ModelServer, make_session: MakeSession) -> None:
    answers = [HookOutcome(context=("LOOK AGAIN",)), HookOutcome()]
    session = make_session(hooks=ScriptedHooks(Stop=lambda _: answers.pop(0)))
    done = await session.run(model.play("context", END, Step(blocks=[Say("second")])))
    assert done.text == "second"
    assert "Stop hook additional context: LOOK AGAIN" in sent(model)


async def test_a_stop_hook_that_stops_the_run_wins_over_one_that_blocks(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(
        hooks=ScriptedHooks(Stop=hook(decision="block", reason="MORE", stop=True, stop_reason="ENOUGH"))
    )
    done = await session.run(model.play("prevented", END))
    assert (done.ending, done.text) == ("stop_hook_prevented", "End.")
    assert any("ENOUGH" in note.text for note in session.of(Noted))


async def test_an_interrupt_ends_a_stop_hook_that_does_not_answer(
    model: ModelServer, make_session: MakeSession
) -> None:
    class Hanging(ScriptedHooks):
        async def run(self, call: HookCall) -> HookOutcome:
            session.driver.interrupt()
            await asyncio.Event().wait()
            raise AssertionError

    session = make_session(hooks=Hanging(Stop=hook()))
    assert (await session.run(model.play("hangs", END))).ending == "interrupted_streaming"


async def test_a_failure_of_the_service_runs_other_hooks_than_the_end(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(Stop=hook(), StopFailure=hook(messages=(HookMessage("StopFailure says: oh"),)))
    session = make_session(hooks=hooks)
    done = await session.run(model.play("fails", Step(status=400, message="bad request")))
    assert done.ending == "api_error"
    (call,) = hooks.calls
    assert call.name == "StopFailure"
    assert call.fields["error"] == "unknown"
    assert "bad request" in call.fields["last_assistant_message"]
    assert [note.text for note in session.of(Noted)] == ["StopFailure says: oh"]


# ---------------------------------------------------------------- calls


async def test_all_calls_of_an_answer_are_reported_together(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(PostToolBatch=hook(context=("OF ALL",)))
    session = make_session(hooks=hooks)
    both = Step(blocks=[Call("Bash", {"command": "echo 1"}, "a"), Call("Nothing", {}, "b")])
    await session.run(model.play("batch", both, END))
    (call,) = hooks.calls
    first, second = call.fields["tool_calls"]
    assert (first["tool_name"], first["tool_use_id"], first["tool_response"]) == ("Bash", "a", "1")
    assert first["tool_input"] == {"command": "echo 1"}
    assert (second["tool_name"], second["tool_use_id"]) == ("Nothing", "b")
    assert "PostToolBatch hook additional context: OF ALL" in sent(model)


@pytest.mark.parametrize(
    "outcome", [{"decision": "block", "reason": "ENOUGH"}, {"stop": True, "stop_reason": "ENOUGH"}]
)
async def test_a_hook_may_end_the_run_after_all_calls(
    model: ModelServer, make_session: MakeSession, outcome: dict[str, Any]
) -> None:
    session = make_session(hooks=ScriptedHooks(PostToolBatch=hook(**outcome)))
    done = await session.run(model.play("ends", bash("echo 1"), END))
    assert (done.ending, done.text, len(model.requests)) == ("hook_stopped", "ENOUGH", 1)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"])
async def test_a_hook_of_a_call_may_end_the_run(model: ModelServer, make_session: MakeSession, event: str) -> None:
    commands = {"PostToolUseFailure": "ls nowhere", "PermissionRequest": "touch made"}
    session = make_session(hooks=ScriptedHooks(**{event: hook(stop=True, stop_reason="ENOUGH")}))
    done = await session.run(model.play("ends", bash(commands.get(event, "echo 1")), END))
    assert (done.ending, len(model.requests)) == ("hook_stopped", 1)
    assert bool(session.of(ToolStarted)) == (event in ("PostToolUse", "PostToolUseFailure"))


async def test_a_request_that_a_hook_ended_says_so(model: ModelServer, make_session: MakeSession) -> None:
    person = Person(lambda _: Answer(True))
    person.hold = asyncio.Event()
    hooks = ScriptedHooks(PermissionRequest=hook(stop=True, stop_reason="ENOUGH"))
    session = make_session(person=person, hooks=hooks)
    await session.run(model.play("ends", bash("touch made"), END))
    assert [(closed.outcome, closed.by) for closed in session.of(InteractionClosed)] == [("denied", "hook")]


async def test_messages_for_the_person_are_events_and_never_reach_the_model(
    model: ModelServer, make_session: MakeSession
) -> None:
    messages = (HookMessage("X says: FOR THE PERSON"), HookMessage("late", "warning", "hook_no_verdict"))
    events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop")
    session = make_session(hooks=ScriptedHooks(**{event: hook(messages=messages) for event in events}))
    await session.run(model.play("told", bash("echo 1"), END))
    assert [(note.level, note.tag) for note in session.of(Noted)] == [
        ("notice", ""),
        ("warning", "hook_no_verdict"),
    ] * 5
    assert "FOR THE PERSON" not in sent(model)


async def test_an_objection_after_the_fact_stands_beside_the_result(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(
        hooks=ScriptedHooks(PostToolUse=hook(decision="block", reason="OBJECTION", context=("MORE",)))
    )
    await session.run(model.play("objects", bash("echo fine"), END))
    assert session.of(ToolDone)[0].reply.text == "fine"
    assert "PostToolUse:Bash hook blocking error: OBJECTION" in sent(model)
    assert "PostToolUse:Bash hook additional context: MORE" in sent(model)


async def test_a_replaced_output_of_the_right_shape_is_all_that_is_left(
    model: ModelServer, make_session: MakeSession
) -> None:
    new = {"stdout": "CLEAN", "stderr": "", "interrupted": False, "isImage": False}
    session = make_session(hooks=ScriptedHooks(PostToolUse=hook(updated_output=new)))
    await session.run(model.play("clean", bash("echo DIRTY"), END))
    done = session.of(ToolDone)[0]
    assert done.reply.text == "CLEAN"
    assert done.display == new
    assert "DIRTY" not in str(model.requests[-1].body["messages"][-1])


@pytest.mark.parametrize("new", ["text", {"stdout": "CLEAN"}, {"stdout": 1, "stderr": ""}, 7])
async def test_a_replaced_output_of_another_shape_is_reported_and_not_used(
    model: ModelServer, make_session: MakeSession, new: Any
) -> None:
    session = make_session(hooks=ScriptedHooks(PostToolUse=hook(updated_output=new)))
    await session.run(model.play("shape", bash("echo as it was"), END))
    assert session.of(ToolDone)[0].reply.text == "as it was"
    assert "updatedToolOutput" in session.of(Noted)[0].text


# ---------------------------------------------------------------- instead of a person


async def test_a_hook_decides_alone_where_nobody_is_there(model: ModelServer, make_session: MakeSession) -> None:
    def decide(call: HookCall) -> HookOutcome:
        if "yes" in call.fields["tool_input"]["command"]:
            return HookOutcome(permission={"behavior": "allow"})
        if "no" in call.fields["tool_input"]["command"]:
            return HookOutcome(permission={"behavior": "deny", "message": "HOOK REFUSES"})
        return HookOutcome()

    hooks = ScriptedHooks(PermissionRequest=decide)
    session = make_session(hooks=hooks)
    steps = [bash(f"touch {name}", name) for name in ("yes", "no", "other")]
    await session.run(model.play("alone", bash("echo free", "f"), *steps, END))
    assert [call.fields["tool_input"]["command"] for call in hooks.calls] == ["touch yes", "touch no", "touch other"]
    assert all(call.fields["permission_suggestions"] for call in hooks.calls)
    assert [path.name for path in session.work.iterdir()] == ["yes"]
    _, yes, no, other = session.of(ToolDone)
    assert (yes.decided.source, no.decided.source) == ("hook", "hook")
    assert no.reply.text == "HOOK REFUSES"
    assert "nobody is here to ask" in other.reply.text
    assert [event.outcome for event in session.of(HookRan)] == ["allow", "deny", "none"]
    assert not session.of(InteractionOpened)


async def test_what_a_hook_makes_of_the_input_is_validated_and_judged_again(
    model: ModelServer, make_session: MakeSession
) -> None:
    inputs: list[Any] = [{"command": "touch fine"}, {"cmd": 1}, {"command": "rm -f keep"}, {"command": "$X y"}]

    def decide(_: HookCall) -> HookOutcome:
        return HookOutcome(permission={"behavior": "allow", "updatedInput": inputs.pop(0)})

    session = make_session(hooks=ScriptedHooks(PermissionRequest=decide), deny=("Bash(rm:*)",))
    (session.work / "keep").write_text("x")
    await session.run(model.play("again", *[bash(f"touch f{n}", f"c{n}") for n in range(4)], END))
    assert sorted(path.name for path in session.work.iterdir()) == ["fine", "keep"]
    assert [event.reply.is_error for event in session.of(ToolDone)] == [False, True, True, True]
    assert "is invalid" in session.of(ToolDone)[1].reply.text


@pytest.mark.parametrize("there", [False, True])
async def test_a_hook_does_not_turn_a_call_into_what_only_people_allow(
    model: ModelServer, make_session: MakeSession, there: bool
) -> None:
    """With and without a person who is asked at the same time and has not answered yet."""
    changed = {"command": "touch .git/hooks/pre-commit"}
    decide = hook(permission={"behavior": "allow", "updatedInput": changed})
    person = Person(lambda _: Answer(True)) if there else Person()
    person.hold = asyncio.Event()
    session = make_session(person=person, hooks=ScriptedHooks(PermissionRequest=decide))
    (session.work / ".git" / "hooks").mkdir(parents=True)
    async with asyncio.timeout(DEADLINE):
        await session.run(model.play("turned", bash("touch harmless"), END))
    (done,) = session.of(ToolDone)
    assert (done.reply.is_error, done.decided.verdict, done.decided.reason_type) == (True, "reject", "safety")
    assert not session.of(ToolStarted)
    assert not (session.work / ".git" / "hooks" / "pre-commit").exists()


async def test_what_cannot_be_judged_is_not_allowed_by_a_hook_but_may_be_refused(
    model: ModelServer, make_session: MakeSession
) -> None:
    answers = [{"behavior": "allow"}, {"behavior": "deny", "message": "HOOK NO"}]
    session = make_session(hooks=ScriptedHooks(PermissionRequest=lambda _: HookOutcome(permission=answers.pop(0))))
    await session.run(model.play("unknown", bash("$WHAT touch made"), END))
    assert session.of(ToolDone)[0].denied
    await session.run(model.play("refused", bash("$WHAT touch made"), END))
    assert session.of(ToolDone)[0].reply.text == "HOOK NO"


async def test_a_hook_that_has_no_opinion_leaves_the_question_to_the_person(
    model: ModelServer, make_session: MakeSession
) -> None:
    person = Person(lambda _: Answer(True))
    session = make_session(person=person, hooks=ScriptedHooks(PermissionRequest=hook()))
    await session.run(model.play("leaves", bash("touch made"), END))
    assert (session.work / "made").exists()
    assert session.of(InteractionClosed)[0].by == "person"


async def test_hooks_can_tell_the_person_that_somebody_waits(model: ModelServer, make_session: MakeSession) -> None:
    asked = asyncio.Event()
    person = Person(lambda _: Answer(True))
    person.hold = asked

    def notify(call: HookCall) -> HookOutcome:
        asked.set()
        return HookOutcome()

    hooks = ScriptedHooks(Notification=notify)
    session = make_session(person=person, hooks=hooks)
    await session.run(model.play("waits", bash("touch made"), END))
    (call,) = hooks.calls
    assert (call.subject, call.fields["notification_type"]) == ("permission_prompt", "permission_prompt")
    assert "Bash" in call.fields["message"]


async def test_hooks_learn_of_a_question_as_a_dialog_and_of_a_request_with_its_input(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(Notification=hook(), PermissionRequest=hook())
    session = make_session(person=Person(lambda _: Answer(False)), hooks=hooks)
    question = {"question": "Which?", "header": "Which", "options": [{"label": "A"}, {"label": "B"}]}
    asks = Step(blocks=[Call("AskUserQuestion", {"questions": [question]}, "q")])
    await session.run(model.play("asks", asks, bash("touch made"), END))
    kinds = [call.fields["notification_type"] for call in hooks.calls if call.name == "Notification"]
    assert kinds == ["elicitation_dialog", "permission_prompt"]
    inputs = [call.fields["tool_input"] for call in hooks.calls if call.name == "PermissionRequest"]
    assert inputs[-1] == {"command": "touch made"}
