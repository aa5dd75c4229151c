"""The Anthropic adapter: the requests it sends, and how it reads the answers."""

import contextlib
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.http.client import HttpClient
from bobstay.model.event import BlockDone
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.anthropic_stream import AnthropicMessageReader
from bobstay.providers.base import Chunk, Provider, ProviderError, Request, ToolSpec
from bobstay.providers.message_encoding import EncodingCache, MessageEncoder
from tests.modelserver import Call, Counts, Gate, ModelServer, Say, Step, Think
from tests.unit.providers.model_calls import blocks_of, chunks_of, ending_of, request

TOOLS = (ToolSpec("Bash", "Run it", {"type": "object"}), ToolSpec("Read", "Read it", {"type": "object"}))
CACHED = {"type": "ephemeral"}


@pytest.fixture
def provider(server: ModelServer, http: HttpClient) -> Anthropic:
    return Anthropic(http, base_url=server.url + "/", api_key="key", headers={"X-Team": "blue"})


def sent(asked: Request) -> dict[str, Any]:
    body = Anthropic(HttpClient(), base_url="https://api.anthropic.com").body(asked)
    decoded: dict[str, Any] = msgspec.json.decode(body)
    return decoded


def events(*values: dict[str, Any]) -> list[Chunk]:
    answer = AnthropicMessageReader("claude-x", {"request-id": "req_1"})
    opening = {"type": "message_start", "message": {"id": "msg_1", "model": "claude-y", "usage": {"input_tokens": 5}}}
    return [chunk for value in (opening, *values) for chunk in answer.feed(msgspec.json.encode(value))]


def block(index: int, seed: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": seed},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


async def test_an_answer_comes_as_events_block_by_block(server: ModelServer, provider: Provider) -> None:
    counts = Counts(input=7, output=9, cache_read=3, cache_write=2)
    call = Call("Bash", {"command": "ls"}, id="toolu_1")
    token = server.play("all", Step(blocks=[Think("hmm"), Say("héllo"), call], usage=counts))
    chunks = await chunks_of(provider, request(token))
    began = chunks[0]
    assert isinstance(began, MessageBegan)
    assert (began.model, began.usage) == ("claude-x", Usage(7, 1, 3, 2))
    assert blocks_of(chunks) == [
        Thinking("hmm", signature="c2lnbmF0dXJl", origin="anthropic"),
        Text("héllo"),
        ToolCall("toolu_1", "Bash", {"command": "ls"}),
    ]
    assert [chunk for chunk in chunks if isinstance(chunk, BlockBegan)] == [
        BlockBegan(began.message_id, 0, "thinking"),
        BlockBegan(began.message_id, 1, "text"),
        BlockBegan(began.message_id, 2, "tool_call", call_id="toolu_1", name="Bash"),
    ]
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingDelta)) == "hmm"
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "héllo"
    assert "".join(chunk.json for chunk in chunks if isinstance(chunk, InputDelta)) == '{"command":"ls"}'
    done = ending_of(chunks)
    assert (done.stop, done.usage, done.model, done.cost) == ("tool_use", Usage(7, 9, 3, 2), "claude-x", 0)
    assert done.request_id.startswith("req_")
    assert {chunk.usage for chunk in chunks if isinstance(chunk, BlockDone)} == {began.usage}


async def test_a_block_is_done_the_moment_the_vendor_says_so(server: ModelServer, provider: Provider) -> None:
    """H2-5: the call is complete while the rest of the message is still held back."""
    gate = Gate()
    token = server.play("gate", Step(blocks=[Call("Bash", {"a": 1}), Say("later")], gate=gate, gate_after=1))
    seen: list[Chunk] = []
    async for chunk in provider.stream(request(token)):
        seen.append(chunk)
        if isinstance(chunk, BlockDone) and chunk.index == 0:
            await gate.reached()
            gate.open()
    assert len(blocks_of(seen)) == 2


async def test_a_connection_serves_step_after_step(server: ModelServer, provider: Provider) -> None:
    token = server.play("many", *(Step(blocks=[Say(str(number))]) for number in range(3)))
    messages = [Message("user", (Text(token),))]
    for number in range(3):
        chunks = await chunks_of(provider, request(token, messages=tuple(messages)))
        assert blocks_of(chunks) == [Text(str(number))]
        messages += [Message("assistant", (Text(str(number)),)), Message("user", (Text("on"),))]
    assert server.connections == 1


async def test_headers_say_who_asks_and_which_betas(server: ModelServer, provider: Provider) -> None:
    await chunks_of(provider, request("hi", betas=("one-2026", "two-2026")))
    asked = server.requests[0]
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == "key"
    assert asked.headers["x-team"] == "blue"
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.headers["anthropic-beta"] == "one-2026,two-2026"
    assert "authorization" not in asked.headers


async def test_a_token_is_sent_as_bearer(server: ModelServer, http: HttpClient) -> None:
    gateway = Anthropic(http, base_url=server.url, auth_token="t", headers={"anthropic-beta": "own"})
    await chunks_of(gateway, request("hi", betas=("more",)))
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer t"
    assert headers["anthropic-beta"] == "own,more"
    assert "x-api-key" not in headers


@pytest.mark.parametrize(
    ("scripted", "stop"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("refusal", "refusal"),
        ("pause", "pause"),
        ("model_context_window_exceeded", "max_tokens"),
        ("something_new", "end_turn"),
    ],
)
async def test_stop_reasons_are_ours(server: ModelServer, provider: Provider, scripted: str, stop: str) -> None:
    token = server.play("stop", Step(blocks=[Say("x")], stop=scripted))
    assert ending_of(await chunks_of(provider, request(token))).stop == stop


def test_settings_of_the_request_are_the_vendors() -> None:
    body = sent(request("hi", max_tokens=5000, thinking="adaptive", effort="high", session_id="s1"))
    assert (body["model"], body["max_tokens"], body["stream"]) == ("claude-x", 5000, True)
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "high"}
    assert body["metadata"] == {"user_id": "s1"}
    assert "thinking" not in sent(request("hi"))
    assert "tools" not in sent(request("hi"))
    assert "system" not in sent(request("hi", system=("", "  ")))


def test_a_thinking_budget_always_leaves_room_for_the_answer() -> None:
    assert sent(request("hi", thinking=2000))["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert sent(request("hi", thinking=50_000, max_tokens=4000))["thinking"]["budget_tokens"] == 3999
    assert "thinking" not in sent(request("hi", thinking=2000, max_tokens=1024))


def test_blocks_of_every_kind_are_sent_in_the_vendors_shape() -> None:
    png = Image("image/png", "AAAA")
    body = sent(
        request(
            "",
            messages=(
                Message("user", (Text("look"), png)),
                Message(
                    "assistant",
                    (
                        Thinking("mine", signature="sig", origin="anthropic"),
                        Thinking("", signature="cipher", origin="anthropic", redacted=True),
                        Thinking("foreign", signature="sig", origin="openai"),
                        Text(" "),
                        ToolCall("call|1", "no.such tool", {"a": [1]}, malformed=""),
                    ),
                ),
                Message("user", (ToolReply("call|1", (Text("out"), png), is_error=True), ToolReply("b", ()))),
                Message("assistant", (Thinking("foreign", signature="sig", origin="gemini"),)),
                Message("user", (Text("on"),)),
            ),
        )
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert [message["content"] for message in body["messages"]] == [
        [{"type": "text", "text": "look"}, image],
        [
            {"type": "thinking", "thinking": "mine", "signature": "sig"},
            {"type": "redacted_thinking", "data": "cipher"},
            {"type": "tool_use", "id": "call_1", "name": "no_such_tool", "input": {"a": [1]}},
        ],
        [
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": [{"type": "text", "text": "out"}, image],
                "is_error": True,
            },
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "content": [{"type": "text", "text": "(no output)"}],
                "cache_control": CACHED,
            },
        ],
        [{"type": "text", "text": "(nothing said)"}],
        [{"type": "text", "text": "on", "cache_control": CACHED}],
    ]


def test_text_that_is_no_proper_unicode_is_mended() -> None:
    body = sent(request("", messages=(Message("user", (Text("file \udcff name"),)),)))
    assert body["messages"][0]["content"][0]["text"] == "file ? name"


def test_there_are_never_more_than_four_breakpoints() -> None:
    """F32."""
    messages = tuple(Message("user" if n % 2 == 0 else "assistant", (Text(f"m{n}"),)) for n in range(9))
    body = sent(request("", messages=messages, tools=TOOLS, system=("a", "b"), hosted_search=True))
    assert msgspec.json.encode(body).count(b"cache_control") == 4
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, None, CACHED]
    assert body["tools"][-1]["name"] == "web_search"
    assert [section.get("cache_control") for section in body["system"]] == [None, CACHED]
    marked = [n for n, message in enumerate(body["messages"]) if "cache_control" in message["content"][-1]]
    assert marked == [6, 8]


def test_the_bytes_of_a_step_begin_with_those_of_the_step_before() -> None:
    """F32, H1-5: only the breakpoints move."""
    provider = Anthropic(HttpClient(), base_url="http://x")
    messages: tuple[Message, ...] = (Message("user", (Text("go"),)),)
    before = b""
    for step in range(6):
        body = provider.body(request("", messages=messages, tools=TOOLS, thinking="adaptive", effort="low"))
        plain = re.sub(rb',"cache_control":\{"type":"ephemeral"\}', b"", body)
        assert plain.startswith(before.removesuffix(b"]}"))
        before = plain
        call = ToolCall(f"c{step}", "Bash", {"z": 1, "a": 2})
        messages += (Message("assistant", (call,)), Message("user", (ToolReply(f"c{step}", (Text("out"),)),)))


def test_a_message_is_encoded_once() -> None:
    encoded: list[str] = []

    def encode(message: Message) -> bytes:
        encoded.append(message.id)
        return message.id.encode()

    messages, cache = MessageEncoder(encode), EncodingCache()
    one, two, three = (Message("user", (), id=name) for name in ("1", "2", "3"))
    assert messages.encode_all((one,), cache) == [b"1"]
    assert messages.encode_all((one, two), cache) == [b"1", b"2"]
    assert messages.encode_all((three, two, one), cache) == [b"3", b"2", b"1"]
    assert encoded == ["1", "2", "3"]
    assert messages.encode_all((three,), cache) == [b"3"]
    assert messages.encode_all((three, one), cache) == [b"3", b"1"]  # what the last request did not hold was forgotten
    assert encoded == ["1", "2", "3", "1"]


def test_what_was_encoded_in_another_way_is_not_used() -> None:
    messages, cache = (Message("user", (), id="1"),), EncodingCache()
    assert MessageEncoder(lambda _: b"one way").encode_all(messages, cache) == [b"one way"]
    assert MessageEncoder(lambda _: b"another").encode_all(messages, cache) == [b"another"]


def test_changed_tools_and_system_are_encoded_anew() -> None:
    provider = Anthropic(HttpClient(), base_url="http://x")
    assert b"Read it" in provider.body(request("a", tools=TOOLS))
    assert b"Read it" not in provider.body(request("a", tools=TOOLS[:1], system=("other",)))
    assert b"tools" not in provider.body(request("a"))


def test_unknown_blocks_and_events_are_skipped_and_indices_have_no_holes() -> None:
    chunks = events(
        {"type": "ping"},
        {"type": "weather_report", "index": 3},
        *block(0, {"type": "hologram", "text": "x"}, {"type": "hologram_delta", "text": "boo"}),
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "nowhere"}},
        {"type": "content_block_stop", "index": 9},
        *block(1, {"type": "text", "text": ""}, {"type": "citations_delta"}, {"type": "text_delta", "text": "hi"}),
        {"type": "message_stop"},
    )
    assert [type(chunk).__name__ for chunk in chunks] == [
        "MessageBegan",
        "BlockBegan",
        "TextDelta",
        "BlockDone",
        "MessageDone",
    ]
    done = chunks[3]
    assert isinstance(done, BlockDone)
    assert (done.index, done.block, done.model) == (0, Text("hi"), "claude-y")


def test_thinking_that_is_hidden_is_kept_for_the_vendor() -> None:
    chunks = events(*block(0, {"type": "redacted_thinking", "data": "cipher"}))
    assert blocks_of(chunks) == [Thinking("", signature="cipher", origin="anthropic", redacted=True)]


def test_the_final_usage_counts_and_what_it_leaves_out_stays() -> None:
    final = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    assert ending_of(events(final, {"type": "message_stop"})).usage == Usage(5, 9)
    corrected = {**final, "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": None}}
    assert ending_of(events(corrected, {"type": "message_stop"})).usage == Usage(6, 0, 4)


def test_a_search_the_vendor_ran_is_shown_as_text() -> None:
    found = [{"type": "web_search_result", "title": "Knots", "url": "https://knots.example/"}]
    query = {"type": "input_json_delta", "partial_json": '{"query":"bobstay"}'}
    chunks = events(
        *block(0, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, query),
        *block(1, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found}),
        *block(2, {"type": "web_search_tool_result", "content": {"error_code": "max_uses_exceeded"}}),
    )
    assert blocks_of(chunks) == [
        Text('Web search for "bobstay":\n- Knots: https://knots.example/'),
        Text('Web search for "bobstay" failed: max_uses_exceeded'),
    ]
    assert not any(isinstance(chunk, InputDelta) for chunk in chunks)


@pytest.mark.parametrize("raw", ["", " "])
def test_a_call_without_input_has_an_empty_one(raw: str) -> None:
    delta = {"type": "input_json_delta", "partial_json": raw}
    chunks = events(*block(0, {"type": "tool_use", "id": "t", "name": "List", "input": {}}, delta))
    assert blocks_of(chunks) == [ToolCall("t", "List", {})]


def test_input_sent_in_one_piece_is_taken() -> None:
    assert blocks_of(events(*block(0, {"type": "tool_use", "id": "t", "name": "A", "input": {"x": 1}}))) == [
        ToolCall("t", "A", {"x": 1})
    ]


def test_a_call_without_an_id_gets_one_that_stays() -> None:
    chunks = events(*block(0, {"type": "tool_use", "name": "A"}))
    began, call = chunks[1], blocks_of(chunks)[0]
    assert isinstance(began, BlockBegan)
    assert isinstance(call, ToolCall)
    assert began.call_id == call.id != ""


scalars = st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=5)
kinds = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "ping"]
)
inner = st.dictionaries(
    st.sampled_from(
        ["type", "id", "name", "input", "text", "thinking", "partial_json", "signature", "content", "usage"]
    ),
    scalars | st.sampled_from(["text", "tool_use", "thinking", "web_search_tool_result", "redacted_thinking"]),
)
hostile = st.fixed_dictionaries(
    {"type": kinds},
    optional=dict.fromkeys(("index", "delta", "content_block", "message", "usage"), inner | scalars),
)


@given(st.lists(hostile, max_size=12))
def test_no_sequence_of_events_breaks_anything_but_the_call(values: list[dict[str, Any]]) -> None:
    chunks: list[Chunk] = []
    with contextlib.suppress(ProviderError):
        chunks = events(*values)
    done = [chunk.index for chunk in chunks if isinstance(chunk, BlockDone)]
    assert len(done) == len(set(done))
