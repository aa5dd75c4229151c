"""Who may say yes or no to a call, and what a no means (H2-1, H2-3, H5-3, H1-10 F37)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookCall, HookOutcome
from bobstay.model.event import (
    HookRan,
    InteractionClosed,
    InteractionOpened,
    ModeChanged,
    PermissionsChanged,
    Prompted,
    ToolDone,
    ToolStarted,
)
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


def touch(name: str = "made", id_: str = "a") -> Step:
    return Step(blocks=[Call("Bash", {"command": f"touch {name}"}, id_)])


async def test_what_nobody_may_answer_is_denied_and_the_run_goes_on(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    assert (await session.run(model.play("nobody", touch(), END))).ending == "completed"
    answered = session.of(ToolDone)[0]
    assert answered.denied
    assert answered.reply.is_error
    assert not (session.work / "made").exists()
    assert not session.of(InteractionOpened, ToolStarted)


async def test_an_allowed_call_runs_once_the_person_approved(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(person=Person(lambda _: Answer(True)))
    await session.run(model.play("yes", touch(), END))
    assert (session.work / "made").exists()
    assert [type(event) for event in session.of(InteractionOpened, InteractionClosed, ToolStarted, ToolDone)] == [
        InteractionOpened,
        InteractionClosed,
        ToolStarted,
        ToolDone,
    ]
    opened = session.of(InteractionOpened)[0]
    assert opened.call.input == {"command": "touch made"}
    assert all("type" in suggestion for suggestion in opened.suggestions)
    assert opened.suggestions


async def test_a_request_carries_what_the_model_says_the_command_is_for(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(person=Person(lambda _: Answer(False)))
    call = Call("Bash", {"command": "touch made", "description": "Make the file"}, "a")
    await session.run(model.play("described", Step(blocks=[call]), END))
    assert session.of(InteractionOpened)[0].description == "Make the file"


@pytest.mark.parametrize(("command", "destroys"), [("cd . && rm -rf made", True), ("touch made", False)])
async def test_a_request_says_that_a_call_destroys(
    model: ModelServer, make_session: MakeSession, command: str, destroys: bool
) -> None:
    """H1-1: what a tool states of a call reaches the approver."""
    session = make_session(person=Person(lambda _: Answer(False)))
    await session.run(model.play("destroys", Step(blocks=[Call("Bash", {"command": command}, "a")]), END))
    assert [opened.destructive for opened in session.of(InteractionOpened)] == [destroys]


async def test_a_denial_reaches_the_model_and_is_remembered(model: ModelServer, make_session: MakeSession) -> None:
    """H5-3: the same call is answered with the same reason, not asked again."""
    person = Person(lambda _: Answer(False, "NOT THAT"))
    session = make_session(person=person)
    await session.run(model.play("no", touch(id_="a"), touch(id_="b"), END))
    assert [event.reply.text for event in session.of(ToolDone)] == ["NOT THAT", "NOT THAT"]
    assert len(person.asked) == 1
    assert "NOT THAT" in str(model.requests[-1].body)


async def test_the_person_may_change_the_input(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(person=Person(lambda _: Answer(True, input={"command": "touch changed"})))
    await session.run(model.play("change", touch(), END))
    assert (session.work / "changed").exists()
    assert not (session.work / "made").exists()
    assert session.of(ToolDone)[0].input == {"command": "touch changed"}


async def test_the_person_cannot_change_the_input_into_something_forbidden(
    model: ModelServer, make_session: MakeSession
) -> None:
    person = Person(lambda _: Answer(True, input={"command": "rm -f keep"}))
    session = make_session(person=person, deny=("Bash(rm:*)",))
    (session.work / "keep").write_text("x")
    await session.run(model.play("sneak", touch(), END))
    assert (session.work / "keep").exists()
    assert session.of(ToolDone)[0].denied


async def test_a_rule_given_with_the_answer_holds_from_then_on(model: ModelServer, make_session: MakeSession) -> None:
    rule = {
        "type": "addRules",
        "destination": "session",
        "behavior": "allow",
        "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
    }
    person = Person(lambda _: Answer(True, updates=(rule,)))
    session = make_session(person=person)
    await session.run(model.play("rule", touch("one", "a"), touch("two", "b"), END))
    assert len(person.asked) == 1
    assert (session.work / "two").exists()
    assert session.of(PermissionsChanged)[0].updates == (rule,)


async def test_leaving_plan_mode_takes_the_mode_the_person_chose(model: ModelServer, make_session: MakeSession) -> None:
    def answer(opened: InteractionOpened) -> Answer:
        if opened.kind == "plan":
            return Answer(True, updates=({"type": "setMode", "mode": "acceptEdits", "destination": "session"},))
        return Answer(False, "planning")

    session = make_session(person=Person(answer), mode="plan")

    def write(name: str, id_: str) -> Step:
        return Step(blocks=[Call("Write", {"file_path": name, "content": "x"}, id_)])

    leave = Step(blocks=[Call("ExitPlanMode", {"plan": "1. do it"}, "p")])
    await session.run(model.play("plan", write("early", "a"), leave, write("late", "b"), END))
    assert not (session.work / "early").exists()
    assert (session.work / "late").exists()
    assert [event.mode for event in session.of(ModeChanged)] == ["acceptEdits"]
    assert session.policy.mode == "acceptEdits"


async def test_a_question_brings_back_the_answer(model: ModelServer, make_session: MakeSession) -> None:
    questions = [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
        }
    ]
    person = Person(lambda opened: Answer(True, input={**opened.call.input, "answers": {"Which colour?": "Blue"}}))
    session = make_session(person=person)
    await session.run(model.play("ask", Step(blocks=[Call("AskUserQuestion", {"questions": questions}, "q")]), END))
    assert person.asked[0].kind == "question"
    assert "Blue" in session.of(ToolDone)[0].reply.text


async def test_a_search_does_not_show_what_may_not_be_read(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(deny=("Read(secret.txt)",))
    (session.work / "secret.txt").write_text("password=hunter2")
    (session.work / "open.txt").write_text("password=none")
    calls = [
        Call("Grep", {"pattern": "password"}, "a"),
        Call("Grep", {"pattern": "password", "output_mode": "content"}, "b"),
        Call("Grep", {"pattern": "password", "output_mode": "count"}, "c"),
        Call("Glob", {"pattern": "*.txt"}, "d"),
    ]
    await session.run(model.play("search", Step(blocks=list(calls)), END))
    for event in session.of(ToolDone):
        assert "open.txt" in event.reply.text
        assert "secret" not in event.reply.text
        assert "hunter2" not in event.reply.text


# ---------------------------------------------------------------- hooks


def hook(**fields: Any) -> Callable[[HookCall], HookOutcome]:
    return lambda _: HookOutcome(**fields)


async def test_a_hook_before_may_deny(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(PreToolUse=hook(decision="deny", reason="HOOK SAYS NO"))
    session = make_session(allow=("Bash",), hooks=hooks)
    await session.run(model.play("deny", touch(), END))
    assert session.of(ToolDone)[0].reply.text == "PreToolUse:Bash hook error: HOOK SAYS NO"
    assert [(event.outcome, event.text) for event in session.of(HookRan)] == [("deny", "HOOK SAYS NO")]
    assert (session.driver.state.lines_added, session.driver.state.lines_removed) == (0, 0)
    assert not (session.work / "made").exists()
    assert hooks.calls[0].fields["tool_input"] == {"command": "touch made"}
    assert hooks.calls[0].fields["permission_mode"] == "default"


async def test_a_hook_before_may_rewrite_and_allow(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(
        hooks=ScriptedHooks(PreToolUse=hook(decision="allow", updated_input={"command": "touch replaced"}))
    )
    await session.run(model.play("rewrite", touch(), END))
    assert (session.work / "replaced").exists()


async def test_a_rewritten_input_is_validated_again(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(allow=("Bash",), hooks=ScriptedHooks(PreToolUse=hook(updated_input={"nonsense": 1})))
    await session.run(model.play("invalid", touch(), END))
    assert [event.outcome for event in session.of(HookRan)] == ["none"]
    assert session.of(ToolDone)[0].reply.is_error
    assert not session.of(ToolStarted)


@pytest.mark.parametrize("rules", [{"deny": ("Bash(touch:*)",)}, {"ask": ("Bash(touch:*)",)}])
async def test_a_hooks_allow_never_overrides_a_deny_or_ask_rule(
    model: ModelServer, make_session: MakeSession, rules: dict[str, Any]
) -> None:
    session = make_session(hooks=ScriptedHooks(PreToolUse=hook(decision="allow")), **rules)
    await session.run(model.play("weak", touch(), END))
    assert session.of(ToolDone)[0].denied
    assert not (session.work / "made").exists()


async def test_a_hook_may_have_a_person_asked_about_a_read(model: ModelServer, make_session: MakeSession) -> None:
    person = Person(lambda _: Answer(True))
    session = make_session(person=person, hooks=ScriptedHooks(PreToolUse=hook(decision="ask", reason="please check")))
    (session.work / "a.txt").write_text("x")
    await session.run(model.play("check", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "a")]), END))
    assert person.asked[0].reason == "please check"


async def test_a_hook_may_put_a_call_off(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(hooks=ScriptedHooks(PreToolUse=hook(decision="defer")))
    done = await session.run(model.play("defer", touch(), END))
    assert done.ending == "deferred"
    assert done.deferred is not None
    assert done.deferred.id == "a"
    assert not session.of(ToolStarted)
    assert (await session.run(model.play("next", END))).text == "End."


async def test_a_hook_after_may_add_context_and_replace_the_output(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(PostToolUse=hook(context=("EXTRA",), updated_output={"stdout": "other", "stderr": ""}))
    session = make_session(hooks=hooks)
    await session.run(model.play("after", Step(blocks=[Call("Bash", {"command": "echo out"}, "a")]), END))
    assert hooks.calls[0].fields["tool_response"]["stdout"].strip() == "out"
    assert "other" in session.of(ToolDone)[0].reply.text
    assert "EXTRA" in str(model.requests[-1].body["messages"])


async def test_a_hook_hears_of_a_failure(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(PostToolUseFailure=hook(context=("TRY AGAIN",)))
    session = make_session(hooks=hooks, allow=("Bash",))
    await session.run(model.play("fails", Step(blocks=[Call("Bash", {"command": "exit 3"}, "a")]), END))
    assert hooks.calls[0].fields["is_interrupt"] is False
    assert "TRY AGAIN" in str(model.requests[-1].body["messages"])


async def test_a_hook_may_stop_the_run(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(hooks=ScriptedHooks(PostToolUse=hook(stop=True, stop_reason="enough")))
    done = await session.run(model.play("stop", Step(blocks=[Call("Bash", {"command": "echo 1"}, "a")]), END))
    assert (done.ending, done.text) == ("hook_stopped", "enough")
    assert len(model.requests) == 1


async def test_a_hook_at_the_end_may_ask_for_more(model: ModelServer, make_session: MakeSession) -> None:
    seen: list[bool] = []

    def stop(call: HookCall) -> HookOutcome:
        seen.append(call.fields["stop_hook_active"])
        return HookOutcome(decision="block", reason="KEEP GOING") if len(seen) == 1 else HookOutcome()

    session = make_session(hooks=ScriptedHooks(Stop=stop))
    done = await session.run(model.play("more", Step(blocks=[Say("first")]), Step(blocks=[Say("second")])))
    assert (done.text, seen) == ("second", [False, True])
    assert "KEEP GOING" in str(model.requests[-1].body["messages"])


async def test_a_hook_at_the_prompt_may_add_context_or_block_it(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=hook(context=("BESIDE",))))
    await session.run(model.play("beside", END))
    assert "BESIDE" in str(model.requests[-1].body["messages"])
    session.hooks.answers["UserPromptSubmit"] = hook(decision="block", reason="not today")
    done = await session.run(model.play("blocked", END))
    assert (done.ending, len(model.requests)) == ("prompt_blocked", 1)
    assert "not today" in done.text


async def test_a_hook_may_answer_instead_of_the_person(model: ModelServer, make_session: MakeSession) -> None:
    person = Person(lambda _: Answer(False, "too late"))
    person.hold = asyncio.Event()
    hooks = ScriptedHooks(PermissionRequest=hook(permission={"behavior": "allow"}))
    session = make_session(person=person, hooks=hooks)
    await session.run(model.play("proxy", touch(), END))
    assert (session.work / "made").exists()
    assert len(person.withdrawn) == 1
    assert session.of(InteractionClosed)[0].by == "hook"
    assert session.of(Prompted)[0].origin == "human"
