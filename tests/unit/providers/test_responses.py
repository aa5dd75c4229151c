"""The Responses adapter: requests and streams."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.http.client import HttpClient
from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.live_events import MessageBegan, TextDelta
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.responses import Responses, build_settings, encode_items
from bobstay.providers.responses_stream import ResponsesStreamReader
from tests.modelserver import BROKEN, Call, Gate, ModelServer, Say, Step, Think

REASONING = Thinking("why", '{"id":"rs_1","summary":[],"encrypted_content":"xyz"}', "openai")
IMAGE = Image("image/png", "aWJt")
HISTORY = (
    Message("user", (Text("Look"), IMAGE)),
    Message("assistant", (REASONING, Text("I look."), ToolCall("call_1", "Read", {"file_path": "a"}))),
    Message("user", (ToolReply("call_1", (Text("content"), IMAGE)), Text("and be quick"))),
)


def request(**changes: Any) -> Request:
    given: dict[str, Any] = {
        "model": "gpt-5.2",
        "system": ("One.", "", "Two."),
        "messages": HISTORY,
        "tools": (ToolSpec("Read", "Read a file", {"type": "object"}),),
        "session_id": "session-1",
    }
    return Request(**{**given, **changes})


def test_the_settings_keep_nothing_at_the_vendor_and_ask_for_the_reasoning_back() -> None:
    settings = build_settings(request(effort="high", thinking="adaptive"))
    assert settings["store"] is False
    assert settings["stream"] is True
    assert settings["instructions"] == "One.\n\nTwo."
    assert settings["include"] == ["reasoning.encrypted_content"]
    assert settings["reasoning"] == {"effort": "high", "summary": "auto"}
    assert settings["prompt_cache_key"] == "session-1"
    assert settings["tools"][0]["strict"] is False


def test_a_model_that_does_not_reason_is_not_asked_about_it() -> None:
    provider = Responses(HttpClient(), base_url="http://127.0.0.1:1/v1", api_key="")
    body = msgspec.json.decode(provider.body(request(model="gpt-4.1", effort="high", thinking="adaptive")))
    assert "include" not in body
    assert "reasoning" not in body
    assert all(item["type"] != "reasoning" for item in body["input"])


@pytest.mark.parametrize(("budget", "effort"), [(1024, "low"), (10_000, "medium"), (30_000, "high")])
def test_a_budget_of_thinking_becomes_an_effort(budget: int, effort: str) -> None:
    assert build_settings(request(thinking=budget))["reasoning"]["effort"] == effort


def test_the_vendors_search_is_offered_beside_the_tools() -> None:
    assert build_settings(request(hosted_search=True))["tools"][-1] == {"type": "web_search"}


def test_messages_become_items_in_order() -> None:
    items = [item for message in HISTORY for item in encode_items(message)]
    image = {"type": "input_image", "image_url": "data:image/png;base64,aWJt", "detail": "auto"}
    assert items == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}, image]},
        {"type": "reasoning", "summary": [], "encrypted_content": "xyz"},
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": '{"file_path":"a"}'},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": [{"type": "input_text", "text": "content"}, image],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and be quick"}]},
    ]


def test_the_vendors_own_types_accept_every_item() -> None:
    from openai.types.responses import ResponseInputParam
    from pydantic import TypeAdapter

    # The types want the id of a reasoning item; the server does not, and looks in vain for what it never stored.
    items = [
        item if item["type"] != "reasoning" else {**item, "id": "rs_1"}
        for message in HISTORY
        for item in encode_items(message)
    ]
    TypeAdapter(ResponseInputParam).validate_python(items)


@pytest.mark.parametrize(
    "foreign",
    [
        Thinking("x", "sig", "anthropic"),
        Thinking("x", "", "openai"),
        Thinking("x", "not json", "openai"),
        Thinking("x", "[1]", "openai"),
    ],
)
def test_thinking_that_openai_did_not_sign_is_never_sent(foreign: Thinking) -> None:
    assert encode_items(Message("assistant", (foreign, Text("a")))) == [
        {"type": "message", "role": "assistant", "content": "a"}
    ]


def test_reasoning_of_which_nothing_came_is_left_out() -> None:
    assert encode_items(Message("assistant", (Text("a"), REASONING)))[-1]["type"] == "message"


def test_a_failed_call_and_a_malformed_one_are_told_as_such() -> None:
    assert encode_items(Message("user", (ToolReply("c", (Text("no"),), is_error=True),)))[0]["output"] == "Error: no"
    call = encode_items(Message("assistant", (ToolCall("c", "Read", {}, malformed='{"a'),)))[0]
    assert call["arguments"] == '{"a'


def test_a_longer_history_begins_with_the_same_bytes() -> None:
    """F32: the prefix of step n+1 is all of step n."""
    provider = Responses(HttpClient(), base_url="http://127.0.0.1:1/v1", api_key="")
    short = provider.body(request(messages=HISTORY[:1]))
    assert provider.body(request()).startswith(short.removesuffix(b"]}"))


# ---------------------------------------------------------------- reading


def feed(*events: dict[str, Any]) -> list[Chunk]:
    reader = ResponsesStreamReader("m")
    return [chunk for event in events for chunk in reader.feed(msgspec.json.encode(event))]


CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-x"}}
COMPLETED = {
    "type": "response.completed",
    "response": {"usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}},
}


def test_reasoning_comes_back_as_it_was_signed() -> None:
    item = {"type": "reasoning", "id": "rs_9", "encrypted_content": "secret"}
    item["summary"] = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]  # type: ignore[assignment]
    chunks = feed(CREATED, {"type": "response.output_item.done", "item": item}, COMPLETED)
    done = next(chunk for chunk in chunks if isinstance(chunk, BlockDone))
    assert isinstance(done.block, Thinking)
    assert done.block.text == "a\n\nb"
    replayed = encode_items(Message("assistant", (done.block, Text("x"))))[0]
    assert replayed == {key: value for key, value in item.items() if key != "id"}


def test_usage_does_not_count_cached_tokens_twice() -> None:
    done = feed(CREATED, COMPLETED)[-1]
    assert isinstance(done, MessageDone)
    assert done.usage == Usage(input=6, output=2, cache_read=4)


def test_a_refusal_is_text_and_a_reason_to_stop() -> None:
    message = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    chunks = feed(
        CREATED,
        {"type": "response.refusal.delta", "delta": "No."},
        {"type": "response.output_item.done", "item": message},
        COMPLETED,
    )
    assert [chunk.block for chunk in chunks if isinstance(chunk, BlockDone)] == [Text("No.")]
    assert isinstance(chunks[-1], MessageDone)
    assert chunks[-1].stop == "refusal"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Please try again in 2s."}, "rate_limit"),
        ({"type": "error", "error": {"code": "context_length_exceeded", "message": "x"}}, "prompt_too_long"),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}, "server"),
        ({"type": "response.failed", "response": {"error": {"code": "server_is_overloaded"}}}, "overloaded"),
        ({"type": "response.failed", "response": {"error": {"code": "bio_policy", "message": "x"}}}, "refused"),
        ({"type": "response.failed", "response": None}, "server"),
    ],
)
def test_failures_inside_the_stream_are_judged_like_their_twins(event: dict[str, Any], kind: str) -> None:
    """F10."""
    with pytest.raises(ProviderError) as failed:
        feed(CREATED, event)
    assert failed.value.kind == kind


def test_events_of_things_never_asked_for_are_passed_over_whatever_their_shape() -> None:
    search = {"type": "web_search_call", "content": 5, "id": 7}
    chunks = feed(
        CREATED,
        {"type": "response.output_item.added", "item": search},
        {"type": "response.novelty.delta", "delta": {"x": 1}},
        COMPLETED,
    )
    assert [type(chunk) for chunk in chunks] == [MessageBegan, MessageDone]


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: msgspec.json.encode({"type": text})))
def test_whatever_comes_is_an_event_or_a_provider_error(data: bytes) -> None:
    reader = ResponsesStreamReader("m")
    with contextlib.suppress(ProviderError):
        list(reader.feed(data))
    assert not reader.done


# ---------------------------------------------------------------- over the wire


@pytest.fixture
async def provider(server: ModelServer) -> AsyncIterator[Responses]:
    http = HttpClient()
    yield Responses(http, base_url=f"{server.url}/v1", api_key="dummy", headers={"OpenAI-Organization": "org"})
    await http.close()


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    with ModelServer() as running:
        yield running


def asking(prompt: str) -> Request:
    return request(messages=(Message("user", (Text(prompt),)),))


async def test_a_call_is_complete_while_the_answer_still_comes(server: ModelServer, provider: Responses) -> None:
    """H2-5: the block's own end is enough."""
    gate = Gate()
    server.play("held", Step(blocks=[Call("Read", {"a": 1}, id="c1"), Say("more")], gate=gate, gate_after=1))
    stream = provider.stream(asking("SCN:held"))
    async for chunk in stream:
        if isinstance(chunk, BlockDone):
            assert chunk.block == ToolCall("c1", "Read", {"a": 1})
            break
    await gate.reached()
    gate.open()
    rest = [chunk async for chunk in stream]
    assert isinstance(rest[-1], MessageDone)
    assert rest[-1].stop == "tool_use"
    assert rest[-1].request_id.startswith("req_")


async def test_a_malformed_input_is_kept_as_the_text_it_was(server: ModelServer, provider: Responses) -> None:
    """F35."""
    server.play("bad", Step(blocks=[Call("Read", raw='{"a": ')]))
    blocks = [c.block async for c in provider.stream(asking("SCN:bad")) if isinstance(c, BlockDone)]
    assert isinstance(blocks[0], ToolCall)
    assert (blocks[0].input, blocks[0].malformed) == ({}, '{"a": ')


async def test_broken_text_and_tiny_packets_are_survived(server: ModelServer, provider: Responses) -> None:
    server.play("torn", Step(blocks=[Think("größer", redacted=False), Say(f"a{BROKEN}b ü")], slice=3, chunk=1))
    chunks = [chunk async for chunk in provider.stream(asking("SCN:torn"))]
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "a\ufffdb ü"


async def test_the_request_carries_key_and_headers_of_the_settings(server: ModelServer, provider: Responses) -> None:
    server.play("hello", Step(blocks=[Say("Hello.")]))
    async for _ in provider.stream(asking("SCN:hello")):
        pass
    asked = server.requests[0]
    assert asked.headers["authorization"] == "Bearer dummy"
    assert asked.headers["openai-organization"] == "org"
    assert asked.body["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "SCN:hello"}]}
    ]


async def test_reasoning_that_is_refused_is_left_out_from_then_on(server: ModelServer, provider: Responses) -> None:
    def picky(body: Any) -> Step:
        if "include" in body:
            return Step(status=400, error_type="invalid_request_error", message="Unknown parameter: 'reasoning'.")
        return Step(blocks=[Say("Hello.")])

    server.play("picky", picky)
    history = (Message("user", (Text("SCN:picky"),)), *HISTORY[1:])
    server.scenarios["picky"] *= 2
    for _ in range(2):
        chunks = [chunk async for chunk in provider.stream(request(messages=history))]
        assert isinstance(chunks[-1], MessageDone)
    assert ["include" in asked.body for asked in server.requests] == [True, False, False]
