"""Where keys come from: a helper, the store of `bobstay auth`, providers with names of one's own."""

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.modelserver import Call, ModelServer, Step
from tests.webserver import serving
from tests.wire.flows import say
from tests.wire.standing import Standing


@pytest.fixture
def standing(server: ModelServer, tmp_path: Path) -> Standing:
    return Standing(server, tmp_path)


def counting(folder: Path) -> str:
    """A helper that prints another key each time."""
    script = folder / "helper.sh"
    script.write_text(f'echo x >> "{folder}/calls"; echo "helper-key-number-$(wc -l < "{folder}/calls" | tr -d " ")"')
    return f"sh {script}"


def test_the_key_of_a_helper_is_used_and_fetched_once(standing: Standing, tmp_path: Path) -> None:
    standing.user({"apiKeyHelper": counting(tmp_path)}, ".claude")
    steps = Step(blocks=[Call("Bash", {"command": "echo helper-key-number-1; env"}, "t1")]), say("Done.")
    token = standing.server.play("t", *steps)
    ended = standing.run(
        *("-p", token, "--allowed-tools", "Bash"),
        ANTHROPIC_BASE_URL=standing.server.url,
    )
    assert ended.stdout == "Done.\n"
    headers = standing.server.requests[-1].headers
    assert headers["authorization"] == "Bearer helper-key-number-1"
    assert "helper-key-number-1" not in standing.server.requests[-1].raw.decode(), "masked in what tools say"
    assert (tmp_path / "calls").read_text().count("x") == 1


def test_a_refused_key_of_a_helper_is_fetched_anew_once(standing: Standing, tmp_path: Path) -> None:
    standing.user({"apiKeyHelper": counting(tmp_path)})
    token = standing.server.play("t", Step(status=401, times=1, then=say("Hello.")))
    assert standing.run("-p", token, ANTHROPIC_BASE_URL=standing.server.url).stdout == "Hello.\n"
    keys = [request.headers["authorization"] for request in standing.server.requests]
    assert keys == ["Bearer helper-key-number-1", "Bearer helper-key-number-2"]


def test_a_helper_whose_keys_are_all_refused_is_not_asked_for_ever(standing: Standing, tmp_path: Path) -> None:
    standing.user({"apiKeyHelper": counting(tmp_path)})
    token = standing.server.play("t", Step(status=401, times=20, then=say("Hello.")))
    assert standing.run("-p", token, ANTHROPIC_BASE_URL=standing.server.url).returncode == 1
    assert (tmp_path / "calls").read_text().count("x") == 2


@pytest.mark.parametrize(
    ("command", "words"), [("exit 3", "ended with code 3"), ("true", "did not print a key"), ("echo a b", "did not")]
)
def test_a_helper_that_fails_is_told(standing: Standing, command: str, words: str) -> None:
    standing.user({"apiKeyHelper": command})
    ended = standing.ask(ANTHROPIC_BASE_URL=standing.server.url)
    assert ended.returncode == 1
    assert "apiKeyHelper" in ended.stdout
    assert words in ended.stdout


def test_a_key_in_the_environment_spares_the_helper(standing: Standing, tmp_path: Path) -> None:
    standing.user({"apiKeyHelper": counting(tmp_path)})
    assert standing.ask(**standing.anthropic()).stdout == "Hello.\n"
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize("trust", [(), ("--trust",)])
def test_a_helper_of_a_project_is_never_run(standing: Standing, tmp_path: Path, trust: tuple[str, ...]) -> None:
    standing.project({"apiKeyHelper": counting(tmp_path)})
    ended = standing.ask(*trust, ANTHROPIC_BASE_URL=standing.server.url)
    assert "No key for anthropic" in ended.stderr
    assert not (tmp_path / "calls").exists()


def test_a_stored_key_is_used_masked_and_kept_from_commands(standing: Standing) -> None:
    key = "sesame-7319-open-8842"
    ended = standing.run("auth", "login", "anthropic", "--stdin", stdin=f"{key}\n")
    file = standing.home / ".bobstay" / "keys.json"
    assert ended.returncode == 0
    assert str(file) in ended.stdout
    assert key not in ended.stdout + ended.stderr
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    look = Step(blocks=[Call("Bash", {"command": f"env; cat {file}; rev {file}"}, "t1")])
    token = standing.server.play("t", look, say(f"The key is {key}."))
    ended = standing.run("-p", token, "--allowed-tools", "Bash", ANTHROPIC_BASE_URL=standing.server.url)
    assert "[masked stored key of anthropic]" in ended.stdout
    assert standing.server.requests[-1].headers["x-api-key"] == key
    assert key not in standing.server.requests[-1].raw.decode()
    logs = "".join(path.read_text() for path in (standing.home / ".bobstay" / "sessions").rglob("*.jsonl"))
    assert key not in logs


def test_the_environment_wins_over_a_stored_key(standing: Standing) -> None:
    ended = standing.run("auth", "login", "--stdin", stdin="stored-key-123456", **standing.anthropic())
    assert "not used as long as ANTHROPIC_API_KEY is set" in ended.stdout
    assert standing.ask(**standing.anthropic()).stdout == "Hello.\n"
    assert standing.server.requests[-1].headers["x-api-key"] == "key-of-the-environment"


def test_the_list_tells_sources_and_no_values(standing: Standing) -> None:
    standing.user({"providers": {"corp": {"api": "chat", "base_url": "http://x/v1", "key_env": "CORP_KEY"}}})
    standing.run("auth", "login", "openai", "--stdin", "--file", stdin="stored-key-123456")
    standing.run("auth", "login", "gemini", "--stdin", stdin="stored-key-654321")
    ended = standing.run("auth", "list", GEMINI_API_KEY="from-the-environment", CORP_KEY="corp-secret")
    rows = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert "file" in rows["openai"]
    assert "environment (GEMINI_API_KEY); not used: file" in rows["gemini"]
    assert "environment (CORP_KEY)" in rows["corp"]
    assert rows["anthropic"].split() == ["anthropic", "none"]
    for value in ("stored-key", "from-the-environment", "corp-secret"):
        assert value not in ended.stdout


def test_the_list_names_no_source_that_is_not_looked_into(standing: Standing) -> None:
    """The variable of a provider of one's own is read from the environment only, not from `env` of the settings."""
    corp = {"api": "chat", "base_url": f"{standing.server.url}/v1", "key_env": "CORP_KEY"}
    standing.user({"providers": {"corp": corp}, "env": {"CORP_KEY": "in-the-settings", "OPENAI_API_KEY": "k-12345"}})
    rows = {line.split()[0]: line for line in standing.run("auth", "list").stdout.splitlines()}
    assert rows["corp"].split() == ["corp", "none"]
    assert "(env.OPENAI_API_KEY)" in rows["openai"]
    standing.ask("--model", "corp/some-model")
    assert "in-the-settings" not in str([request.headers for request in standing.server.requests])


def test_logging_out_forgets_the_key(standing: Standing) -> None:
    standing.run("auth", "login", "openai", "--stdin", stdin="stored-key-123456")
    assert standing.run("auth", "logout", "openai").returncode == 0
    assert "stored-key" not in (standing.home / ".bobstay" / "keys.json").read_text()
    assert standing.run("auth", "logout", "openai").returncode == 1


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "k\u00e9y"])
def test_what_is_no_key_is_not_stored(standing: Standing, key: str) -> None:
    assert standing.run("auth", "login", "openai", "--stdin", stdin=key).returncode == 1
    assert not (standing.home / ".bobstay" / "keys.json").exists()


@pytest.mark.parametrize("words", [(), ("login", "a", "b"), ("list", "x"), ("login", "--bad"), ("nonsense",)])
def test_what_is_not_understood_is_answered_with_the_usage(standing: Standing, words: tuple[str, ...]) -> None:
    ended = standing.run("auth", *words)
    assert ended.returncode == 2
    assert "Usage: bobstay auth" in ended.stderr


def test_a_key_is_stored_for_no_provider_that_only_the_folder_knows(standing: Standing) -> None:
    standing.project({"providers": {"corp": {"api": "chat", "base_url": f"{standing.server.url}/v1"}}})
    ended = standing.run("auth", "login", "corp", "--stdin", stdin="stored-corp-key-1")
    assert ended.returncode == 2
    assert "There is no provider 'corp'" in ended.stderr
    assert not (standing.home / ".bobstay" / "keys.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_keys_of_another_user_is_not_used(standing: Standing) -> None:
    standing.run("auth", "login", "--stdin", "--file", stdin="stored-key-1")
    file = standing.home / ".bobstay" / "keys.json"
    os.chown(file, 65534, 65534)
    ended = standing.ask(ANTHROPIC_BASE_URL=standing.server.url)
    assert f"{file} is not a file that only you can read" in ended.stderr
    assert standing.server.requests == []


def test_a_file_of_keys_that_others_can_read_is_not_used(standing: Standing) -> None:
    standing.run("auth", "login", "anthropic", "--stdin", stdin="stored-key-123456")
    os.chmod(standing.home / ".bobstay" / "keys.json", 0o644)
    ended = standing.ask(ANTHROPIC_BASE_URL=standing.server.url)
    assert ended.returncode == 1
    assert "No key" in ended.stderr


async def test_a_key_can_be_tested_before_it_is_stored(standing: Standing) -> None:
    error = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    message = b'{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1,"output_tokens":1}}}'
    async with serving() as site:

        async def login(key: str) -> "subprocess.CompletedProcess[str]":
            words = ("auth", "login", "--stdin", "--test")
            return await asyncio.to_thread(lambda: standing.run(*words, stdin=key, ANTHROPIC_BASE_URL=site.url))

        site.answers["/v1/messages"] = (
            b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(error)
        ) + error
        refused = await login("wrong-key-123456")
        site.page("/v1/messages", b"event: message_start\ndata: " + message + b"\n\n", "text/event-stream")
        accepted = await login("right-key-123456")
        site.answers["/v1/messages"] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        without_model = await login("other-key-123456")  # it was let in, and only the model is not there
    assert (refused.returncode, accepted.returncode, without_model.returncode) == (1, 0, 0)
    assert "was not stored: The key was refused: invalid x-api-key" in refused.stderr
    keys = [heard.headers["x-api-key"] for heard in site.heard]
    assert keys == ["wrong-key-123456", "right-key-123456", "other-key-123456"]


@pytest.mark.parametrize(
    ("api", "path", "header", "asked"),
    [
        ("anthropic", "", "x-api-key", "/v1/messages"),
        ("responses", "/v1", "authorization", "/v1/responses"),
        ("chat", "/v1", "authorization", "/v1/chat/completions"),
        ("gemini", "", "x-goog-api-key", ":streamGenerateContent"),
    ],
)
def test_a_provider_with_a_name_of_ones_own_is_asked_in_its_format(
    standing: Standing, api: str, path: str, header: str, asked: str
) -> None:
    definition = {
        "api": api,
        "base_url": standing.server.url + path,
        "key_env": "CORP_LLM",
        "headers": {"X-Team": "blue"},
        "models": {"big-model": {"context": 99_000}},
    }
    standing.user({"providers": {"corp": definition}})
    ended = standing.ask("--model", "corp/big-model", CORP_LLM="corp-secret-value-1")
    assert ended.stdout == "Hello.\n"
    request = standing.server.requests[-1]
    assert "corp-secret-value-1" in request.headers[header]
    assert request.headers["x-team"] == "blue"
    assert asked in request.path
    assert "big-model" in request.path + str(request.body.get("model"))


def test_the_variable_of_a_named_provider_is_masked_and_kept_from_commands(standing: Standing) -> None:
    definition = {"api": "chat", "base_url": f"{standing.server.url}/v1", "key_env": "CORP_LLM"}
    standing.user({"providers": {"corp": definition}})
    look = Step(blocks=[Call("Bash", {"command": "echo var=${CORP_LLM:-none}"}, "t1")])
    token = standing.server.play("t", look, say("It is corp-secret-value-1."))
    ended = standing.run("-p", token, "--model", "corp/m", "--allowed-tools", "Bash", CORP_LLM="corp-secret-value-1")
    assert ended.stdout == "It is [masked CORP_LLM].\n"
    assert "var=none" in standing.server.requests[-1].raw.decode()


def test_a_stored_key_serves_a_named_provider(standing: Standing) -> None:
    standing.user({"providers": {"corp": {"api": "chat", "base_url": f"{standing.server.url}/v1", "key_env": "CORP"}}})
    missing = standing.ask("--model", "corp/m")
    assert "No key for corp: set CORP" in missing.stderr
    assert standing.run("auth", "login", "corp", "--stdin", stdin="stored-corp-key-1").returncode == 0
    assert standing.ask("--model", "corp/m").stdout == "Hello.\n"
    assert standing.server.requests[-1].headers["authorization"] == "Bearer stored-corp-key-1"


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"api": "chatty", "base_url": "http://x"}, "invalid enum value"),
        ({"base_url": "http://x"}, "`api` is missing"),
        ({"api": "chat"}, "`base_url` is missing"),
        ({"api": "chat", "base_url": "x.example"}, "http:// or https://"),
        ({"api": "chat", "base_url": "http://u:p@x"}, "password"),
        ({"api": "chat", "base_url": "http://x", "key": "sk"}, "unknown field"),
        ({"api": "chat", "base_url": "http://x", "key_env": "sk-123"}, "auth login"),
        ({"api": "chat", "base_url": "http://x", "headers": {"a b": "c"}}, "cannot be sent"),
    ],
)
def test_a_definition_that_cannot_be_used_is_refused_with_its_place(
    standing: Standing, definition: dict[str, Any], words: str
) -> None:
    file = standing.user({"providers": {"corp": definition}})
    ended = standing.ask(**standing.anthropic())
    assert ended.returncode == 1
    assert words in ended.stderr
    line = ended.stderr.removeprefix(f"{file}:").partition(":")[0]
    assert line.isdigit(), ended.stderr
    assert int(line) >= 3


def test_a_built_in_provider_gets_headers_and_an_address_from_the_settings(standing: Standing) -> None:
    standing.user(
        {"providers": {"openrouter": {"base_url": f"{standing.server.url}/v1", "headers": {"X-Title": "mine"}}}}
    )
    assert standing.ask("--model", "openrouter/x/y", OPENROUTER_API_KEY="k").stdout == "Hello.\n"
    assert standing.server.requests[-1].headers["x-title"] == "mine"


def test_a_folder_that_is_not_trusted_defines_no_provider(standing: Standing) -> None:
    standing.project({"providers": {"corp": {"api": "chat", "base_url": f"{standing.server.url}/v1"}}})
    ended = standing.ask("--model", "corp/m", **standing.anthropic())
    assert ended.returncode == 1
    assert standing.server.requests == []
    assert standing.ask("--model", "corp/m", "--trust", **standing.anthropic()).stdout == "Hello.\n"


@pytest.mark.parametrize(
    ("name", "more"),
    [("openai", {}), ("mine", {"api": "chat"}), ("theirs", {"api": "chat", "key_env": "OPENAI_API_KEY"})],
)
def test_a_trusted_folder_gets_no_key_of_the_person_sent_to_its_host(
    standing: Standing, name: str, more: dict[str, str]
) -> None:
    standing.user({"providers": {"mine": {"api": "chat", "base_url": "http://127.0.0.1:9/v1", "key_env": "MINE"}}})
    standing.run("auth", "login", "mine", "--stdin", stdin="stored-mine-key-1")
    file = standing.project({"providers": {name: {"base_url": f"{standing.server.url}/v1", **more}}}, ".bobstay")
    ended = standing.ask(
        "--trust",
        "--model",
        f"{name}/gpt-5.5",
        MINE="minekey",
        OPENAI_API_KEY="openaikey",
        HTTPS_PROXY="http://127.0.0.1:9",
    )
    assert standing.server.requests == []
    assert str(file) in ended.stderr
    assert "left out" in ended.stderr


def test_a_key_stored_under_the_name_of_a_projects_provider_is_not_sent_to_it(standing: Standing) -> None:
    keys = standing.home / ".bobstay" / "keys.json"
    keys.parent.mkdir()
    keys.write_text(json.dumps({"keys": {"corp": {"where": "file", "key": "stored-corp-key-1"}}}))
    keys.chmod(0o600)
    standing.project({"providers": {"corp": {"api": "chat", "base_url": f"{standing.server.url}/v1"}}})
    assert standing.ask("--model", "corp/m", "--trust").stdout == "Hello.\n"
    assert "authorization" not in standing.server.requests[-1].headers


KEYRING = """
import json, os
PATH = os.environ["KEYRING_FILE"]
class errors:
    class PasswordDeleteError(Exception): pass
class Backend: priority = float(os.environ.get("KEYRING_PRIORITY", "5"))
def get_keyring(): return Backend
def _all():
    return json.load(open(PATH)) if os.path.exists(PATH) else {}
def _keep(found):
    json.dump(found, open(PATH, "w"))
def get_password(service, user): return _all().get(f"{service}/{user}")
def set_password(service, user, password): _keep({**_all(), f"{service}/{user}": password})
def delete_password(service, user):
    found = _all()
    if f"{service}/{user}" not in found: raise errors.PasswordDeleteError("No such password!")
    del found[f"{service}/{user}"]
    _keep(found)
"""
"""Behaves as keyring 25: a backend that cannot keep anything has the priority 0, and deleting nothing is an error."""


@pytest.fixture
def keyring(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "keyring.py").write_text(KEYRING)
    inherited = os.environ.get("PYTHONPATH", "")
    path = f"{folder}{os.pathsep}{inherited}" if inherited else str(folder)
    return {"PYTHONPATH": path, "KEYRING_FILE": str(tmp_path / "ring.json")}


def test_a_keyring_that_works_keeps_the_key(standing: Standing, keyring: dict[str, str]) -> None:
    ended = standing.run("auth", "login", "--stdin", stdin="ring-key-123456", **keyring)
    assert "keyring" in ended.stdout
    assert "ring-key" not in (standing.home / ".bobstay" / "keys.json").read_text()
    assert "ring-key-123456" in Path(keyring["KEYRING_FILE"]).read_text()
    assert "keyring" in standing.run("auth", "list", **keyring).stdout
    assert standing.ask(ANTHROPIC_BASE_URL=standing.server.url, **keyring).stdout == "Hello.\n"
    assert standing.server.requests[-1].headers["x-api-key"] == "ring-key-123456"
    assert standing.run("auth", "logout", **keyring).returncode == 0
    assert "ring-key" not in Path(keyring["KEYRING_FILE"]).read_text()


def test_a_keyring_that_keeps_nothing_gives_way_to_the_file(standing: Standing, keyring: dict[str, str]) -> None:
    ended = standing.run("auth", "login", "--stdin", stdin="ring-key-123456", KEYRING_PRIORITY="0", **keyring)
    assert "keys.json" in ended.stdout
    ended = standing.run("auth", "login", "--stdin", "--keyring", stdin="k-123456", KEYRING_PRIORITY="0", **keyring)
    assert ended.returncode == 1
    assert "no keyring that works" in ended.stderr


def test_a_keyring_that_is_gone_is_told(standing: Standing, keyring: dict[str, str]) -> None:
    standing.run("auth", "login", "--stdin", stdin="ring-key-123456", **keyring)
    ended = standing.ask(ANTHROPIC_BASE_URL=standing.server.url)
    assert "keyring that cannot be reached" in ended.stderr
