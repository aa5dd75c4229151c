"""Interactions of an engine: approval requests, questions and plans, by the control protocol or by a hook."""

import asyncio
import json

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionClosed, InteractionOpened, ModeChanged, RunDone
from bobstay.server.capacity import Capacity
from bobstay.server.errors import ApiError
from bobstay.server.sessions.open_interactions import input_hash
from tests.kit.process_sessions import QUICK, ProcessSession, ProcessSessions


async def asking(sessions: ProcessSessions, kind: str = "", **parts: object) -> ProcessSession:
    case = sessions.create(**parts)  # type: ignore[arg-type] # passed on as they are
    await case.worker.start()
    case.say(f"ask {kind}")
    return case


async def responses(case: ProcessSession) -> list[dict[str, object]]:
    """What the engine was answered."""
    found = json.loads((await case.until(RunDone)).text)
    return [answer["response"] for answer in found]


async def test_an_allowed_call_runs_with_its_input(sessions: ProcessSessions) -> None:
    case = await asking(sessions)
    opened = await case.asked()
    assert (opened.kind, opened.call.id, opened.call.input) == ("permission", "toolu_1", {"command": "make"})
    assert (case.view.status, case.view.activity) == ("waiting_input", "asking")
    await case.answer(opened, Answer(True, by="ada"))
    assert await responses(case) == [{"behavior": "allow", "updatedInput": {"command": "make"}}]
    (closed,) = case.events(InteractionClosed)
    assert (closed.outcome, closed.by) == ("allowed", "ada")


async def test_an_edited_input_and_a_lasting_rule_are_passed_on(sessions: ProcessSessions) -> None:
    case = await asking(sessions)
    rule = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
    await case.answer(await case.asked(), Answer(True, input={"command": "make -n"}, updates=(rule,)))
    assert await responses(case) == [
        {"behavior": "allow", "updatedInput": {"command": "make -n"}, "updatedPermissions": [rule]}
    ]
    assert case.events(InteractionClosed)[0].input == {"command": "make -n"}


async def test_a_denial_carries_its_reason(sessions: ProcessSessions) -> None:
    case = await asking(sessions)
    await case.answer(await case.asked(), Answer(False, "not now", interrupt=True))
    assert await responses(case) == [{"behavior": "deny", "message": "not now", "interrupt": True}]


async def test_of_two_equal_calls_each_gets_its_own_answer(sessions: ProcessSessions) -> None:
    """FM-35"""
    case = await asking(sessions, "twice")
    second = await case.asked(2)
    first = case.events(InteractionOpened)[0]
    with pytest.raises(ApiError) as refused:
        await sessions.inbox.decide(second.id, Answer(True), input_hash(first.call))
    assert refused.value.problem.code == "input_changed"
    await case.answer(second, Answer(False, "second"))
    await case.answer(first, Answer(True))
    answers = {answer["request_id"]: answer["response"] for answer in json.loads((await case.until(RunDone)).text)}
    assert answers["req_1"]["behavior"] == "allow"
    assert answers["req_2"] == {"behavior": "deny", "message": "second"}


async def test_a_question_of_a_sub_agent_names_it(sessions: ProcessSessions) -> None:
    """FM-37"""
    case = await asking(sessions, "agent")
    opened = await case.asked()
    assert case.view.interactions[0].agent == "reviewer"
    (entry,) = [entry for entry in case.entries() if entry.event == opened]
    assert entry.parent_call == "toolu_parent"
    await case.answer(opened, Answer(True))
    await case.until(RunDone)


async def test_a_question_the_engine_withdraws_is_cancelled(sessions: ProcessSessions) -> None:
    case = await asking(sessions, "withdrawn")
    opened = await case.asked()
    closed = await case.until(InteractionClosed)
    assert (closed.id, closed.outcome, closed.by) == (opened.id, "cancelled", "engine")
    with pytest.raises(ApiError) as refused:
        await case.answer(opened, Answer(True))
    assert refused.value.problem.code == "already_answered"


async def test_a_question_open_when_the_engine_dies_is_cancelled_before_the_turn_ends(
    sessions: ProcessSessions,
) -> None:
    """FM-10"""
    case = await asking(sessions, timeouts=QUICK)
    opened = await case.asked()
    await case.worker.stop("killed")
    kinds = [type(entry.event) for entry in case.entries()]
    assert kinds.index(InteractionClosed) < kinds.index(RunDone)
    assert case.events(InteractionClosed)[0].outcome == "cancelled"
    with pytest.raises(ApiError):
        await case.answer(opened, Answer(True))


async def test_a_question_comes_by_the_hook_and_its_answer_is_the_reason(sessions: ProcessSessions) -> None:
    """S004-21, S004-22, S004-23, S004-24"""
    case = await asking(sessions, "hook", questions="hook")
    opened = await case.asked()
    assert opened.kind == "question"
    await case.answer(opened, Answer(True, input={**opened.call.input, "answers": {"Which colour?": ["Red", "Blue"]}}))
    (response,) = await responses(case)
    assert response["decision"] == "block"
    assert response["reason"] == "The user answered:\nWhich colour?: Red, Blue"
    output = response["hookSpecificOutput"]
    assert isinstance(output, dict)
    assert output["permissionDecision"] == "deny"


async def test_a_request_nobody_knows_is_answered_with_an_error(sessions: ProcessSessions) -> None:
    case = await asking(sessions, "nonsense")
    (answer,) = json.loads((await case.until(RunDone)).text)
    assert answer["subtype"] == "error"


async def test_whoever_waits_for_a_person_leaves_his_place_to_others(sessions: ProcessSessions) -> None:
    capacity = Capacity(1)
    case = await asking(sessions, capacity=capacity)
    opened = await case.asked()
    other = sessions.create(capacity=capacity)
    await other.worker.start()
    assert (await other.turn("echo meanwhile")).text == "meanwhile"
    await case.answer(opened, Answer(True))
    await case.until(RunDone)
    await asyncio.gather(case.worker.stop(), other.worker.stop())
    assert capacity.running == 0


async def test_the_permission_mode_is_set_or_the_refusal_is_told(sessions: ProcessSessions) -> None:
    """S004-40"""
    case = sessions.create()
    await case.worker.start()
    await case.worker.set_mode("acceptEdits")
    assert case.view.permission_mode == "acceptEdits"
    with pytest.raises(ApiError, match="no such mode"):
        await case.worker.set_mode("refused")
    assert [changed.mode for changed in case.events(ModeChanged)] == ["acceptEdits"]
    await case.worker.set_model("fake-2")
    assert case.view.model == "fake-2"


async def test_a_workflow_that_only_reads_refuses_other_modes(sessions: ProcessSessions) -> None:
    """S000-43"""
    case = sessions.create(config={"workflow": "research"})
    await case.worker.start()
    with pytest.raises(ApiError, match="Research"):
        await case.worker.set_mode("acceptEdits")


async def test_bypassing_permission_ends_when_its_time_is_over(sessions: ProcessSessions) -> None:
    """FM-39"""
    import time

    case = sessions.create(config={"permission_mode": "bypassPermissions", "bypass_until": time.time() + 0.3})
    await case.worker.start()
    changed = await case.until(ModeChanged)
    assert changed.mode == "default"
