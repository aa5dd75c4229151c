"""Flags of `bobstay serve` and fields of a session that configure external engines, over the real API."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from tests.kit.process_sessions import FAKE
from tests.kit.served_console import ServedConsole

LEFT = ("server", "temporary", "mcp-of-a-server-that-crashed.json")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    folder: Path = tmp_path_factory.mktemp("flags")
    left = folder.joinpath("bobstay", *LEFT)
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    options = ("--engine", f"fake={shlex.join(FAKE)}", "--own-login", "--questions", "hook")
    server = ServedConsole(folder, *options, PORT="0", ANTHROPIC_API_KEY="sk-ant-dummy", MINE="kept")
    TrustStore(str(folder / "bobstay")).put(str(server.work), executable_parts(str(server.work)))
    server.start()
    yield server
    server.stop()


def answered(served: ServedConsole, prompt: str, **config: Any) -> Any:
    """The words of the answer to `prompt`, as JSON."""
    id = served.launch(prompt, engine="fake", **config)
    served.until(id, "completed")
    return json.loads(last_message(served, id))


def last_message(served: ServedConsole, id: str) -> str:
    events = served.get(f"/sessions/{id}/events")["events"]
    return next(str(each["event"]["text"]) for each in reversed(events) if each["event"]["type"] == "run_done")


def test_the_port_is_that_of_the_environment(served: ServedConsole) -> None:
    """S000-54"""
    assert "--port" not in Path(f"/proc/{served.process.pid if served.process else 0}/cmdline").read_text()
    assert served.port not in (0, 3001)


def test_files_that_a_crashed_server_left_are_gone_when_the_next_one_is_up(served: ServedConsole) -> None:
    """S000-7: they may hold secrets."""
    left = served.folder.joinpath("bobstay", *LEFT)
    assert left.parent.is_dir()
    assert not left.exists()


def test_with_its_own_login_an_engine_gets_no_key(served: ServedConsole) -> None:
    """S003-6"""
    seen = answered(served, "environment")
    assert seen["MINE"] == "kept"
    assert "ANTHROPIC_API_KEY" not in seen


def test_a_question_comes_by_the_hook_where_the_server_is_told_so(served: ServedConsole) -> None:
    """S004-22"""
    id = served.launch("ask hook", engine="fake")
    served.until(id, "waiting_input")
    (item,) = [item for item in served.inbox() if item["session_id"] == id]
    assert item["summary"]["kind"] == "question"
    served.decide(item, "answer", answers={"Which colour?": "Blue"})
    served.until(id, "completed")
    (answer,) = json.loads(last_message(served, id))
    assert answer["response"]["reason"] == "The user answered:\nWhich colour?: Blue"


def test_an_engine_can_be_started_once_for_each_prompt(served: ServedConsole) -> None:
    """S000-3, S000-4: all flags first, then the query, which is none."""
    id = served.launch("argv --help me", engine="fake", live=False)
    served.until(id, "completed")
    flags = json.loads(last_message(served, id))
    assert flags[-3:] == ["--print", "--", "argv --help me"]
    assert flags[:3] == ["--output-format", "stream-json", "--verbose"]
    served.post(f"/sessions/{id}/messages", {"content": "argv again"})
    assert served.until_turn(id, 2)["workers"][0]["epoch"] == 2
    assert "--resume" in json.loads(last_message(served, id))


def test_the_form_of_an_engines_output_can_be_chosen(served: ServedConsole) -> None:
    """S000-2"""
    flags = answered(served, "argv", live=False, output_format="json")
    assert flags[:2] == ["--output-format", "json"]


def test_an_ephemeral_session_is_run_without_a_trace(served: ServedConsole) -> None:
    """S003-4, S003-40"""
    assert "--no-session-persistence" in answered(served, "argv", ephemeral=True)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"engine": "native", "live": False}, "live"),
        ({"engine": "fake", "output_format": "text"}, "output_format"),
        ({"engine": "native", "output_format": "json"}, "output_format"),
    ],
)
def test_what_makes_no_sense_together_is_refused_with_the_field_to_blame(
    served: ServedConsole, config: dict[str, Any], field: str
) -> None:
    status, output, _ = served.raw("POST", "/sessions", {"cwd": str(served.work), "prompt": "x", **config})
    assert (status, output["error"]["code"], output["error"]["details"]["field"]) == (422, "invalid", field)
