"""The whole console over HTTP: launch, watch, approve, ask, stop and continue, with native and external engines."""

import http.client
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.kit.program import ORACLE
from tests.kit.repositories import repository
from tests.kit.served_console import ServedConsole
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Create a file"}, "toolu_1")
WANTED = {"session.created", "worker.started", "message.user", "tool.call", "tool.result", "message.assistant"}
ENGINES = ["native", pytest.param("claude", marks=pytest.mark.skipif(not os.path.exists(ORACLE), reason="no claude"))]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def served(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    folder: Path = tmp_path_factory.mktemp("served")
    with ServedConsole(folder, "--engine", f"claude={ORACLE}", model=model) as server:
        repository(server.work)
        yield server


@pytest.fixture
def socket(served: ServedConsole) -> Iterator[ClientConnection]:
    url = f"ws://127.0.0.1:{served.port}/api/v1/ws"
    headers = {"Cookie": served.cookie}
    origin: Any = f"http://127.0.0.1:{served.port}"
    with connect(url, additional_headers=headers, origin=origin, compression=None) as made:
        made.send(json.dumps({"type": "hello", "protocol": 1}))
        yield made


def frames(socket: ClientConnection, last: str) -> list[dict[str, Any]]:
    """All frames up to the first of a type, and those that came in one message with it."""
    found: list[dict[str, Any]] = []
    while not any(frame["type"] == last for frame in found):
        found += json.loads(socket.recv(DEADLINE))
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_an_approval_is_seen_given_and_carried_out(
    served: ServedConsole, model: ModelServer, socket: ClientConnection, engine: str
) -> None:
    """S000-91: from a message to a call that runs, with every step on the stream."""
    made = served.work / "made.txt"
    made.unlink(missing_ok=True)
    prompt = model.play(f"approve-{engine}", Step(blocks=[TOUCH]), Step(blocks=[Say("Made.")]))
    id = served.launch(f"{prompt} go", engine=engine)
    socket.send(json.dumps({"type": "subscribe", "topic": f"session:{id}", "after": 0}))
    seen = frames(socket, "interaction.opened")
    assert not made.exists()
    item = next(item for item in served.inbox() if item["session_id"] == id)
    assert item["opened"]["call"]["input"]["command"] == "touch made.txt"
    served.decide(item)
    seen += frames(socket, "turn.completed")
    assert made.exists()
    types = [frame["type"] for frame in seen]
    assert set(types) >= WANTED
    seqs = [frame["seq"] for frame in seen if "seq" in frame]
    assert seqs == list(range(1, len(seqs) + 1)), "no hole, nothing twice"
    assert served.until(id, "completed")["cost"] >= 0
    served.raw("POST", f"/sessions/{id}/interrupt")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_question_is_answered(served: ServedConsole, model: ModelServer, engine: str) -> None:
    """S004-21..24."""
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asked = {"questions": [{"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}]}
    prompt = model.play(
        f"question-{engine}", Step(blocks=[Call("AskUserQuestion", asked, "toolu_q")]), Step(blocks=[Say("Fine.")])
    )
    id = served.launch(f"{prompt} go", engine=engine)
    served.until(id, "waiting_input")
    item = next(item for item in served.inbox() if item["session_id"] == id)
    assert item["summary"]["kind"] == "question"
    served.decide(item, "answer", answers={"Which colour?": "Blue"})
    served.until(id, "completed")
    sent = json.dumps([request.body["messages"] for request in model.requests[-1:]])
    assert "Blue" in sent


@pytest.mark.parametrize("engine", ENGINES)
def test_a_turn_is_stopped_and_gone_on_with(served: ServedConsole, model: ModelServer, engine: str) -> None:
    """S000-25, S000-90: the context is kept."""
    gate = Gate()
    prompt = model.play(f"stop-{engine}", Step(blocks=[Say("Long words.")], gate=gate))
    id = served.launch(f"{prompt} remember the word lighthouse", engine=engine)
    gate.wait_reached()
    served.post(f"/sessions/{id}/interrupt")
    served.until(id, "interrupted")
    gate.open()
    more = model.play(f"more-{engine}", Step(blocks=[Say("Going on.")]))
    served.post(f"/sessions/{id}/messages", {"content": more})
    served.until(id, "completed")
    assert "lighthouse" in json.dumps(model.requests[-1].body["messages"])


def test_deciding_twice_tells_the_second_what_the_first_said(served: ServedConsole, model: ModelServer) -> None:
    """FM-36 over HTTP."""
    id = served.launch(model.play("twice", Step(blocks=[TOUCH]), Step(blocks=[Say("ok")])))
    served.until(id, "waiting_input")
    item = next(item for item in served.inbox() if item["session_id"] == id)
    served.decide(item, "deny", reason="not today")
    body = {"decision": "allow", "input_sha256": item["summary"]["input_sha256"]}
    status, reply, _ = served.raw("POST", f"/interactions/{item['summary']['id']}/decision", body)
    assert (status, reply["error"]["code"]) == (409, "already_answered")
    assert reply["error"]["details"]["outcome"]["outcome"] == "denied"
    served.until(id, "completed")
    assert "not today" in json.dumps(model.requests[-1].body["messages"])


def test_the_transcript_is_paged_searched_and_gone_when_deleted(served: ServedConsole, model: ModelServer) -> None:
    listing = Call("Bash", {"command": "ls"}, "toolu_l")
    id = served.launch(model.play("zebra", Step(blocks=[listing]), Step(blocks=[Say("A zebracorn was seen.")])))
    served.until(id, "completed")
    page = served.get(f"/sessions/{id}/rows?limit=2")
    assert len(page["rows"]) == 2
    assert page["rows"][0]["seq"] > page["rows"][1]["seq"]
    assert served.get(f"/sessions/{id}/rows?limit=2&before={page['before']}")["rows"]
    assert served.get(f"/sessions/{id}/calls/toolu_l")["status"] == "completed"
    assert id in json.dumps(served.get("/search?q=zebracorn"))
    served.ask("DELETE", f"/sessions/{id}")
    assert served.raw("GET", f"/sessions/{id}")[0] == 404
    assert id not in json.dumps(served.get("/search?q=zebracorn"))


def test_what_is_asked_about_comes_letter_by_letter(served: ServedConsole, model: ModelServer) -> None:
    """FM-38, the server's side: nothing is hidden, cut or tidied between the model and whoever decides."""
    command = "echo \u202egnp.exe\u200b \x1b[31m<b>**x**</b> " + "a" * 5_000 + " # $(touch pwned)"
    prompt = model.play("odd", Step(blocks=[Call("Bash", {"command": command}, "toolu_o")]), Step(blocks=[Say("ok")]))
    id = served.launch(prompt)
    served.until(id, "waiting_input")
    item = next(item for item in served.inbox() if item["session_id"] == id)
    assert item["opened"]["call"]["input"] == {"command": command}
    served.decide(item, "deny")
    served.until(id, "completed")


def test_what_is_too_much_is_refused_before_it_is_taken_in(served: ServedConsole) -> None:
    """FM-57: 50 MB of JSON, announced or not, a page of a million events, nesting without end."""
    id = served.launch("")
    many = f'{{"content": "{"x" * 50_000_000}"}}'.encode()
    for body, length in ((b"", len(many)), (many, None)):  # told how long it would be, or in pieces
        status, reply = sent(served, f"/sessions/{id}/messages", body, length)
        assert (status, reply["error"]["code"]) == (413, "too_large")
    deep = b'{"cwd": "/", "mcp_config": {"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}"
    status, reply = sent(served, "/sessions", deep, len(deep))
    assert (status, reply["error"]["code"]) == (400, "invalid_json")
    log = Path(served.variables["BOBSTAY_HOME"]) / "sessions" / f"{id}.jsonl"
    head = json.loads(log.read_bytes().splitlines()[-1])
    with log.open("a") as file:
        for number in range(3_000):
            event = {"type": "noted", "text": f"{number}"}
            file.write(json.dumps({**head, "seq": head["seq"] + 1 + number, "id": f"more-{number}", "event": event}))
            file.write("\n")
    status, reply, _ = served.raw("GET", f"/sessions/{id}/events?limit=1000000")
    assert (status, reply["error"]["details"]["maximum"]) == (422, 2_000)
    assert len(served.get(f"/sessions/{id}/events?limit=2000")["events"]) == 2_000
    assert served.get(f"/sessions/{id}")["status"] == "draft"


def sent(served: ServedConsole, path: str, body: bytes, length: int | None) -> tuple[int, Any]:
    """A request that says how long its body is, or else sends it in pieces; who is refused need not send all."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=DEADLINE)
    headers = {"Origin": f"http://127.0.0.1:{served.port}", "Cookie": served.cookie, "Content-Type": "application/json"}
    pieces = (body[offset : offset + 65_536] for offset in range(0, len(body), 65_536))
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            if length is None:
                connection.request("POST", f"/api/v1{path}", pieces, headers, encode_chunked=True)
            else:
                connection.request("POST", f"/api/v1{path}", body, {**headers, "Content-Length": str(length)})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_allowing_for_good_is_remembered(served: ServedConsole, model: ModelServer) -> None:
    first = served.launch(model.play("always", Step(blocks=[TOUCH]), Step(blocks=[Say("ok")])))
    served.until(first, "waiting_input")
    item = next(item for item in served.inbox() if item["session_id"] == first)
    served.decide(item, scope="user")
    served.until(first, "completed")
    rules = served.get(f"/permission-rules?cwd={served.work}")["rules"]
    assert any("touch" in rule["rule"] for rule in rules), rules
    for rule in rules:
        if "touch" in rule["rule"]:
            change = {"cwd": str(served.work), "rule": rule["rule"], "behavior": "allow", "scope": "user"}
            served.ask("DELETE", "/permission-rules", change)


@pytest.mark.skipif(not os.path.exists(ORACLE), reason="no claude")
def test_hooks_of_a_directory_wait_for_trust_with_an_external_engine(served: ServedConsole, model: ModelServer) -> None:
    """The same engine takes them up at the next message after the person trusted the directory."""
    folder, ran = served.work / "cloned", served.folder / "hook-ran"
    (folder / ".claude").mkdir(parents=True)
    hook = {"matcher": "", "hooks": [{"type": "command", "command": f"touch {ran}"}]}
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [hook]}}))
    prompt = model.play("cloned", *(Step(blocks=[Say("Fine.")]) for _ in range(2)))
    id = served.launch(f"{prompt} go", engine="claude", cwd=str(folder))
    served.until(id, "completed")
    assert not ran.exists()
    notes = [entry["event"] for entry in served.get(f"/sessions/{id}/events")["events"]]
    assert [note["level"] for note in notes if "not trusted" in note.get("text", "")] == ["warning"]
    served.post("/trust", {"cwd": str(folder)})
    served.post(f"/sessions/{id}/messages", {"content": f"{prompt} again"})
    served.until_turn(id, 2)
    assert ran.exists()


def test_a_directory_is_trusted_and_its_rules_count_then(served: ServedConsole) -> None:
    query = f"cwd={served.work}"
    assert not served.get(f"/trust?{query}")["trusted"]
    assert served.post("/trust", {"cwd": str(served.work)})["trusted"]
    change = {"cwd": str(served.work), "rule": "Bash(make:*)", "behavior": "allow", "scope": "local"}
    listed = served.post("/permission-rules", change)
    assert listed["trusted"], "what a person adds here does not end the trust"
    assert "Bash(make:*)" in [rule["rule"] for rule in listed["rules"]]
    assert served.ask("DELETE", "/permission-rules", change)["rules"] == []
    assert not served.ask("DELETE", "/trust", {"cwd": str(served.work)})["trusted"]


def test_a_session_gets_a_work_tree_of_its_own(served: ServedConsole, model: ModelServer) -> None:
    write = Call("Write", {"file_path": "new.txt", "content": "x\n"}, "toolu_w")
    prompt = model.play("tree", Step(blocks=[write]), Step(blocks=[Say("ok")]))
    id = served.launch(prompt, worktree=True, branch="feat/new", permission_mode="acceptEdits")
    view = served.until(id, "completed")
    assert view["cwd"] != str(served.work)
    assert (Path(view["cwd"]) / "new.txt").exists()
    assert not (served.work / "new.txt").exists()
    assert view["config"]["branch"] == "feat/new"
    diff = served.get(f"/sessions/{id}/diff")
    assert [file["path"] for file in diff["files"]] == ["new.txt"]


def test_an_approved_plan_is_carried_out_in_the_chosen_mode(served: ServedConsole, model: ModelServer) -> None:
    prompt = model.play(
        "approved",
        Step(blocks=[Call("ExitPlanMode", {"plan": "# Plan\n1. Make planned.txt"}, "toolu_p")]),
        Step(blocks=[Call("Write", {"file_path": "planned.txt", "content": "x\n"}, "toolu_pw")]),
        Step(blocks=[Say("done")]),
    )
    id = served.launch(prompt, permission_mode="plan")
    served.until(id, "waiting_input")
    item = next(item for item in served.inbox() if item["session_id"] == id)
    assert item["summary"]["kind"] == "plan"
    served.decide(item, mode="acceptEdits")
    assert served.until(id, "completed")["permission_mode"] == "acceptEdits"
    assert (served.work / "planned.txt").read_text() == "x\n"


def test_a_plan_is_handed_to_the_next_mode(served: ServedConsole, model: ModelServer) -> None:
    first = served.launch(model.play("plan", Step(blocks=[Say("# The plan\n1. Do it.")])), workflow="plan")
    served.until(first, "completed")
    (artifact,) = served.get(f"/sessions/{first}/artifacts")["artifacts"]
    assert (artifact["kind"], artifact["title"]) == ("plan", "The plan")
    reference = [{"session_id": first, "id": artifact["id"]}]
    second = served.launch(model.play("carry", Step(blocks=[Say("done")])), workflow="implement", artifacts=reference)
    served.until(second, "completed")
    assert "1. Do it." in json.dumps(model.requests[-1].body["messages"])


def test_a_request_sent_twice_with_its_key_is_done_once(served: ServedConsole, model: ModelServer) -> None:
    body = {"cwd": str(served.work), "prompt": model.play("key", Step(blocks=[Say("ok")]))}
    first, second = (served.raw("POST", "/sessions", body, {"Idempotency-Key": "k-1"}) for _ in range(2))
    assert (first[0], second[0]) == (201, 201)
    assert first[1]["id"] == second[1]["id"]
    other = served.raw("POST", "/sessions", {**body, "title": "other"}, {"Idempotency-Key": "k-1"})
    assert (other[0], other[1]["error"]["code"]) == (409, "conflict")


def test_variables_of_a_session_reach_its_commands_and_nobody_else(served: ServedConsole, model: ModelServer) -> None:
    show = Call("Bash", {"command": "test $API_TOKEN = s3cret-token-value-12345 && echo there"}, "toolu_e")
    prompt = model.play("env", Step(blocks=[show]), Step(blocks=[Say("ok")]))
    body = {"cwd": str(served.work), "prompt": prompt, "env": {"API_TOKEN": "s3cret-token-value-12345"}}
    id = served.post("/sessions", {**body, "allowed_tools": ["Bash"]})["id"]
    served.until(id, "completed")
    assert "there" in json.dumps(model.requests[-1].body["messages"])
    assert "s3cret" not in json.dumps(served.get(f"/sessions/{id}/snapshot")["session"])
    status, reply, _ = served.raw("POST", "/sessions", {**body, "env": {"LD_PRELOAD": "/x.so"}})
    assert (status, reply["error"]["code"]) == (403, "forbidden")


def test_who_did_what_is_written_down(served: ServedConsole, model: ModelServer) -> None:
    id = served.launch(model.play("book", Step(blocks=[Say("ok")])))
    served.until(id, "completed")
    served.ask("PATCH", f"/sessions/{id}", {"title": "for the book"})
    entries = served.get("/audit?limit=50")["entries"]
    mine = [entry for entry in entries if id in json.dumps(entry)]
    assert ("owner", "change") in [(entry["who"], entry["what"]) for entry in mine]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/sessions/unknown", None, 404, "not_found"),
        ("POST", "/sessions", {"cwd": "/nowhere/at/all", "prompt": "x"}, 403, "forbidden"),
        ("POST", "/sessions", {"cwd": 7}, 422, "invalid"),
        ("POST", "/sessions", {"cwd": "/", "prompt": "x", "engine": "none"}, 403, "forbidden"),
        ("GET", "/sessions?limit=many", None, 422, "invalid"),
        ("GET", "/nothing", None, 404, "not_found"),
        ("PUT", "/sessions", {}, 405, "method_not_allowed"),
        ("POST", "/interactions/unknown/decision", {"decision": "allow", "input_sha256": ""}, 404, "not_found"),
    ],
)
def test_bad_requests_are_told_what_to_do(
    served: ServedConsole, method: str, path: str, body: Any, status: int, code: str
) -> None:
    got, reply, _ = served.raw(method, path, body)
    assert (got, reply["error"]["code"]) == (status, code), reply
    assert reply["error"]["message"]
