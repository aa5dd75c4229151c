"""Refusals of the Anthropic API: the double makes them, and the adapter avoids them or retries without the cause."""

from typing import Any

import msgspec
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.base import Provider, ProviderError, Request, ToolSpec
from bobstay.providers.catalogue import lookup
from bobstay.providers.thinking import fit_thinking
from tests.modelserver import ModelServer, Say, Step
from tests.modelserver.anthropic_rules import complaints
from tests.unit.providers.model_calls import blocks_of, chunks_of, request

READ = {"name": "Read", "description": "Read it", "input_schema": {"type": "object"}}
USER = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
CALLED = {"role": "assistant", "content": [CALL]}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]}
ANSWERED = {"role": "user", "content": [RESULT]}
GOOD: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 4000,
    "stream": True,
    "tools": [READ],
    "messages": [USER, CALLED, ANSWERED],
}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def with_messages(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**GOOD, "messages": list(messages), **fields}


def message(text: str, role: str = "user", /, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text, **fields}]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({**GOOD, "colour": "red"}, "Extra inputs are not permitted"),
    (with_messages(), "at least one message is required"),
    (with_messages(message("hi", "assistant"), USER), 'first message must use the "user" role'),
    (with_messages({"role": "user", "content": []}), "non-empty content"),
    (with_messages(message("")), "text content blocks must be non-empty"),
    (with_messages(message(" \n")), "must contain non-whitespace text"),
    (with_messages(USER, message("so ", "assistant")), "cannot end with trailing whitespace"),
    (
        with_messages(USER, message("so", "assistant"), model="claude-opus-4-6"),
        "does not support assistant message prefill",
    ),
    (with_messages(USER, CALLED), "`tool_use` ids were found without `tool_result` blocks immediately after: t1"),
    (with_messages(USER, CALLED, USER), "without `tool_result` blocks immediately after"),
    (with_messages(USER, CALLED, {"role": "user", "content": [*USER["content"], RESULT]}), "immediately after: t1"),
    (with_messages(USER, ANSWERED), "unexpected `tool_use_id` found in `tool_result` blocks: t1"),
    (with_messages(USER, CALLED, ANSWERED, CALLED, ANSWERED), "`tool_use` ids must be unique"),
    (with_messages(USER, {"role": "assistant", "content": [{**CALL, "id": "a|b"}]}), "String should match pattern"),
    (with_messages(*[message(f"m{n}", **MARK) for n in range(5)]), "A maximum of 4 blocks with cache_control"),
    (
        with_messages(USER, {"role": "assistant", "content": [{**SIGNED, **MARK}, CALL]}, ANSWERED),
        "cache_control cannot",
    ),
    (with_messages(USER, {"role": "assistant", "content": [{**SIGNED, "signature": ""}, CALL]}, ANSWERED), "signature"),
    ({**GOOD, "tools": [READ, READ]}, "Tool names must be unique"),
    ({**GOOD, "tools": [{**READ, "name": "no.such"}]}, "name: String should match pattern"),
    ({**GOOD, "tools": [{**READ, "input_schema": {"properties": {}}}]}, "input_schema.type"),
    ({**GOOD, "tools": [{**READ, "input_schema": {"type": "object", "anyOf": []}}]}, "at the top level"),
    ({**GOOD, "tools": [{**READ, "input_schema": {"type": "object", "properties": {"$x": {}}}}]}, "Property keys"),
    ({**GOOD, "max_tokens": 64_001}, "which is the maximum allowed number of output tokens"),
    ({**GOOD, "thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model"),
    ({**GOOD, "thinking": {"type": "enabled", "budget_tokens": 500}}, "greater than or equal to 1024"),
    ({**GOOD, "thinking": {"type": "enabled", "budget_tokens": 4000}}, "`max_tokens` must be greater"),
    ({**GOOD, "thinking": {"type": "enabled", "budget_tokens": 2000}}, "Expected `thinking` or `redacted_thinking`"),
    ({**GOOD, "output_config": {"effort": "low"}}, "does not support the effort parameter"),
    ({**GOOD, "model": "claude-opus-4-6", "output_config": {"effort": "xhigh"}}, "output_config.effort"),
    (
        {**GOOD, "model": "claude-opus-4-7", "thinking": {"type": "enabled", "budget_tokens": 2000}},
        "thinking.type.enabled",
    ),
    ({**GOOD, "model": "claude-opus-5-5", "thinking": {"type": "disabled"}}, "thinking.type.disabled"),
    ({**GOOD, "model": "claude-sonnet-5-5", "thinking": {"type": "disabled"}}, "thinking.type.between_tools"),
    ({**GOOD, "model": "claude-opus-4-8", "temperature": 0.5}, "`temperature`"),
    ({**GOOD, "model": "claude-opus-5-5", "tool_choice": {"type": "any"}}, 'type "tool" and "any" are not supported'),
    (
        with_messages(USER, thinking={"type": "enabled", "budget_tokens": 2000}, tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
]


@pytest.mark.parametrize(("body", "expected"), REFUSED, ids=[expected[:40] for _, expected in REFUSED])
def test_the_double_refuses_what_the_api_refuses(body: dict[str, Any], expected: str) -> None:
    assert expected in next(complaints(body), "")


def test_the_double_takes_what_is_right() -> None:
    assert list(complaints(GOOD)) == []


MODELS = [
    "claude-fable-5-2",
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-sonnet-5-5",
    "claude-sonnet-5",
    "claude-haiku-5-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
    "claude-opus-4-1",
    "claude-3-5-haiku",
]


@pytest.mark.parametrize("effort", [None, "low", "xhigh", "max"])
@pytest.mark.parametrize("wanted", ["off", "adaptive", 2000, 50_000])
@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_asked_to_think_only_as_it_accepts(model: str, wanted: Any, effort: Any) -> None:
    info = lookup(model)
    thinking, fitting = fit_thinking(wanted, effort, info.thinks, info.efforts)
    asked = request("hi", model=model, max_tokens=8000, thinking=thinking, thinks=info.thinks, effort=fitting)
    assert list(complaints(body_of(asked))) == []


@pytest.mark.parametrize("model", MODELS[:-1])
def test_every_model_that_can_think_does_so_unless_told_otherwise(model: str) -> None:
    info = lookup(model)
    thinking, effort = fit_thinking("adaptive", None, info.thinks, info.efforts)
    asked = request("hi", model=model, max_tokens=32_000, thinking=thinking, thinks=info.thinks, effort=effort)
    assert body_of(asked)["thinking"]["type"] in ("adaptive", "enabled")


def test_thinking_is_shown_in_summaries_and_input_streamed_as_it_is_made() -> None:
    tools = (ToolSpec("Read", "Read it", {"type": "object"}),)
    body = body_of(request("hi", thinking="adaptive", tools=tools, hosted_search=True))
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert [tool.get("eager_input_streaming") for tool in body["tools"]] == [True, None]
    assert body_of(request("hi", thinking="adaptive", thinking_display="omitted"))["thinking"]["display"] == "omitted"


@pytest.mark.parametrize(
    ("schema", "keys"),
    [
        ({"properties": {"a": {"type": "string"}}}, ["a"]),
        ({"oneOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]}, ["a", "b"]),
        ({"type": "object", "properties": {"a": {}, "$ref?": {}}, "required": ["a", "$ref?"]}, ["a"]),
        ({"type": ["object", "null"], "anyOf": "nonsense"}, []),
    ],
)
def test_a_tool_of_others_gets_a_schema_the_api_takes(schema: dict[str, Any], keys: list[str]) -> None:
    body = body_of(request("hi", tools=(ToolSpec("mcp__x__y", "", schema),)))
    assert list(complaints(body)) == []
    assert list(body["tools"][0]["input_schema"].get("properties", {})) == keys


def test_a_thought_that_lost_its_signature_takes_the_others_of_its_message_with_it() -> None:
    thoughts = (Thinking("a", "c2ln", "anthropic"), Thinking("b [redacted]", "", "anthropic"))
    call = Message("assistant", (*thoughts, ToolCall("t1", "Read", {})))
    history = (Message("user", (Text("go"),)), call, Message("user", (ToolReply("t1", (Text("out"),)),)))
    sent = body_of(request("", messages=history))["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["tool_use"]


async def test_a_turn_that_lost_its_thinking_goes_on_without_any(server: ModelServer, provider: Provider) -> None:
    asked = in_a_turn(Text("so"), model="claude-sonnet-4-5", thinking=4000, thinks="budget")
    await chunks_of(provider, asked)
    assert server.refused == []
    assert "thinking" not in server.requests[0].body


async def test_a_server_that_misses_thinking_is_asked_once_more_without_it(
    server: ModelServer, provider: Provider
) -> None:
    message = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."
    token = server.play("lost", Step(status=400, message=message, times=1, then=Step(blocks=[Say("done")])))
    chunks = await chunks_of(provider, request(token, thinking=4000))
    assert blocks_of(chunks) == [Text("done")]
    assert ["thinking" in asked.body for asked in server.requests] == [True, False]


@pytest.mark.parametrize(
    ("model", "thinking", "first", "then"),
    [
        ("claude-opus-4-7", 8000, "enabled", {"type": "adaptive", "display": "summarized"}),
        ("claude-sonnet-4-5", "adaptive", "adaptive", {"type": "enabled", "budget_tokens": 16_000}),
    ],
)
async def test_a_model_that_thinks_otherwise_than_known_is_asked_in_its_own_way_from_then_on(
    server: ModelServer, provider: Provider, model: str, thinking: Any, first: str, then: dict[str, Any]
) -> None:
    for _ in range(2):
        await chunks_of(provider, request("hi", model=model, thinking=thinking, thinks="adaptive"))
    asked = [each.body["thinking"] for each in server.requests]
    assert [asked[0]["type"], *asked[1:]] == [first, then, then]
    assert server.requests[1].body.get("output_config", {}).get("effort") == ("medium" if thinking == 8000 else None)


@pytest.mark.parametrize(("thinks", "then"), [("adaptive_only", None), ("always", None)])
async def test_a_model_that_cannot_stop_thinking_is_not_told_to(
    server: ModelServer, provider: Provider, thinks: Any, then: None
) -> None:
    await chunks_of(provider, request("hi", model="claude-opus-5-5", thinking="off", thinks=thinks))
    assert server.requests[-1].body.get("thinking") is then


async def test_an_effort_that_is_refused_is_lowered(server: ModelServer, provider: Provider) -> None:
    await chunks_of(provider, request("hi", model="claude-opus-4-6", effort="xhigh"))
    await chunks_of(provider, request("hi", model="claude-sonnet-4-5", effort="low"))
    sent = [asked.body.get("output_config") for asked in server.requests]
    assert sent == [{"effort": "xhigh"}, {"effort": "high"}, {"effort": "low"}, None]


@pytest.mark.parametrize("field", ["eager_input_streaming", "display"])
async def test_a_server_that_does_not_know_a_newer_field_is_asked_without_it(
    server: ModelServer, provider: Provider, field: str
) -> None:
    def older(body: Any) -> Step:
        if field in msgspec.json.encode(body).decode():
            return Step(status=400, message=f"thinking or tools.0.custom.{field}: Extra inputs are not permitted")
        return Step(blocks=[Say("done")])

    token = server.play("older", older)
    tools = (ToolSpec("Read", "", {"type": "object"}),)
    for _ in range(2):
        assert blocks_of(await chunks_of(provider, request(token, tools=tools, thinking="adaptive"))) == [Text("done")]
    assert len(server.requests) == 3


async def test_compatible_servers_get_unsigned_thinking_back(server: ModelServer, provider: Provider) -> None:
    asked = in_a_turn(Thinking("hm", "", "anthropic"), model="deepseek-v4-pro")
    await chunks_of(provider, asked)
    sent = server.requests[0].body["messages"][1]["content"][0]
    assert sent == {"type": "thinking", "thinking": "hm", "signature": ""}
    assert server.refused == []


async def test_a_compatible_server_that_misses_thinking_is_told_not_to_think(
    server: ModelServer, provider: Provider
) -> None:
    for _ in range(2):
        await chunks_of(provider, in_a_turn(Text("so"), model="deepseek-v4-pro", thinks="unknown"))
    assert [asked.body.get("thinking") for asked in server.requests] == [None, *[{"type": "disabled"}] * 2]


def test_anthropic_itself_never_gets_unsigned_thinking() -> None:
    asked = in_a_turn(Thinking("hm", "", "anthropic"))
    assert [block["type"] for block in body_of(asked)["messages"][1]["content"]] == ["tool_use"]


async def test_a_gateway_to_anthropic_that_refuses_unsigned_thinking_is_asked_without_it(
    server: ModelServer, provider: Provider
) -> None:
    for _ in range(2):
        await chunks_of(provider, in_a_turn(Thinking("hm", "", "anthropic"), model="claude-opus-5-5"))
    assert len(server.refused) == 1
    assert len(server.requests) == 3


async def test_only_one_credential_is_sent_and_it_is_the_token(server: ModelServer, http: HttpClient) -> None:
    await chunks_of(Anthropic(http, base_url=server.url, api_key="k", auth_token="t"), request("hi"))
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer t"
    assert "x-api-key" not in headers


async def test_the_double_refuses_two_credentials_and_none(server: ModelServer, http: HttpClient) -> None:
    both = Anthropic(http, base_url=server.url, headers={"Authorization": "Bearer t", "x-api-key": "k"})
    for provider in (both, Anthropic(http, base_url=server.url)):
        with pytest.raises(ProviderError) as failed:
            await chunks_of(provider, request("hi"))
        assert failed.value.kind == "authentication"


def test_thinking_between_calls_is_asked_for_where_it_has_a_budget() -> None:
    own = Anthropic(HttpClient(), base_url="https://api.anthropic.com", api_key="k")
    assert own._headers_for(request("hi", thinking=4000))["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert "anthropic-beta" not in own._headers_for(request("hi", thinking="adaptive"))


def test_an_image_of_a_kind_the_api_does_not_know_is_refused_by_the_double() -> None:
    image = Image("image/bmp", "AAAA")
    body = body_of(request("", messages=(Message("user", (Text("see"), image)),)))
    assert "media_type" in next(complaints(body), "")


@pytest.fixture
def provider(server: ModelServer, http: HttpClient) -> Anthropic:
    return Anthropic(http, base_url=server.url, api_key="key")


def body_of(asked: Request) -> dict[str, Any]:
    body = Anthropic(HttpClient(), base_url="https://api.anthropic.com", api_key="k").body(asked)
    decoded: dict[str, Any] = msgspec.json.decode(body)
    return decoded


def in_a_turn(first: Any, **fields: Any) -> Request:
    """A request in the middle of a turn whose first answer began with `first`."""
    called = Message("assistant", (first, ToolCall("t1", "Read", {})))
    history = (Message("user", (Text("go"),)), called, Message("user", (ToolReply("t1", (Text("out"),)),)))
    return request("", messages=history, **fields)


@pytest.mark.parametrize(
    ("model", "forced"), [("claude-opus-5", True), ("claude-opus-5-5", False), ("claude-haiku-4-5", False)]
)
async def test_a_tool_is_forced_only_where_the_api_lets_one(
    server: ModelServer, provider: Provider, model: str, forced: bool
) -> None:
    info = lookup(model)
    thinking, _ = fit_thinking("adaptive", None, info.thinks, info.efforts)
    tools = (ToolSpec("Read", "", {"type": "object"}),)
    asked = request("hi", model=model, tools=tools, thinking=thinking, thinks=info.thinks, forced_tool="Read")
    await chunks_of(provider, asked)
    assert server.refused == []
    assert ("tool_choice" in server.requests[0].body) is forced


async def test_a_model_that_cannot_be_forced_is_asked_without(server: ModelServer, provider: Provider) -> None:
    tools = (ToolSpec("Read", "", {"type": "object"}),)
    asked = request("hi", model="claude-opus-5-5", tools=tools, thinking="adaptive", forced_tool="Read")
    await chunks_of(provider, asked)
    assert ["tool_choice" in each.body for each in server.requests] == [True, False]
