"""Sub-agents and background commands as a session lists them: states, Stop, who asks (H7-1, H2-8)."""

from typing import Any

from bobstay.model.agent_events import AgentEnded
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.server.sessions.background_view import BackgroundView
from bobstay.server.sessions.session_view import SessionView
from tests.kit.consoles import RunningConsole, StartConsole
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"
WAIT = "until [ -e go ]; do sleep 0.01; done"
IN_BACKGROUND = {"command": WAIT, "description": "Wait for go", "run_in_background": True}


def agent(prompt: str, id: str, **more: Any) -> Call:
    return Call("Agent", {"description": f"look at {id}", "subagent_type": "Explore", "prompt": prompt, **more}, id)


def writer(prompt: str) -> Call:
    return agent(prompt, "a1", subagent_type="general-purpose")


def only(view: SessionView) -> BackgroundView:
    (item,) = view.background
    return item


def has_state(state: str) -> Any:
    return lambda view: [each.state for each in view.background] == [state]


async def started_command(server: RunningConsole, model: ModelServer) -> SessionView:
    steps = [Step(blocks=[Call("Bash", IN_BACKGROUND, "b")]), Step(blocks=[Say("It runs.")])]
    id = await server.launch(model.play("bg", *steps), allowed_tools=["Bash"])
    return await server.until(id, lambda view: view.status == "completed" and bool(view.background))


async def test_a_background_command_is_listed_and_stopped(server: RunningConsole, model: ModelServer) -> None:
    view = await started_command(server, model)
    item = only(view)
    assert (item.kind, item.title, item.state, item.call_id) == ("command", "Wait for go", "running", "b")
    assert item.started_at > 0
    shown = (await server.get(f"{API}/sessions/{view.id}")).json["background"]
    assert [each["id"] for each in shown] == [item.id]
    reply = await server.post(f"{API}/sessions/{view.id}/background/{item.id}/stop")
    assert reply.status == 200, reply.body
    stopped = only(await server.until(view.id, has_state("killed")))
    assert stopped.ended_at >= stopped.started_at
    ended = [event for event in server.events(view.id) if isinstance(event, BackgroundEnded)]
    assert [(event.status, event.tell) for event in ended] == [("killed", "next_turn")]
    again = await server.post(f"{API}/sessions/{view.id}/background/{item.id}/stop")
    assert (again.status, again.json["error"]["code"]) == (409, "wrong_state")
    unknown = await server.post(f"{API}/sessions/{view.id}/background/nothing/stop")
    assert unknown.status == 404


async def test_stopping_needs_the_scope_and_is_audited(server: RunningConsole, model: ModelServer) -> None:
    view = await started_command(server, model)
    path = f"{API}/sessions/{view.id}/background/{only(view).id}/stop"
    refused = await server.post(path, headers=await server.token("read", "approve"))
    assert refused.status == 403
    assert only(server.view(view.id)).state == "running"
    assert (await server.post(path, headers=await server.token("operate"))).status == 200
    audit = (await server.get(f"{API}/audit?session_id={view.id}")).json["entries"]
    assert "stop_in_background" in [entry["what"] for entry in audit]


async def test_the_list_is_the_same_in_the_next_life_of_the_server(
    model: ModelServer, start_console: StartConsole
) -> None:
    first = await start_console()
    steps = [Step(blocks=[Call("Bash", IN_BACKGROUND, "b")]), Step(blocks=[Say("It runs.")])]
    view = await first.launch(model.play("bg", *steps), allowed_tools=("Bash",))
    await first.until(view.id, lambda view: view.status == "completed" and bool(view.background))
    await first.close()
    second = await start_console()
    item = only(second.view(view.id))
    assert (item.title, item.state) == ("Wait for go", "lost"), "the command ended with the server that ran it"
    await second.say(view.id, model.play("next", Step(blocks=[Say("I see.")])))
    await second.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    assert [each.state for each in second.view(view.id).background] == ["lost"]


async def test_an_agent_in_the_background_is_listed_and_stopped(server: RunningConsole, model: ModelServer) -> None:
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("Found.")], gate=gate))
    parent = model.play("parent", Step(blocks=[agent(child, "a1")]), Step(blocks=[Say("It works.")]))
    id = await server.launch(parent)
    view = await server.until(id, lambda view: view.status == "completed")
    item = only(view)
    assert (item.kind, item.agent_type, item.title, item.state) == ("agent", "Explore", "look at a1", "running")
    assert item.call_id == "a1"
    await gate.reached()
    assert (await server.post(f"{API}/sessions/{id}/background/{item.id}/stop")).status == 200
    await server.until(id, has_state("killed"))
    assert [event.status for event in server.events(id) if isinstance(event, AgentEnded)] == ["killed"]
    gate.open()


async def test_a_command_of_a_sub_agent_can_be_stopped_too(server: RunningConsole, model: ModelServer) -> None:
    child = model.play(
        "child", Step(blocks=[Call("Bash", IN_BACKGROUND, "b")]), Step(blocks=[Say("ok")]), Step(blocks=[Say("ended")])
    )
    parent = model.play("parent", Step(blocks=[agent(child, "a1")]), Step(blocks=[Say("It works.")]))
    id = await server.launch(parent, allowed_tools=["Bash"])
    view = await server.until(id, lambda view: any(each.kind == "command" for each in view.background))
    command = next(each for each in view.background if each.kind == "command")
    starter = next(each for each in view.background if each.kind == "agent")
    assert command.agent == starter.id
    started = next(event for event in server.events(id) if isinstance(event, BackgroundStarted))
    assert (await server.post(f"{API}/sessions/{id}/background/{started.id}/stop")).status == 200
    await server.until(id, lambda view: all(each.state != "running" for each in view.background))
    states = {each.kind: each.state for each in server.view(id).background}
    assert states == {"command": "killed", "agent": "completed"}


async def test_an_agent_that_its_call_waits_for_is_listed_while_it_runs(
    server: RunningConsole, model: ModelServer
) -> None:
    gate = Gate()
    child = model.play("child", Step(blocks=[Say("Found.")], gate=gate))
    call = agent(child, "a1", run_in_background=False)
    id = await server.launch(model.play("parent", Step(blocks=[call]), Step(blocks=[Say("Done.")])))
    await gate.reached()
    assert only(server.view(id)).is_awaited
    gate.open()
    assert (await server.until_status(id, "completed")).background == ()


async def test_who_asks_is_named_and_outlasts_the_turn_of_the_session(
    server: RunningConsole, model: ModelServer
) -> None:
    """H2-8: the request of an agent in the background stays open when the turn of its session ends."""
    write = Call("Write", {"file_path": "b.txt", "content": "b"}, "w")
    child = model.play("child", Step(blocks=[write]), Step(blocks=[Say("Written.")]))
    steps = [Step(blocks=[writer(child)]), Step(blocks=[Say("It works.")]), Step(blocks=[Say("All done.")])]
    id = await server.launch(model.play("parent", *steps))
    waiting = await server.until(id, lambda view: view.turns == 1 and view.ended_at > 0 and bool(view.interactions))
    assert (waiting.status, waiting.activity) == ("waiting_input", "asking")
    (asked,) = waiting.interactions
    assert asked.agent_name == "general-purpose: look at a1"
    listed = (await server.get(f"{API}/interactions")).json["interactions"]
    assert [each["summary"]["agent_name"] for each in listed] == ["general-purpose: look at a1"]
    body = {"decision": "allow", "input_sha256": asked.input_sha256}
    assert (await server.post(f"{API}/interactions/{asked.id}/decision", body)).status == 200
    done = await server.until(id, lambda view: view.status == "completed" and view.turns == 2)
    assert (server.work / "b.txt").read_text() == "b"
    assert done.interactions == ()


async def test_waiting_in_the_background_takes_no_place_and_frees_none_twice(
    server: RunningConsole, model: ModelServer
) -> None:
    write = Call("Write", {"file_path": "b.txt", "content": "b"}, "w")
    child = model.play("child", Step(blocks=[write]), Step(blocks=[Say("Written.")]))
    steps = [Step(blocks=[writer(child)]), Step(blocks=[Say("It works.")]), Step(blocks=[Say("All done.")])]
    id = await server.launch(model.play("parent", *steps))
    waiting = await server.until(id, lambda view: view.ended_at > 0 and bool(view.interactions))
    numbers = (await server.get("/metrics")).body
    assert b"bobstay_slots_running 0" in numbers
    entry = waiting.interactions[0]
    body = {"decision": "deny", "input_sha256": entry.input_sha256}
    assert (await server.post(f"{API}/interactions/{entry.id}/decision", body)).status == 200
    await server.until(id, lambda view: view.status == "completed" and view.turns == 2)
    assert b"bobstay_slots_running 0" in (await server.get("/metrics")).body
