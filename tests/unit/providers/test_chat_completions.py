"""The Chat Completions adapter: requests, and streams with the deviations of servers."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.http.client import HttpClient
from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.live_events import BlockBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.chat_completions import Chat, adapt_schema, build_settings, detect_dialect
from bobstay.providers.chat_messages import encode_message, initial_rules
from bobstay.providers.chat_stream import ChatStreamReader
from tests.modelserver import Call, Gate, ModelServer, Say, Step

IMAGE = Image("image/png", "aWJt")
HISTORY = (
    Message("user", (Text("Look"), IMAGE)),
    Message("assistant", (Thinking("hm", "s", "openai-chat"), Text("I look."), ToolCall("call_1", "Read", {"a": 1}))),
    Message("user", (ToolReply("call_1", (Text("content"), IMAGE)), Text("quick"))),
)
READ = ToolSpec("Read", "Read a file", {"type": "object"})


RULES = initial_rules("openai-chat", "local", "m")


def request(**changes: Any) -> Request:
    given: dict[str, Any] = {"model": "m", "system": ("One.", "Two."), "messages": HISTORY, "tools": (READ,)}
    return Request(**{**given, **changes})


@pytest.mark.parametrize(
    ("name", "url", "word"),
    [
        ("openai-chat", "https://api.openai.com/v1", "max_completion_tokens"),
        ("openai-chat", "http://127.0.0.1:8080/v1", "max_tokens"),
        ("ollama", "http://127.0.0.1:11434/v1", "max_tokens"),
    ],
)
def test_the_limit_of_output_has_the_name_the_server_knows(name: str, url: str, word: str) -> None:
    assert build_settings(request(), detect_dialect(name, url))[word] == 32_000


@pytest.mark.parametrize(
    ("name", "url", "dialect"),
    [
        ("openai-chat", "https://api.deepseek.com/v1", "deepseek"),
        ("openai-chat", "https://api.moonshot.ai/v1", "moonshot"),
        ("openai-chat", "https://api.z.ai/api/paas/v4", "zai"),
        ("openai-chat", "https://xyz.ai/v1", "local"),
        ("openai-chat", "https://api.mistral.ai/v1", "mistral"),
        ("openai-chat", "https://res.openai.azure.com/openai/v1", "openai"),
        ("openai-chat", "https://openrouter.ai/api/v1", "openrouter"),
        ("openai-chat", "http://openrouter.ai.example/api/v1", "local"),
        ("kimi", "http://127.0.0.1:1/v1", "moonshot"),
    ],
)
def test_a_vendor_is_known_by_its_address_or_else_by_its_name(name: str, url: str, dialect: str) -> None:
    assert detect_dialect(name, url) == dialect


def test_bounds_that_a_grammar_of_llama_cpp_cannot_have_are_left_out() -> None:
    bounded = {"type": "string", "maxLength": 2000, "minLength": 1}
    listed = {"type": "array", "items": bounded, "maxItems": 200}
    tool = ToolSpec("T", "", {"type": "object", "properties": {"maxLength": bounded, "all": listed}})
    text = {"type": "string", "minLength": 1}
    assert adapt_schema(tool, "llamacpp") == {
        "type": "object",
        "properties": {"maxLength": text, "all": {"type": "array", "items": text}},
    }
    assert adapt_schema(tool, "openai") is tool.schema


def test_effort_is_said_the_way_the_server_understands() -> None:
    assert build_settings(request(effort="low"), "openrouter")["reasoning"] == {"effort": "low"}
    assert build_settings(request(effort="low"), "openai")["reasoning_effort"] == "low"


def test_messages_are_put_the_way_this_format_has_them() -> None:
    """Thinking that nobody knows the origin of is not sent; an image in a result follows in a message of the user."""
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWJt"}}
    assert [sent for message in HISTORY for sent in encode_message(message, RULES)] == [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, url]},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": '{"a":1}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "content"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "These images belong to the tool results above."},
                url,
                {"type": "text", "text": "quick"},
            ],
        },
    ]


def test_the_vendors_own_types_accept_every_message() -> None:
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    sent = [sent for message in HISTORY for sent in encode_message(message, RULES)]
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(sent)


def test_text_alone_is_sent_as_plain_text() -> None:
    assert encode_message(Message("user", (Text("a"), Text("b"))), RULES) == [{"role": "user", "content": "a\n\nb"}]


def test_an_answer_of_nothing_but_thinking_is_not_sent() -> None:
    assert encode_message(Message("assistant", (Thinking("hm"),)), RULES) == []


@pytest.mark.parametrize(("name", "length"), [("mistral", 9), ("openai", 32)])
def test_an_id_the_server_would_refuse_is_replaced_the_same_way_in_call_and_result(name: str, length: int) -> None:
    identity, rules = "x" * 60, initial_rules(name, name, "m")
    call = encode_message(Message("assistant", (ToolCall(identity, "Read", {}),)), rules)[0]["tool_calls"][0]["id"]
    result = encode_message(Message("user", (ToolReply(identity, (Text("r"),)),)), rules)[0]["tool_call_id"]
    assert call == result
    assert len(call) == length


def test_a_longer_history_begins_with_the_same_bytes() -> None:
    """F32: the prefix of step n+1 is all of step n."""
    provider = Chat(HttpClient(), base_url="http://127.0.0.1:1/v1")
    short = provider.body(request(messages=HISTORY[:1]))
    assert provider.body(request()).startswith(short.removesuffix(b"]}"))
    assert msgspec.json.decode(short)["messages"][0] == {"role": "system", "content": "One.\n\nTwo."}


# ---------------------------------------------------------------- reading


def read(*deltas: dict[str, Any], finish: str | None = "stop", end: bool = True, **changes: Any) -> list[Chunk]:
    reader = ChatStreamReader(request(**changes), "local", recovers_calls=True)
    events: list[dict[str, Any]] = [{"choices": [{"delta": delta}]} for delta in deltas]
    if finish:
        events.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    chunks = [chunk for event in events for chunk in reader.feed(msgspec.json.encode(event))]
    return [*chunks, *reader.end()] if end else chunks


def blocks(chunks: list[Chunk]) -> list[Any]:
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockDone)]


def call(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    piece: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        piece["index"] = index
    if call_id is not None:
        piece["id"] = call_id
    return {"tool_calls": [piece]}


def stop_of(chunks: list[Chunk]) -> str:
    assert isinstance(chunks[-1], MessageDone)
    return chunks[-1].stop


def test_a_call_is_complete_when_the_next_begins() -> None:
    """H2-5."""
    first = read(call(0, "a", "Read", '{"x":'), call(0, None, None, "1}"), finish=None, end=False)
    assert blocks(first) == []
    both = read(
        call(0, "a", "Read", '{"x":'),
        call(0, None, None, "1}"),
        call(1, "b", "Read", ""),
        finish=None,
        end=False,
    )
    assert blocks(both) == [ToolCall("a", "Read", {"x": 1})]


def test_a_call_is_complete_when_the_model_says_why_it_stopped() -> None:
    chunks = read(call(0, "a", "Read", "{}"), finish="tool_calls", end=False)
    assert blocks(chunks) == [ToolCall("a", "Read", {})]


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, "a", "Read", '{"x":1}'), call(0, "b", "Read", '{"x":2}')],
        [call(None, "a", "Read", '{"x":1}'), call(None, "b", "Read", '{"x":2}')],
        [call(0, None, "Read", '{"x":1}'), call(0, None, "Read", '{"x":2}')],
        [call(None, None, "Read", {"x": 1}), call(None, None, "Read", {"x": 2})],
        [call(0, "", "Read", '{"x":1}'), call(1, "", "Read", '{"x":2}')],
        [call(0, "same", "Read", '{"x":1}'), call(1, "same", "Read", '{"x":2}')],
    ],
)
def test_calls_are_told_apart_without_indices_or_ids(pieces: list[dict[str, Any]]) -> None:
    """As Ollama, llama.cpp and others send them: whole, unnumbered, unnamed."""
    chunks = read(*pieces)
    calls = blocks(chunks)
    assert [found.input for found in calls] == [{"x": 1}, {"x": 2}]
    assert len({found.id for found in calls}) == 2
    assert all(found.id for found in calls)
    assert stop_of(chunks) == "tool_use"


def test_id_and_name_repeated_with_each_piece_are_one_call() -> None:
    chunks = read(call(0, "a", "Read", '{"x"'), call(0, "a", "Read", ":1}"), finish="tool_calls")
    assert blocks(chunks) == [ToolCall("a", "Read", {"x": 1})]


def test_an_id_used_before_in_the_session_is_not_used_again() -> None:
    found = blocks(read(call(0, "call_1", "Read", "{}")))[0]
    assert found.id != "call_1"


def test_a_piece_of_a_call_that_had_ended_is_an_error() -> None:
    with pytest.raises(ProviderError) as failed:
        read(call(0, "a", "Read", "{}"), call(1, "b", "Read", "{}"), call(0, None, None, '"x"'))
    assert failed.value.kind == "protocol"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_becomes_thinking(key: str) -> None:
    chunks = read({key: "Hm"}, {key: "m."}, {"content": "Yes."})
    kept = f'{{"family":"m","field":"{key}"}}'
    assert blocks(chunks) == [Thinking("Hmm.", kept, "local"), Text("Yes.")]
    assert [chunk.text for chunk in chunks if isinstance(chunk, ThinkingDelta)] == ["Hm", "m."]


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("tool_calls", "end_turn")],
)
def test_reasons_to_stop_are_mapped(finish: str, stop: str) -> None:
    assert stop_of(read({"content": "x"}, finish=finish)) == stop


@pytest.mark.parametrize("deltas", [(), ({"content": "half a sen"},), (call(0, "a", "Read", '{"x":'),)])
def test_a_stream_that_just_ends_is_a_lost_connection(deltas: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(ProviderError) as failed:
        read(*deltas, finish=None)
    assert failed.value.kind == "connection"


def test_a_stream_that_just_ends_after_a_whole_call_is_taken() -> None:
    assert stop_of(read(call(0, "a", "Read", '{"x":1}'), finish=None)) == "tool_use"


def test_done_without_a_reason_is_an_end() -> None:
    reader = ChatStreamReader(request(), "local")
    chunks = [*reader.feed(b'{"choices":[{"delta":{"content":"Hi"}}]}'), *reader.feed(b"[DONE]")]
    assert stop_of(chunks) == "end_turn"


def test_usage_is_counted_without_overlap_wherever_it_stands() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}
    reader = ChatStreamReader(request(), "local")
    event = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    chunks = [*reader.feed(msgspec.json.encode(event)), *reader.feed(b"[DONE]")]
    assert isinstance(chunks[-1], MessageDone)
    assert chunks[-1].usage == Usage(input=6, output=3, cache_read=4)


LEAKED = '{"name": "Read", "arguments": {"a": 1}}'


def test_a_call_leaked_as_text_becomes_a_call_and_is_never_shown() -> None:
    """F35, H3-12."""
    chunks = read(*({"content": character} for character in f"<tool_call>{LEAKED}</tool_call>"))
    assert [(found.name, found.input) for found in blocks(chunks)] == [("Read", {"a": 1})]
    assert not any(isinstance(chunk, TextDelta) for chunk in chunks)
    assert stop_of(chunks) == "tool_use"


def test_a_call_in_a_fence_behind_prose_stays_text() -> None:
    text = f"I will look.\n```json\n{LEAKED}\n```"
    assert blocks(read({"content": text})) == [Text(text)]


def test_text_held_back_in_vain_is_shown_whole() -> None:
    text = '{"name": "Read", but this is no call'
    chunks = read(*({"content": character} for character in text))
    assert blocks(chunks) == [Text(text)]
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == [text]


def test_text_beside_a_real_call_is_never_taken_for_another() -> None:
    chunks = read({"content": LEAKED}, call(0, "a", "Read", "{}"), finish="tool_calls")
    assert blocks(chunks) == [Text(LEAKED), ToolCall("a", "Read", {})]


def test_blank_text_before_a_call_is_no_block() -> None:
    assert blocks(read({"content": "\n\n"}, call(0, "a", "Read", "{}"))) == [ToolCall("a", "Read", {})]


def test_without_tools_nothing_is_held_back() -> None:
    chunks = read({"content": "{"}, {"content": '"name"'}, tools=())
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["{", '"name"']


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": {"code": 429, "message": "slow"}}, "rate_limit"),
        ({"error": {"code": 502, "message": "upstream"}, "choices": [{"finish_reason": "error"}]}, "server"),
        ({"error": {"message": "request exceeds the available context size", "type": "x"}}, "prompt_too_long"),
    ],
)
def test_failures_inside_the_stream_are_judged_like_their_twins(event: dict[str, Any], kind: str) -> None:
    """F10."""
    with pytest.raises(ProviderError) as failed:
        list(ChatStreamReader(request(), "local").feed(msgspec.json.encode(event)))
    assert failed.value.kind == kind


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "tool_calls", "function", "index", "id", "usage"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON.map(msgspec.json.encode) | st.binary(max_size=20), max_size=4))
def test_whatever_comes_is_a_chunk_or_a_provider_error(events: list[bytes]) -> None:
    reader = ChatStreamReader(request(), "local")
    chunks: list[Chunk] = []
    with contextlib.suppress(ProviderError):
        for event in events:
            chunks += reader.feed(event)
    began = [chunk.index for chunk in chunks if isinstance(chunk, BlockBegan)]
    assert began == list(range(len(began)))


# ---------------------------------------------------------------- over the wire


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def provider(server: ModelServer) -> AsyncIterator[Chat]:
    http = HttpClient()
    yield Chat(http, base_url=f"{server.url}/v1/", name="local")
    await http.close()


def asking(prompt: str) -> Request:
    return request(messages=(Message("user", (Text(prompt),)),))


async def collect(provider: Chat, prompt: str) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(asking(prompt))]


async def test_without_a_key_none_is_sent(server: ModelServer, provider: Chat) -> None:
    server.play("hello", Step(blocks=[Say("Hello.")]))
    assert blocks(await collect(provider, "SCN:hello")) == [Text("Hello.")]
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("stream_options", "stream_options: what is that?"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ("reasoning_effort", "body.reasoning_effort: Extra inputs are not permitted"),
        ("tool_choice", "tool_choice 'specified' is incompatible with thinking enabled"),
        ("tool_choice", "deepseek-reasoner does not support this tool_choice"),
    ],
)
async def test_a_setting_the_server_does_not_know_is_left_out_from_then_on(
    server: ModelServer, provider: Chat, setting: str, complaint: str
) -> None:
    def picky(body: Any) -> Step:
        return Step(status=400, message=complaint) if setting in body else Step(blocks=[Say("Hello.")])

    server.play("picky", picky)
    asked = msgspec.structs.replace(asking("SCN:picky"), effort="low", forced_tool="Read")
    for _ in range(2):
        assert stop_of([chunk async for chunk in provider.stream(asked)]) == "end_turn"
    assert [setting in asked.body for asked in server.requests] == [True, False, False]


async def test_any_other_complaint_is_not_argued_with(server: ModelServer, provider: Chat) -> None:
    server.play("large", Step(status=400, message="max_tokens is too large: 32000"))
    with pytest.raises(ProviderError) as failed:
        await collect(provider, "SCN:large")
    assert failed.value.kind == "invalid_request"
    assert len(server.requests) == 1


async def test_a_server_that_contradicts_itself_is_not_asked_for_ever(server: ModelServer, provider: Chat) -> None:
    demands = ["reasoning_content is missing", "Please remove the reasoning_content from your message"]

    def fickle(_: Any) -> Step:
        return Step(status=400, message=demands[len(server.requests) % 2])

    server.play("fickle", fickle)
    with pytest.raises(ProviderError) as failed:
        await collect(provider, "SCN:fickle")
    assert failed.value.kind == "invalid_request"
    assert len(server.requests) == 12


async def test_two_calls_run_ahead_of_the_end(server: ModelServer, provider: Chat) -> None:
    """H2-5 for a format without block ends: the first call is complete when the second begins."""
    gate = Gate()
    two = [Call("Read", {"a": 1}, id="c1"), Call("Read", {"a": 2}, id="c2")]
    server.play("two", Step(blocks=list(two), gate=gate, gate_after=2))
    stream = provider.stream(asking("SCN:two"))
    async for chunk in stream:
        if isinstance(chunk, BlockDone):
            assert chunk.block == ToolCall("c1", "Read", {"a": 1})
            break
    await gate.reached()
    gate.open()
    rest = [chunk async for chunk in stream]
    assert blocks(rest) == [ToolCall("c2", "Read", {"a": 2})]


async def test_a_connection_lost_after_the_model_finished_loses_nothing(server: ModelServer, provider: Chat) -> None:
    body = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    server.play("lost", Step(raw=body + b"data: {half", close_delimited=True))
    assert stop_of(await collect(provider, "SCN:lost")) == "end_turn"


async def test_an_answer_that_is_no_stream_says_to_check_the_url(server: ModelServer, provider: Chat) -> None:
    server.play("page", Step(raw=b"<html>", headers={"content-type": "text/html"}))
    with pytest.raises(ProviderError, match="Check the base URL"):
        await collect(provider, "SCN:page")
