"""Models in a cloud, through the installed command: variables of Claude Code, secrets, and what a folder may say."""

import json
from pathlib import Path

import pytest

from tests.modelserver import Call, ModelServer, Step
from tests.modelserver.aws_signature import KEYS
from tests.wire.flows import say
from tests.wire.user_environment import UserEnvironment

SECRET = KEYS["AKIDEXAMPLE"]


@pytest.fixture
def cli(model: ModelServer, tmp_path: Path) -> UserEnvironment:
    return UserEnvironment(model, tmp_path)


def bedrock(cli: UserEnvironment, **more: str) -> dict[str, str]:
    return {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "AWS_REGION": "us-east-1",
        "ANTHROPIC_BEDROCK_BASE_URL": cli.model.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        **more,
    }


def profile(cli: UserEnvironment) -> None:
    cli.write(
        "home/.aws/credentials", f"[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {SECRET}\n"
    )


def test_the_variables_of_claude_code_lead_to_bedrock_and_nothing_secret_is_shown_or_passed_on(
    cli: UserEnvironment,
) -> None:
    """H3-11."""
    profile(cli)
    command = "cat ~/.aws/credentials; env"
    token = cli.model.play("t", Step(blocks=[Call("Bash", {"command": command}, "t1")]), say("Done."))
    variables = bedrock(cli, AWS_SESSION_TOKEN="not-for-anybody-8f2k1")
    ended = cli.run("-p", token, "--model", "sonnet", "--allowed-tools", "Bash", **variables)
    assert (ended.stdout, cli.model.refused) == ("Done.\n", [])
    assert [request.path.split("/")[2] for request in cli.model.requests] == ["us.anthropic.claude-sonnet-5-5"] * 2
    sent = cli.model.requests[-1].raw.decode()
    assert "aws_access_key_id" in sent, "the command ran"
    assert SECRET not in sent
    assert "not-for-anybody-8f2k1" not in sent
    assert SECRET not in "".join(file.read_text() for file in (cli.home / ".bobstay").rglob("*.jsonl"))


def test_the_cost_is_that_of_the_same_model_at_anthropic(cli: UserEnvironment) -> None:
    profile(cli)
    costs = []
    for name, variables in (
        ("claude-sonnet-4-5", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": cli.model.url}),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock(cli)),
    ):
        ended = cli.ask("--model", name, "--output-format", "json", **variables)
        costs.append(json.loads(ended.stdout)["total_cost_usd"])
    assert costs[0] == costs[1] > 0


def test_settings_may_choose_the_cloud_and_have_a_key_for_it(cli: UserEnvironment) -> None:
    env = {**bedrock(cli), "AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-good"}
    cli.user({"env": env}, ".claude")
    assert cli.ask().stdout == "Hello.\n"
    assert cli.model.requests[0].path.startswith("/model/us.anthropic.claude-opus-5-5/")


def test_a_stored_key_is_a_key_of_bedrock(cli: UserEnvironment) -> None:
    stored = cli.run("auth", "login", "bedrock", "--stdin", "--file", stdin="bedrock-api-key-good\n")
    assert stored.returncode == 0
    assert cli.ask(**bedrock(cli)).stdout == "Hello.\n"


def test_a_trusted_folder_chooses_the_cloud_but_not_who_one_is_there_or_where_that_is_sent(
    cli: UserEnvironment, tmp_path: Path
) -> None:
    profile(cli)
    evil = {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "AWS_REGION": "us-east-1",
        "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:9",
        "AWS_PROFILE": "admin",
    }
    cli.project({"env": evil})
    variables = {"ANTHROPIC_BEDROCK_BASE_URL": cli.model.url, "AWS_EC2_METADATA_DISABLED": "true"}
    ended = cli.ask("--trust", **variables)
    assert (ended.stdout, cli.model.refused) == ("Hello.\n", [])
    for name in ("ANTHROPIC_BEDROCK_BASE_URL", "AWS_PROFILE"):
        assert f"env.{name} was ignored: a project cannot choose how your credentials" in ended.stderr


def test_a_profile_that_a_folder_names_for_its_commands_is_nobodys_business(cli: UserEnvironment) -> None:
    cli.project({"env": {"AWS_PROFILE": "theirs"}})
    ended = cli.ask("--trust", **cli.anthropic())
    assert (ended.stdout, "AWS_PROFILE" in ended.stderr) == ("Hello.\n", False)


def test_a_region_that_leads_elsewhere_ends_the_run_with_its_reason(cli: UserEnvironment) -> None:
    profile(cli)
    ended = cli.ask(CLAUDE_CODE_USE_BEDROCK="1", AWS_REGION="evil.example/#")
    assert ended.returncode == 1
    assert "AWS_REGION cannot be 'evil.example/#'" in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr + ended.stdout


def test_credentials_that_are_missing_end_the_run_with_what_to_do(cli: UserEnvironment) -> None:
    ended = cli.ask("--model", "haiku", **bedrock(cli))
    assert ended.returncode == 1
    assert "aws sso login" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr + ended.stdout


def test_vertex_is_reached_with_the_variables_of_claude_code(cli: UserEnvironment) -> None:
    variables = {
        "CLAUDE_CODE_USE_VERTEX": "1",
        "CLOUD_ML_REGION": "us-east5",
        "ANTHROPIC_VERTEX_PROJECT_ID": "a-project",
        "ANTHROPIC_VERTEX_BASE_URL": f"{cli.model.url}/v1",
        "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
        "ANTHROPIC_AUTH_TOKEN": "good-access-token",
    }
    assert cli.ask("--model", "haiku", **variables).stdout == "Hello.\n"
    assert "/locations/us-east5/publishers/anthropic/models/claude-haiku-5-5:" in cli.model.requests[0].path
