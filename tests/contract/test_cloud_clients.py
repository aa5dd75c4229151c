"""Anthropic's own clients for Bedrock and Vertex, and Google's for Vertex, accept the doubles of both clouds."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.modelserver import Call, Counts, ModelRequest, ModelServer, Say, Step
from tests.modelserver.aws_signature import KEYS, refusal_of

SECRET = KEYS["AKIDEXAMPLE"]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.play(
            "full",
            Step(
                blocks=[Say("I read it."), Call("Read", {"file_path": "a.py"}, id="call_1")],
                usage=Counts(input=100, output=20, cache_read=30),
            ),
        )
        running.play("late", Step(blocks=[Say("a"), Say("b")], error_after=1, status=429, message="slow down"))
        running.play("busy", Step(status=429, message="slow down"))
        yield running


@pytest.fixture(params=["bedrock", "vertex"])
def client(request: pytest.FixtureRequest, model: ModelServer) -> Any:
    if request.param == "bedrock":
        return anthropic.AnthropicBedrock(
            api_key="bedrock-api-key-good", aws_region="us-east-1", base_url=model.url, max_retries=0
        )
    return anthropic.AnthropicVertex(
        access_token="good-access-token",
        region="global",
        project_id="a-project",
        base_url=f"{model.url}/v1",
        max_retries=0,
    )


def _name(client: object) -> str:
    bedrock = isinstance(client, anthropic.AnthropicBedrock)
    return "us.anthropic.claude-sonnet-4-5-20250929-v1:0" if bedrock else "claude-sonnet-4-5@20250929"


def _kinds(client: Any, prompt: str) -> list[str]:
    """The kinds of the events with which the model answers."""
    said = [{"role": "user", "content": prompt}]
    with client.messages.create(model=_name(client), max_tokens=100, messages=said, stream=True) as stream:
        return [event.type for event in stream]


def test_the_clients_stream_a_whole_answer(model: ModelServer, client: Any) -> None:
    kinds = _kinds(client, "SCN:full")
    assert model.refused == []
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    assert kinds.count("content_block_stop") == 2


def test_the_clients_know_the_errors(client: Any) -> None:
    with pytest.raises(anthropic.RateLimitError, match="slow down"):
        _kinds(client, "SCN:busy")
    with pytest.raises(anthropic.APIStatusError, match="slow down"):
        _kinds(client, "SCN:late")


def _signed(**changes: str) -> ModelRequest:
    """A request as botocore signs it, then changed."""
    url = "http://127.0.0.1:1/model/us.anthropic.claude-x%3A0/invoke-with-response-stream"
    made = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=b"{}")
    SigV4Auth(Credentials("AKIDEXAMPLE", SECRET), "bedrock", changes.pop("region", "us-east-1")).add_auth(made)
    headers = {"host": "127.0.0.1:1", **{name.lower(): value for name, value in made.headers.items()}}
    raw = changes.pop("raw", "{}").encode()
    path = changes.pop("path", url.removeprefix("http://127.0.0.1:1"))
    return ModelRequest("POST", path, "", {**headers, **changes}, None, raw, 0.0)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, ""),
        ({"raw": '{"a":1}'}, "InvalidSignatureException"),
        ({"path": "/model/us.anthropic.claude-y%3A0/invoke-with-response-stream"}, "InvalidSignatureException"),
        ({"content-type": "text/plain"}, "InvalidSignatureException"),
        ({"host": "evil.example"}, "InvalidSignatureException"),
        ({"region": "eu-west-1"}, "InvalidSignatureException"),
        ({"x-amz-date": "20200101T000000Z"}, "InvalidSignatureException"),
        ({"x-amz-security-token": "made-up"}, "UnrecognizedClientException"),
        ({"x-amz-security-token": "expired-session-token"}, "ExpiredTokenException"),
        ({"authorization": ""}, "MissingAuthenticationTokenException"),
        ({"authorization": "AWS4-HMAC-SHA256 nonsense"}, "IncompleteSignatureException"),
        ({"authorization": "Bearer wrong"}, "AccessDeniedException"),
    ],
)
def test_the_double_of_bedrock_notices_every_change_of_a_signed_request(changes: dict[str, str], error: str) -> None:
    refused = refusal_of(_signed(**changes))
    assert (refused.error_type if refused is not None else "") == error
