"""What a session is run with and may be secret: shown to nobody, in no log, gone when the session is (FM-54, FM-56)."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from bobstay.server import session_secrets
from bobstay.server.db.own_tables import session_env
from bobstay.server.errors import ApiError
from tests.kit.consoles import RunningConsole
from tests.modelserver.server import ModelServer

ENGINE = """
import json, sys
path = next((word for word in sys.argv if word.endswith(".json")), "")
seen = open(path).read() if path else "nothing"
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "control_request":
        answer = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
        print(json.dumps({"type": "control_response", "response": answer}), flush=True)
    elif frame["type"] == "user":
        print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": seen,
                          "num_turns": 1, "session_id": "e-1"}), flush=True)
"""
TOKEN, PASSWORD, BEARER = "ghp_" + "aB3d" * 10, "sw0rdf1sh-42-x", "t0ps3cretbearer77"
CONFIG: dict[str, Any] = {
    "gh": {
        "command": "gh-server",
        "env": {"GITHUB_TOKEN": TOKEN, "DB_PASSWORD": PASSWORD},
        "headers": {"Authorization": f"Bearer {BEARER}"},
    }
}


@pytest.fixture
async def both(model: ModelServer, tmp_path: Path) -> AsyncIterator[RunningConsole]:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    async with RunningConsole(model, tmp_path, engines={"other": (sys.executable, "-S", str(script))}) as made:
        TrustStore(made.environment.paths.bobstay).put(str(made.work), executable_parts(str(made.work)))
        yield made


def secrets_in(text: str) -> list[str]:
    return [secret for secret in (TOKEN, PASSWORD, BEARER) if secret in text]


async def test_of_mcp_servers_only_names_are_told_and_stored(both: RunningConsole, tmp_path: Path) -> None:
    """S000-7"""
    id = await both.launch("go", engine="other", mcp_config=CONFIG, env={"MY_TOKEN": "v4r1able-of-its-own"})
    await both.until_status(id, "completed")
    reader = await both.token("read")
    where = f"/api/v1/sessions/{id}"
    for path in ("/api/v1/sessions", where, f"{where}/events", f"{where}/messages", f"{where}/export?format=jsonl"):
        reply = await both.get(path, headers=reader)
        assert secrets_in(reply.text) == [], path
    assert (await both.get(where)).json["config"]["mcp_servers"] == ["gh"]
    logs = [path.read_text() for path in (tmp_path / "bobstay" / "sessions").rglob("*.jsonl")]
    assert [secrets_in(text) for text in logs] == [[] for _ in logs]
    assert any("gh-server" in text for text in logs), "the engine was given the servers"


async def test_a_session_that_goes_on_from_another_has_its_servers(both: RunningConsole) -> None:
    id = await both.launch("go", engine="other", mcp_config=CONFIG)
    await both.until_status(id, "completed")
    child = (await both.post(f"/api/v1/sessions/{id}/continue", {"prompt": "again"})).json["id"]
    await both.until_status(child, "completed")
    assert both.services.secrets is not None
    assert both.services.secrets.mcp_config(child) == CONFIG
    assert both.view(child).config.mcp_servers == ("gh",)


async def test_a_log_of_an_earlier_version_is_shown_without_the_values(model: ModelServer, tmp_path: Path) -> None:
    async with RunningConsole(model, tmp_path) as server:
        id = await server.launch("")
        log = Path(server.store.path(id))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (configured,) = [line for line in lines if line["event"]["type"] == "configured"]
    configured["event"]["config"]["mcp_config"] = CONFIG
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with RunningConsole(model, tmp_path) as server:
        for path in ("", "/events", "/export?format=jsonl"):
            reply = await server.get(f"/api/v1/sessions/{id}{path}")
            assert reply.status == 200
            assert secrets_in(reply.text) == [], path


async def test_what_was_secret_is_not_left_in_the_database_file(both: RunningConsole, tmp_path: Path) -> None:
    value = "v4r1able-of-its-own"
    id = await both.launch("", engine="other", mcp_config=CONFIG, env={"MY_TOKEN": value})
    files = [path for path in (tmp_path / "bobstay" / "server").iterdir() if path.is_file()]
    assert any(value.encode() in path.read_bytes() for path in files)
    assert (await both.ask("DELETE", f"/api/v1/sessions/{id}")).status in (200, 204)
    left = b"".join(path.read_bytes() for path in files if path.exists())
    assert value.encode() not in left
    assert PASSWORD.encode() not in left


@pytest.mark.parametrize("fails", ["the work tree", "the log"])
async def test_of_a_session_that_could_not_be_made_nothing_secret_is_kept(
    both: RunningConsole, tmp_path: Path, fails: str
) -> None:
    """It would stay in the database for ever: there is no session with which it could be deleted."""
    value = "v4r1able-of-its-own"
    if fails == "the log":
        (tmp_path / "bobstay" / "sessions").rename(tmp_path / "bobstay" / "elsewhere")
        (tmp_path / "bobstay" / "sessions").write_text("a file, so that no log can be made in it")
    wanted = {"cwd": str(both.work), "engine": "other", "env": {"MY_TOKEN": value}, "mcp_config": CONFIG}
    refused = await both.post("/api/v1/sessions", {**wanted, "worktree": fails == "the work tree"})
    assert refused.status >= 400, "its directory is no repository, or its log has no place"
    async with both.database.read_transaction() as connection:
        assert (await connection.execute(select(session_env))).all() == []
    files = [path for path in (tmp_path / "bobstay" / "server").iterdir() if path.is_file()]
    assert not any(value.encode() in path.read_bytes() for path in files)


async def test_a_session_is_not_begun_with_a_variable_that_is_refused(both: RunningConsole) -> None:
    for env in ({"LD_PRELOAD": "/tmp/x.so"}, {"FINE": "1", "GIT_SSH_COMMAND": "sh"}):
        refused = await both.post("/api/v1/sessions", {"cwd": str(both.work), "env": env})
        assert (refused.status, refused.json["error"]["code"]) == (403, "forbidden")
    assert (await both.get("/api/v1/sessions")).json["sessions"] == []


@pytest.mark.parametrize(
    "name",
    [
        *("GIT_SSH_COMMAND", "PERL5OPT", "SHELLOPTS", "HOME", "OLLAMA_HOST", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"),
        *("PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_ENV", "ENV", "PATH", "GIT_CONFIG_KEY_0", "https_proxy"),
        *("HTTPS_PROXY", "ANTHROPIC_BASE_URL", "SSL_CERT_FILE", "BOBSTAY_HOME", "EDITOR", "JAVA_TOOL_OPTIONS"),
        *(
            "GIT_TRACE",
            "GIT_TRACE2_EVENT",
            "GIT_TRACE_CURL",
            "GOFLAGS",
            "DOTNET_STARTUP_HOOKS",
            "CORECLR_PROFILER_PATH",
        ),
        *("_JAVA_OPTIONS", "RUBYOPT", "RUBYLIB", "NODE_PATH", "DOTNET_ADDITIONAL_DEPS"),
    ],
)
def test_a_variable_that_decides_which_code_runs_or_where_keys_go_is_refused(name: str) -> None:
    with pytest.raises(ApiError, match=name):
        session_secrets.check_variables({name: "x"})


@pytest.mark.parametrize(
    "name",
    [
        *("ENVIRONMENT", "ENV_NAME", "PATHS", "GIT_AUTHOR_NAME", "PYTHONUNBUFFERED", "PYTHON_VERSION", "HOMEPAGE"),
        *("MY_APP_BASE_URL", "REVERSE_PROXY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "ENVOY", "LDAP_HOST", "home"),
        *("CC", "CXX", "CFLAGS", "GOOS", "DOTNET_ENVIRONMENT", "GIT_TERMINAL_PROMPT"),
    ],
)
def test_a_variable_that_only_resembles_one_of_those_is_accepted(name: str) -> None:
    session_secrets.check_variables({name: "x"})
