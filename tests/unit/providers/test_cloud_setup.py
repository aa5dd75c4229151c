"""Bedrock and Vertex from the variables of Claude Code: names, credentials, gateways and what is missing."""

import subprocess
import sys

import pytest

from bobstay.http.client import HttpClient
from bobstay.providers.cloud_access import MissingExtra
from bobstay.providers.cloud_setup import BadCloudVariableError, build_bedrock, build_vertex, locate_claude
from bobstay.providers.provider_registry import ProviderKeys
from tests.modelserver import ModelServer
from tests.unit.providers.model_calls import chunks_of, request

BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1"}
VERTEX = {"CLAUDE_CODE_USE_VERTEX": "true"}


@pytest.mark.parametrize(
    ("values", "alias", "model", "located"),
    [
        (BEDROCK, "opus", "claude-opus-5-5", "bedrock/global.anthropic.claude-opus-5-5"),
        ({**BEDROCK, "AWS_REGION": "us-west-2"}, "", "claude-opus-5-5", "bedrock/us.anthropic.claude-opus-5-5"),
        ({**BEDROCK, "AWS_REGION": "eu-west-1"}, "", "claude-opus-5-5", "bedrock/eu.anthropic.claude-opus-5-5"),
        ({**BEDROCK, "AWS_REGION": "ap-south-1"}, "", "claude-opus-5-5", "bedrock/global.anthropic.claude-opus-5-5"),
        (BEDROCK, "", "claude-sonnet-4-5", "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (BEDROCK, "", "claude-sonnet-4-5-20250929", "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (BEDROCK, "", "claude-opus-4-6", "bedrock/global.anthropic.claude-opus-4-6-v1"),
        (VERTEX, "opus", "claude-opus-5-5", "vertex/claude-opus-5-5"),
        (VERTEX, "", "claude-haiku-4-5", "vertex/claude-haiku-4-5@20251001"),
        (VERTEX, "", "claude-haiku-4-5@20251001", "vertex/claude-haiku-4-5@20251001"),
        ({**BEDROCK, "ANTHROPIC_DEFAULT_OPUS_MODEL": "arn:aws:x"}, "opus", "claude-opus-5-5", "bedrock/arn:aws:x"),
        ({**BEDROCK, "ANTHROPIC_DEFAULT_OPUS_MODEL": "arn:aws:x"}, "default", "claude-opus-5-5", "bedrock/arn:aws:x"),
        ({**VERTEX, "ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude-x"}, "haiku", "claude-haiku-5-5", "vertex/claude-x"),
        ({"CLAUDE_CODE_USE_BEDROCK": "0"}, "opus", "claude-opus-5-5", "anthropic/claude-opus-5-5"),
    ],
)
def test_a_claude_model_has_the_name_that_its_cloud_gives_it(
    values: dict[str, str], alias: str, model: str, located: str
) -> None:
    assert "/".join(locate_claude(alias, model, ProviderKeys(values))) == located


@pytest.mark.parametrize(("provider", "module"), [("bedrock", "botocore"), ("vertex", "google.auth")])
def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, provider: str, module: str
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module.partition(".")[0], None)
    build = build_bedrock if provider == "bedrock" else build_vertex
    with pytest.raises(MissingExtra, match=rf"pip install 'bobstay\[{provider}\]'"):
        build(HttpClient(), ProviderKeys())


@pytest.mark.parametrize("value", ["evil.example/#", "us east", "../x", "us@evil", "a\r\nb", "\u0430"])
@pytest.mark.parametrize("variable", ["AWS_REGION", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"])
def test_a_region_or_project_cannot_lead_to_another_host(variable: str, value: str) -> None:
    build = build_bedrock if variable == "AWS_REGION" else build_vertex
    with pytest.raises(BadCloudVariableError, match=variable):
        build(HttpClient(), ProviderKeys({variable: value}))


def test_a_region_has_no_dots() -> None:
    with pytest.raises(BadCloudVariableError, match="AWS_REGION"):
        build_bedrock(HttpClient(), ProviderKeys({"AWS_REGION": "us-east-1.evil.example"}))


@pytest.mark.parametrize("cloud", ["BEDROCK", "VERTEX"])
def test_leaving_out_the_credentials_needs_the_address_of_a_gateway(cloud: str) -> None:
    build = build_bedrock if cloud == "BEDROCK" else build_vertex
    with pytest.raises(BadCloudVariableError, match=f"ANTHROPIC_{cloud}_BASE_URL"):
        build(HttpClient(), ProviderKeys({f"CLAUDE_CODE_SKIP_{cloud}_AUTH": "1"}))


async def test_a_gateway_gets_the_headers_for_it_and_its_own_token(server: ModelServer, http: HttpClient) -> None:
    values = {
        "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1",
        "ANTHROPIC_BEDROCK_BASE_URL": server.url,
        "ANTHROPIC_AUTH_TOKEN": "bedrock-api-key-good",
    }
    keys = ProviderKeys(values, {"X-Gateway-Key": "own"}, {"bedrock": {"X-For": "bedrock"}, "vertex": {"X-No": "1"}})
    await chunks_of(build_bedrock(http, keys), request("hi", model="us.anthropic.claude-x"))
    sent = server.requests[0].headers
    assert (sent["x-gateway-key"], sent["x-for"], "x-no" in sent) == ("own", "bedrock", False)
    assert sent["authorization"] == "Bearer bedrock-api-key-good"
    assert server.refused == []


def test_a_sign_in_that_nobody_waits_for_does_not_keep_the_program_from_ending() -> None:
    program = (
        "import asyncio, threading; from bobstay.providers.cloud_access import run_apart;"
        "\n"
        "async def leave():\n"
        "    asking = asyncio.ensure_future(run_apart(threading.Event().wait))\n"
        "    await asyncio.sleep(0)\n"
        "    asking.cancel()\n"
        "asyncio.run(leave())\n"
        "print('left')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "left\n"


def test_neither_cloud_is_imported_where_none_is_used() -> None:
    """H4-1."""
    program = (
        "import sys; from bobstay.assembly import provider_access;"
        "print(*(name for name in sys.modules if name.partition('.')[0] in ('botocore', 'google', 'requests')"
        " or name.rpartition('.')[2] in ('bedrock', 'vertex', 'cloud_setup', 'cloud_access')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
