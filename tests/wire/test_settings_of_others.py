"""Settings that Claude Code wrote never keep bobstay from starting, and count where they matter."""

from pathlib import Path
from typing import Any

import pytest

from tests.modelserver import ModelServer
from tests.wire.user_environment import UserEnvironment


@pytest.fixture
def cli(model: ModelServer, tmp_path: Path) -> UserEnvironment:
    return UserEnvironment(model, tmp_path)


@pytest.mark.parametrize(
    ("model_id", "asked"), [("opus[1m]", "claude-opus"), ("opusplan", "claude-opus"), ("nobody-knows-this", "claude-")]
)
def test_a_model_that_only_claude_code_knows_is_a_warning(cli: UserEnvironment, model_id: str, asked: str) -> None:
    file = cli.user({"model": model_id}, ".claude")
    ended = cli.ask(**cli.anthropic())
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert f"Warning: {file}: the model {model_id!r}" in ended.stderr
    assert cli.model.requests[-1].body["model"].startswith(asked)


def test_a_model_without_a_key_in_the_file_of_claude_code_gives_way_to_one_with_a_key(cli: UserEnvironment) -> None:
    cli.user({"model": "opus"}, ".claude")
    ended = cli.ask(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{cli.model.url}/v1")
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert "not used" in ended.stderr


def test_a_model_nobody_knows_in_our_own_file_is_refused_with_the_name_of_the_file(cli: UserEnvironment) -> None:
    file = cli.user({"model": "nobody-knows-this"})
    ended = cli.ask(**cli.anthropic())
    assert ended.returncode == 1
    assert str(file) in ended.stderr


@pytest.mark.parametrize("variable", ["BOBSTAY_MODEL", "ANTHROPIC_MODEL"])
def test_the_environment_names_the_model_before_the_settings_and_a_flag_before_both(
    cli: UserEnvironment, variable: str
) -> None:
    cli.user({"model": "haiku"})
    given = cli.anthropic(**{variable: "sonnet"})
    assert cli.ask(**given).stdout == "Hello.\n"
    assert "sonnet" in cli.model.requests[-1].body["model"]
    assert cli.ask("--model", "opus", **given).stdout == "Hello.\n"
    assert "opus" in cli.model.requests[-1].body["model"]
    assert cli.ask("--settings", '{"model": "opus"}', **given).stdout == "Hello.\n"
    assert "opus" in cli.model.requests[-1].body["model"]


def test_a_mode_that_only_claude_code_knows_is_a_warning_with_its_place(cli: UserEnvironment) -> None:
    file = cli.user({"permissions": {"defaultMode": "delegate", "deny": ["Bash"]}}, ".claude")
    ended = cli.ask(**cli.anthropic())
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert f"{file}:3:18: permissions.defaultMode is ignored" in ended.stderr
    tools = [tool["name"] for tool in cli.model.requests[-1].body["tools"]]
    assert "Bash" not in tools, "what the file forbids still counts"


@pytest.mark.parametrize("settings", [{"permissions": {"deny": "Bash"}}, {"permissions": {"deny": [1]}}, "{broken"])
def test_what_forbids_is_never_left_out(cli: UserEnvironment, settings: Any) -> None:
    file = cli.user(settings, ".claude")
    ended = cli.ask(**cli.anthropic())
    assert ended.returncode == 1
    assert str(file) in ended.stderr


@pytest.mark.parametrize("folder", [".claude", ".bobstay"])
def test_keys_and_addresses_in_env_of_the_user_count_for_ourselves(cli: UserEnvironment, folder: str) -> None:
    env = {"ANTHROPIC_BASE_URL": cli.model.url, "ANTHROPIC_AUTH_TOKEN": "token-of-the-settings"}
    cli.user({"env": {**env, "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"}}, folder)
    assert cli.ask().stdout == "Hello.\n"
    headers = cli.model.requests[-1].headers
    assert headers["authorization"] == "Bearer token-of-the-settings"
    assert headers["x-team"] == "blue"


def test_the_environment_of_the_process_wins_over_env_of_the_settings(cli: UserEnvironment) -> None:
    cli.user({"env": {"ANTHROPIC_API_KEY": "other", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}})
    assert cli.ask(**cli.anthropic()).stdout == "Hello.\n"
    assert cli.model.requests[-1].headers["x-api-key"] == "key-of-the-environment"


def test_a_folder_that_is_not_trusted_cannot_say_where_requests_go(cli: UserEnvironment) -> None:
    cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url, "ANTHROPIC_AUTH_TOKEN": "x"}})
    ended = cli.ask()
    assert ended.returncode == 1
    assert "No key for anthropic" in ended.stderr
    assert cli.model.requests == []


def test_a_trusted_folder_cannot_have_a_persons_key_sent_elsewhere(cli: UserEnvironment) -> None:
    file = cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url}})
    ended = cli.ask(
        "--trust", ANTHROPIC_API_KEY="the-persons-key", ANTHROPIC_MODEL="haiku", HTTPS_PROXY="http://127.0.0.1:9"
    )
    assert cli.model.requests == []
    assert f"{file}: env.ANTHROPIC_BASE_URL was ignored" in ended.stderr


def test_a_trusted_folder_may_name_a_gateway_with_a_key_of_its_own(cli: UserEnvironment) -> None:
    cli.project({"env": {"ANTHROPIC_BASE_URL": cli.model.url, "ANTHROPIC_AUTH_TOKEN": "of-the-project"}})
    assert cli.ask("--trust", ANTHROPIC_API_KEY="the-persons-key").stdout == "Hello.\n"
    assert "the-persons-key" not in str(cli.model.requests[-1].headers)
    assert cli.model.requests[-1].headers["authorization"] == "Bearer of-the-project"


def test_going_on_with_a_session_in_another_folder_is_told(cli: UserEnvironment, tmp_path: Path) -> None:
    session = "00000000-0000-4000-8000-00000000000a"
    assert cli.ask("--session-id", session, **cli.anthropic()).returncode == 0
    began = cli.work
    assert "was started in" not in cli.ask("--resume", session, **cli.anthropic()).stderr
    cli.work = tmp_path / "elsewhere"
    cli.work.mkdir()
    ended = cli.ask("--resume", session, **cli.anthropic())
    assert ended.stdout == "Hello.\n"
    assert f"was started in {began} and continues in {cli.work}" in ended.stderr


def test_an_import_from_outside_a_trusted_project_is_told_and_not_read(cli: UserEnvironment) -> None:
    (cli.home / "private.md").write_text("PRIVATE NOTES")
    (cli.work / "CLAUDE.md").write_text("See @~/private.md")
    ended = cli.ask("--trust", **cli.anthropic())
    assert f"{cli.home}/private.md" in ended.stderr
    assert "PRIVATE NOTES" not in cli.model.requests[-1].raw.decode()
