"""Sub-agents: the same engine with another agent, in the log of their session (H7)."""

import asyncio
import gc
import weakref
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.event import RunDone, ToolDone
from tests.kit.agent_sessions import OpenSession as Opened
from tests.kit.agent_sessions import Person, entries, events_of, run, woken
from tests.kit.agent_sessions import agent_call as agent
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

pytestmark = pytest.mark.usefixtures("embedded")


READ = Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r1")])


async def test_a_foreground_agent_answers_in_the_result_of_its_call(model: ModelServer, opened: Opened) -> None:
    """H7-1"""
    child = model.play(
        "child", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r1")]), Step(blocks=[Say("It says one.")])
    )
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]), Step(blocks=[Say("Done.")]))
    session = await opened()
    assert (await run(session, prompt)).text == "Done."
    stored = entries(session)
    (started,) = [each.event for each in stored if isinstance(each.event, AgentStarted)]
    (ended,) = [each.event for each in stored if isinstance(each.event, AgentEnded)]
    assert (ended.status, ended.text, ended.tool_uses) == ("completed", "It says one.", 1)
    own = [each for each in stored if each.agent]
    assert {(each.agent, each.parent_call) for each in own} == {(started.id, "a1")}
    assert not [each for each in own if isinstance(each.event, RunDone)]
    reply = next(each.event for each in stored if isinstance(each.event, ToolDone) and each.event.name == "Agent")
    assert "  It says one." in reply.reply.text
    assert started.id in reply.reply.text


async def test_the_child_sees_nothing_of_the_conversation_of_its_parent(model: ModelServer, opened: Opened) -> None:
    child = model.play("child", Step(blocks=[Say("Fine.")]))
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]), Step(blocks=[Say("Done.")]))
    session = await opened(Person())
    await run(session, f"{prompt} and a secret plan")
    of_parent, of_child, _ = model.requests
    assert "AskUserQuestion" in [tool["name"] for tool in of_parent.body["tools"]]
    assert "secret plan" not in str(of_child.body["messages"])
    assert "Agent" in [tool["name"] for tool in of_child.body["tools"]]
    assert "AskUserQuestion" not in [tool["name"] for tool in of_child.body["tools"]]


async def test_agents_run_in_the_background_unless_asked_otherwise_and_wake_a_turn(
    model: ModelServer, opened: Opened
) -> None:
    """H7-1"""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("Found.")], gate=gate))
    prompt = model.play(
        "parent", Step(blocks=[agent(child)]), Step(blocks=[Say("It works.")]), Step(blocks=[Say("It was found.")])
    )
    session = await opened()
    assert (await run(session, prompt)).text == "It works."
    assert session.background.is_awaited
    gate.open()
    assert (await woken(session)).text == "It was found."
    told = str(model.requests[-1].body["messages"])
    assert "<result>Found.</result>" in told


async def test_several_calls_in_one_answer_run_side_by_side(model: ModelServer, opened: Opened) -> None:
    gate = Gate()
    one = model.play("one", Step(blocks=[Say("1")], gate=gate))
    two = model.play("two", Step(blocks=[Say("2")], gate=gate))
    prompt = model.play(
        "parent",
        Step(blocks=[agent(one, "a1", run_in_background=False), agent(two, "a2", run_in_background=False)]),
        Step(blocks=[Say("Both.")]),
    )
    session = await opened()
    running = asyncio.create_task(run(session, prompt))
    await model.requested(3)  # both children ask before either is answered
    gate.open()
    assert (await running).text == "Both."


async def test_a_childs_approval_names_it_and_goes_to_the_same_person(
    model: ModelServer, opened: Opened, tmp_path: Path
) -> None:
    """H2-8"""
    child = model.play(
        "child", Step(blocks=[Call("Write", {"file_path": "b.txt", "content": "b"}, "w")]), Step(blocks=[Say("ok")])
    )
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]), Step(blocks=[Say("Done.")]))
    person = Person()
    session = await opened(person)
    await run(session, prompt)
    (asked,) = person.asked
    started = next(each.event for each in entries(session) if isinstance(each.event, AgentStarted))
    assert asked.agent == started.id
    assert (tmp_path / "work" / "b.txt").read_text() == "b"


async def test_a_child_in_an_untrusted_folder_is_judged_as_its_parent_is(model: ModelServer, opened: Opened) -> None:
    """H2-8: git runs what the folder names, so nobody runs it there unasked."""
    git = {"command": "git status"}
    child = model.play("child", Step(blocks=[Call("Bash", git, "below")]), Step(blocks=[Say("Refused.")]))
    prompt = model.play(
        "parent",
        Step(blocks=[Call("Bash", git, "above")]),
        Step(blocks=[agent(child, run_in_background=False)]),
        Step(blocks=[Say("Done.")]),
    )
    session = await opened(trust=False)
    await run(session, prompt)
    done = {each.reply.call_id: each.denied for each in events_of(session, ToolDone)}
    assert (done["above"], done["below"]) == (True, True)


async def test_money_and_steps_of_children_count_for_their_session(model: ModelServer, opened: Opened) -> None:
    """H7-7"""
    child = model.play("child", READ, Step(blocks=[Say("one")]))
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]), Step(blocks=[Say("Done.")]))
    session = await opened(max_turns=3)
    done = await run(session, prompt)
    assert done.ending == "max_turns"
    assert len(model.requests) == 3
    assert session.totals().models["claude-sonnet-4-5"].usage.output > 0
    assert session.state.cost == pytest.approx(sum(e.event.cost for e in entries(session) if hasattr(e.event, "cost")))


async def test_depth_is_bounded(model: ModelServer, opened: Opened) -> None:
    """H7-7"""
    third = model.play("third", Step(blocks=[Say("deepest")]))
    second = model.play("second", Step(blocks=[agent(third, "c", run_in_background=False)]), Step(blocks=[Say("2")]))
    first = model.play("first", Step(blocks=[agent(second, "b", run_in_background=False)]), Step(blocks=[Say("1")]))
    prompt = model.play("parent", Step(blocks=[agent(first, "a", run_in_background=False)]), Step(blocks=[Say("0")]))
    session = await opened()
    assert (await run(session, prompt)).text == "0"
    offered = [[tool["name"] for tool in each.body["tools"]] for each in model.requests[:4]]
    assert ["Agent" in names for names in offered] == [True, True, True, False]


async def test_an_interrupt_stops_the_child_and_answers_its_calls(model: ModelServer, opened: Opened) -> None:
    child = model.play("child", Step(blocks=[Call("Bash", {"command": "sleep 1000"}, "s")]))
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]))
    session = await opened(allowed_tools=("Bash",))
    running = asyncio.create_task(run(session, prompt))
    await model.requested(2)
    async with asyncio.timeout(DEADLINE):
        while not any(getattr(e.event, "call_id", "") == "s" for e in entries(session)):
            await asyncio.sleep(0.01)
    await session.interrupt()
    assert (await running).ending == "interrupted_tools"
    stored = entries(session)
    (ended,) = [each.event for each in stored if isinstance(each.event, AgentEnded)]
    assert ended.status == "killed"
    assert [each.event.interrupted for each in stored if isinstance(each.event, ToolDone)] == [True, True]


async def test_a_message_reaches_a_running_agent_and_wakes_an_ended_one(model: ModelServer, opened: Opened) -> None:
    """H7-4"""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("First report.")]), Step(blocks=[Say("Second report.")], gate=gate))
    session = await opened()
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]), Step(blocks=[Say("Done.")]))
    await run(session, prompt)
    started = next(each.event for each in entries(session) if isinstance(each.event, AgentStarted))
    message = {"to": started.id, "message": "And now?", "summary": "more"}
    again = model.play(
        "again",
        Step(blocks=[Call("SendMessage", message, "m")]),
        Step(blocks=[Say("Sent.")]),
        Step(blocks=[Say("Told.")]),
    )
    await run(session, again)
    gate.open()
    assert (await woken(session)).text == "Told."
    resumed = [each.event for each in entries(session) if isinstance(each.event, AgentStarted)][-1]
    assert (resumed.id, resumed.call_id, resumed.first_call) == (started.id, "m", "a1")
    of_child = next(
        each
        for each in model.requests
        if "And now?" in str(each.body["messages"][-1]) and "First report." in str(each.body["messages"])
    )
    assert "First report." in str(of_child.body["messages"])
    assert "Second report." in str(model.requests[-1].body["messages"])


async def test_a_finished_agent_is_freed(model: ModelServer, opened: Opened) -> None:
    child = model.play("child", Step(blocks=[Say("Found.")]))
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]), Step(blocks=[Say("Done.")]))
    session = await opened()
    seen: list[weakref.ref[Any]] = []
    session.agents.listeners.append(lambda *_: seen.extend(weakref.ref(each) for each in session.agents.list_running()))
    await run(session, prompt)
    gc.collect()
    assert seen
    assert [ref for ref in seen if ref() is not None] == []


async def test_a_fork_shares_the_prefix_of_its_parent(model: ModelServer, opened: Opened) -> None:
    """H7-5"""
    child = model.play("child", Step(blocks=[Say("Forked.")]))
    prompt = model.play(
        "parent",
        Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")]),
        Step(blocks=[agent(child, subagent_type="fork", run_in_background=False)]),
        Step(blocks=[Say("Done.")]),
    )
    session = await opened()
    await run(session, prompt)
    _, parent, fork, _ = (each.body for each in model.requests)
    assert (fork["system"], fork["tools"], fork["model"]) == (parent["system"], parent["tools"], parent["model"])
    plain = [_without_marks(message) for message in fork["messages"]]
    assert plain[: len(parent["messages"])] == [_without_marks(message) for message in parent["messages"]]


def _without_marks(message: dict[str, Any]) -> dict[str, Any]:
    return {
        **message,
        "content": [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]],
    }


async def test_an_unknown_type_names_the_known_ones(model: ModelServer, opened: Opened) -> None:
    prompt = model.play("parent", Step(blocks=[agent("x", subagent_type="nobody")]), Step(blocks=[Say("Done.")]))
    session = await opened()
    await run(session, prompt)
    reply = next(each.event for each in entries(session) if isinstance(each.event, ToolDone))
    assert reply.reply.is_error
    assert "general-purpose" in reply.reply.text


async def test_a_crash_in_the_middle_of_three_children_resumes_whole(
    model: ModelServer, opened: Opened, tmp_path: Path
) -> None:
    """H7: one has ended, one waits for the model, one runs a command; a fourth works in the background."""
    gate = Gate()
    one = model.play("one", Step(blocks=[Say("One is done.")]))
    two = model.play("two", READ, Step(blocks=[Say("Two is done.")], gate=gate))
    sleep = Call("Bash", {"command": "sleep 1000"}, "s")
    three = model.play("three", Step(blocks=[sleep]), Step(blocks=[Say("Three was interrupted.")]))
    four = model.play("four", Step(blocks=[Say("Four is done.")], gate=gate))
    calls = [agent(prompt, f"a{n}", run_in_background=False) for n, prompt in enumerate((one, two, three))]
    prompt = model.play("parent", Step(blocks=[*calls, agent(four, "b")]), Step(blocks=[Say("All done.")], gate=gate))
    session = await opened(allowed_tools=("Bash",))
    running = asyncio.create_task(run(session, prompt))
    log = Path(session.driver.journal.log.path)
    async with asyncio.timeout(DEADLINE):
        while not (
            len(model.requests) == 6 and b"One is done" in log.read_bytes() and b'"call_id":"s"' in log.read_bytes()
        ):
            await asyncio.sleep(0.01)
    copy = log.with_name("00000000-0000-4000-8000-00000000000c.jsonl")
    copy.write_bytes(log.read_bytes())  # as after kill -9
    await session.interrupt()
    gate.open()
    await running
    again = await opened(allowed_tools=("Bash",), resume=copy.stem)
    async with asyncio.timeout(DEADLINE), aclosing(again.resume_turn()) as events:
        done = [event async for event in events][-1]
    assert isinstance(done, RunDone)
    assert done.text == "All done."
    replies = {
        each.event.reply.call_id: each.event.reply.text for each in entries(again) if isinstance(each.event, ToolDone)
    }
    assert "One is done." in replies["a0"]
    assert "Two is done." in replies["a1"]
    assert "Three was interrupted." in replies["a2"]
    assert "The program ended while this ran" in replies["s"]
    ends = [each.event for each in entries(again) if isinstance(each.event, AgentEnded)]
    assert sorted(end.text for end in ends) == [
        "Four is done.",
        "One is done.",
        "Three was interrupted.",
        "Two is done.",
    ]


async def test_money_spent_before_this_process_does_not_count(model: ModelServer, opened: Opened) -> None:
    """H3-2"""
    first = await opened()
    await run(first, model.play("first", Step(blocks=[Say("one")])))
    cost = first.state.cost
    assert cost > 0
    await first.close()
    again = await opened(resume=first.id, max_budget_usd=cost * 0.9)
    assert (await run(again, model.play("second", Step(blocks=[Say("two")])))).ending == "completed"


async def test_a_sub_agent_stops_at_the_budget_of_its_session(model: ModelServer, opened: Opened) -> None:
    """H7-7: what its parent spent counts, and what was spent before this process does not."""
    first = await opened()
    await run(first, model.play("first", Step(blocks=[Say("one")])))
    cost = first.state.cost  # every answer of the test model costs the same
    await first.close()
    # A sub-agent starts while its parent's answer still streams, whose cost is not known before it has ended.
    gate = Gate()
    read = Step(blocks=READ.blocks, gate=gate)
    child = model.play("child", read, Step(blocks=[Say("never")]))
    prompt = model.play("parent", Step(blocks=[agent(child, run_in_background=False)]))
    again = await opened(resume=first.id, max_budget_usd=cost * 1.5)
    running = asyncio.ensure_future(run(again, prompt))
    await until(lambda: again.state.cost > cost * 1.5)
    gate.open()
    assert (await running).ending == "max_cost"
    (ended,) = [each.event for each in entries(again) if isinstance(each.event, AgentEnded)]
    assert (ended.status, ended.tool_uses) == ("failed", 1)
    assert len(model.requests) == 3, "the first session, the parent, and the sub-agent once"


async def test_an_agent_that_ends_with_its_session_is_told_of_with_the_next_prompt(
    model: ModelServer, opened: Opened
) -> None:
    """H7-1"""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("never")], gate=gate))
    first = await opened()
    await run(first, model.play("parent", Step(blocks=[agent(child)]), Step(blocks=[Say("It works.")])))
    await gate.reached()
    await first.close()
    gate.open()
    again = await opened(resume=first.id)
    (ended,) = [each.event for each in entries(again) if isinstance(each.event, AgentEnded)]
    assert (ended.status, ended.tell) == ("killed", "next_turn")
    assert not again.background.has_wake_notice, "nobody is woken by it"
    await run(again, model.play("later", Step(blocks=[Say("I see.")])))
    assert "<task-notification>" in str(model.requests[-1].body["messages"])
