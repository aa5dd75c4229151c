"""The events of hooks beside tool calls: what they carry, what the log keeps, and what nobody waits for (H9-6)."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bobstay.engine import turn_hooks
from bobstay.engine.auto_mode import Advice, AdvisorQuestion, AutoModeApproval
from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import AgentFacts, HookCall, HookMessage, HookOutcome
from bobstay.model.event import HookRan, Noted, Prompted, ToolDone
from bobstay.model.message import ModelSpend, Usage
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks
from tests.kit.waiting import until
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


def nothing(_: HookCall) -> HookOutcome:
    return HookOutcome()


def bash(command: str, id_: str = "a") -> Step:
    return Step(blocks=[Call("Bash", {"command": command}, id_)])


async def test_every_event_that_ran_hooks_is_in_the_log_with_its_outcome(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(
        UserPromptSubmit=nothing,
        PreToolUse=lambda _: HookOutcome(decision="allow", reason="fine"),
        PostToolUse=lambda _: HookOutcome(failed=True, messages=(HookMessage("it broke", "warning"),)),
        PostToolBatch=nothing,
        Stop=nothing,
    )
    session = make_session(hooks=hooks)
    await session.run(model.play("logged", bash("echo 1"), END))
    ran = [(event.hook, event.event, event.outcome, event.text) for event in session.of(HookRan)]
    assert ran == [
        ("UserPromptSubmit", "UserPromptSubmit", "none", ""),
        ("PreToolUse:Bash", "PreToolUse", "allow", "fine"),
        ("PostToolUse:Bash", "PostToolUse", "error", ""),
        ("PostToolBatch", "PostToolBatch", "none", ""),
        ("Stop", "Stop", "none", ""),
    ]
    assert [event.text for event in session.of(Noted)] == ["it broke"]


async def test_the_log_says_how_long_hooks_took(
    model: ModelServer, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def slow(_: HookCall) -> HookOutcome:
        now[0] += 1.5
        return HookOutcome()

    monkeypatch.setattr("bobstay.engine.toolbox.time", SimpleNamespace(monotonic=lambda: now[0]))
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=slow))
    await session.run(model.play("slow", END))
    (ran,) = session.of(HookRan)
    assert ran.duration_ms == 1500


async def test_what_hooks_spend_on_models_counts_for_the_session(model: ModelServer, make_session: MakeSession) -> None:
    spent = ModelSpend("small", Usage(input=100, output=10), 0.25, 30)
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=lambda _: HookOutcome(spent=(spent, spent))))
    before = session.driver.state.cost
    await session.run(model.play("spent", END))
    state = session.driver.state
    assert state.by_model["small"].cost == 0.5
    assert state.by_model["small"].calls == 2
    assert state.cost - before >= 0.5
    assert state.steps == 1


async def test_texts_that_are_shown_are_told_one_after_the_other(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(MessageDisplay=nothing)
    session = make_session(hooks=hooks)
    two = Step(blocks=[Say("One."), Call("Bash", {"command": "echo 1"}, "a")])
    await session.run(model.play("shown", two, END))
    await until(lambda: len(hooks.calls) == 2)
    told = [(call.fields["delta"], call.fields["index"], call.fields["final"]) for call in hooks.calls]
    assert told == [("One.", 0, True), ("End.", 0, True)]
    assert all(call.fields["turn_id"] and call.fields["message_id"] for call in hooks.calls)


async def test_a_change_of_the_directory_is_told_before_the_next_command(
    model: ModelServer, make_session: MakeSession
) -> None:
    seen: list[str] = []

    def moved(call: HookCall) -> HookOutcome:
        seen.append(call.fields["new_cwd"])
        return HookOutcome()

    def began(call: HookCall) -> HookOutcome:
        seen.append(call.fields["tool_input"]["command"])
        return HookOutcome()

    hooks = ScriptedHooks(CwdChanged=moved, PreToolUse=began)
    session = make_session(hooks=hooks, mode="bypassPermissions")
    (session.work / "sub").mkdir()
    root, sub = str(session.work), str(session.work / "sub")
    await session.run(model.play("moved", bash("cd sub"), bash("echo 1", "b"), END))
    assert seen == ["cd sub", sub, "echo 1"]
    (call,) = [call for call in hooks.calls if call.name == "CwdChanged"]
    assert call.fields["old_cwd"] == root


async def test_a_person_who_is_waited_for_is_told_and_the_log_knows(
    model: ModelServer, make_session: MakeSession
) -> None:
    asked = asyncio.Event()
    person = Person(lambda _: Answer(True))
    person.hold = asked

    def notify(_: HookCall) -> HookOutcome:
        asked.set()
        return HookOutcome(failed=True, messages=(HookMessage("no bell", "warning"),))

    session = make_session(person=person, hooks=ScriptedHooks(Notification=notify))
    await session.run(model.play("waits", bash("touch made"), END))
    assert [event.hook for event in session.of(HookRan)] == ["Notification:permission_prompt"]
    assert [event.text for event in session.of(Noted)] == ["no bell"]


async def test_a_session_that_waits_for_input_says_so_after_a_while(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(Notification=nothing)
    session = make_session(hooks=hooks)
    session.driver.idle_after = 0.001
    await session.run(model.play("idle", END))
    await until(lambda: hooks.calls)
    (call,) = hooks.calls
    assert (call.subject, call.fields["notification_type"]) == ("idle_prompt", "idle_prompt")
    session.driver.idle_after = 3600.0
    await session.run(model.play("again", END))
    assert [event.hook for event in session.of(HookRan)] == ["Notification:idle_prompt"]
    session.driver.close()


async def test_a_call_that_auto_mode_refuses_is_told_and_may_be_made_again(
    model: ModelServer, make_session: MakeSession
) -> None:
    class Refusing:
        async def advise(self, question: AdvisorQuestion) -> Advice:
            return Advice("deny", "TOO RISKY")

    hooks = ScriptedHooks(PermissionDenied=lambda _: HookOutcome(retry=True))
    session = make_session(mode="auto", auto=AutoModeApproval(Refusing), hooks=hooks)
    await session.run(model.play("denied", bash("touch made"), END))
    (call,) = hooks.calls
    assert (call.fields["tool_name"], call.fields["reason"]) == ("Bash", "TOO RISKY")
    (done,) = session.of(ToolDone)
    assert "you may make this call again" in done.reply.text
    await session.close()
    denied = make_session(deny=("Bash",), hooks=hooks, session="00000000-0000-4000-8000-000000000002")
    await denied.run(model.play("ordinary", bash("touch made"), END))
    assert len(hooks.calls) == 1, "a rule of the person is no news to them"


# ---------------------------------------------------------------- sub-agents


async def test_the_end_of_a_sub_agent_is_an_event_of_its_own(model: ModelServer, make_session: MakeSession) -> None:
    answers = [HookOutcome(decision="block", reason="GO ON"), HookOutcome()]
    hooks = ScriptedHooks(Stop=nothing, SubagentStop=lambda _: answers.pop(0), PreToolUse=nothing)
    session = make_session(hooks=hooks)
    toolbox = session.driver.agent.toolbox
    toolbox.facts = toolbox.facts.for_agent(AgentFacts("a1", "worker", "/t.jsonl"))
    done = await session.run(model.play("child", bash("echo 1"), Step(blocks=[Say("One.")]), END))
    assert done.text == "End."
    assert [call.name for call in hooks.calls] == ["PreToolUse", "SubagentStop", "SubagentStop"]
    assert all((call.fields["agent_id"], call.fields["agent_type"]) == ("a1", "worker") for call in hooks.calls)
    first, second = hooks.calls[1:]
    assert (first.subject, first.fields["agent_transcript_path"]) == ("worker", "/t.jsonl")
    assert (first.fields["stop_hook_active"], second.fields["stop_hook_active"]) == (False, True)
    assert first.fields["last_assistant_message"] == "One."


async def test_the_start_of_a_sub_agent_may_give_it_context(make_session: MakeSession) -> None:
    hooks = ScriptedHooks(SubagentStart=lambda _: HookOutcome(context=("FOR THE CHILD",)))
    toolbox = make_session(hooks=hooks).driver.agent.toolbox
    toolbox.facts = toolbox.facts.for_agent(AgentFacts("a1", "worker"))
    outcome = await turn_hooks.before_agent(toolbox)
    assert outcome.context == ("FOR THE CHILD",)
    assert (hooks.calls[0].subject, hooks.calls[0].fields["agent_id"]) == ("worker", "a1")


# ---------------------------------------------------------------- events that other parts cause


async def test_events_of_commands_and_servers_carry_their_fields(make_session: MakeSession) -> None:
    names = ("UserPromptExpansion", "Elicitation", "ElicitationResult")
    hooks = ScriptedHooks(**dict.fromkeys(names, nothing))
    toolbox = make_session(hooks=hooks).driver.agent.toolbox
    await turn_hooks.before_expansion(toolbox, "/fix 1", command="fix", arguments="1", source="project")
    await turn_hooks.before_elicitation(toolbox, "srv", "Which?", mode="form", schema={"type": "object"})
    await turn_hooks.after_elicitation(toolbox, "srv", action="accept", content={"a": 1}, mode="form")
    own = [(call.subject, {k: v for k, v in call.fields.items() if k not in toolbox.facts()}) for call in hooks.calls]
    assert own == [
        (
            "fix",
            {
                "expansion_type": "slash_command",
                "command_name": "fix",
                "command_args": "1",
                "command_source": "project",
                "prompt": "/fix 1",
            },
        ),
        (
            "srv",
            {"mcp_server_name": "srv", "message": "Which?", "mode": "form", "requested_schema": {"type": "object"}},
        ),
        ("srv", {"mcp_server_name": "srv", "action": "accept", "content": {"a": 1}, "mode": "form"}),
    ]


async def test_instruction_files_are_told_in_order(make_session: MakeSession) -> None:
    hooks = ScriptedHooks(InstructionsLoaded=nothing)
    toolbox = make_session(hooks=hooks).driver.agent.toolbox
    turn_hooks.instructions_loaded(toolbox, "/a/CLAUDE.md", "Project", "session_start")
    turn_hooks.instructions_loaded(toolbox, "/a/b/CLAUDE.md", "Project", "nested_traversal", "/a/b/x.py")
    await until(lambda: len(hooks.calls) == 2)
    assert [call.fields["file_path"] for call in hooks.calls] == ["/a/CLAUDE.md", "/a/b/CLAUDE.md"]
    assert [call.fields.get("trigger_file_path") for call in hooks.calls] == [None, "/a/b/x.py"]
    assert hooks.calls[1].subject == "nested_traversal"


# ---------------------------------------------------------------- waking the model


async def test_a_hook_in_the_background_wakes_the_model_once(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    await session.run(model.play("first", END))
    woken: list[Any] = []
    session.background.listeners.append(woken.append)
    session.background.wake("PostToolUse:Edit", "THE TESTS <FAIL>")
    assert session.background.has_wake_notice
    assert len(woken) == 1
    await session.play(session.driver.turn(()))
    (prompted,) = session.of(Prompted)
    assert prompted.origin == "hook"
    assert "THE TESTS <FAIL>" in str(model.requests[-1].body["messages"])
    assert not session.background.has_wake_notice


async def test_a_defect_in_hooks_that_nobody_waits_for_is_told(model: ModelServer, make_session: MakeSession) -> None:
    def breaks(_: HookCall) -> HookOutcome:
        raise RuntimeError("OOPS")

    session = make_session(hooks=ScriptedHooks(MessageDisplay=breaks))
    two = Step(blocks=[Say("One."), Call("Bash", {"command": "echo 1"}, "a")])
    await session.run(model.play("defect", two, END))
    await session.driver.agent.toolbox.close()
    left = session.driver.agent.toolbox.notes.take()
    texts = [event.text for event in (*session.events, *left) if isinstance(event, Noted)]
    assert texts == ["MessageDisplay hook broke: RuntimeError: OOPS"] * 2
    ran = [event.outcome for event in (*session.events, *left) if isinstance(event, HookRan)]
    assert ran == ["error"] * 2
