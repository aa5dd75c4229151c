"""A session of an external engine that is resumed in a terminal and back: one conversation, one history."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from bobstay.model.event import Prompted, RunDone, TurnStarted
from bobstay.model.message import text_of
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.sessions.claude_paths import project_directory
from tests.kit.consoles import RunningConsole
from tests.kit.process_sessions import FAKE
from tests.modelserver.server import ModelServer

SESSION = "11111111-2222-4333-8444-555555555555"
"""As the small engine calls its talk."""
WRITER = """
import datetime, json, os, sys
path, talk, secret = sys.argv[1:]
now = datetime.datetime.now(datetime.timezone.utc).isoformat()
common = {"timestamp": now, "cwd": os.getcwd(), "sessionId": talk}
user = {"type": "user", "uuid": "00000000-0000-4000-8000-00000000000a", "parentUuid": None, **common}
user["message"] = {"role": "user", "content": "said in the terminal"}
model = {"type": "assistant", "uuid": "00000000-0000-4000-8000-00000000000b", "parentUuid": user["uuid"], **common}
content = [{"type": "text", "text": "heard in the terminal " + secret}]
usage = {"input_tokens": 3, "output_tokens": 4}
model["message"] = {"id": "msg_t", "role": "assistant", "model": "fake-1", "content": content, "usage": usage,
                    "stop_reason": "end_turn"}
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "w") as file:
    file.write(json.dumps(user) + "\\n" + json.dumps(model) + "\\n")
"""
"""What the engine's own terminal leaves: a person said something there, and was answered."""


def claude(folder: Path, work: Path, secret: str, wait_for: Path | None = None) -> tuple[str, ...]:
    """A program of this name: with `--resume` alone a terminal, else the small engine of the process tests.

    The terminal stays until there is a file `wait_for`, if one is named.
    """
    writer = folder / "writer.py"
    writer.write_text(WRITER)
    transcript = Path(project_directory(str(folder / ".claude"), str(work)), f"{SESSION}.jsonl")
    conversation = shlex.join((sys.executable, "-S", str(writer), str(transcript)))
    program = folder / "claude"
    wait = f"while [ ! -e {shlex.quote(str(wait_for))} ]; do sleep 0.05; done; " if wait_for is not None else ""
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --resume ]; then {wait}exec {conversation} "$2" {secret}; fi\n'
        f'exec {shlex.join(FAKE)} "$@"\n'
    )
    program.chmod(0o755)
    return (str(program),)


def kinds(events: list[Any]) -> list[str]:
    """The order of what matters here. When a process says that it is ready, before its prompt or after it, does not."""
    reported = ((WorkerStarted, "started"), (WorkerExited, "exited"), (Prompted, "said"), (RunDone, "done"))
    found = [
        f"{word} {getattr(event, 'kind', '')}".strip()
        for event in events
        for kind, word in reported
        if isinstance(event, kind)
        and not (isinstance(event, WorkerStarted) and event.kind == "process" and event.ready)
    ]
    return [word for server, word in enumerate(found) if server == 0 or found[server - 1] != word]


async def test_a_talk_goes_on_in_a_terminal_and_comes_back_with_both_histories(
    model: ModelServer, tmp_path: Path
) -> None:
    """S004-35, S004-36"""
    folder = tmp_path.resolve()
    secret = "sk-ant-this-is-a-dummy-key-for-tests"
    async with RunningConsole(model, folder, engines={"claude": claude(folder, folder / "work", secret)}) as server:
        TrustStore(server.environment.paths.bobstay).put(str(server.work), executable_parts(str(server.work)))
        id = await server.launch("echo one", engine="claude")
        await server.until_status(id, "completed")
        opened = await server.post(f"/api/v1/sessions/{id}/terminals", {"resume": True})
        assert opened.status == 201, opened.body
        assert {"process": "stopped"}.items() <= {one.kind: one.state for one in server.view(id).workers}.items()
        view = await server.until(id, lambda view: view.turns == 2 and view.status == "completed")
        assert (view.last_prompt, view.usage.output) == ("said in the terminal", 11)
        terminal = next(worker for worker in view.workers if worker.kind == "terminal")
        assert terminal.engine_session == SESSION

        sent = await server.post(f"/api/v1/sessions/{id}/messages", {"content": "argv"})
        assert sent.status == 202
        await server.until(id, lambda view: view.turns == 3 and view.status == "completed")
        session = server.registry.reader(id)
        events = [envelope.event for envelope in session.read()]
        flags = json.loads(next(event.text for event in reversed(events) if isinstance(event, RunDone)))
        assert flags[flags.index("--resume") + 1] == SESSION
        assert [event.turn for event in events if isinstance(event, TurnStarted)] == [1, 2, 3], "nothing twice"
        assert kinds(events) == [
            *("started process", "said", "done", "exited process"),
            *("started terminal", "exited terminal", "said", "done"),
            *("started process", "said", "done"),
        ]
        log = Path(server.store.path(id)).read_text()
        assert "heard in the terminal [masked API key]" in log
        assert secret not in log


async def test_an_agent_that_was_started_while_the_terminal_was_open_is_started_anew_after_it(
    model: ModelServer, tmp_path: Path
) -> None:
    """S004-36: it would not know what was said there."""
    folder = tmp_path.resolve()
    async with RunningConsole(model, folder, engines={"claude": claude(folder, folder / "work", "")}) as server:
        TrustStore(server.environment.paths.bobstay).put(str(server.work), executable_parts(str(server.work)))
        id = await server.launch("echo one", engine="claude")
        await server.until_status(id, "completed")
        session = await server.registry.acquire(id)
        session.record(WorkerStarted("terminal-1", "terminal", engine_session=SESSION))
        session.record(WorkerExited("terminal-1", "terminal"))
        await server.post(f"/api/v1/sessions/{id}/messages", {"content": "argv"})
        view = await server.until(id, lambda view: view.turns == 2 and view.status == "completed")
        assert [one.epoch for one in view.workers if one.kind == "process"] == [2]


async def test_what_was_said_in_the_terminal_does_not_end_a_turn_that_runs_beside_it(
    model: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path.resolve()
    engine = claude(folder, folder / "work", "openly", wait_for=folder / "leave")
    async with RunningConsole(model, folder, engines={"claude": engine}) as server:
        TrustStore(server.environment.paths.bobstay).put(str(server.work), executable_parts(str(server.work)))
        id = await server.launch("echo one", engine="claude")
        await server.until_status(id, "completed")
        await server.post(f"/api/v1/sessions/{id}/terminals", {"resume": True})
        await server.post(f"/api/v1/sessions/{id}/messages", {"content": "hold"})
        await server.until(id, lambda view: bool(view.open_calls))
        (folder / "leave").touch()
        await server.until(
            id, lambda view: any(one.kind == "terminal" and one.state == "exited" for one in view.workers)
        )
        await server.auxiliary_workers.wait_until_recorded()
        assert (server.view(id).status, server.view(id).turns) == ("running", 2)
        await server.post(f"/api/v1/sessions/{id}/kill", {})
        await server.post(f"/api/v1/sessions/{id}/messages", {"content": "echo three"})
        await server.until(id, lambda view: view.turns == 4 and view.status == "completed")
        events = [envelope.event for envelope in server.registry.reader(id).read()]
        received = [text_of(event.blocks) for event in events if isinstance(event, Prompted)]
        assert received == ["echo one", "hold", "said in the terminal", "echo three"]


async def test_secrets_of_the_session_alone_are_masked_in_what_comes_back(model: ModelServer, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    secret = "9f8e7d6c5b4a39281706"
    async with RunningConsole(model, folder, engines={"claude": claude(folder, folder / "work", secret)}) as server:
        TrustStore(server.environment.paths.bobstay).put(str(server.work), executable_parts(str(server.work)))
        id = await server.launch("echo one", engine="claude", env={"SHOP_API_TOKEN": secret})
        await server.until_status(id, "completed")
        await server.post(f"/api/v1/sessions/{id}/terminals", {"resume": True})
        await server.until(id, lambda view: view.turns == 2 and view.status == "completed")
        log = Path(server.store.path(id)).read_text()
        assert "heard in the terminal" in log
        assert secret not in log
