"""Questions of MCP servers in the console: an interaction like any other, with the server's own schema (H8-4)."""

import json
from typing import Any

import pytest

from bobstay.assembly import session_servers
from bobstay.model.event import InteractionClosed, ToolDone
from bobstay.server.sessions.session_view import SessionView
from tests.kit.consoles import RunningConsole
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"
STEPS = (Step(blocks=[Call("mcp__srv__ask", {}, "m1")]), Step(blocks=[Say("done")]))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not decide whether a server is there in time."""
    for name in ("FIRST_WAIT", "NAMED_WAIT"):
        monkeypatch.setattr(session_servers, name, DEADLINE)


async def asked(server: RunningConsole, model: ModelServer) -> SessionView:
    config = {"mcpServers": {"srv": scripted_entry()}}
    id = await server.launch(model.play("ask", *STEPS), mcp_config=config, allowed_tools=["mcp__srv"])
    return await server.until_status(id, "waiting_input")


async def decide(server: RunningConsole, view: SessionView, **body: Any) -> None:
    entry = view.interactions[0]
    reply = await server.post(f"{API}/interactions/{entry.id}/decision", {"input_sha256": entry.input_sha256, **body})
    assert reply.status == 200, reply.body


def reported(server: RunningConsole, id: str) -> Any:
    reply = next(event for event in server.events(id) if isinstance(event, ToolDone))
    return json.loads(reply.reply.text)


async def test_a_server_asks_and_gets_what_a_person_typed(server: RunningConsole, model: ModelServer) -> None:
    view = await asked(server, model)
    (item,) = (await server.get(f"{API}/interactions")).json["interactions"]
    given = item["opened"]["call"]
    assert (item["opened"]["kind"], given["name"]) == ("question", "Elicitation")
    assert given["input"]["mcp_server_name"] == "srv"
    assert given["input"]["message"] == "Your name?"
    assert given["input"]["requested_schema"]["properties"] == {"name": {"type": "string"}}
    await decide(server, view, decision="answer", answers={"action": "accept", "content": {"name": "Ada"}})
    await server.until_status(view.id, "completed")
    assert reported(server, view.id) == {"action": "accept", "content": {"name": "Ada"}}
    closed = [event for event in server.events(view.id) if isinstance(event, InteractionClosed)]
    assert [(event.outcome, event.by, event.input) for event in closed] == [("allowed", "ada", None)]


@pytest.mark.parametrize(
    ("body", "action"),
    [
        ({"decision": "answer", "answers": {"action": "decline"}}, "decline"),
        ({"decision": "deny"}, "decline"),
        ({"decision": "answer", "answers": {"action": "cancel"}}, "cancel"),
        ({"decision": "answer", "answers": {"action": "nonsense", "content": {"name": "x"}}}, "cancel"),
    ],
    ids=["declined", "denied", "cancelled", "nonsense"],
)
async def test_a_question_can_be_declined_and_cancelled(
    server: RunningConsole, model: ModelServer, body: Any, action: str
) -> None:
    view = await asked(server, model)
    await decide(server, view, **body)
    await server.until_status(view.id, "completed")
    assert reported(server, view.id)["action"] == action


async def test_an_interrupt_withdraws_the_question(server: RunningConsole, model: ModelServer) -> None:
    view = await asked(server, model)
    assert (await server.post(f"{API}/sessions/{view.id}/interrupt")).status == 200
    ended = await server.until(view.id, lambda view: view.status == "interrupted" and not view.interactions)
    assert ended.interactions == ()
    assert (await server.get(f"{API}/interactions")).json["interactions"] == []
