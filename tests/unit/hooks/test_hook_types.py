"""Hooks that ask a model, an agent or a tool of a server, through the ports that a session gives them (H9-6)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.hooks.event_fields import fill_input, fill_prompt
from bobstay.hooks.hook_event import HookCall, HookName, HookOutcome, HookReport
from bobstay.hooks.hook_execution import HookExecution
from bobstay.hooks.hook_ports import HookPorts, NoAnswerError, PromptAnswer
from bobstay.hooks.hook_runner import CommandHooks
from bobstay.hooks.hook_settings import PromptHook, SettingsHook, ToolHook
from bobstay.model.message import ModelSpend, Usage
from tests.kit.waiting import DEADLINE


def running(folder: Path, *hooks: SettingsHook, **ports: Any) -> CommandHooks:
    return CommandHooks(hooks, HookExecution(cwd=str(folder), environment={}, ports=HookPorts(**ports)))


def call(event: HookName = "PreToolUse", **fields: Any) -> HookCall:
    return HookCall(event, fields, "Bash" if "ToolUse" in event else "")


async def test_a_prompt_is_asked_with_the_event_in_it(tmp_path: Path) -> None:
    asked: list[tuple[str, str, str]] = []

    async def ask(prompt: str, model: str, call: HookCall) -> PromptAnswer:
        asked.append((prompt, model, call.name))
        return PromptAnswer(True)

    hooks = running(tmp_path, PromptHook("PreToolUse", "Bash", "Is $ARGUMENTS fine?", "big"), ask_model=ask)
    assert await hooks.run(call(tool_input={"command": "ls"})) == HookOutcome()
    ((prompt, model, event),) = asked
    given = json.loads(prompt.removeprefix("Is ").removesuffix(" fine?"))
    assert given == {"hook_event_name": "PreToolUse", "tool_input": {"command": "ls"}}
    assert (model, event) == ("big", "PreToolUse")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("PreToolUse", HookOutcome(decision="deny", reason="no", stop=True, stop_reason="no")),
        ("Stop", HookOutcome(decision="block", reason="no")),
        ("SubagentStop", HookOutcome(decision="block", reason="no")),
        ("UserPromptSubmit", HookOutcome(decision="block", reason="no")),
        ("PermissionRequest", HookOutcome(permission={"behavior": "deny", "message": "no"})),
    ],
)
@pytest.mark.parametrize("agent", [False, True])
async def test_a_refusal_has_the_form_of_its_event(
    tmp_path: Path, event: HookName, expected: HookOutcome, agent: bool
) -> None:
    async def refuse(prompt: str, model: str, call: HookCall) -> PromptAnswer:
        return PromptAnswer(False, "no")

    port = {"ask_agent" if agent else "ask_model": refuse}
    assert await running(tmp_path, PromptHook(event, "", "x", agent=agent), **port).run(call(event)) == expected


async def test_what_a_model_request_cost_is_part_of_the_outcome(tmp_path: Path) -> None:
    spent = ModelSpend("small", Usage(input=10, output=2), 0.5, 7)

    async def ask(prompt: str, model: str, call: HookCall) -> PromptAnswer:
        return PromptAnswer(prompt.startswith("a"), "b", (spent,))

    hooks = running(tmp_path, PromptHook("Stop", "", "a"), PromptHook("Stop", "", "b"), ask_model=ask)
    assert (await hooks.run(call("Stop"))).spent == (spent, spent)


async def test_a_tool_is_called_with_fields_of_the_event_and_its_text_is_an_answer(tmp_path: Path) -> None:
    called: list[tuple[str, str, dict[str, Any]]] = []

    async def use(server: str, tool: str, input: dict[str, Any]) -> str:
        called.append((server, tool, input))
        return json.dumps({"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "hm"}})

    input = {"text": "ran ${tool_input.command}!", "all": ["${tool_input}"], "none": "${a.b}", "n": 1}
    hooks = running(tmp_path, ToolHook("PreToolUse", "", "srv", "judge", input), call_tool=use)
    outcome = await hooks.run(call(tool_input={"command": "ls"}))
    assert (outcome.decision, outcome.reason) == ("ask", "hm")
    assert called == [("srv", "judge", {"text": "ran ls!", "all": [{"command": "ls"}], "none": "", "n": 1})]


@pytest.mark.parametrize(
    "hook",
    [
        PromptHook("PreToolUse", "", "x"),
        PromptHook("PreToolUse", "", "x", agent=True),
        ToolHook("PreToolUse", "", "srv", "t"),
    ],
)
async def test_without_a_port_or_with_a_failing_one_the_person_is_told(tmp_path: Path, hook: SettingsHook) -> None:
    async def fail(prompt: str, model: str, call: HookCall) -> PromptAnswer:
        raise NoAnswerError("IT IS DOWN")

    async def fail_call(server: str, tool: str, input: dict[str, Any]) -> str:
        raise NoAnswerError("IT IS DOWN")

    reports: list[HookReport] = []
    for ports in (HookPorts(), HookPorts(ask_model=fail, ask_agent=fail, call_tool=fail_call)):
        execution = HookExecution(cwd=str(tmp_path), environment={}, ports=ports)
        outcome = await CommandHooks([hook], execution, reports.append).run(call())
        assert (outcome.decision, outcome.failed, outcome.result) == ("", True, "error")
        assert outcome.messages[0].level == "warning"
    assert "IT IS DOWN" in outcome.messages[0].text
    assert [report.outcome for report in reports if report.result is not None] == ["error", "error"]


async def test_a_model_that_takes_too_long_gives_no_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def hang(prompt: str, model: str, call: HookCall) -> PromptAnswer:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    hooks = running(tmp_path, PromptHook("Stop", "", "x", timeout=500), ask_model=hang)
    task = asyncio.create_task(hooks.run(call("Stop")))
    await asked.wait()
    loop = asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + 500)
    async with asyncio.timeout(DEADLINE):
        outcome = await task
    assert ended.is_set()
    assert (outcome.decision, outcome.messages[0].tag) == ("", "hook_no_verdict")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=20,
)
TEMPLATES = st.recursive(
    st.none() | st.integers() | st.text(alphabet="${}.ab\\") | st.sampled_from(["${a}", "${a.b}", "x ${a} ${b.c}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=20,
)


@given(template=TEMPLATES, fields=st.dictionaries(st.sampled_from("ab"), JSON))
def test_any_input_can_be_filled_with_any_event(template: Any, fields: dict[str, Any]) -> None:
    """What comes from the event is never filled again: it may hold `${...}` itself."""
    filled = fill_input(template, fields)
    if isinstance(template, dict | list):
        assert len(filled) == len(template)
    assert fill_input("${a}", {"a": "${b}", "b": "secret"}) == "${b}"
    assert fill_input("<${a}>", {"a": "${b}", "b": "secret"}) == "<${b}>"


@given(text=st.text(), payload=st.binary(max_size=50))
def test_a_prompt_always_holds_the_event(text: str, payload: bytes) -> None:
    assert payload.decode(errors="replace") in fill_prompt(text, payload)
