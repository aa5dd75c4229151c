"""Teams that end: who is stopped with whom, what was cut off, and what the model is told of it."""

import asyncio
from pathlib import Path

from bobstay.assembly.stop_background import stop_background
from bobstay.model.agent_events import AgentEnded, AgentStarted
from tests.kit.agent_sessions import OpenSession, agent_call, events_of, run, woken
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


async def test_an_agent_that_is_stopped_takes_those_below_it_with_it(model: ModelServer, opened: OpenSession) -> None:
    """H7-1: nobody would read what they find, and they would go on spending."""
    gate = Gate()
    below = model.play("below", Step(blocks=[Say("Never.")], gate=gate))
    child = model.play("child", Step(blocks=[agent_call(below, "b")]), Step(blocks=[Say("Waiting for it.")]))
    session = await opened()
    await run(session, model.play("parent", Step(blocks=[agent_call(child)]), Step(blocks=[Say("Started.")])))
    await gate.reached()
    upper, lower = events_of(session, AgentStarted)
    assert (upper.depth, lower.depth) == (1, 2)
    await stop_background(session, upper.id)
    assert session.agents.list_running() == []
    assert {each.id: each.status for each in events_of(session, AgentEnded)} == {upper.id: "killed", lower.id: "killed"}
    gate.open()


async def test_the_model_is_told_with_the_next_prompt_of_an_agent_that_a_person_stopped(
    model: ModelServer, opened: OpenSession
) -> None:
    """H7-1: it would wait for a report otherwise; but no turn begins because of it."""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("Never.")], gate=gate))
    session = await opened()
    await run(session, model.play("parent", Step(blocks=[agent_call(child)]), Step(blocks=[Say("Started.")])))
    await gate.reached()
    (started,) = events_of(session, AgentStarted)
    await stop_background(session, started.id)
    gate.open()
    assert not session.background.is_awaited
    await run(session, model.play("next", Step(blocks=[Say("I see.")])))
    told = str(model.requests[-1].body["messages"])
    assert f"<task-id>{started.id}</task-id>" in told
    assert "<status>killed</status>" in told


async def test_a_message_to_a_type_is_for_the_last_agent_of_that_type(model: ModelServer, opened: OpenSession) -> None:
    """H7-4"""
    first = model.play("first", Step(blocks=[Say("First.")]))
    second = model.play("second", Step(blocks=[Say("Second.")]), Step(blocks=[Say("Second again.")]))
    calls = [agent_call(each, f"a{n}", run_in_background=False) for n, each in enumerate((first, second))]
    session = await opened()
    message = Call("SendMessage", {"to": "general-purpose", "message": "And now?", "summary": "more"}, "m")
    steps = [Step(blocks=[call]) for call in (*calls, message)]
    await run(session, model.play("parent", *steps, Step(blocks=[Say("Sent.")]), Step(blocks=[Say("Noted.")])))
    await woken(session)
    assert [each.text for each in events_of(session, AgentEnded)] == ["First.", "Second.", "Second again."]


async def test_an_agent_whose_command_was_cut_off_is_lost(
    model: ModelServer, opened: OpenSession, tmp_path: Path
) -> None:
    """H7-1, H9-4: no call waits for it after a resume, so it must not count as running for ever."""
    gate = Gate()
    skill = tmp_path / "work" / ".claude" / "skills" / "study" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    marker = model.play("study", Step(blocks=[Say("Never.")], gate=gate))
    skill.write_text(f"---\ndescription: study\ncontext: fork\n---\n{marker}")
    session = await opened()
    turn = asyncio.create_task(run(session, "/study"))
    await gate.reached()
    log = Path(session.driver.journal.log.path)
    copy = log.with_name("00000000-0000-4000-8000-00000000000c.jsonl")
    copy.write_bytes(log.read_bytes())  # as after kill -9
    await session.interrupt()
    gate.open()
    await turn
    again = await opened(resume=copy.stem)
    assert len(events_of(again, AgentStarted)) == 1
    await run(again, model.play("next", Step(blocks=[Say("Resumed.")])))
    assert [each.status for each in events_of(again, AgentEnded)] == ["lost"]
    assert not again.state.running_agents
