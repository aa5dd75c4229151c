"""Sources of keys: a key helper, the store of `bobstay auth`, and named providers."""

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kit.web_server import serving
from tests.modelserver import Call, ModelServer, Step
from tests.wire.flows import say
from tests.wire.user_environment import UserEnvironment


@pytest.fixture
def cli(model: ModelServer, tmp_path: Path) -> UserEnvironment:
    return UserEnvironment(model, tmp_path)


def counting(folder: Path) -> str:
    """A helper that prints another key each time."""
    script = folder / "helper.sh"
    script.write_text(f'echo x >> "{folder}/calls"; echo "helper-key-number-$(wc -l < "{folder}/calls" | tr -d " ")"')
    return f"sh {script}"


def test_the_key_of_a_helper_is_used_and_fetched_once(cli: UserEnvironment, tmp_path: Path) -> None:
    cli.user({"apiKeyHelper": counting(tmp_path)}, ".claude")
    steps = Step(blocks=[Call("Bash", {"command": "echo helper-key-number-1; env"}, "t1")]), say("Done.")
    token = cli.model.play("t", *steps)
    ended = cli.run(
        *("-p", token, "--allowed-tools", "Bash"),
        ANTHROPIC_BASE_URL=cli.model.url,
    )
    assert ended.stdout == "Done.\n"
    headers = cli.model.requests[-1].headers
    assert headers["authorization"] == "Bearer helper-key-number-1"
    assert "helper-key-number-1" not in cli.model.requests[-1].raw.decode(), "masked in what tools say"
    assert (tmp_path / "calls").read_text().count("x") == 1


def test_a_refused_key_of_a_helper_is_fetched_anew_once(cli: UserEnvironment, tmp_path: Path) -> None:
    cli.user({"apiKeyHelper": counting(tmp_path)})
    token = cli.model.play("t", Step(status=401, times=1, then=say("Hello.")))
    assert cli.run("-p", token, ANTHROPIC_BASE_URL=cli.model.url).stdout == "Hello.\n"
    keys = [request.headers["authorization"] for request in cli.model.requests]
    assert keys == ["Bearer helper-key-number-1", "Bearer helper-key-number-2"]


def test_a_helper_whose_keys_are_all_refused_is_not_asked_for_ever(cli: UserEnvironment, tmp_path: Path) -> None:
    cli.user({"apiKeyHelper": counting(tmp_path)})
    token = cli.model.play("t", Step(status=401, times=20, then=say("Hello.")))
    assert cli.run("-p", token, ANTHROPIC_BASE_URL=cli.model.url).returncode == 1
    assert (tmp_path / "calls").read_text().count("x") == 2


@pytest.mark.parametrize(
    ("command", "phrase"), [("exit 3", "ended with code 3"), ("true", "did not print a key"), ("echo a b", "did not")]
)
def test_a_helper_that_fails_is_told(cli: UserEnvironment, command: str, phrase: str) -> None:
    cli.user({"apiKeyHelper": command})
    ended = cli.ask(ANTHROPIC_BASE_URL=cli.model.url)
    assert ended.returncode == 1
    assert "apiKeyHelper" in ended.stdout
    assert phrase in ended.stdout


def test_a_key_in_the_environment_spares_the_helper(cli: UserEnvironment, tmp_path: Path) -> None:
    cli.user({"apiKeyHelper": counting(tmp_path)})
    assert cli.ask(**cli.anthropic()).stdout == "Hello.\n"
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize("trust", [(), ("--trust",)])
def test_a_helper_of_a_project_is_never_run(cli: UserEnvironment, tmp_path: Path, trust: tuple[str, ...]) -> None:
    cli.project({"apiKeyHelper": counting(tmp_path)})
    ended = cli.ask(*trust, ANTHROPIC_BASE_URL=cli.model.url)
    assert "No key for anthropic" in ended.stderr
    assert not (tmp_path / "calls").exists()


def test_a_stored_key_is_used_masked_and_kept_from_commands(cli: UserEnvironment) -> None:
    key = "sesame-7319-open-8842"
    ended = cli.run("auth", "login", "anthropic", "--stdin", stdin=f"{key}\n")
    file = cli.home / ".bobstay" / "keys.json"
    assert ended.returncode == 0
    assert str(file) in ended.stdout
    assert key not in ended.stdout + ended.stderr
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    look = Step(blocks=[Call("Bash", {"command": f"env; cat {file}; rev {file}"}, "t1")])
    token = cli.model.play("t", look, say(f"The key is {key}."))
    ended = cli.run("-p", token, "--allowed-tools", "Bash", ANTHROPIC_BASE_URL=cli.model.url)
    assert "[masked stored key of anthropic]" in ended.stdout
    assert cli.model.requests[-1].headers["x-api-key"] == key
    assert key not in cli.model.requests[-1].raw.decode()
    logs = "".join(path.read_text() for path in (cli.home / ".bobstay" / "sessions").rglob("*.jsonl"))
    assert key not in logs


def test_the_environment_wins_over_a_stored_key(cli: UserEnvironment) -> None:
    ended = cli.run("auth", "login", "--stdin", stdin="stored-key-123456", **cli.anthropic())
    assert "not used as long as ANTHROPIC_API_KEY is set" in ended.stdout
    assert cli.ask(**cli.anthropic()).stdout == "Hello.\n"
    assert cli.model.requests[-1].headers["x-api-key"] == "key-of-the-environment"


def test_the_list_tells_sources_and_no_values(cli: UserEnvironment) -> None:
    cli.user({"providers": {"corp": {"api": "chat", "base_url": "http://x/v1", "key_env": "CORP_KEY"}}})
    cli.run("auth", "login", "openai", "--stdin", "--file", stdin="stored-key-123456")
    cli.run("auth", "login", "gemini", "--stdin", stdin="stored-key-654321")
    ended = cli.run("auth", "list", GEMINI_API_KEY="from-the-environment", CORP_KEY="corp-secret")
    rows = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert "file" in rows["openai"]
    assert "environment (GEMINI_API_KEY); not used: file" in rows["gemini"]
    assert "environment (CORP_KEY)" in rows["corp"]
    assert rows["anthropic"].split() == ["anthropic", "none"]
    for value in ("stored-key", "from-the-environment", "corp-secret"):
        assert value not in ended.stdout


def test_the_list_names_no_source_that_is_not_looked_into(cli: UserEnvironment) -> None:
    """The variable of a provider of one's own is read from the environment only, not from `env` of the settings."""
    corp = {"api": "chat", "base_url": f"{cli.model.url}/v1", "key_env": "CORP_KEY"}
    cli.user({"providers": {"corp": corp}, "env": {"CORP_KEY": "in-the-settings", "OPENAI_API_KEY": "k-12345"}})
    rows = {line.split()[0]: line for line in cli.run("auth", "list").stdout.splitlines()}
    assert rows["corp"].split() == ["corp", "none"]
    assert "(env.OPENAI_API_KEY)" in rows["openai"]
    cli.ask("--model", "corp/some-model")
    assert "in-the-settings" not in str([request.headers for request in cli.model.requests])


def test_logging_out_forgets_the_key(cli: UserEnvironment) -> None:
    cli.run("auth", "login", "openai", "--stdin", stdin="stored-key-123456")
    assert cli.run("auth", "logout", "openai").returncode == 0
    assert "stored-key" not in (cli.home / ".bobstay" / "keys.json").read_text()
    assert cli.run("auth", "logout", "openai").returncode == 1


@pytest.mark.parametrize("key", ["", "two phrase", "line\nbreak", "k\u00e9y"])
def test_what_is_no_key_is_not_stored(cli: UserEnvironment, key: str) -> None:
    assert cli.run("auth", "login", "openai", "--stdin", stdin=key).returncode == 1
    assert not (cli.home / ".bobstay" / "keys.json").exists()


@pytest.mark.parametrize("phrase", [(), ("login", "a", "b"), ("list", "x"), ("login", "--bad"), ("nonsense",)])
def test_what_is_not_understood_is_answered_with_the_usage(cli: UserEnvironment, phrase: tuple[str, ...]) -> None:
    ended = cli.run("auth", *phrase)
    assert ended.returncode == 2
    assert "Usage: bobstay auth" in ended.stderr


def test_a_key_is_stored_for_no_provider_that_only_the_folder_knows(cli: UserEnvironment) -> None:
    cli.project({"providers": {"corp": {"api": "chat", "base_url": f"{cli.model.url}/v1"}}})
    ended = cli.run("auth", "login", "corp", "--stdin", stdin="stored-corp-key-1")
    assert ended.returncode == 2
    assert "There is no provider 'corp'" in ended.stderr
    assert not (cli.home / ".bobstay" / "keys.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_keys_of_another_user_is_not_used(cli: UserEnvironment) -> None:
    cli.run("auth", "login", "--stdin", "--file", stdin="stored-key-1")
    file = cli.home / ".bobstay" / "keys.json"
    os.chown(file, 65534, 65534)
    ended = cli.ask(ANTHROPIC_BASE_URL=cli.model.url)
    assert f"{file} is not a file that only you can read" in ended.stderr
    assert cli.model.requests == []


def test_a_file_of_keys_that_others_can_read_is_not_used(cli: UserEnvironment) -> None:
    cli.run("auth", "login", "anthropic", "--stdin", stdin="stored-key-123456")
    os.chmod(cli.home / ".bobstay" / "keys.json", 0o644)
    ended = cli.ask(ANTHROPIC_BASE_URL=cli.model.url)
    assert ended.returncode == 1
    assert "No key" in ended.stderr


async def test_a_key_can_be_tested_before_it_is_stored(cli: UserEnvironment) -> None:
    error = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    message = b'{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1,"output_tokens":1}}}'
    async with serving() as site:

        async def login(key: str) -> "subprocess.CompletedProcess[str]":
            phrase = ("auth", "login", "--stdin", "--test")
            return await asyncio.to_thread(lambda: cli.run(*phrase, stdin=key, ANTHROPIC_BASE_URL=site.url))

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
    keys = [received.headers["x-api-key"] for received in site.received]
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
    cli: UserEnvironment, api: str, path: str, header: str, asked: str
) -> None:
    definition = {
        "api": api,
        "base_url": cli.model.url + path,
        "key_env": "CORP_LLM",
        "headers": {"X-Team": "blue"},
        "models": {"big-model": {"context": 99_000}},
    }
    cli.user({"providers": {"corp": definition}})
    ended = cli.ask("--model", "corp/big-model", CORP_LLM="corp-secret-value-1")
    assert ended.stdout == "Hello.\n"
    request = cli.model.requests[-1]
    assert "corp-secret-value-1" in request.headers[header]
    assert request.headers["x-team"] == "blue"
    assert asked in request.path
    assert "big-model" in request.path + str(request.body.get("model"))


def test_the_variable_of_a_named_provider_is_masked_and_kept_from_commands(cli: UserEnvironment) -> None:
    definition = {"api": "chat", "base_url": f"{cli.model.url}/v1", "key_env": "CORP_LLM"}
    cli.user({"providers": {"corp": definition}})
    look = Step(blocks=[Call("Bash", {"command": "echo var=${CORP_LLM:-none}"}, "t1")])
    token = cli.model.play("t", look, say("It is corp-secret-value-1."))
    ended = cli.run("-p", token, "--model", "corp/m", "--allowed-tools", "Bash", CORP_LLM="corp-secret-value-1")
    assert ended.stdout == "It is [masked CORP_LLM].\n"
    assert "var=none" in cli.model.requests[-1].raw.decode()


def test_a_stored_key_serves_a_named_provider(cli: UserEnvironment) -> None:
    cli.user({"providers": {"corp": {"api": "chat", "base_url": f"{cli.model.url}/v1", "key_env": "CORP"}}})
    missing = cli.ask("--model", "corp/m")
    assert "No key for corp: set CORP" in missing.stderr
    assert cli.run("auth", "login", "corp", "--stdin", stdin="stored-corp-key-1").returncode == 0
    assert cli.ask("--model", "corp/m").stdout == "Hello.\n"
    assert cli.model.requests[-1].headers["authorization"] == "Bearer stored-corp-key-1"


@pytest.mark.parametrize(
    ("definition", "phrase"),
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
    cli: UserEnvironment, definition: dict[str, Any], phrase: str
) -> None:
    file = cli.user({"providers": {"corp": definition}})
    ended = cli.ask(**cli.anthropic())
    assert ended.returncode == 1
    assert phrase in ended.stderr
    line = ended.stderr.removeprefix(f"{file}:").partition(":")[0]
    assert line.isdigit(), ended.stderr
    assert int(line) >= 3


def test_a_built_in_provider_gets_headers_and_an_address_from_the_settings(cli: UserEnvironment) -> None:
    cli.user({"providers": {"openrouter": {"base_url": f"{cli.model.url}/v1", "headers": {"X-Title": "mine"}}}})
    assert cli.ask("--model", "openrouter/x/y", OPENROUTER_API_KEY="k").stdout == "Hello.\n"
    assert cli.model.requests[-1].headers["x-title"] == "mine"


def test_a_folder_that_is_not_trusted_defines_no_provider(cli: UserEnvironment) -> None:
    cli.project({"providers": {"corp": {"api": "chat", "base_url": f"{cli.model.url}/v1"}}})
    ended = cli.ask("--model", "corp/m", **cli.anthropic())
    assert ended.returncode == 1
    assert cli.model.requests == []
    assert cli.ask("--model", "corp/m", "--trust", **cli.anthropic()).stdout == "Hello.\n"


@pytest.mark.parametrize(
    ("name", "more"),
    [("openai", {}), ("mine", {"api": "chat"}), ("theirs", {"api": "chat", "key_env": "OPENAI_API_KEY"})],
)
def test_a_trusted_folder_gets_no_key_of_the_person_sent_to_its_host(
    cli: UserEnvironment, name: str, more: dict[str, str]
) -> None:
    cli.user({"providers": {"mine": {"api": "chat", "base_url": "http://127.0.0.1:9/v1", "key_env": "MINE"}}})
    cli.run("auth", "login", "mine", "--stdin", stdin="stored-mine-key-1")
    file = cli.project({"providers": {name: {"base_url": f"{cli.model.url}/v1", **more}}}, ".bobstay")
    ended = cli.ask(
        "--trust",
        "--model",
        f"{name}/gpt-5.5",
        MINE="minekey",
        OPENAI_API_KEY="openaikey",
        HTTPS_PROXY="http://127.0.0.1:9",
    )
    assert cli.model.requests == []
    assert str(file) in ended.stderr
    assert "ignored" in ended.stderr


def test_a_key_stored_under_the_name_of_a_projects_provider_is_not_sent_to_it(cli: UserEnvironment) -> None:
    keys = cli.home / ".bobstay" / "keys.json"
    keys.parent.mkdir()
    keys.write_text(json.dumps({"keys": {"corp": {"where": "file", "key": "stored-corp-key-1"}}}))
    keys.chmod(0o600)
    cli.project({"providers": {"corp": {"api": "chat", "base_url": f"{cli.model.url}/v1"}}})
    assert cli.ask("--model", "corp/m", "--trust").stdout == "Hello.\n"
    assert "authorization" not in cli.model.requests[-1].headers


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


def test_a_keyring_that_works_keeps_the_key(cli: UserEnvironment, keyring: dict[str, str]) -> None:
    ended = cli.run("auth", "login", "--stdin", stdin="ring-key-123456", **keyring)
    assert "keyring" in ended.stdout
    assert "ring-key" not in (cli.home / ".bobstay" / "keys.json").read_text()
    assert "ring-key-123456" in Path(keyring["KEYRING_FILE"]).read_text()
    assert "keyring" in cli.run("auth", "list", **keyring).stdout
    assert cli.ask(ANTHROPIC_BASE_URL=cli.model.url, **keyring).stdout == "Hello.\n"
    assert cli.model.requests[-1].headers["x-api-key"] == "ring-key-123456"
    assert cli.run("auth", "logout", **keyring).returncode == 0
    assert "ring-key" not in Path(keyring["KEYRING_FILE"]).read_text()


def test_a_keyring_that_keeps_nothing_gives_way_to_the_file(cli: UserEnvironment, keyring: dict[str, str]) -> None:
    ended = cli.run("auth", "login", "--stdin", stdin="ring-key-123456", KEYRING_PRIORITY="0", **keyring)
    assert "keys.json" in ended.stdout
    ended = cli.run("auth", "login", "--stdin", "--keyring", stdin="k-123456", KEYRING_PRIORITY="0", **keyring)
    assert ended.returncode == 1
    assert "No working keyring" in ended.stderr


def test_a_keyring_that_is_gone_is_told(cli: UserEnvironment, keyring: dict[str, str]) -> None:
    cli.run("auth", "login", "--stdin", stdin="ring-key-123456", **keyring)
    ended = cli.ask(ANTHROPIC_BASE_URL=cli.model.url)
    assert "keyring that cannot be reached" in ended.stderr
