"""Permission and hooks through the official SDK's callbacks."""

import json
from typing import Any

from claude_agent_sdk import ClaudeSDKClient, HookMatcher, PermissionResultAllow, PermissionResultDeny
from claude_agent_sdk.types import PermissionRuleValue, PermissionUpdate

from tests.modelserver import Call, Step
from tests.sdk.conftest import SdkHost
from tests.sdk.reading import content, result, results, system, texts, turn
from tests.wire.flows import say


def bash(command: str, call_id: str = "k1") -> Step:
    return Step(blocks=[Call("Bash", {"command": command}, call_id)])


class Host:
    """A callback that gives one answer and remembers what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], Any]] = []

    async def __call__(self, name: str, given: dict[str, Any], context: Any) -> Any:
        self.asked.append((name, given, context))
        return self.answer(name, given) if callable(self.answer) else self.answer


async def test_the_host_is_asked_and_may_allow(sdk: SdkHost) -> None:
    host = Host(PermissionResultAllow())
    messages = await sdk.query(sdk.play(bash("touch made.txt"), say("ok")), can_use_tool=host)
    ((name, given, context),) = host.asked
    assert (name, given["command"], context.tool_use_id) == ("Bash", "touch made.txt", "k1")
    assert context.suggestions
    assert all(suggestion.type for suggestion in context.suggestions)
    assert (sdk.work / "made.txt").exists()
    assert not results(messages)[0].is_error


async def test_reading_is_not_asked_about(sdk: SdkHost) -> None:
    host = Host(PermissionResultDeny(message="asked"))
    read = Step(blocks=[Call("Read", {"file_path": f"{sdk.work}/a.txt"}, "k1")])
    messages = await sdk.query(sdk.play(read, bash("ls", "k2"), say("ok")), can_use_tool=host)
    assert host.asked == []
    assert not any(block.is_error for block in results(messages))


async def test_a_no_is_read_by_the_model_and_listed(sdk: SdkHost) -> None:
    host = Host(PermissionResultDeny(message="HOST-SAYS-NO"))
    messages = await sdk.query(sdk.play(bash("touch made.txt"), say("ok")), can_use_tool=host)
    assert "HOST-SAYS-NO" in content(results(messages)[0])
    assert not (sdk.work / "made.txt").exists()
    assert [denial["tool_use_id"] for denial in result(messages).permission_denials or []] == ["k1"]
    assert "HOST-SAYS-NO" in json.dumps(sdk.bodies[-1]["messages"])


async def test_the_host_may_change_the_input(sdk: SdkHost) -> None:
    host = Host(lambda _, given: PermissionResultAllow(updated_input={**given, "command": "touch changed.txt"}))
    await sdk.query(sdk.play(bash("touch made.txt"), say("ok")), can_use_tool=host)
    assert (sdk.work / "changed.txt").exists()
    assert not (sdk.work / "made.txt").exists()


async def test_a_rule_for_the_session_spares_the_next_question(sdk: SdkHost) -> None:
    rule = PermissionUpdate(
        type="addRules", destination="session", behavior="allow", rules=[PermissionRuleValue("Bash", "touch:*")]
    )
    host = Host(PermissionResultAllow(updated_permissions=[rule]))
    async with ClaudeSDKClient(sdk.options(can_use_tool=host)) as client:
        await turn(client, sdk.play(bash("touch one.txt"), say("ok"), name="a"))
        await turn(client, sdk.play(bash("touch two.txt"), say("ok"), name="b"))
    assert len(host.asked) == 1
    assert (sdk.work / "two.txt").exists()


async def test_a_no_may_end_the_run_but_not_the_session(sdk: SdkHost) -> None:
    host = Host(PermissionResultDeny(message="stop", interrupt=True))
    async with ClaudeSDKClient(sdk.options(can_use_tool=host)) as client:
        messages = await turn(client, sdk.play(bash("touch made.txt"), say("never"), name="a"))
        assert (result(messages).is_error, result(messages).subtype) == (True, "error_during_execution")
        assert "never" not in texts(messages)
        assert result(await turn(client, sdk.play(say("next"), name="b"))).result == "next"


async def test_a_callback_that_breaks_is_a_no(sdk: SdkHost) -> None:
    def explode(*_: Any) -> Any:
        raise RuntimeError("callback exploded")

    messages = await sdk.query(sdk.play(bash("touch made.txt"), say("ok")), can_use_tool=Host(explode))
    assert "Tool permission request failed: callback exploded" in content(results(messages)[0])
    assert not (sdk.work / "made.txt").exists()


async def test_an_allow_rule_is_no_wider_than_it_says(sdk: SdkHost) -> None:
    host = Host(PermissionResultDeny(message="asked"))
    steps = (bash("touch made.txt"), bash("mkdir d1", "k2"), say("ok"))
    messages = await sdk.query(sdk.play(*steps), can_use_tool=host, allowed_tools=["Bash(touch:*)"])
    assert [block.is_error for block in results(messages)] == [False, True]
    assert not (sdk.work / "d1").exists()


async def test_where_nobody_is_to_be_asked_the_host_is_not(sdk: SdkHost) -> None:
    host = Host(PermissionResultAllow())
    prompt = sdk.play(bash("touch made.txt"), say("ok"))
    await sdk.query(prompt, can_use_tool=host, permission_mode="dontAsk")
    assert host.asked == []
    assert not (sdk.work / "made.txt").exists()


async def test_permissions_may_be_bypassed_in_a_sandbox(sdk: SdkHost) -> None:
    prompt = sdk.play(bash("touch made.txt"), say("ok"))
    await sdk.query(prompt, permission_mode="bypassPermissions", env={"IS_SANDBOX": "1"})
    assert (sdk.work / "made.txt").exists()


async def test_the_mode_can_be_changed_between_turns(sdk: SdkHost) -> None:
    def write(name: str) -> str:
        call = Call("Write", {"file_path": f"{sdk.work}/{name}.txt", "content": "x"}, f"w{name}")
        return sdk.play(Step(blocks=[call]), say("ok"), name=name)

    async with ClaudeSDKClient(sdk.options(can_use_tool=Host(PermissionResultDeny(message="no")))) as client:
        await turn(client, write("x"))
        await client.set_permission_mode("acceptEdits")
        messages = await turn(client, write("y"))
        await client.set_permission_mode("default")
        await turn(client, write("z"))
    assert system(messages, "init")[0]["permissionMode"] == "acceptEdits"
    assert [(sdk.work / f"{name}.txt").exists() for name in "xyz"] == [False, True, False]


async def test_a_plan_is_approved_into_another_mode(sdk: SdkHost) -> None:
    update = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")

    def decide(name: str, _: Any) -> Any:
        if name == "ExitPlanMode":
            return PermissionResultAllow(updated_permissions=[update])
        return PermissionResultDeny(message="planning")

    def write(name: str) -> Step:
        return Step(blocks=[Call("Write", {"file_path": f"{sdk.work}/{name}.txt", "content": "x"}, f"w-{name}")])

    leave = Step(blocks=[Call("ExitPlanMode", {"plan": "1. do it"}, "x1")])
    prompt = sdk.play(write("early"), leave, write("late"), say("ok"))
    messages = await sdk.query(prompt, can_use_tool=Host(decide), permission_mode="plan")
    assert [(sdk.work / f"{name}.txt").exists() for name in ("early", "late")] == [False, True]
    report = [data.get("permissionMode") for data in system(messages, "status")]
    assert "acceptEdits" in report


async def test_a_question_is_answered_by_the_host(sdk: SdkHost) -> None:
    options = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    question = {"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": options}
    host = Host(lambda _, given: PermissionResultAllow(updated_input={**given, "answers": {"Which colour?": "Blue"}}))
    step = Step(blocks=[Call("AskUserQuestion", {"questions": [question]}, "q1")])
    messages = await sdk.query(sdk.play(step, say("ok")), can_use_tool=host)
    assert host.asked[0][1]["questions"][0]["question"] == "Which colour?"
    assert "Blue" in content(results(messages)[0])


# ---------------------------------------------------------------- hooks


class Hook:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, given: Any, _: Any, __: Any) -> Any:
        self.seen.append(given)
        return self.answer(given) if callable(self.answer) else self.answer


def before(**more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **more}}


async def test_a_hook_denies_what_a_rule_allows(sdk: SdkHost) -> None:
    hook = Hook(before(permissionDecision="deny", permissionDecisionReason="HOOK-SAYS-NO"))
    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]}
    prompt = sdk.play(bash("touch made.txt"), say("ok"))
    messages = await sdk.query(prompt, allowed_tools=["Bash"], hooks=hooks)
    assert {"session_id", "transcript_path", "cwd", "permission_mode", "tool_input"} <= hook.seen[0].keys()
    assert "HOOK-SAYS-NO" in content(results(messages)[0])
    assert not (sdk.work / "made.txt").exists()


async def test_a_hook_allows_and_rewrites(sdk: SdkHost) -> None:
    hook = Hook(before(permissionDecision="allow", updatedInput={"command": "touch replaced.txt"}))
    prompt = sdk.play(bash("touch made.txt"), say("ok"))
    await sdk.query(prompt, hooks={"PreToolUse": [HookMatcher(hooks=[hook])]})
    assert (sdk.work / "replaced.txt").exists()
    assert not (sdk.work / "made.txt").exists()


async def test_a_hook_has_the_host_asked(sdk: SdkHost) -> None:
    hook = Hook(before(permissionDecision="ask", permissionDecisionReason="please check"))
    host = Host(PermissionResultAllow())
    read = Step(blocks=[Call("Read", {"file_path": f"{sdk.work}/a.txt"}, "h1")])
    hooks = {"PreToolUse": [HookMatcher(hooks=[hook])]}
    await sdk.query(sdk.play(read, say("ok")), can_use_tool=host, hooks=hooks)
    assert [context.decision_reason for _, _, context in host.asked] == ["please check"]


async def test_a_hook_adds_what_the_model_reads(sdk: SdkHost) -> None:
    after = Hook({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "POST-CONTEXT"}})
    submit = Hook({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "PROMPT-CONTEXT"}})
    hooks = {
        "PostToolUse": [HookMatcher(matcher="Bash", hooks=[after])],
        "UserPromptSubmit": [HookMatcher(hooks=[submit])],
    }
    prompt = sdk.play(bash("echo out"), say("ok"))
    await sdk.query(prompt, hooks=hooks)
    assert submit.seen[0]["prompt"] == prompt
    assert after.seen[0]["tool_response"]["stdout"].strip() == "out"
    assert "PROMPT-CONTEXT" in json.dumps(sdk.bodies[0]["messages"])
    assert "POST-CONTEXT" in json.dumps(sdk.bodies[-1]["messages"])


async def test_a_hook_keeps_the_model_going(sdk: SdkHost) -> None:
    stop = Hook(lambda given: {} if given["stop_hook_active"] else {"decision": "block", "reason": "KEEP-GOING"})
    messages = await sdk.query(
        sdk.play(say("first stop"), say("second stop")), hooks={"Stop": [HookMatcher(hooks=[stop])]}
    )
    assert [given["stop_hook_active"] for given in stop.seen] == [False, True]
    assert texts(messages) == ["first stop", "second stop"]
    assert "KEEP-GOING" in json.dumps(sdk.bodies[-1]["messages"])


async def test_a_hook_that_must_not_fail_blocks_when_it_does(sdk: SdkHost) -> None:
    def explode(_: Any) -> Any:
        raise RuntimeError("hook exploded")

    hooks = {"PreToolUse": [HookMatcher(hooks=[Hook(explode)], on_failure="block")]}
    prompt = sdk.play(bash("touch made.txt"), say("ok"))
    messages = await sdk.query(prompt, allowed_tools=["Bash"], hooks=hooks)
    assert results(messages)[0].is_error
    assert not (sdk.work / "made.txt").exists()


async def test_a_deferred_call_is_handed_to_the_host(sdk: SdkHost) -> None:
    hooks = {"PreToolUse": [HookMatcher(hooks=[Hook(before(permissionDecision="defer"))])]}
    done = result(await sdk.query(sdk.play(bash("touch made.txt", "h1"), say("never")), hooks=hooks))
    assert done.deferred_tool_use is not None
    assert (done.deferred_tool_use.id, done.terminal_reason) == ("h1", "tool_deferred")
    assert not (sdk.work / "made.txt").exists()
