"""The host as approver and as hooks: its requests and the meaning of its answers."""

import asyncio
from typing import Any

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookCall, HookOutcome
from bobstay.model.event import InteractionOpened
from bobstay.model.message import ToolCall
from bobstay.print_mode.host_approver import HostApprover
from bobstay.print_mode.host_hooks import BadMatcherError, HostHooks
from bobstay.wire.control_channel import ControlChannel
from bobstay.wire.line_limit import LINE_LIMIT, encode_line
from bobstay.wire.wire_frames import Frame

OPENED = InteractionOpened(
    "i1",
    "permission",
    ToolCall("call_1", "Bash", {"command": "touch a"}),
    reason="needs approval",
    reason_type="mode",
    suggestions=({"type": "setMode", "mode": "acceptEdits", "destination": "session"},),
    blocked_path="/w/a",
    description="Create a file",
)


class Host:
    """Answers each request at once, by a function of its body; None leaves it open."""

    def __init__(self, reply: Any) -> None:
        self.sent: list[Frame] = []
        self.states: list[str] = []
        self.channel = ControlChannel(self._receive)
        self._reply = reply

    def _receive(self, frame: Frame) -> None:
        self.sent.append(frame)
        if frame["type"] == "control_request" and (output := self._reply(frame["request"])) is not None:
            response = {"request_id": frame["request_id"], **output}
            asyncio.get_running_loop().call_soon(self.channel.resolve, {"response": response})

    def gate(self) -> HostApprover:
        return HostApprover(self.channel, self.states.append)


def yes(**body: Any) -> dict[str, Any]:
    return {"subtype": "success", "response": body}


async def test_a_question_says_all_the_host_may_want_to_know() -> None:
    host = Host(lambda body: yes(behavior="allow", updatedInput=body["input"]))
    assert await host.gate().ask(OPENED) == Answer(allow=True)
    assert host.sent[0]["request"] == {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "display_name": "Bash",
        "input": {"command": "touch a"},
        "description": "Create a file",
        "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
        "blocked_path": "/w/a",
        "decision_reason": "needs approval",
        "decision_reason_type": "mode",
        "tool_use_id": "call_1",
    }
    assert host.states == ["requires_action", "running"]


async def test_a_plan_or_question_needs_a_person() -> None:
    host = Host(lambda _: yes(behavior="allow"))
    await host.gate().ask(InteractionOpened("i1", "question", OPENED.call))
    assert host.sent[0]["request"]["requires_user_interaction"] is True


async def test_changed_input_and_rules_are_taken_over() -> None:
    rule = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
    host = Host(lambda _: yes(behavior="allow", updatedInput={"command": "touch b"}, updatedPermissions=[rule, 7]))
    answer = await host.gate().ask(OPENED)
    assert (answer.input, answer.updates) == ({"command": "touch b"}, (rule,))


async def test_a_no_may_end_the_run() -> None:
    answer = await Host(lambda _: yes(behavior="deny", message="stop", interrupt=True)).gate().ask(OPENED)
    assert (answer.allow, answer.message, answer.interrupt) == (False, "stop", True)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"subtype": "error", "error": "callback exploded"}, "Tool permission request failed: callback exploded"),
        (yes(), "unknown behavior None"),
        (yes(behavior="Allow"), "unknown behavior 'Allow'"),
        (yes(behavior="deny"), "did not allow"),
    ],
)
async def test_whatever_is_no_clear_yes_is_a_no(output: dict[str, Any], text: str) -> None:
    answer = await Host(lambda _: output).gate().ask(OPENED)
    assert not answer.allow
    assert text in answer.message


async def test_a_question_dropped_by_an_interrupt_is_withdrawn() -> None:
    host = Host(lambda _: None)
    asked = asyncio.ensure_future(host.gate().ask(OPENED))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert host.sent[1]["type"] == "control_cancel_request"
    assert host.states == ["requires_action", "running"]


async def test_the_state_runs_again_only_when_the_last_question_is_answered() -> None:
    """F29: seven ask at once, all are queued and all are answered (H2-8)."""
    host = Host(lambda _: None)
    gate = host.gate()
    asked = [asyncio.ensure_future(gate.ask(OPENED)) for _ in range(7)]
    await asyncio.sleep(0)
    for frame in host.sent:
        host.channel.resolve({"response": {"request_id": frame["request_id"], **yes(behavior="allow")}})
    await asyncio.gather(*asked)
    assert host.states == ["requires_action"] * 7 + ["running"]


async def test_input_shown_cut_runs_whole_when_it_comes_back_as_shown() -> None:
    """What a host approves is what runs, or nothing runs."""
    big = InteractionOpened("i1", "permission", ToolCall("c", "Write", {"content": "x" * 2_000_000}))
    host = Host(lambda body: yes(behavior="allow", updatedInput=body["input"]))
    assert await host.gate().ask(big) == Answer(allow=True)
    assert len(encode_line(host.sent[0])) <= LINE_LIMIT
    changed = Host(lambda body: yes(behavior="allow", updatedInput={"content": body["input"]["content"] + "!"}))
    assert not (await changed.gate().ask(big)).allow


# ---------------------------------------------------------------- hooks


def hooks(reply: Any, **registered: Any) -> tuple[HostHooks, Host]:
    host = Host(reply)
    subject = HostHooks(host.channel)
    subject.register(registered)
    return subject, host


def matcher(pattern: str | None = None, *callbacks: str, **more: Any) -> dict[str, Any]:
    return {"matcher": pattern, "hookCallbackIds": list(callbacks or ("hook_0",)), **more}


def before(tool: str = "Bash") -> HookCall:
    return HookCall("PreToolUse", {"tool_name": tool}, tool, "call_1")


def decision(fragment: str, **more: Any) -> dict[str, Any]:
    return yes(hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": fragment, **more})


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (None, ["Bash", "Read"], []),
        ("", ["Bash"], []),
        ("*", ["Bash"], []),
        ("Bash", ["Bash"], ["BashOutput", "Read"]),
        ("Read|Write", ["Read", "Write"], ["Edit", "Reader"]),
        ("mcp__.*", ["mcp__a__b"], ["Bash"]),
        ("Notebook.*|Edit$", ["NotebookEdit", "MultiEdit"], ["Bash"]),
    ],
)
def test_matchers_name_tools_exactly_or_by_pattern(pattern: str | None, matching: list[str], other: list[str]) -> None:
    subject, _ = hooks(lambda _: yes(), PreToolUse=[matcher(pattern)])
    assert all(subject.wants("PreToolUse", tool) for tool in matching)
    assert not any(subject.wants("PreToolUse", tool) for tool in other)
    assert not subject.wants("Stop")


def test_a_matcher_that_is_no_pattern_is_refused_when_it_is_registered() -> None:
    with pytest.raises(BadMatcherError, match="not a valid pattern"):
        hooks(None, PreToolUse=[matcher("(")])


async def test_a_callback_gets_the_moment_and_its_fields() -> None:
    subject, host = hooks(lambda _: yes(), PreToolUse=[matcher()])
    assert await subject.run(before()) == HookOutcome()
    request = host.sent[0]["request"]
    assert (request["subtype"], request["callback_id"], request["tool_use_id"]) == ("hook_callback", "hook_0", "call_1")
    assert request["input"] == {"hook_event_name": "PreToolUse", "tool_name": "Bash"}


async def test_the_strictest_of_several_answers_holds() -> None:
    phrase = {"h_allow": "allow", "h_ask": "ask", "h_deny": "deny"}

    def reply(body: Frame) -> Frame:
        return decision(phrase[body["callback_id"]], permissionDecisionReason=f"by {body['callback_id']}")

    subject, host = hooks(reply, PreToolUse=[matcher(None, "h_allow", "h_ask"), matcher("Bash", "h_deny")])
    outcome = await subject.run(before())
    assert (outcome.decision, outcome.reason) == ("deny", "by h_deny")
    assert len(host.sent) == 3


async def test_all_callbacks_are_called_before_any_has_answered() -> None:
    subject, host = hooks(lambda _: None, Stop=[matcher(None, "a", "b"), matcher(None, "c")])
    running = asyncio.ensure_future(subject.run(HookCall("Stop", {})))
    while len(host.sent) < 3:
        await asyncio.sleep(0)
    for frame in host.sent:
        host.channel.resolve({"response": {"request_id": frame["request_id"], **yes(decision="block", reason="more")}})
    outcome = await running
    assert (outcome.decision, outcome.reason) == ("block", "more")


async def test_rewrites_context_and_words_for_the_person_are_read() -> None:
    output = decision("allow", updatedInput={"command": "ls"}, additionalContext="note")
    output["response"]["systemMessage"] = "hello"
    subject, _ = hooks(lambda _: output, PreToolUse=[matcher()])
    outcome = await subject.run(before())
    assert outcome.updated_input == {"command": "ls"}
    assert outcome.context == ("note",)
    assert [message.text for message in outcome.messages] == ["PreToolUse:Bash says: hello"]


async def test_a_hook_may_end_the_run() -> None:
    subject, _ = hooks(lambda _: yes(**{"continue": False, "stopReason": "enough"}), PostToolUse=[matcher()])
    outcome = await subject.run(HookCall("PostToolUse", {}, "Bash"))
    assert (outcome.stop, outcome.stop_reason) == (True, "enough")


async def test_a_hook_that_fails_has_no_say_unless_it_must_block() -> None:
    def explode(body: Frame) -> Frame:
        return {"subtype": "error", "error": "hook exploded"}

    open_hooks, _ = hooks(explode, PreToolUse=[matcher()])
    assert (await open_hooks.run(before())).decision == ""
    closed_hooks, _ = hooks(explode, PreToolUse=[matcher(onFailure="block")])
    outcome = await closed_hooks.run(before())
    assert outcome.decision == "deny"
    assert "hook exploded" in outcome.reason


async def test_a_hook_that_never_answers_is_given_up_and_withdrawn() -> None:
    subject, host = hooks(lambda _: None, PreToolUse=[matcher(timeout=0.05, onFailure="block")])
    outcome = await subject.run(before())
    assert outcome.decision == "deny"
    assert [frame["type"] for frame in host.sent] == ["control_request", "control_cancel_request"]


@pytest.mark.parametrize(
    "output",
    [
        {"async": True, "decision": "block"},
        {"hookSpecificOutput": "deny"},
        {"decision": 7, "hookSpecificOutput": {"permissionDecision": "maybe", "updatedInput": "x"}},
    ],
)
async def test_answers_of_a_wrong_shape_say_nothing(output: dict[str, Any]) -> None:
    subject, _ = hooks(lambda _: yes(**output), PreToolUse=[matcher()])
    outcome = await subject.run(before())
    assert (outcome.decision, outcome.updated_input) == ("", None)
