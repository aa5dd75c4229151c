"""A trusted folder's settings never get the user's keys: not for its hosts, hooks or commands."""

from pathlib import Path
from typing import Any

import pytest

from tests.modelserver import Call, ModelServer, Step
from tests.wire.flows import say
from tests.wire.user_environment import UserEnvironment

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def cli(model: ModelServer, tmp_path: Path) -> UserEnvironment:
    return UserEnvironment(model, tmp_path)


def sent(cli: UserEnvironment) -> str:
    """The headers of all requests that came to the folder's host."""
    return str([request.headers for request in cli.model.requests])


@pytest.mark.parametrize("folder", [".claude", ".bobstay"])
def test_a_key_in_the_users_settings_is_not_sent_to_a_folders_host(cli: UserEnvironment, folder: str) -> None:
    cli.user({"env": {"ANTHROPIC_API_KEY": "the-persons-key"}}, folder)
    file = cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url}})
    ended = cli.ask("--trust", HTTPS_PROXY=NOWHERE)
    assert cli.model.requests == []
    assert f"{file}: env.ANTHROPIC_BASE_URL was ignored" in ended.stderr


def test_an_address_in_the_users_settings_wins_over_a_folders(cli: UserEnvironment) -> None:
    cli.user({"env": {"ANTHROPIC_API_KEY": "the-persons-key", "ANTHROPIC_BASE_URL": cli.model.url}})
    cli.project({"env": {"ANTHROPIC_BASE_URL": NOWHERE}})
    assert cli.ask("--trust").stdout == "Hello.\n"


@pytest.mark.parametrize(
    ("persons", "folders"),
    [("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"), ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")],
)
def test_a_folder_with_a_key_of_its_own_gets_none_from_the_users_settings(
    cli: UserEnvironment, persons: str, folders: str
) -> None:
    cli.user({"env": {persons: "the-persons-key"}})
    cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url, folders: "of-the-project"}})
    assert cli.ask("--trust").stdout == "Hello.\n"
    assert "of-the-project" in sent(cli)
    assert "the-persons-key" not in sent(cli)


@pytest.mark.parametrize("where", ["environment", "env", "providers"])
def test_headers_of_the_person_are_not_sent_to_a_folders_host(cli: UserEnvironment, where: str) -> None:
    places: dict[str, dict[str, Any]] = {
        "environment": {},
        "env": {"env": {"ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: the-persons-token"}},
        "providers": {"providers": {"anthropic": {"headers": {"X-Gateway": "the-persons-token"}}}},
    }
    more = {"ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: the-persons-token"} if where == "environment" else {}
    cli.user(places[where])
    cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url, "ANTHROPIC_API_KEY": "of-the-project"}})
    assert cli.ask("--trust", **more).stdout == "Hello.\n"
    assert "of-the-project" in sent(cli)
    assert "the-persons-token" not in sent(cli)


def test_headers_alone_keep_a_folder_from_choosing_the_host(cli: UserEnvironment) -> None:
    cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url, "ANTHROPIC_CUSTOM_HEADERS": "X-A: b"}})
    more = {"ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer the-persons-token", "ANTHROPIC_MODEL": "haiku"}
    ended = cli.ask("--trust", HTTPS_PROXY=NOWHERE, **more)
    assert cli.model.requests == []
    assert "env.ANTHROPIC_BASE_URL was ignored" in ended.stderr


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_folder_cannot_name_a_proxy_that_reads_the_persons_key(cli: UserEnvironment, name: str) -> None:
    file = cli.project({"env": {name: cli.model.url}})
    more = {"ANTHROPIC_API_KEY": "the-persons-key", "ANTHROPIC_BASE_URL": "http://gateway.invalid"}
    ended = cli.ask("--trust", **more)
    assert cli.model.requests == []
    assert f"{file}: env.{name} was ignored" in ended.stderr


def shown_to_a_command(cli: UserEnvironment, *flags: str, **variables: str) -> str:
    """The environment of a command, written to a file by itself, because the model's copy is redacted."""
    steps = Step(blocks=[Call("Bash", {"command": "env > seen"}, "t1")]), say("Done.")
    token = cli.model.play("t", *steps)
    more = {"ANTHROPIC_BASE_URL": cli.model.url, **variables}
    assert cli.run("-p", token, "--allowed-tools", "Bash,Write,Edit", *flags, **more).stdout == "Done.\n"
    return (cli.work / "seen").read_text()


def test_a_key_in_env_of_the_settings_is_for_models_and_not_for_commands(cli: UserEnvironment) -> None:
    env = {"ANTHROPIC_API_KEY": "the-persons-key", "ANTHROPIC_CUSTOM_HEADERS": "X-A: the-persons-token", "OTHER": "on"}
    cli.user({"env": env})
    seen = shown_to_a_command(cli)
    assert "OTHER=on" in seen
    assert "the-persons" not in seen
    cli.user({"env": env, "passVariables": ["ANTHROPIC_API_KEY"]})
    assert "ANTHROPIC_API_KEY=the-persons-key" in shown_to_a_command(cli)


CORP = {"corp": {"api": "chat", "base_url": "http://127.0.0.1:9/v1", "key_env": "CORP_LLM_KEY"}}


def test_a_folder_cannot_have_keys_of_models_passed_to_commands(cli: UserEnvironment) -> None:
    cli.user({"providers": CORP})
    names = ["ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS", "CORP_LLM_KEY", "*_KEY", "GH_TOKEN"]
    cli.project({"passVariables": names})
    more = {"ANTHROPIC_API_KEY": "persons-1", "ANTHROPIC_CUSTOM_HEADERS": "X-A: persons-2", "CORP_LLM_KEY": "persons-3"}
    seen = shown_to_a_command(cli, "--trust", GH_TOKEN="passed", **more)
    assert "GH_TOKEN=passed" in seen
    assert "persons-" not in seen


def test_no_pattern_passes_the_key_of_a_named_provider(cli: UserEnvironment) -> None:
    cli.user({"providers": CORP, "passVariables": ["*_KEY", "ANTHROPIC_*"]})
    more = {"ANTHROPIC_CUSTOM_HEADERS": "X-A: persons-2", "CORP_LLM_KEY": "persons-3", "OTHER_KEY": "passed"}
    seen = shown_to_a_command(cli, ANTHROPIC_API_KEY="persons-1", **more)
    assert "OTHER_KEY=passed" in seen
    assert "persons-" not in seen
    cli.user({"providers": CORP, "passVariables": ["CORP_LLM_KEY"]})
    assert "CORP_LLM_KEY=persons-3" in shown_to_a_command(cli, ANTHROPIC_API_KEY="persons-1", **more)


def test_a_hook_finds_no_key_of_models_though_commands_are_passed_one(cli: UserEnvironment) -> None:
    hook = {"hooks": [{"type": "command", "command": "env > hook-saw"}]}
    settings = {"passVariables": ["ANTHROPIC_API_KEY", "GH_TOKEN"], "hooks": {"UserPromptSubmit": [hook]}}
    cli.user(settings)
    seen = shown_to_a_command(cli, ANTHROPIC_API_KEY="persons-1", GH_TOKEN="passed")
    assert "persons-1" in seen
    message = (cli.work / "hook-saw").read_text()
    assert "GH_TOKEN=passed" in message
    assert "persons-1" not in message


def test_the_token_in_a_header_is_redacted_wherever_it_stands(cli: UserEnvironment) -> None:
    secrets = {"gateway": "zx81Qk9fT3mPw", "cookie": "9fK2mQ8xT1aa", "named": "Lw7Qp2Zk9Vb4", "plain": "blue-team"}
    named = {"headers": {"Authorization": f"Bearer {secrets['named']}"}}
    cli.user({"providers": {"openrouter": named}})
    (cli.work / "notes").write_text(" ".join(secrets.values()))
    steps = Step(blocks=[Call("Read", {"file_path": "notes"}, "t1")]), say("Done.")
    lines = f"Authorization: Bearer {secrets['gateway']}\nCookie: a=1; sid={secrets['cookie']}\nX-Team: blue-team"
    variables = cli.anthropic(ANTHROPIC_CUSTOM_HEADERS=lines)
    assert cli.run("-p", cli.model.play("t", *steps), **variables).stdout == "Done.\n"
    raw = cli.model.requests[-1].raw.decode()
    assert [name for name, value in secrets.items() if value in raw] == ["plain"]
