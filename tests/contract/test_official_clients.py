"""The vendors' own clients accept the test model, and our adapters read the same answers as they do."""

import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import msgspec
import openai
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.base import Chunk, Provider, ProviderError, Request, ToolSpec
from bobstay.providers.bedrock import Bedrock
from bobstay.providers.bedrock_exchange import BedrockEndpoint
from bobstay.providers.chat_completions import Chat
from bobstay.providers.cloud_access import FixedAccess
from bobstay.providers.gemini import Gemini
from bobstay.providers.responses import Responses
from bobstay.providers.vertex import Vertex
from bobstay.providers.vertex_endpoint import VertexEndpoint
from tests.modelserver import Call, Counts, ModelServer, Say, Step, Think

FULL = Step(
    blocks=[Think("Hm, a file."), Say("I read it."), Call("Read", {"file_path": "a.py"}, id="call_1")],
    usage=Counts(input=100, output=20, cache_read=30),
)
API_KEY = {"authorization": "Bearer bedrock-api-key-good"}
ACCESS_TOKEN = {"authorization": "Bearer good-access-token"}
SCHEMA = {"type": "object", "properties": {"file_path": {"type": "string"}}}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.play("full", FULL)
        running.play("busy", Step(status=429, message="slow down", headers={"retry-after": "7"}))
        running.play("wrong", Step(status=400, message="no such thing"))
        running.play("late", Step(blocks=[Say("a"), Say("b")], error_after=1, status=500, message="fell over"))
        yield running


# ---------------------------------------------------------------- Anthropic


@pytest.fixture
def claude(model: ModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=model.url, api_key="dummy", max_retries=0) as client:
        yield client


def test_the_anthropic_client_streams_a_whole_answer(claude: anthropic.Anthropic) -> None:
    with claude.messages.stream(
        model="m", max_tokens=100, messages=[{"role": "user", "content": "SCN:full"}]
    ) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    thinking, block, call = message.content
    assert text == "I read it."
    assert thinking.type == "thinking"
    assert thinking.thinking == "Hm, a file."
    assert block.type == "text"
    assert call.type == "tool_use"
    assert (call.id, call.name, call.input) == ("call_1", "Read", {"file_path": "a.py"})
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (100, 30)


def test_the_anthropic_client_takes_an_answer_in_one_piece(claude: anthropic.Anthropic) -> None:
    message = claude.messages.create(model="m", max_tokens=100, messages=[{"role": "user", "content": "SCN:full"}])
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]


def test_the_anthropic_client_knows_the_errors(claude: anthropic.Anthropic) -> None:
    def ask(name: str) -> Any:
        return claude.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": f"SCN:{name}"}])

    with pytest.raises(anthropic.RateLimitError) as busy:
        ask("busy")
    assert busy.value.response.headers["retry-after"] == "7"
    with pytest.raises(anthropic.BadRequestError, match="no such thing"):
        ask("wrong")


# ---------------------------------------------------------------- OpenAI


@pytest.fixture
def gpt(model: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{model.url}/v1", api_key="dummy", max_retries=0) as client:
        yield client


def test_the_openai_client_streams_a_response(gpt: openai.OpenAI) -> None:
    with gpt.responses.stream(model="m", input="SCN:full") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        response = stream.get_final_response()
    reasoning, block, call = response.output
    assert text == "I read it." == response.output_text
    assert reasoning.type == "reasoning"
    assert reasoning.summary[0].text == "Hm, a file."
    assert reasoning.encrypted_content
    assert block.type == "message"
    assert call.type == "function_call"
    assert (call.call_id, call.name, call.arguments) == ("call_1", "Read", '{"file_path":"a.py"}')
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.input_tokens_details.cached_tokens) == (130, 30)


def test_the_openai_client_takes_a_response_in_one_piece(gpt: openai.OpenAI) -> None:
    response = gpt.responses.create(model="m", input=[{"role": "user", "content": "SCN:full"}])
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert response.status == "completed"


def test_the_openai_client_knows_the_errors_of_responses(gpt: openai.OpenAI) -> None:
    with pytest.raises(openai.RateLimitError) as busy:
        gpt.responses.create(model="m", input="SCN:busy")
    assert busy.value.response.headers["retry-after"] == "7"
    with pytest.raises(openai.BadRequestError, match="no such thing"):
        gpt.responses.create(model="m", input="SCN:wrong")


def test_the_openai_client_streams_a_chat_completion(gpt: openai.OpenAI) -> None:
    with gpt.chat.completions.stream(
        model="m", messages=[{"role": "user", "content": "SCN:full"}], stream_options={"include_usage": True}
    ) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    assert text == "I read it." == choice.message.content
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    call = choice.message.tool_calls[0]
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "Read", '{"file_path":"a.py"}')
    assert completion.usage is not None
    assert completion.usage.prompt_tokens_details is not None
    assert (completion.usage.prompt_tokens, completion.usage.prompt_tokens_details.cached_tokens) == (130, 30)


def test_the_openai_client_takes_a_chat_completion_in_one_piece(gpt: openai.OpenAI) -> None:
    completion = gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": "SCN:full"}])
    message = completion.choices[0].message
    assert message.content == "I read it."
    assert (message.model_extra or {})["reasoning_content"] == "Hm, a file."


def test_the_openai_client_knows_the_errors_of_chat_completions(gpt: openai.OpenAI) -> None:
    def ask(name: str) -> Any:
        return gpt.chat.completions.create(
            model="m", messages=[{"role": "user", "content": f"SCN:{name}"}], stream=True
        )

    with pytest.raises(openai.RateLimitError) as busy:
        ask("busy")
    assert busy.value.response.headers["retry-after"] == "7"
    with pytest.raises(openai.BadRequestError, match="no such thing"):
        ask("wrong")
    with pytest.raises(openai.APIError, match="fell over"):
        list(ask("late"))


# ---------------------------------------------------------------- Gemini


def _genai() -> Any:
    with warnings.catch_warnings():
        # Its own source is not free of warnings, and ours are errors.
        warnings.simplefilter("ignore")
        from google import genai

    return genai


@pytest.fixture
def google(model: ModelServer) -> Iterator[Any]:
    genai = _genai()
    with genai.Client(api_key="dummy", http_options=genai.types.HttpOptions(base_url=model.url)) as client:
        yield client


def test_the_google_client_streams_an_answer(google: Any) -> None:
    parts: list[Any] = []
    for piece in google.models.generate_content_stream(model="gemini-2.5-flash", contents="SCN:full"):
        assert piece.candidates
        parts += (piece.candidates[0].content and piece.candidates[0].content.parts) or []
        usage = piece.usage_metadata
        finish = piece.candidates[0].finish_reason
    assert "".join(part.text or "" for part in parts if part.thought) == "Hm, a file."
    assert "".join(part.text or "" for part in parts if not part.thought) == "I read it."
    call = next(part.function_call for part in parts if part.function_call)
    assert (call.id, call.name, call.args) == ("call_1", "Read", {"file_path": "a.py"})
    assert finish == _genai().types.FinishReason.STOP
    assert usage is not None
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (130, 30)


def test_the_google_client_takes_an_answer_in_one_piece(google: Any) -> None:
    answer = google.models.generate_content(model="gemini-2.5-flash", contents="SCN:full")
    assert answer.function_calls
    assert answer.function_calls[0].name == "Read"


@pytest.mark.parametrize(("name", "code"), [("busy", 429), ("wrong", 400)])
def test_the_google_client_knows_the_errors(google: Any, name: str, code: int) -> None:
    with pytest.raises(_genai().errors.ClientError) as failed:
        google.models.generate_content(model="gemini-2.5-flash", contents=f"SCN:{name}")
    assert failed.value.code == code


def test_the_google_types_accept_what_we_send() -> None:
    types = _genai().types
    calls = Message("assistant", (Thinking("hm", "c2ln", "gemini"), ToolCall("a", "Read", {"x": 1}, signature="c2ln")))
    reply = Message("user", (ToolReply("a", (Text("ok"), Image("image/png", "aWJt"))),))
    asked = msgspec.structs.replace(_request("go"), messages=(*_request("go").messages, calls, reply), thinking=2048)
    body = msgspec.json.decode(Gemini(HttpClient(), base_url="http://127.0.0.1:1", api_key="").body(asked))
    for content in body["contents"]:
        types.Content.model_validate(content)
    types.Content.model_validate(body["systemInstruction"])
    types.Tool.model_validate(body["tools"][0])
    types.GenerationConfig.model_validate(body["generationConfig"])
    with pytest.raises(ValueError, match="extra"):
        types.Content.model_validate({"parts": [{"txt": "a wrong name is noticed"}]})


# ---------------------------------------------------------------- ours


MODELS = {
    **dict.fromkeys(("anthropic", "openai", "openai-chat", "gemini", "vertex-gemini"), "gemini-2.5-flash"),
    "bedrock": "us.anthropic.claude-x",
    "bedrock-converse": "us.amazon.nova-pro-v1:0",
    "vertex-claude": "claude-x",
}
ADAPTERS = list(MODELS)


@pytest.fixture
async def providers(model: ModelServer) -> AsyncIterator[dict[str, Provider]]:
    http = HttpClient()
    vertex = VertexEndpoint(FixedAccess(ACCESS_TOKEN), "global", "a-project", f"{model.url}/v1")
    yield {
        "anthropic": Anthropic(http, base_url=model.url, api_key="dummy"),
        "openai": Responses(http, base_url=f"{model.url}/v1", api_key="dummy"),
        "openai-chat": Chat(http, base_url=f"{model.url}/v1", api_key="dummy"),
        "gemini": Gemini(http, base_url=model.url, api_key="dummy"),
        "bedrock": Bedrock(http, BedrockEndpoint(FixedAccess(API_KEY), model.url)),
        "bedrock-converse": Bedrock(http, BedrockEndpoint(FixedAccess(API_KEY), model.url)),
        "vertex-claude": Vertex(http, vertex),
        "vertex-gemini": Vertex(http, vertex),
    }
    await http.close()


def _request(prompt: str, adapter: str = "gemini") -> Request:
    return Request(
        model=MODELS[adapter],
        system=("Be brief.",),
        messages=(Message("user", (Text(prompt),)),),
        tools=(ToolSpec("Read", "Read a file", SCHEMA),),
    )


def _shape(chunks: list[Chunk]) -> list[object]:
    """What a person would notice: ids, models and proofs are each vendor's own."""
    shape: list[object] = []
    for chunk in chunks:
        match chunk:
            case BlockBegan(_, index, kind, _, name):
                shape.append(("began", index, kind, name))
            case BlockDone(_, index, Thinking(text)):
                shape.append(("thought", index, text))
            case BlockDone(_, index, ToolCall(identity, name, value, malformed)):
                shape.append(("call", index, identity, name, value, malformed))
            case BlockDone(_, index, block):
                shape.append(("block", index, block))
            case MessageDone(_, _, stop, usage):
                shape.append(("done", stop, usage))
            case MessageBegan() | TextDelta() | ThinkingDelta() | InputDelta():
                pass
    return shape


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_every_adapter_hears_the_same_answer(providers: dict[str, Provider], adapter: str) -> None:
    chunks = [chunk async for chunk in providers[adapter].stream(_request("SCN:full", adapter))]
    assert isinstance(chunks[0], MessageBegan)
    assert _shape(chunks) == [
        ("began", 0, "thinking", ""),
        ("thought", 0, "Hm, a file."),
        ("began", 1, "text", ""),
        ("block", 1, Text("I read it.")),
        ("began", 2, "tool_call", "Read"),
        ("call", 2, "call_1", "Read", {"file_path": "a.py"}, ""),
        ("done", "tool_use", Usage(input=100, output=20, cache_read=30)),
    ]
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "I read it."
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingDelta)) == "Hm, a file."
    assert "".join(chunk.json for chunk in chunks if isinstance(chunk, InputDelta)) == '{"file_path":"a.py"}'


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal"])
@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_every_adapter_hears_why_the_model_stopped(
    model: ModelServer, providers: dict[str, Provider], adapter: str, stop: str
) -> None:
    model.play("stop", Step(blocks=[Say("Well.")], stop=stop))
    chunks = [chunk async for chunk in providers[adapter].stream(_request("SCN:stop", adapter))]
    assert isinstance(chunks[-1], MessageDone)
    assert chunks[-1].stop == stop


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_every_adapter_maps_the_same_failures(providers: dict[str, Provider], adapter: str) -> None:
    """F10: a failure inside a stream is judged like its HTTP twin."""

    async def fail(name: str) -> ProviderError:
        with pytest.raises(ProviderError) as failed:
            async for _ in providers[adapter].stream(_request(f"SCN:{name}", adapter)):
                pass
        return failed.value

    busy, wrong, late = await fail("busy"), await fail("wrong"), await fail("late")
    assert (busy.kind, busy.status, busy.retry_after) == ("rate_limit", 429, 7.0)
    assert (wrong.kind, wrong.status) == ("invalid_request", 400)
    assert "no such thing" in str(wrong)
    assert (late.kind, late.status) == ("server", 500)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("fault", [{"reset_after": 1}, {"end_after": 1}])
async def test_every_adapter_reports_an_answer_cut_short(
    model: ModelServer, providers: dict[str, Provider], adapter: str, fault: dict[str, int]
) -> None:
    model.play("cut", Step(blocks=[Say("one"), Say("two")], **fault))  # type: ignore[arg-type]  # keywords of a table
    with pytest.raises(ProviderError) as failed:
        async for _ in providers[adapter].stream(_request("SCN:cut", adapter)):
            pass
    assert failed.value.kind == "connection"
    assert failed.value.retryable


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_every_adapter_uses_its_connection_again(
    model: ModelServer, providers: dict[str, Provider], adapter: str
) -> None:
    for _ in range(5):
        async for _ in providers[adapter].stream(_request("SCN:full", adapter)):
            pass
    # The next request may overtake the last bytes of an answer; then there are two, which take turns.
    assert model.connections <= 2
