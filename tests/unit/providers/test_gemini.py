"""The Gemini adapter: requests and streams."""

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
from bobstay.providers.gemini import Gemini, build_settings, encode_content
from bobstay.providers.gemini_schema import convert_schema
from bobstay.providers.gemini_stream import GeminiStreamReader
from tests.modelserver import Call, Gate, ModelServer, Say, Step, Think

IMAGE = Image("image/png", "aWJt")
SIGNED = ToolCall("call_1", "Read", {"a": 1}, signature="c2ln")
MADE = ToolCall("made_1", "Bash", {})
HISTORY = (
    Message("user", (Text("Look"), IMAGE)),
    Message("assistant", (Thinking("hm", "cHJvb2Y=", "gemini"), Text("I look."), SIGNED, MADE)),
    Message(
        "user",
        (
            ToolReply("call_1", (Text("content"), IMAGE)),
            ToolReply("made_1", (Text("no"),), is_error=True),
            Text("quick"),
        ),
    ),
)
READ = ToolSpec("Read", "Read a file", {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}})


def request(**changes: Any) -> Request:
    given: dict[str, Any] = {"model": "gemini-2.5-flash", "system": ("One.", "Two."), "messages": HISTORY}
    return Request(**{**given, "tools": (READ,), **changes})


def sent(provider: Gemini, asked: Request) -> Any:
    return msgspec.json.decode(provider.body(asked))


@pytest.fixture
def idle() -> Gemini:
    return Gemini(HttpClient(), base_url="http://127.0.0.1:1", api_key="")


def test_messages_become_contents(idle: Gemini) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aWJt"}}
    assert sent(idle, request())["contents"] == [
        {"role": "user", "parts": [{"text": "Look"}, image]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True, "thoughtSignature": "cHJvb2Y="},
                {"text": "I look."},
                {"functionCall": {"name": "Read", "args": {"a": 1}, "id": "call_1"}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "Bash", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "Read", "response": {"output": "content"}, "id": "call_1"}},
                {"functionResponse": {"name": "Bash", "response": {"error": "no"}}},
                image,
                {"text": "quick"},
            ],
        },
    ]


def test_thinking_of_others_is_never_sent() -> None:
    blocks = (Thinking("x", "s", "anthropic"), Thinking("y", "", "gemini"))
    assert encode_content(Message("assistant", blocks), {}, signs=False) is None


def test_a_call_another_model_made_is_marked_for_models_that_check_proofs(idle: Gemini) -> None:
    calls = Message("assistant", (ToolCall("a", "Read", {}), ToolCall("b", "Read", {})))
    history = (HISTORY[0], calls)
    newer = sent(idle, request(model="gemini-3-pro-preview", messages=history))["contents"][1]["parts"]
    older = sent(idle, request(messages=history))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in newer] == ["skip_thought_signature_validator", None]
    assert [part.get("thoughtSignature") for part in older] == [None, None]


def test_what_was_kept_for_a_broker_is_no_signature(idle: Gemini) -> None:
    """A call that Gemini made behind OpenRouter carries that broker's details, which Gemini itself refuses."""
    call = ToolCall("a", "Read", {}, signature='{"family":"google","details":[]}')
    parts = sent(idle, request(model="gemini-3-pro-preview", messages=(HISTORY[0], Message("assistant", (call,)))))
    assert parts["contents"][1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


@pytest.mark.parametrize(
    ("model", "thinking", "effort", "expected"),
    [
        ("gemini-2.5-flash", "off", None, {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "off", None, {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "adaptive", None, {"includeThoughts": True, "thinkingBudget": -1}),
        ("gemini-2.5-pro", 5000, None, {"includeThoughts": True, "thinkingBudget": 5000}),
        ("gemini-3-pro-preview", "adaptive", "medium", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3-flash", "adaptive", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-3-flash", "off", None, {"thinkingLevel": "LOW"}),
        ("gemini-3-flash", "adaptive", None, {"includeThoughts": True}),
        ("gemini-2.0-flash", "adaptive", "high", None),
    ],
)
def test_thinking_is_asked_for_as_each_model_takes_it(
    model: str, thinking: Any, effort: Any, expected: dict[str, Any] | None
) -> None:
    generation = build_settings(request(model=model, thinking=thinking, effort=effort))["generationConfig"]
    assert generation.get("thinkingConfig") == expected


def test_system_and_tools_are_said_in_their_places() -> None:
    settings = build_settings(request())
    assert settings["systemInstruction"] == {"parts": [{"text": "One."}, {"text": "Two."}]}
    declaration = settings["tools"][0]["functionDeclarations"][0]
    assert declaration["parametersJsonSchema"] == READ.schema
    assert build_settings(request(tools=(), hosted_search=True))["tools"] == [{"googleSearch": {}}]


def test_a_longer_history_begins_with_the_same_bytes(idle: Gemini) -> None:
    """F32: the prefix of step n+1 is all of step n."""
    short = idle.body(request(messages=HISTORY[:1]))
    assert idle.body(request()).startswith(short.removesuffix(b"]}"))


def test_the_older_schema_has_no_references_and_no_words_unknown_to_it() -> None:
    schema = {
        "$defs": {"A": {"type": "object", "properties": {"x": {"const": 1}}, "additionalProperties": False}},
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/A", "description": "an A"},
            "b": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "c": {"type": ["integer", "null"]},
            "d": {"type": "array"},
            "e": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["a"],
    }
    assert convert_schema(schema) == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {
                "type": "object",
                "description": "an A",
                "properties": {"x": {"enum": ["1"], "type": "string"}},
            },
            "b": {"type": "string", "nullable": True},
            "c": {"type": "integer", "nullable": True},
            "d": {"type": "array", "items": {"type": "string"}},
            "e": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
    }


def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    schema = {"$defs": {"N": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}}, "$ref": "#/$defs/N"}
    assert b"$ref" not in msgspec.json.encode(convert_schema(schema))


# ---------------------------------------------------------------- reading


def read(*pieces: dict[str, Any]) -> list[Chunk]:
    reader = GeminiStreamReader(request())
    chunks = [chunk for piece in pieces for chunk in reader.feed(msgspec.json.encode(piece))]
    return [*chunks, *reader.end()] if reader.finished else chunks


def piece(*parts: dict[str, Any], finish: str = "", **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [{**candidate, **fields}], "responseId": "r1", "modelVersion": "gemini-x"}


def blocks(chunks: list[Chunk]) -> list[Any]:
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockDone)]


def stop_of(chunks: list[Chunk]) -> str:
    assert isinstance(chunks[-1], MessageDone)
    return chunks[-1].stop


def test_proofs_are_kept_with_what_they_prove() -> None:
    chunks = read(
        piece({"text": "hm", "thought": True}),
        piece({"text": "", "thought": True, "thoughtSignature": "MQ=="}),
        piece({"functionCall": {"name": "Read", "args": {}}, "thoughtSignature": "Mg=="}),
        piece({"text": "said", "thoughtSignature": "Mw=="}, finish="STOP"),
    )
    thought, call, text, proof = blocks(chunks)
    assert thought == Thinking("hm", "MQ==", "gemini")
    assert (call.name, call.signature) == ("Read", "Mg==")
    assert text == Text("said")
    assert proof == Thinking("", "Mw==", "gemini", redacted=True)
    replayed = encode_content(Message("assistant", (text, proof)), {}, signs=True)
    assert replayed == {"role": "model", "parts": [{"text": "said"}, {"text": "", "thoughtSignature": "Mw=="}]}


def test_a_call_without_an_id_gets_one() -> None:
    chunks = read(piece({"functionCall": {"name": "Read"}}, {"functionCall": {"name": "Read"}}, finish="STOP"))
    first, second = blocks(chunks)
    assert first.id != second.id
    assert stop_of(chunks) == "tool_use"


def test_usage_counts_thoughts_as_output_and_the_cache_apart() -> None:
    counted = {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}
    chunks = read({**piece({"text": "x"}, finish="STOP"), "usageMetadata": counted})
    assert isinstance(chunks[0], MessageBegan)
    assert chunks[0].usage == Usage(input=6, cache_read=4)
    assert isinstance(chunks[-1], MessageDone)
    assert chunks[-1].usage == Usage(input=6, output=7, cache_read=4)
    assert chunks[-1].request_id == "r1"


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "refusal"),
        ("SPII", "refusal"),
        ("NEW", "end_turn"),
    ],
)
def test_reasons_to_stop_are_mapped(finish: str, stop: str) -> None:
    assert stop_of(read(piece({"text": "x"}, finish=finish))) == stop


def test_a_blocked_prompt_is_a_refusal() -> None:
    with pytest.raises(ProviderError) as failed:
        read({"promptFeedback": {"blockReason": "SAFETY"}})
    assert failed.value.kind == "refused"
    assert not failed.value.retryable


def test_a_call_the_vendor_could_not_parse_is_handed_on_as_malformed() -> None:
    """F35."""
    message = "Malformed function call: print(default_api.Read(file_path='a)"
    chunks = read(piece(finish="MALFORMED_FUNCTION_CALL", finishMessage=message))
    call = blocks(chunks)[0]
    assert (call.name, call.input, call.malformed) == ("Read", {}, message)
    assert stop_of(chunks) == "tool_use"


@pytest.mark.parametrize("finish", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"])
def test_an_answer_without_sense_is_tried_again(finish: str) -> None:
    with pytest.raises(ProviderError) as failed:
        read(piece(finish=finish))
    assert failed.value.kind == "protocol"
    assert failed.value.retryable


def test_failures_inside_the_stream_are_judged_like_their_twins() -> None:
    """F10."""
    with pytest.raises(ProviderError) as failed:
        read({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})
    assert (failed.value.kind, failed.value.status) == ("overloaded", 503)


@given(st.binary(max_size=40) | st.dictionaries(st.sampled_from(["candidates", "error"]), st.none() | st.just([{}])))
def test_whatever_comes_is_a_piece_or_a_provider_error(data: Any) -> None:
    reader = GeminiStreamReader(request())
    with contextlib.suppress(ProviderError):
        list(reader.feed(data if isinstance(data, bytes) else msgspec.json.encode(data)))
    assert not reader.finished


# ---------------------------------------------------------------- over the wire


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def provider(server: ModelServer) -> AsyncIterator[Gemini]:
    http = HttpClient()
    yield Gemini(http, base_url=server.url, api_key="dummy")
    await http.close()


def asking(prompt: str) -> Request:
    return request(messages=(Message("user", (Text(prompt),)),))


async def test_the_key_travels_in_a_header_and_never_in_the_address(server: ModelServer, provider: Gemini) -> None:
    server.play("hello", Step(blocks=[Think("hm"), Say("Hello.")], slice=5))
    chunks = [chunk async for chunk in provider.stream(asking("SCN:hello"))]
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "Hello."
    asked = server.requests[0]
    assert asked.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
    assert asked.query == "alt=sse"
    assert asked.headers["x-goog-api-key"] == "dummy"


async def test_a_call_is_complete_while_the_answer_still_comes(server: ModelServer, provider: Gemini) -> None:
    """H2-5."""
    gate = Gate()
    server.play("held", Step(blocks=[Call("Read", {"a": 1}, id="c1"), Say("more")], gate=gate, gate_after=1))
    stream = provider.stream(asking("SCN:held"))
    async for chunk in stream:
        if isinstance(chunk, BlockDone):
            assert chunk.block == ToolCall("c1", "Read", {"a": 1}, signature="c2lnbmF0dXJl")
            break
    await gate.reached()
    gate.open()
    assert stop_of([chunk async for chunk in stream]) == "tool_use"


async def test_a_server_of_the_older_kind_gets_the_older_schema(server: ModelServer, provider: Gemini) -> None:
    def picky(body: Any) -> Step:
        if "parametersJsonSchema" in body["tools"][0]["functionDeclarations"][0]:
            return Step(status=400, message='Unknown name "parametersJsonSchema": Cannot find field.')
        return Step(blocks=[Say("Hello.")])

    server.play("picky", picky)
    for _ in range(2):
        assert stop_of([chunk async for chunk in provider.stream(asking("SCN:picky"))]) == "end_turn"
    declared = [list(asked.body["tools"][0]["functionDeclarations"][0])[-1] for asked in server.requests]
    assert declared == ["parametersJsonSchema", "parameters", "parameters"]
