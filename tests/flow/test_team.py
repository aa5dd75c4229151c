"""Teams: an agent that only coordinates, requests of many at once, and messages that nobody loses."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly.build_session import StartError
from bobstay.assembly.session import AgentSession
from bobstay.engine.agent_tree import AgentLimits
from bobstay.engine.engine_ports import Answer
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.event import InteractionOpened, Prompted, ToolDone
from bobstay.model.message import text_of
from tests.kit.agent_sessions import OpenSession, agent_call, entries, events_of, replies, run, woken
from tests.kit.repositories import repository
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.prompt_cache import PromptCache
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

COORDINATING = ["Agent", "AskUserQuestion", "SendMessage", "TaskStop"]


def names(body: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in body["tools"]]


class Crowd:
    """Answers nobody before so many have asked."""

    can_ask = True

    def __init__(self, size: int) -> None:
        self.asked: list[InteractionOpened] = []
        self._size = size
        self._complete = asyncio.Event()

    async def ask(self, opened: InteractionOpened) -> Answer:
        self.asked.append(opened)
        if len(self.asked) == self._size:
            self._complete.set()
        await asyncio.wait_for(self._complete.wait(), DEADLINE)
        return Answer(True)


# ---------------------------------------------------------------- coordinator mode


async def test_a_coordinator_only_coordinates_and_its_workers_have_all_tools(
    model: ModelServer, opened: OpenSession
) -> None:
    """H7-3"""
    child = model.play("child", Step(blocks=[Say("Fine.")]))
    prompt = model.play(
        "parent", Step(blocks=[agent_call(child, run_in_background=False)]), Step(blocks=[Say("Done.")])
    )
    session = await opened(Crowd(1), coordinator=True)
    await run(session, prompt)
    own, of_worker, _ = (each.body for each in model.requests)
    assert names(own) == COORDINATING
    assert {"Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Write"} <= set(names(of_worker))
    assert "AskUserQuestion" not in names(of_worker), "only its coordinator talks to it"
    assert "How you coordinate" in str(own["system"])
    assert "How you coordinate" not in str(of_worker["system"])
    assert "How you work" not in str(own["system"])
    assert "What always holds" in str(own["system"])


async def test_what_a_coordinator_does_not_have_it_cannot_call(
    model: ModelServer, opened: OpenSession, tmp_path: Path
) -> None:
    """H7-3"""
    write = Call("Write", {"file_path": "b.txt", "content": "b"}, "w")
    session = await opened(coordinator=True, allowed_tools=("Write",))
    await run(session, model.play("parent", Step(blocks=[write]), Step(blocks=[Say("Done.")])))
    assert "No such tool available" in replies(session)["w"]
    assert not (tmp_path / "work" / "b.txt").exists()


async def test_a_setting_makes_a_coordinator_also_beside_an_own_prompt(
    model: ModelServer, opened: OpenSession, tmp_path: Path
) -> None:
    """H7-3"""
    settings = tmp_path / "work" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"coordinator": true}')
    session = await opened(Crowd(1), system_prompt="You plan journeys.")
    await run(session, model.play("parent", Step(blocks=[Say("Done.")])))
    (asked,) = model.requests
    assert names(asked.body) == COORDINATING
    system = str(asked.body["system"])
    assert system.index("You plan journeys.") < system.index("How you coordinate")


async def test_a_coordinator_that_could_start_nobody_is_refused(opened: OpenSession) -> None:
    with pytest.raises(StartError, match="needs the Agent tool"):
        await opened(coordinator=True, tools=("Read",))


# ---------------------------------------------------------------- many at once


async def test_seven_agents_that_ask_at_once_are_all_answered(
    model: ModelServer, opened: OpenSession, tmp_path: Path
) -> None:
    """H2-8: all requests are open before the first is answered, and each names its agent."""
    children = [
        model.play(
            f"child{number}",
            Step(blocks=[Call("Write", {"file_path": f"{number}.txt", "content": "x"}, f"w{number}")]),
            Step(blocks=[Say(f"Wrote {number}.")]),
        )
        for number in range(7)
    ]
    calls = [agent_call(each, f"a{number}", run_in_background=False) for number, each in enumerate(children)]
    crowd = Crowd(7)
    session = await opened(crowd)
    assert (await run(session, model.play("parent", Step(blocks=[*calls]), Step(blocks=[Say("All.")])))).text == "All."
    agents = {each.call_id: each.id for each in events_of(session, AgentStarted)}
    asking = {each.agent: each.call.input["file_path"] for each in crowd.asked}
    assert asking == {agents[f"a{number}"]: f"{number}.txt" for number in range(7)}
    assert [(tmp_path / "work" / f"{number}.txt").read_text() for number in range(7)] == ["x"] * 7
    assert [f"Wrote {number}." in replies(session)[f"a{number}"] for number in range(7)] == [True] * 7


async def test_no_more_agents_run_at_once_than_the_limit_allows(model: ModelServer, opened: OpenSession) -> None:
    """H7-7"""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("Fine.")], gate=gate))
    calls = [agent_call(child, f"a{number}") for number in range(3)]
    session = await opened()
    session.agents.limits = AgentLimits(at_once=2)
    await run(session, model.play("parent", Step(blocks=[*calls]), Step(blocks=[Say("Started.")])))
    refused = [text for text in replies(session).values() if "2 agents are running, which is the limit" in text]
    assert len(refused) == 1
    assert len(events_of(session, AgentStarted)) == 2
    gate.open()
    await until(lambda: not session.agents.list_running(), lambda: "they never ended")
    again = model.play("again", Step(blocks=[agent_call(child, "b", run_in_background=False)]), Step(blocks=[Say("k")]))
    await run(session, again)
    assert "Fine." in replies(session)["b"]


async def test_a_fork_pays_only_for_what_its_parent_has_not_sent(model: ModelServer, opened: OpenSession) -> None:
    """H7-5: by a simulated cache, all bytes of the parent's last request are read from it."""
    child = model.play("child", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "f")]), Step(blocks=[Say("Forked.")]))
    prompt = model.play(
        "parent",
        Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")]),
        Step(blocks=[agent_call(child, subagent_type="fork", run_in_background=False)]),
        Step(blocks=[Say("Done.")]),
    )
    await run(await opened(), prompt)
    cache = PromptCache()
    first, parent, fork, fork_later, parent_later = (cache.use(each.body) for each in model.requests)
    assert first.read == 0
    assert parent.read == first.marked
    assert fork.read == parent.marked, "all of it"
    assert fork_later.read == fork.marked
    assert parent_later.read >= parent.marked


async def test_a_model_that_starts_the_same_agent_again_and_again_is_stopped(
    model: ModelServer, opened: OpenSession
) -> None:
    """H3-6, F24: ids and times of agents are new each time, and what their own steps are does not count here."""
    read = [Step(blocks=[Call("Read", {"file_path": "a.txt"})]) for _ in range(2)]
    child = model.play("child", *read, Step(blocks=[Say("Nothing found.")]))
    same = [Step(blocks=[agent_call(child, f"a{n}", run_in_background=False)]) for n in range(12)]
    session = await opened()
    done = await run(session, model.play("parent", *same))
    assert done.ending == "repeating"
    assert len(events_of(session, AgentStarted)) == 10
    assert [each.why for each in events_of(session, Prompted)].count("repeat") == 2


# ---------------------------------------------------------------- messages


def to_agent(message: str, to: str = "general-purpose", id: str = "m") -> Call:
    return Call("SendMessage", {"to": to, "message": message, "summary": "more"}, id)


async def start_and_message(
    model: ModelServer, session: AgentSession, gate: Gate, calls: list[Call], told: Call
) -> None:
    """Agents that hang in their first answer, and a message to them."""
    steps = [Step(blocks=list(calls)), Step(blocks=[told]), Step(blocks=[Say("Sent.")]), Step(blocks=[Say("Noted.")])]
    await run(session, model.play("parent", *steps))
    await gate.reached()


async def test_a_message_during_the_last_answer_of_an_agent_is_read(model: ModelServer, opened: OpenSession) -> None:
    """H7-4: it was told that the agent reads it."""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("First.")], gate=gate), Step(blocks=[Say("Second.")]))
    session = await opened()
    await start_and_message(model, session, gate, [agent_call(child)], to_agent("And now?"))
    gate.open()
    await woken(session)
    (ended,) = events_of(session, AgentEnded)
    assert ended.text == "Second."
    (asked_again,) = [each for each in model.requests if "And now?" in str(each.body["messages"][-1])]
    assert "First." in str(asked_again.body["messages"])
    assert "<message-from-parent>" in str(asked_again.body["messages"][-1])


async def test_a_message_for_all_reaches_each_that_runs(model: ModelServer, opened: OpenSession) -> None:
    """H7-4"""
    gate = Gate()
    children = [
        model.play(f"child{n}", Step(blocks=[Say(f"First {n}.")], gate=gate), Step(blocks=[Say(f"Second {n}.")]))
        for n in range(3)
    ]
    calls = [agent_call(each, f"a{n}") for n, each in enumerate(children)]
    session = await opened()
    await start_and_message(model, session, gate, calls, to_agent("Hurry.", "*"))
    gate.open()
    await until(lambda: len(events_of(session, AgentEnded)) == 3, lambda: str(events_of(session, AgentEnded)))
    assert sorted(each.text for each in events_of(session, AgentEnded)) == [f"Second {n}." for n in range(3)]


async def test_a_message_that_an_agent_has_not_read_survives_a_crash(model: ModelServer, opened: OpenSession) -> None:
    """H7-4"""
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("First.")], gate=gate), Step(blocks=[Say("Second.")]))
    session = await opened()
    await start_and_message(model, session, gate, [agent_call(child)], to_agent("And now?"))
    log = Path(session.driver.journal.log.path)
    copy = log.with_name("00000000-0000-4000-8000-00000000000c.jsonl")
    copy.write_bytes(log.read_bytes())  # as after kill -9
    await session.close()
    gate.open()
    before = len(model.requests)
    again = await opened(resume=copy.stem)
    await run(again, model.play("next", Step(blocks=[Say("Resumed.")])))
    await until(lambda: bool(events_of(again, AgentEnded)), lambda: "it never ended")
    (started,) = events_of(again, AgentStarted)
    read = [
        each.event
        for each in entries(again)
        if each.agent == started.id and isinstance(each.event, Prompted) and "And now?" in text_of(each.event.blocks)
    ]
    assert len(read) == 1
    assert [each for each in model.requests[before:] if "And now?" in str(each.body["messages"])]


async def test_an_agent_that_is_stopped_is_not_told_of_and_cannot_be_stopped_twice(
    model: ModelServer, opened: OpenSession
) -> None:
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("Never.")], gate=gate))

    def stop(call_id: str) -> Any:
        return lambda _: Step(blocks=[Call("TaskStop", {"task_id": agent_ids[0]}, call_id)])

    agent_ids: list[str] = []
    session = await opened()
    session.agents.listeners.append(lambda started, _: agent_ids.append(started.id))
    prompt = model.play(
        "parent", Step(blocks=[agent_call(child)]), stop("s1"), stop("s2"), Step(blocks=[Say("Stopped.")])
    )
    assert (await run(session, prompt)).text == "Stopped."
    (ended,) = events_of(session, AgentEnded)
    assert (ended.status, ended.tell) == ("killed", "no")
    done = {each.reply.call_id: each.reply.is_error for each in events_of(session, ToolDone)}
    assert (done["s1"], done["s2"]) == (False, True)
    assert not session.background.is_awaited
    gate.open()


async def test_an_agent_whose_worktree_was_removed_gets_one_again_for_the_next_message(
    model: ModelServer, opened: OpenSession, tmp_path: Path
) -> None:
    """H7-4, H7-6"""
    repository(tmp_path / "work")
    pwd = Step(blocks=[Call("Bash", {"command": "pwd"}, "p1")])
    later = Step(blocks=[Call("Bash", {"command": "pwd"}, "p2")])
    child = model.play("child", pwd, Step(blocks=[Say("Here.")]), later, Step(blocks=[Say("Here again.")]))
    session = await opened()
    call = agent_call(child, isolation="worktree", run_in_background=False)
    await run(session, model.play("parent", Step(blocks=[call]), Step(blocks=[Say("Done.")])))
    (started,) = events_of(session, AgentStarted)
    assert not Path(started.worktree).exists()
    told = Step(blocks=[to_agent("And now?", started.id)])
    await run(session, model.play("more", told, Step(blocks=[Say("Sent.")]), Step(blocks=[Say("k")])))
    await woken(session)
    where = replies(session)
    assert where["p1"].strip() == where["p2"].strip() == started.worktree
    assert not Path(started.worktree).exists()
