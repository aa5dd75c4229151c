"""Other models on Amazon Bedrock: requests that fit the service's own description, and the events of its stream."""

from typing import Any

import pytest

from bobstay.http.client import HttpClient
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import ErrorKind, Provider, ProviderError, ToolSpec
from bobstay.providers.bedrock import is_claude
from bobstay.providers.cloud_setup import build_bedrock
from bobstay.providers.provider_registry import ProviderKeys
from tests.modelserver import Call, Counts, ModelServer, Say, Step, Think
from tests.modelserver.bedrock_converse import complaints, event
from tests.unit.providers.model_calls import blocks_of, chunks_of, ending_of, request

NOVA = "us.amazon.nova-pro-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
TOOL = ToolSpec("Read", "Read a file", {"type": "object", "properties": {"file_path": {"type": "string"}}})
USER = {"role": "user", "content": [{"text": "hi"}]}


@pytest.fixture
def provider(server: ModelServer, http: HttpClient) -> Provider:
    values = {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-good", "ANTHROPIC_BEDROCK_BASE_URL": server.url}
    return build_bedrock(http, ProviderKeys(values))


@pytest.mark.parametrize(
    ("model", "claude"),
    [
        ("us.anthropic.claude-sonnet-5-5", True),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-5-5", True),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2", True),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", False),
        (NOVA, False),
        (LLAMA, False),
    ],
)
def test_the_name_says_which_api_a_model_has(model: str, claude: bool) -> None:
    assert is_claude(model) is claude


@pytest.mark.parametrize("model", [NOVA, LLAMA])
async def test_a_whole_answer_is_heard(server: ModelServer, provider: Provider, model: str) -> None:
    """H3-11."""
    step = Step(
        blocks=[Think("hm"), Say("I read it."), Call("Read", {"file_path": "a.py"}, id="call_1")],
        usage=Counts(input=100, output=20, cache_read=30, cache_write=5),
    )
    chunks = await chunks_of(provider, request(server.play("full", step), model=model, tools=(TOOL,)))
    assert server.refused == []
    assert [type(block) for block in blocks_of(chunks)] == [Thinking, Text, ToolCall]
    assert blocks_of(chunks)[-1] == ToolCall("call_1", "Read", {"file_path": "a.py"})
    done = ending_of(chunks)
    assert (done.stop, done.usage) == ("tool_use", Usage(input=100, output=20, cache_read=30, cache_write=5))
    assert done.request_id.startswith("aws-")


@pytest.mark.parametrize("model", [NOVA, LLAMA])
async def test_every_kind_of_block_is_sent_as_the_service_describes_it(
    server: ModelServer, provider: Provider, model: str
) -> None:
    history = (
        Message("user", (Text("look"), Text("  "), Image("image/png", "aGk="))),
        Message("assistant", (Thinking("mine", "s", "anthropic"), ToolCall("call/1", "Read it", {"a": 1}))),
        Message("user", (ToolReply("call/1", (Text("x"), Image("image/jpeg", "aGk=")), is_error=True),)),
        Message("assistant", (Thinking("only", "s", "anthropic"),)),
        Message("user", (Text("go on"),)),
    )
    await chunks_of(provider, request("", model=model, tools=(TOOL,), messages=history))
    assert server.refused == []
    sent = server.requests[0].body["messages"]
    assert sent[1]["content"] == [{"toolUse": {"toolUseId": "call_1", "name": "Read_it", "input": {"a": 1}}}]
    assert sent[2]["content"][0]["toolResult"]["status"] == "error"
    assert ("cachePoint" in sent[-1]["content"][-1]) is (model == NOVA)


async def test_a_forced_tool_is_asked_for_and_left_to_the_model_where_that_is_refused(
    server: ModelServer, provider: Provider
) -> None:
    for model in (NOVA, LLAMA, LLAMA):
        await chunks_of(provider, request("hi", model=model, tools=(TOOL,), forced_tool="Read"))
    choices = ["toolChoice" in sent.body["toolConfig"] for sent in server.requests]
    assert choices == [True, True, False, False]
    assert len(server.refused) == 1


@pytest.mark.parametrize(
    ("exception", "kind", "status"),
    [("ThrottlingException", "rate_limit", 429), ("ModelStreamErrorException", "server", 424)],
)
@pytest.mark.parametrize("after", [None, 1])
async def test_exceptions_are_judged_as_with_claude(
    server: ModelServer, provider: Provider, exception: str, kind: ErrorKind, status: int, after: int | None
) -> None:
    step = Step(blocks=[Say("a"), Say("b")], status=status, error_type=exception, message="no", error_after=after)
    with pytest.raises(ProviderError) as caught:
        await chunks_of(provider, request(server.play("fails", step), model=NOVA))
    assert (caught.value.kind, caught.value.status) == (kind, status)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (event("messageStart", {}) + event("messageStop", {"stopReason": "malformed_tool_use"}), "protocol"),
        (event("messageStart", {}) + event("contentBlockDelta", {"delta": {"text": 5}}), "protocol"),
        (event("messageStart", {}) + event("messageStop", {"stopReason": "end_turn"}), "connection"),
        (event("metadata", {}), "connection"),
        (b"", "connection"),
    ],
)
async def test_an_answer_that_is_not_whole_is_an_error(
    server: ModelServer, provider: Provider, raw: bytes, kind: ErrorKind
) -> None:
    with pytest.raises(ProviderError) as caught:
        await chunks_of(provider, request(server.play("odd", Step(raw=raw)), model=NOVA))
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": []}, "must start with a user"),
        ({"messages": [USER], "stream": True}, "Unknown parameter"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "Invalid type"),
        ({"messages": [USER, USER]}, "alternate"),
        ({"messages": [{"role": "user", "content": [{"text": " "}]}]}, "blank"),
        ({"messages": [USER], "system": [{"text": "x"}, {"cachePoint": {"type": "default"}}]}, "prompt caching"),
    ],
)
def test_the_double_refuses_what_the_service_refuses(body: dict[str, Any], words: str) -> None:
    assert words in next(complaints(LLAMA, body))
    assert next(complaints(LLAMA, {"messages": [USER]}), "") == ""
