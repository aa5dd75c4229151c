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
from tests.flow.world import Listeners, Person, World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]
END = Step(blocks=[Say("End.")])


def touch(name: str = "made", id_: str = "a") -> Step:
    return Step(blocks=[Call("Bash", {"command": f"touch {name}"}, id_)])


async def test_what_nobody_may_answer_is_denied_and_the_run_goes_on(server: ModelServer, world: Make) -> None:
    here = world()
    assert (await here.run(server.play("nobody", touch(), END))).ending == "completed"
    answered = here.of(ToolDone)[0]
    assert answered.denied
    assert answered.reply.is_error
    assert not (here.work / "made").exists()
    assert not here.of(InteractionOpened, ToolStarted)


async def test_an_allowed_call_runs_once_the_person_approved(server: ModelServer, world: Make) -> None:
    here = world(person=Person(lambda _: Answer(True)))
    await here.run(server.play("yes", touch(), END))
    assert (here.work / "made").exists()
    assert [type(event) for event in here.of(InteractionOpened, InteractionClosed, ToolStarted, ToolDone)] == [
        InteractionOpened,
        InteractionClosed,
        ToolStarted,
        ToolDone,
    ]
    opened = here.of(InteractionOpened)[0]
    assert opened.call.input == {"command": "touch made"}
    assert all("type" in suggestion for suggestion in opened.suggestions)
    assert opened.suggestions


@pytest.mark.parametrize(("command", "destroys"), [("cd . && rm -rf made", True), ("touch made", False)])
async def test_a_request_says_that_a_call_destroys(
    server: ModelServer, world: Make, command: str, destroys: bool
) -> None:
    """H1-1: what a tool states of a call reaches the approver."""
    here = world(person=Person(lambda _: Answer(False)))
    await here.run(server.play("destroys", Step(blocks=[Call("Bash", {"command": command}, "a")]), END))
    assert [opened.destructive for opened in here.of(InteractionOpened)] == [destroys]


async def test_a_denial_reaches_the_model_and_is_remembered(server: ModelServer, world: Make) -> None:
    """H5-3: the same call is answered with the same reason, not asked again."""
    person = Person(lambda _: Answer(False, "NOT THAT"))
    here = world(person=person)
    await here.run(server.play("no", touch(id_="a"), touch(id_="b"), END))
    assert [event.reply.text for event in here.of(ToolDone)] == ["NOT THAT", "NOT THAT"]
    assert len(person.asked) == 1
    assert "NOT THAT" in str(server.requests[-1].body)


async def test_the_person_may_change_the_input(server: ModelServer, world: Make) -> None:
    here = world(person=Person(lambda _: Answer(True, input={"command": "touch changed"})))
    await here.run(server.play("change", touch(), END))
    assert (here.work / "changed").exists()
    assert not (here.work / "made").exists()
    assert here.of(ToolDone)[0].input == {"command": "touch changed"}


async def test_the_person_cannot_change_the_input_into_something_forbidden(server: ModelServer, world: Make) -> None:
    person = Person(lambda _: Answer(True, input={"command": "rm -f keep"}))
    here = world(person=person, deny=("Bash(rm:*)",))
    (here.work / "keep").write_text("x")
    await here.run(server.play("sneak", touch(), END))
    assert (here.work / "keep").exists()
    assert here.of(ToolDone)[0].denied


async def test_a_rule_given_with_the_answer_holds_from_then_on(server: ModelServer, world: Make) -> None:
    rule = {
        "type": "addRules",
        "destination": "session",
        "behavior": "allow",
        "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
    }
    person = Person(lambda _: Answer(True, updates=(rule,)))
    here = world(person=person)
    await here.run(server.play("rule", touch("one", "a"), touch("two", "b"), END))
    assert len(person.asked) == 1
    assert (here.work / "two").exists()
    assert here.of(PermissionsChanged)[0].updates == (rule,)


async def test_leaving_plan_mode_takes_the_mode_the_person_chose(server: ModelServer, world: Make) -> None:
    def answer(opened: InteractionOpened) -> Answer:
        if opened.kind == "plan":
            return Answer(True, updates=({"type": "setMode", "mode": "acceptEdits", "destination": "session"},))
        return Answer(False, "planning")

    here = world(person=Person(answer), mode="plan")

    def write(name: str, id_: str) -> Step:
        return Step(blocks=[Call("Write", {"file_path": name, "content": "x"}, id_)])

    leave = Step(blocks=[Call("ExitPlanMode", {"plan": "1. do it"}, "p")])
    await here.run(server.play("plan", write("early", "a"), leave, write("late", "b"), END))
    assert not (here.work / "early").exists()
    assert (here.work / "late").exists()
    assert [event.mode for event in here.of(ModeChanged)] == ["acceptEdits"]
    assert here.policy.mode == "acceptEdits"


async def test_a_question_brings_back_the_answer(server: ModelServer, world: Make) -> None:
    questions = [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
        }
    ]
    person = Person(lambda opened: Answer(True, input={**opened.call.input, "answers": {"Which colour?": "Blue"}}))
    here = world(person=person)
    await here.run(server.play("ask", Step(blocks=[Call("AskUserQuestion", {"questions": questions}, "q")]), END))
    assert person.asked[0].kind == "question"
    assert "Blue" in here.of(ToolDone)[0].reply.text


async def test_a_search_does_not_show_what_may_not_be_read(server: ModelServer, world: Make) -> None:
    here = world(deny=("Read(secret.txt)",))
    (here.work / "secret.txt").write_text("password=hunter2")
    (here.work / "open.txt").write_text("password=none")
    calls = [
        Call("Grep", {"pattern": "password"}, "a"),
        Call("Grep", {"pattern": "password", "output_mode": "content"}, "b"),
        Call("Grep", {"pattern": "password", "output_mode": "count"}, "c"),
        Call("Glob", {"pattern": "*.txt"}, "d"),
    ]
    await here.run(server.play("search", Step(blocks=list(calls)), END))
    for event in here.of(ToolDone):
        assert "open.txt" in event.reply.text
        assert "secret" not in event.reply.text
        assert "hunter2" not in event.reply.text


# ---------------------------------------------------------------- hooks


def hook(**fields: Any) -> Callable[[HookCall], HookOutcome]:
    return lambda _: HookOutcome(**fields)


async def test_a_hook_before_may_deny(server: ModelServer, world: Make) -> None:
    hooks = Listeners(PreToolUse=hook(decision="deny", reason="HOOK SAYS NO"))
    here = world(allow=("Bash",), hooks=hooks)
    await here.run(server.play("deny", touch(), END))
    assert here.of(ToolDone)[0].reply.text == "PreToolUse:Bash hook error: HOOK SAYS NO"
    assert [(event.outcome, event.text) for event in here.of(HookRan)] == [("deny", "HOOK SAYS NO")]
    assert (here.driver.state.lines_added, here.driver.state.lines_removed) == (0, 0)
    assert not (here.work / "made").exists()
    assert hooks.calls[0].fields["tool_input"] == {"command": "touch made"}
    assert hooks.calls[0].fields["permission_mode"] == "default"


async def test_a_hook_before_may_rewrite_and_allow(server: ModelServer, world: Make) -> None:
    here = world(hooks=Listeners(PreToolUse=hook(decision="allow", updated_input={"command": "touch replaced"})))
    await here.run(server.play("rewrite", touch(), END))
    assert (here.work / "replaced").exists()


async def test_a_rewritten_input_is_validated_again(server: ModelServer, world: Make) -> None:
    here = world(allow=("Bash",), hooks=Listeners(PreToolUse=hook(updated_input={"nonsense": 1})))
    await here.run(server.play("invalid", touch(), END))
    assert [event.outcome for event in here.of(HookRan)] == ["none"]
    assert here.of(ToolDone)[0].reply.is_error
    assert not here.of(ToolStarted)


@pytest.mark.parametrize("rules", [{"deny": ("Bash(touch:*)",)}, {"ask": ("Bash(touch:*)",)}])
async def test_a_hooks_allow_never_overrides_a_deny_or_ask_rule(
    server: ModelServer, world: Make, rules: dict[str, Any]
) -> None:
    here = world(hooks=Listeners(PreToolUse=hook(decision="allow")), **rules)
    await here.run(server.play("weak", touch(), END))
    assert here.of(ToolDone)[0].denied
    assert not (here.work / "made").exists()


async def test_a_hook_may_have_a_person_asked_about_a_read(server: ModelServer, world: Make) -> None:
    person = Person(lambda _: Answer(True))
    here = world(person=person, hooks=Listeners(PreToolUse=hook(decision="ask", reason="please check")))
    (here.work / "a.txt").write_text("x")
    await here.run(server.play("check", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "a")]), END))
    assert person.asked[0].reason == "please check"


async def test_a_hook_may_put_a_call_off(server: ModelServer, world: Make) -> None:
    here = world(hooks=Listeners(PreToolUse=hook(decision="defer")))
    done = await here.run(server.play("defer", touch(), END))
    assert done.ending == "deferred"
    assert done.deferred is not None
    assert done.deferred.id == "a"
    assert not here.of(ToolStarted)
    assert (await here.run(server.play("next", END))).text == "End."


async def test_a_hook_after_may_add_context_and_replace_the_output(server: ModelServer, world: Make) -> None:
    hooks = Listeners(PostToolUse=hook(context=("EXTRA",), updated_output={"stdout": "other", "stderr": ""}))
    here = world(hooks=hooks)
    await here.run(server.play("after", Step(blocks=[Call("Bash", {"command": "echo out"}, "a")]), END))
    assert hooks.calls[0].fields["tool_response"]["stdout"].strip() == "out"
    assert "other" in here.of(ToolDone)[0].reply.text
    assert "EXTRA" in str(server.requests[-1].body["messages"])


async def test_a_hook_hears_of_a_failure(server: ModelServer, world: Make) -> None:
    hooks = Listeners(PostToolUseFailure=hook(context=("TRY AGAIN",)))
    here = world(hooks=hooks, allow=("Bash",))
    await here.run(server.play("fails", Step(blocks=[Call("Bash", {"command": "exit 3"}, "a")]), END))
    assert hooks.calls[0].fields["is_interrupt"] is False
    assert "TRY AGAIN" in str(server.requests[-1].body["messages"])


async def test_a_hook_may_stop_the_run(server: ModelServer, world: Make) -> None:
    here = world(hooks=Listeners(PostToolUse=hook(stop=True, stop_reason="enough")))
    done = await here.run(server.play("stop", Step(blocks=[Call("Bash", {"command": "echo 1"}, "a")]), END))
    assert (done.ending, done.text) == ("hook_stopped", "enough")
    assert len(server.requests) == 1


async def test_a_hook_at_the_end_may_ask_for_more(server: ModelServer, world: Make) -> None:
    seen: list[bool] = []

    def stop(call: HookCall) -> HookOutcome:
        seen.append(call.fields["stop_hook_active"])
        return HookOutcome(decision="block", reason="KEEP GOING") if len(seen) == 1 else HookOutcome()

    here = world(hooks=Listeners(Stop=stop))
    done = await here.run(server.play("more", Step(blocks=[Say("first")]), Step(blocks=[Say("second")])))
    assert (done.text, seen) == ("second", [False, True])
    assert "KEEP GOING" in str(server.requests[-1].body["messages"])


async def test_a_hook_at_the_prompt_may_add_context_or_block_it(server: ModelServer, world: Make) -> None:
    here = world(hooks=Listeners(UserPromptSubmit=hook(context=("BESIDE",))))
    await here.run(server.play("beside", END))
    assert "BESIDE" in str(server.requests[-1].body["messages"])
    here.hooks._answers["UserPromptSubmit"] = hook(decision="block", reason="not today")
    done = await here.run(server.play("blocked", END))
    assert (done.ending, len(server.requests)) == ("prompt_blocked", 1)
    assert "not today" in done.text


async def test_a_hook_may_answer_instead_of_the_person(server: ModelServer, world: Make) -> None:
    person = Person(lambda _: Answer(False, "too late"))
    person.hold = asyncio.Event()
    hooks = Listeners(PermissionRequest=hook(permission={"behavior": "allow"}))
    here = world(person=person, hooks=hooks)
    await here.run(server.play("proxy", touch(), END))
    assert (here.work / "made").exists()
    assert len(person.withdrawn) == 1
    assert here.of(InteractionClosed)[0].by == "hook"
    assert here.of(Prompted)[0].origin == "human"
