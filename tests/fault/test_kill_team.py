"""kill -9 in the middle of a team: a coordinator and three workers in worktrees all go on where they were.

One waits for the model, one for a person, one runs a command. After the resume one fails, one is allowed to write, and
one is stopped. H7-1, H7-3, H7-6, H2-8, F1, F3, F4.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bobstay.engine.resume import LOST
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.event import Envelope, InteractionClosed, InteractionOpened, Prompted, ToolDone, ToolStarted
from bobstay.model.ids import new_id
from bobstay.model.message import text_of
from tests.fault.aftermath import Remains, read_remains
from tests.fault.points import chooser
from tests.fault.story import results
from tests.fault.victim import TORN_AT, Pipe, Victim, interposed
from tests.kit.program import BOBSTAY, Frame, initialize, prompt
from tests.kit.repositories import git, repository
from tests.kit.waiting import until
from tests.modelserver import Call, ModelServer, Say, Step
from tests.modelserver.script import Gate

MARK = """#!/bin/sh
echo "$1" >> '{folder}/effects'
if [ -p '{folder}/after-'"$1" ]; then
    echo here > '{folder}/after-'"$1"
    exec sleep 300
fi
echo "did $1"
"""
ARGUMENTS = ("--coordinator", "--permission-prompt-tool", "stdio", "--allowedTools", "Bash(./mark:*)", "--")
WORKERS = ("failing", "asking", "stopped")
NOTES = {"file_path": "notes.txt", "content": "by the one that asked\n"}


class Team:
    """The folder, the scripted model, and what was seen of both."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        self.model, self.folder, self.session = model, folder, new_id()
        self.work = folder / "work"
        self.work.mkdir()
        (self.work / "mark").write_text(MARK.format(folder=folder))
        (self.work / "mark").chmod(0o755)
        repository(self.work)
        self.asked: list[Frame] = []
        self.may_answer = False
        self.fails = False
        self.hanging, self.stopping = Gate(), Gate()
        """The failing worker waits for the model here before the kill; the coordinator before it stops one."""
        self.last_gate = Gate()
        prompts = self._script_workers()
        calls = [
            Call("Agent", {"description": name, "prompt": prompts[name], "isolation": "worktree"}, f"start-{name}")
            for name in WORKERS
        ]
        self.first = model.play("first", Step(blocks=list(calls)), Step(blocks=[Say("They work.")]))
        self.second = model.play("second", self._stop_one, Step(blocks=[Say("I wait.")]), Step(blocks=[Say("Told.")]))

    def _script_workers(self) -> dict[str, str]:
        play, mark = self.model.play, self._mark
        return {
            "failing": play("failing", mark("f1"), self._fail),
            "asking": play(
                "asking",
                mark("a1"),
                Step(blocks=[Call("Write", NOTES, "write")]),
                mark("a2"),
                Step(blocks=[Say("Noted.")]),
            ),
            "stopped": play("stopped", mark("s1"), mark("s2"), Step(blocks=[Say("Never.")], gate=self.last_gate)),
        }

    def _mark(self, name: str) -> Step:
        return Step(blocks=[Call("Bash", {"command": f"./mark {name}"}, name)])

    def _fail(self, _: Any) -> Step:
        if self.fails:
            return Step(status=400, error_type="invalid_request_error", message="the model cannot do this")
        return Step(blocks=[Say("Never.")], gate=self.hanging)

    def _stop_one(self, body: dict[str, Any]) -> Step:
        told = results(body["messages"])["start-stopped"]
        id_ = next(line for line in told.splitlines() if line.startswith("agentId: ")).split()[1]
        return Step(blocks=[Call("TaskStop", {"task_id": id_}, "stop")], gate=self.stopping)

    def person(self, request: Frame) -> Frame | None:
        if request["subtype"] != "can_use_tool":
            return {}
        self.asked.append(request)
        return {"behavior": "allow", "updatedInput": request["input"]} if self.may_answer else None

    async def begin(self, *arguments: str, program: str = BOBSTAY) -> Victim:
        return await Victim.begin(self.model, self.folder, *arguments, *ARGUMENTS, program=program, answer=self.person)

    def effects(self) -> Counter[str]:
        path = self.folder / "effects"
        return Counter(path.read_text().split() if path.exists() else [])

    def asked_for(self, scenario: str, step: int) -> bool:
        return any((each.scenario, each.step) == (scenario, step) for each in self.model.requests)


@pytest.fixture
def team(model: ModelServer, tmp_path: Path) -> Team:
    return Team(model, tmp_path)


async def test_a_team_killed_in_the_middle_goes_on_whole(team: Team) -> None:
    pipe = Pipe(team.folder / "after-s2")
    victim = await team.begin("--session-id", team.session)
    try:
        victim.send(initialize(), prompt(team.first))
        await victim.until("can_use_tool")
        await team.hanging.reached()
        await pipe.reached(victim)
        await victim.kill_now()
    finally:
        await victim.kill()
    await victim.leaves_nobody()
    pipe.remove()
    remains = read_remains(team.folder, team.session)
    agents = check_middle(team, remains, victim.frames)

    team.may_answer = team.fails = True
    again = await team.begin("--resume", team.session)
    try:
        again.send(initialize(), prompt(team.second))
        await until(lambda: team.asked_for("stopped", 2), "the one that ran a command was not resumed")
        team.stopping.open()
        await again.when(lambda frames: len(ends(frames)) == 3)
        code, errors = await again.end(), await again.errors()
        assert (code, errors) == (0, "")
        await again.leaves_nobody()
    finally:
        for gate in (team.hanging, team.stopping, team.last_gate):
            gate.open()
        await again.kill()
    check_story(team, remains, agents)
    assert ends(again.frames) == {
        agents["failing"].id: "failed",
        agents["asking"].id: "completed",
        agents["stopped"].id: "stopped",
    }


def check_middle(team: Team, remains: Remains, frames: list[Frame]) -> dict[str, AgentStarted]:
    """The log of the killed process has all that it had told, and all three at work."""
    assert len(remains.warnings) <= 1
    assert [entry.seq for entry in remains.branch] == list(range(1, len(remains.branch) + 1))
    agents = {each.description: each for each in remains.of(AgentStarted)}
    assert set(agents) == set(WORKERS)
    assert remains.of(AgentEnded) == []
    assert len({each.worktree for each in agents.values()}) == 3
    assert all(Path(each.worktree, "readme").exists() for each in agents.values())
    done = {event.reply.call_id: event.reply.text for event in remains.of(ToolDone)}
    shown = results([frame["message"] for frame in frames if frame["type"] == "user"])
    assert {call: done[call] for call in shown} == shown
    assert {"f1", "a1", "s1"} <= set(done)
    assert team.effects() == {"f1": 1, "a1": 1, "s1": 1, "s2": 1}
    (asked,) = team.asked
    assert (asked["agent_id"], asked["tool_name"]) == (agents["asking"].id, "Write")
    (opened,) = remains.of(InteractionOpened)
    assert opened.agent == agents["asking"].id
    return agents


def check_story(team: Team, remains: Remains, agents: dict[str, AgentStarted]) -> None:
    """Nothing ran twice, nothing is lost, and the log tells what became of each."""
    ended = read_remains(team.folder, team.session)
    assert ended.warnings == []
    assert ended.branch[: len(remains.branch)] == remains.branch
    assert team.effects() == {"f1": 1, "a1": 1, "a2": 1, "s1": 1, "s2": 1}
    assert Counter(each.call_id for each in ended.of(ToolStarted)).most_common(1)[0][1] == 1
    assert [each.id for each in ended.of(AgentStarted)] == [each.id for each in remains.of(AgentStarted)]
    done = {event.reply.call_id: event for event in ended.of(ToolDone)}
    assert (done["s2"].interrupted, done["s2"].reply.text) == (True, LOST)
    story = {each.description: each for each in ended.of(AgentEnded)}
    assert {name: end.status for name, end in story.items()} == {
        "failing": "failed",
        "asking": "completed",
        "stopped": "killed",
    }
    assert "the model cannot do this" in story["failing"].text
    assert story["asking"].text == "Noted."
    for name, agent in agents.items():
        own = [each for each in ended.branch if each.agent == agent.id]
        assert {each.parent_call for each in own} == {f"start-{name}"}, (
            "its entries stand under the call that started it"
        )
    check_worktrees(team, agents, story)
    check_asking(team, ended, agents["asking"])
    check_coordinator(team, ended.branch)


def check_worktrees(team: Team, agents: dict[str, AgentStarted], story: dict[str, AgentEnded]) -> None:
    """What one wrote is kept on its branch; the others changed nothing and left nothing."""
    kept = Path(agents["asking"].worktree)
    assert (kept / "notes.txt").read_text() == NOTES["content"]
    assert story["asking"].worktree == str(kept)
    assert not (team.work / "notes.txt").exists()
    assert [Path(agents[name].worktree).exists() for name in ("failing", "stopped")] == [False, False]
    branches = git(team.work, "branch", "--list", "--format=%(refname:short)").split()
    assert sorted(branches) == sorted(["main", agents["asking"].branch])


def check_asking(team: Team, ended: Remains, asking: AgentStarted) -> None:
    """The same request was put again, by the same agent, and answered once."""
    assert [(each["agent_id"], each["tool_use_id"]) for each in team.asked] == [(asking.id, "write")] * 2
    (closed,) = [each for each in ended.of(InteractionClosed) if each.outcome == "allowed"]
    assert closed.id in {each.id for each in ended.of(InteractionOpened)}


def check_coordinator(team: Team, branch: list[Envelope]) -> None:
    """It had its own tools only, and was told of the two that ended by themselves."""
    own = [each for each in team.model.requests if each.scenario in ("first", "second")]
    assert all(
        [tool["name"] for tool in each.body["tools"]] == ["Agent", "AskUserQuestion", "SendMessage", "TaskStop"]
        for each in own
    )
    notices = [
        text_of(each.event.blocks)
        for each in branch
        if not each.agent and isinstance(each.event, Prompted) and each.event.why == "background"
    ]
    assert sorted(next(s for s in ("failed", "completed") if f"<status>{s}</status>" in text) for text in notices) == [
        "completed",
        "failed",
    ]
    read = str(own[-1].body["messages"])
    assert "Noted." in read
    assert "the model cannot do this" in read


def ends(frames: list[Frame]) -> dict[str, str]:
    found = [frame for frame in frames if frame.get("subtype") == "task_notification"]
    return {frame["task_id"]: frame["status"] for frame in found}


@pytest.mark.parametrize("number", range(4))
async def test_a_team_killed_while_any_entry_is_stored_goes_on(team: Team, number: int) -> None:
    """The entries of all agents are in one log: wherever it is torn, no effect happens twice and all come to an end."""
    choose = chooser("team", number)
    entry = choose.randint(12, 50)
    print(f"torn in entry {entry}")
    team.may_answer = team.fails = True
    for gate in (team.last_gate, team.stopping):
        gate.open()
    rule = TORN_AT.format(number=entry, part=choose.random(), short=0)
    victim = await team.begin("--session-id", team.session, program=interposed(team.folder / "bobstay", rule))
    try:
        victim.send(initialize(), prompt(team.first))
        await victim.dead()
    finally:
        await victim.kill()
    await victim.leaves_nobody()
    remains = read_remains(team.folder, team.session)
    assert len(remains.branch) == entry - 1
    assert all(count == 1 for count in team.effects().values())
    before = {event.reply.call_id for event in remains.of(ToolDone) if not event.interrupted}
    again = await team.begin("--resume", team.session)
    goon = team.model.play("goon", Step(blocks=[Say("I wait.")]), Step(blocks=[Say("Told.")]))
    try:
        again.send(initialize(), prompt(goon))
        await again.until("result")
        assert await again.end() == 0
        await again.leaves_nobody()
    finally:
        await again.kill()
    ended = read_remains(team.folder, team.session)
    assert ended.branch[: len(remains.branch)] == remains.branch
    assert {each.id for each in ended.of(AgentStarted)} == {each.id for each in ended.of(AgentEnded)}
    assert all(count == 1 for count in team.effects().values()), team.effects()
    assert before <= {event.reply.call_id for event in ended.of(ToolDone)}
