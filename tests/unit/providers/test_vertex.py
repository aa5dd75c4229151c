"""Claude and Gemini on Google Vertex AI: access tokens, addresses and refusals, against a double that checks them."""

import base64
import datetime
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from bobstay.http.client import HttpClient
from bobstay.model.message import Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import ErrorKind, Provider, ProviderError, ToolSpec
from bobstay.providers.cloud_access import FixedAccess
from bobstay.providers.cloud_setup import build_vertex
from bobstay.providers.provider_registry import ProviderKeys
from bobstay.providers.vertex_endpoint import VertexEndpoint
from tests.modelserver import Call, Counts, ModelServer, Say, Step, Think
from tests.unit.providers.model_calls import blocks_of, chunks_of, ending_of, request

CLAUDE = "claude-sonnet-4-5@20250929"
GEMINI = "gemini-2.5-flash"
TOOL = ToolSpec("Read", "Read a file", {"type": "object", "properties": {"file_path": {"type": "string"}}})
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("PATH", "")


def account(server: ModelServer) -> dict[str, Any]:
    """The file of a service account whose tokens come from the double."""
    pem = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {
        "type": "service_account",
        "project_id": "a-project",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "agent@a-project.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"{server.url}/token",
    }


@pytest.fixture
def signed_in(server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModelServer:
    """The double gives out an access token to this service account."""
    file = tmp_path / "account.json"
    file.write_bytes(msgspec.json.encode(account(server)))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    give_out(server, "good-access-token")
    return server


def give_out(server: ModelServer, token: str) -> None:
    answer = {"access_token": token, "expires_in": 3600, "token_type": "Bearer"}
    server.pages["/token"] = msgspec.json.encode(answer)


def vertex(server: ModelServer, http: HttpClient, values: dict[str, str] | None = None, **more: Any) -> Provider:
    address = {"ANTHROPIC_VERTEX_BASE_URL": f"{server.url}/v1"}
    return build_vertex(http, ProviderKeys({**address, **(values or {})}, **more))


async def failure_of(provider: Provider, model: str = CLAUDE, prompt: str = "hi") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await chunks_of(provider, request(prompt, model=model))
    return caught.value


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (CLAUDE, "/v1/projects/a-project/locations/global/publishers/anthropic/models/{}:streamRawPredict"),
        (GEMINI, "/v1/projects/a-project/locations/global/publishers/google/models/{}:streamGenerateContent"),
    ],
)
async def test_claude_and_gemini_answer_whoever_has_a_token(
    signed_in: ModelServer, http: HttpClient, model: str, path: str
) -> None:
    """H3-11: the project is that of the credentials."""
    step = Step(
        blocks=[Think("hm"), Say("I read it."), Call("Read", {"file_path": "a.py"}, id="call_1")],
        usage=Counts(input=100, output=20, cache_read=30),
    )
    learned: dict[str, str] = {}
    provider = vertex(signed_in, http, learn_secrets=learned.update)
    prompt = signed_in.play("full", step)
    chunks = await chunks_of(provider, request(prompt, model=model, tools=(TOOL,), session_id="s"))
    assert signed_in.refused == []
    assert [type(block) for block in blocks_of(chunks)] == [Thinking, Text, ToolCall]
    assert ending_of(chunks).usage == Usage(input=100, output=20, cache_read=30)
    sent = signed_in.requests[0]
    assert sent.path == path.format(model)
    assert "model" not in sent.body
    assert learned == {"Google access token 1": "good-access-token"}


async def test_a_token_is_asked_for_once_with_a_signed_assertion(signed_in: ModelServer, http: HttpClient) -> None:
    provider = vertex(signed_in, http)
    for _ in range(3):
        await chunks_of(provider, request("hi", model=CLAUDE))
    asked = [sent for sent in signed_in.others if sent.path == "/token"]
    assert len(asked) == 1
    assertion = asked[0].raw.decode().partition("assertion=")[2].partition("&")[0]
    signed, _, signature = assertion.rpartition(".")
    KEY.public_key().verify(_unpadded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    claims = msgspec.json.decode(_unpadded(signed.partition(".")[2]))
    assert claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"


async def test_the_body_is_anthropics_but_for_the_model_and_the_version(
    signed_in: ModelServer, http: HttpClient
) -> None:
    asked = request("hi", model=CLAUDE, tools=(TOOL,), betas=("context-1m-2025-08-07",))
    await chunks_of(vertex(signed_in, http), asked)
    sent = signed_in.requests[0]
    assert (sent.body["anthropic_version"], sent.body["stream"]) == ("vertex-2023-10-16", True)
    assert sent.headers["anthropic-beta"] == "context-1m-2025-08-07"
    assert "anthropic-version" not in sent.headers
    assert sent.body["tools"][-1]["cache_control"] == sent.body["system"][-1]["cache_control"] == {"type": "ephemeral"}


async def test_a_token_that_is_refused_is_renewed_once(signed_in: ModelServer, http: HttpClient) -> None:
    give_out(signed_in, "revoked-token")
    provider = vertex(signed_in, http)
    error = await failure_of(provider)
    assert (error.kind, error.status, len(signed_in.requests)) == ("authentication", 401, 2)
    give_out(signed_in, "newer-access-token")
    assert blocks_of(await chunks_of(provider, request("hi", model=CLAUDE))) == [Text("(no scenario)")]


async def test_a_workload_impersonates_a_service_account_where_its_credentials_say_so(
    server: ModelServer, http: HttpClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = "/v1/projects/-/serviceAccounts/other@a-project.iam.gserviceaccount.com:generateAccessToken"
    (tmp_path / "subject").write_text("token-of-the-workload")
    file = tmp_path / "impersonated.json"
    found = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"{server.url}/token",
        "credential_source": {"file": str(tmp_path / "subject")},
        "service_account_impersonation_url": server.url + path,
    }
    file.write_bytes(msgspec.json.encode(found))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    exchanged = {"access_token": "x", "expires_in": 3600, "token_type": "Bearer", "issued_token_type": "access_token"}
    server.pages["/token"] = msgspec.json.encode(exchanged)
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    answer = {"accessToken": "good-access-token", "expireTime": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
    server.pages[path] = msgspec.json.encode(answer)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "a-project")
    await chunks_of(vertex(server, http), request("hi", model=CLAUDE))
    assert server.refused == []


async def test_without_credentials_the_command_to_sign_in_is_named(server: ModelServer, http: HttpClient) -> None:
    error = await failure_of(vertex(server, http, {"ANTHROPIC_VERTEX_PROJECT_ID": "a-project"}))
    assert error.kind == "authentication"
    assert "gcloud auth application-default login" in str(error)
    assert server.requests == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"type":"service_account"}', b'{"type":"nonsense"}', b"\xff"])
async def test_a_file_of_credentials_that_cannot_be_used_is_named(
    server: ModelServer, http: HttpClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "bad.json"))
    error = await failure_of(vertex(server, http, {"ANTHROPIC_VERTEX_PROJECT_ID": "a-project"}))
    assert (error.kind, "gcloud auth" in str(error)) == ("authentication", True)


async def test_a_token_server_that_cannot_be_reached_is_tried_again_later(
    signed_in: ModelServer, http: HttpClient, tmp_path: Path
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        found = {**account(signed_in), "token_uri": f"http://127.0.0.1:{closed.getsockname()[1]}/token"}
        (tmp_path / "account.json").write_bytes(msgspec.json.encode(found))
        error = await failure_of(vertex(signed_in, http))
    assert (error.kind, error.retryable) == ("connection", True)


async def test_the_sign_in_of_a_person_is_used_without_a_warning_about_quotas(
    server: ModelServer, http: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings are errors in tests. Tokens for a person come from Google only, so that a proxy stands in the way."""
    found = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    (tmp_path / "gcloud").mkdir()
    (tmp_path / "gcloud" / "application_default_credentials.json").write_bytes(msgspec.json.encode(found))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{closed.getsockname()[1]}")
        error = await failure_of(vertex(server, http, {"ANTHROPIC_VERTEX_PROJECT_ID": "a-project"}))
    assert (error.kind, "was not reached" in str(error)) == ("connection", True)


async def test_a_refused_sign_in_is_told_as_google_told_it(signed_in: ModelServer, http: HttpClient) -> None:
    signed_in.pages["/token"] = b'{"error":"invalid_grant","error_description":"Account has been deleted"}'
    error = await failure_of(vertex(signed_in, http))
    assert error.kind == "authentication"


@pytest.mark.parametrize(
    ("values", "kind", "status"),
    [
        ({"ANTHROPIC_VERTEX_PROJECT_ID": "not-mine"}, "permission", 403),
        ({"CLOUD_ML_REGION": "mars-north1"}, "not_found", 404),
    ],
)
async def test_what_vertex_refuses_has_its_kind(
    signed_in: ModelServer, http: HttpClient, values: dict[str, str], kind: ErrorKind, status: int
) -> None:
    error = await failure_of(vertex(signed_in, http, values))
    assert (error.kind, error.status) == (kind, status)


@pytest.mark.parametrize("model", [CLAUDE, GEMINI])
@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit"), (503, "overloaded"), (500, "server")])
@pytest.mark.parametrize("after", [None, 1])
async def test_a_failure_is_judged_the_same_inside_the_stream_and_outside(
    signed_in: ModelServer, http: HttpClient, model: str, status: int, kind: ErrorKind, after: int | None
) -> None:
    """F10."""
    step = Step(blocks=[Say("one"), Say("two")], status=status, message="not now", error_after=after)
    error = await failure_of(vertex(signed_in, http), model, signed_in.play("fails", step))
    assert (error.kind, str(error), error.retryable) == (kind, "not now", True)


async def test_thinking_goes_back_to_the_model_it_came_from(signed_in: ModelServer, http: HttpClient) -> None:
    call = Step(blocks=[Think("a thought", "signed"), Call("Read", {"file_path": "a"}, id="call_1")])
    provider = vertex(signed_in, http)
    prompt = signed_in.play("think", call, Step(blocks=[Say("done")]))
    first = blocks_of(await chunks_of(provider, request(prompt, model=CLAUDE, tools=(TOOL,))))
    history = (
        Message("user", (Text(prompt),)),
        Message("assistant", tuple(first)),
        Message("user", (ToolReply("call_1", (Text("x"),)),)),
    )
    await chunks_of(provider, request("", model=CLAUDE, tools=(TOOL,), messages=history))
    assert signed_in.refused == []
    assert b"a thought" in signed_in.requests[-1].raw


async def test_other_models_are_refused_before_anything_is_sent(signed_in: ModelServer, http: HttpClient) -> None:
    error = await failure_of(vertex(signed_in, http), "llama-4-maverick")
    assert (error.kind, "neither a Claude nor a Gemini" in str(error)) == ("not_found", True)
    assert signed_in.requests == []


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
    ],
)
async def test_each_region_has_its_host(region: str, host: str) -> None:
    url = await VertexEndpoint(FixedAccess({}), region, "p").url("anthropic", "claude-x", "streamRawPredict")
    assert (
        url == f"https://{host}/v1/projects/p/locations/{region}/publishers/anthropic/models/claude-x:streamRawPredict"
    )


async def test_a_gateway_that_signs_in_itself_gets_its_own_token_only(server: ModelServer, http: HttpClient) -> None:
    values = {
        "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
        "ANTHROPIC_AUTH_TOKEN": "good-access-token",
        "ANTHROPIC_VERTEX_PROJECT_ID": "a-project",
    }
    await chunks_of(vertex(server, http, values), request("hi", model=CLAUDE))
    assert server.refused == []


async def test_tools_that_a_search_found_are_sent_whole(signed_in: ModelServer, http: HttpClient) -> None:
    """H1-6: to defer them needs a beta there."""
    found = ToolSpec("mcp__a__found", "Is found.", {"type": "object"}, is_deferred=True)
    called = Message("assistant", (ToolCall("t1", "ToolSearch", {}),))
    reply = Message("user", (ToolReply("t1", (Text("Loaded"),), loads=(found.name,)),))
    messages = (Message("user", (Text("go"),)), called, reply)
    await chunks_of(vertex(signed_in, http), request("", model=CLAUDE, messages=messages, tools=(TOOL, found)))
    assert signed_in.refused == []
    assert [tool.get("defer_loading") for tool in signed_in.requests[0].body["tools"]] == [None, None]


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
