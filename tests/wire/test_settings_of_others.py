"""Settings that Claude Code wrote never keep bobstay from starting, and count where they matter."""

from pathlib import Path
from typing import Any

import pytest

from tests.modelserver import ModelServer
from tests.wire.standing import Standing


@pytest.fixture
def standing(server: ModelServer, tmp_path: Path) -> Standing:
    return Standing(server, tmp_path)


@pytest.mark.parametrize(
    ("model", "asked"), [("opus[1m]", "claude-opus"), ("opusplan", "claude-opus"), ("nobody-knows-this", "claude-")]
)
def test_a_model_that_only_claude_code_knows_is_a_warning(standing: Standing, model: str, asked: str) -> None:
    file = standing.user({"model": model}, ".claude")
    ended = standing.ask(**standing.anthropic())
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert f"Warning: {file}: the model {model!r}" in ended.stderr
    assert standing.server.requests[-1].body["model"].startswith(asked)


def test_a_model_without_a_key_in_the_file_of_claude_code_gives_way_to_one_with_a_key(standing: Standing) -> None:
    standing.user({"model": "opus"}, ".claude")
    ended = standing.ask(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{standing.server.url}/v1")
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert "not used" in ended.stderr


def test_a_model_nobody_knows_in_our_own_file_is_refused_with_the_name_of_the_file(standing: Standing) -> None:
    file = standing.user({"model": "nobody-knows-this"})
    ended = standing.ask(**standing.anthropic())
    assert ended.returncode == 1
    assert str(file) in ended.stderr


@pytest.mark.parametrize("variable", ["BOBSTAY_MODEL", "ANTHROPIC_MODEL"])
def test_the_environment_names_the_model_before_the_settings_and_a_flag_before_both(
    standing: Standing, variable: str
) -> None:
    standing.user({"model": "haiku"})
    given = standing.anthropic(**{variable: "sonnet"})
    assert standing.ask(**given).stdout == "Hello.\n"
    assert "sonnet" in standing.server.requests[-1].body["model"]
    assert standing.ask("--model", "opus", **given).stdout == "Hello.\n"
    assert "opus" in standing.server.requests[-1].body["model"]
    assert standing.ask("--settings", '{"model": "opus"}', **given).stdout == "Hello.\n"
    assert "opus" in standing.server.requests[-1].body["model"]


def test_a_mode_that_only_claude_code_knows_is_a_warning_with_its_place(standing: Standing) -> None:
    file = standing.user({"permissions": {"defaultMode": "delegate", "deny": ["Bash"]}}, ".claude")
    ended = standing.ask(**standing.anthropic())
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert f"{file}:3:18: permissions.defaultMode is left out" in ended.stderr
    tools = [tool["name"] for tool in standing.server.requests[-1].body["tools"]]
    assert "Bash" not in tools, "what the file forbids still counts"


@pytest.mark.parametrize("said", [{"permissions": {"deny": "Bash"}}, {"permissions": {"deny": [1]}}, "{broken"])
def test_what_forbids_is_never_left_out(standing: Standing, said: Any) -> None:
    file = standing.user(said, ".claude")
    ended = standing.ask(**standing.anthropic())
    assert ended.returncode == 1
    assert str(file) in ended.stderr


@pytest.mark.parametrize("folder", [".claude", ".bobstay"])
def test_keys_and_addresses_in_env_of_the_user_count_for_ourselves(standing: Standing, folder: str) -> None:
    env = {"ANTHROPIC_BASE_URL": standing.server.url, "ANTHROPIC_AUTH_TOKEN": "token-of-the-settings"}
    standing.user({"env": {**env, "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"}}, folder)
    assert standing.ask().stdout == "Hello.\n"
    headers = standing.server.requests[-1].headers
    assert headers["authorization"] == "Bearer token-of-the-settings"
    assert headers["x-team"] == "blue"


def test_the_environment_of_the_process_wins_over_env_of_the_settings(standing: Standing) -> None:
    standing.user({"env": {"ANTHROPIC_API_KEY": "other", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}})
    assert standing.ask(**standing.anthropic()).stdout == "Hello.\n"
    assert standing.server.requests[-1].headers["x-api-key"] == "key-of-the-environment"


def test_a_folder_that_is_not_trusted_cannot_say_where_requests_go(standing: Standing) -> None:
    standing.project({"env": {"ANTHROPIC_BASE_URL": standing.server.url, "ANTHROPIC_AUTH_TOKEN": "x"}})
    ended = standing.ask()
    assert ended.returncode == 1
    assert "No key for anthropic" in ended.stderr
    assert standing.server.requests == []


def test_a_trusted_folder_cannot_have_a_persons_key_sent_elsewhere(standing: Standing) -> None:
    file = standing.project({"env": {"ANTHROPIC_BASE_URL": standing.server.url}})
    ended = standing.ask(
        "--trust", ANTHROPIC_API_KEY="the-persons-key", ANTHROPIC_MODEL="haiku", HTTPS_PROXY="http://127.0.0.1:9"
    )
    assert standing.server.requests == []
    assert f"{file}: env.ANTHROPIC_BASE_URL was left out" in ended.stderr


def test_a_trusted_folder_may_name_a_gateway_with_a_key_of_its_own(standing: Standing) -> None:
    standing.project({"env": {"ANTHROPIC_BASE_URL": standing.server.url, "ANTHROPIC_AUTH_TOKEN": "of-the-project"}})
    assert standing.ask("--trust", ANTHROPIC_API_KEY="the-persons-key").stdout == "Hello.\n"
    assert "the-persons-key" not in str(standing.server.requests[-1].headers)
    assert standing.server.requests[-1].headers["authorization"] == "Bearer of-the-project"


def test_going_on_with_a_session_in_another_folder_is_told(standing: Standing, tmp_path: Path) -> None:
    session = "00000000-0000-4000-8000-00000000000a"
    assert standing.ask("--session-id", session, **standing.anthropic()).returncode == 0
    began = standing.work
    assert "was begun in" not in standing.ask("--resume", session, **standing.anthropic()).stderr
    standing.work = tmp_path / "elsewhere"
    standing.work.mkdir()
    ended = standing.ask("--resume", session, **standing.anthropic())
    assert ended.stdout == "Hello.\n"
    assert f"was begun in {began} and now goes on in {standing.work}" in ended.stderr


def test_an_import_from_outside_a_trusted_project_is_told_and_not_read(standing: Standing) -> None:
    (standing.home / "private.md").write_text("PRIVATE NOTES")
    (standing.work / "CLAUDE.md").write_text("See @~/private.md")
    ended = standing.ask("--trust", **standing.anthropic())
    assert f"{standing.home}/private.md" in ended.stderr
    assert "PRIVATE NOTES" not in standing.server.requests[-1].raw.decode()
