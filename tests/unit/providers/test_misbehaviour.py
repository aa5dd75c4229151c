"""The Anthropic adapter against a misbehaving server, over real HTTP."""

import asyncio
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.http.client import HttpClient
from bobstay.model.event import BlockDone
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Message, Text, Thinking, ToolCall
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.base import Chunk, ErrorKind, Provider, ProviderError, Request
from tests.modelserver import BROKEN, Call, Gate, ModelServer, Say, Step, Think
from tests.unit.providers.model_calls import blocks_of, chunks_of, ending_of, request


@pytest.fixture
def provider(server: ModelServer, http: HttpClient) -> Anthropic:
    return Anthropic(http, base_url=server.url, api_key="key")


async def until_it_fails(provider: Provider, asked: Request) -> tuple[list[Chunk], ProviderError]:
    chunks: list[Chunk] = []

    async def read() -> None:
        async for chunk in provider.stream(asked):
            chunks.append(chunk)

    with pytest.raises(ProviderError) as caught:
        await read()
    return chunks, caught.value


@pytest.mark.parametrize(
    ("status", "kind", "headers", "wait"),
    [
        (429, "rate_limit", {"retry-after": "3"}, 3.0),
        (429, "rate_limit", {}, None),
        (529, "overloaded", {"retry-after": "0"}, 0.0),
        (529, "overloaded", {}, None),
        (500, "server", {}, None),
        (401, "authentication", {}, None),
        (404, "not_found", {}, None),
    ],
)
async def test_an_error_answer_is_judged_and_the_next_attempt_works(
    server: ModelServer, provider: Provider, status: int, kind: ErrorKind, headers: dict[str, str], wait: float | None
) -> None:
    """H3-5."""
    good = Step(blocks=[Say("there")])
    token = server.play("busy", Step(status=status, message="not now", headers=headers, times=2, then=good))
    for _ in range(2):
        chunks, error = await until_it_fails(provider, request(token))
        assert chunks == []
        assert (error.kind, error.status, error.retry_after, str(error)) == (kind, status, wait, "not now")
    assert blocks_of(await chunks_of(provider, request(token))) == [Text("there")]
    assert server.connections == 1


@pytest.mark.parametrize(
    ("status", "error_type", "kind"),
    [(529, "", "overloaded"), (429, "", "rate_limit"), (500, "", "server"), (0, "timeout_error", "timeout")],
)
@pytest.mark.parametrize("after", [0, 1])
async def test_an_error_inside_the_stream_is_judged_like_its_http_twin(
    server: ModelServer, provider: Provider, status: int, error_type: str, kind: ErrorKind, after: int
) -> None:
    """F10."""
    step = Step(blocks=[Say("one"), Say("two")], status=status, error_type=error_type, message="mid", error_after=after)
    chunks, error = await until_it_fails(provider, request(server.play("mid", step)))
    assert len(blocks_of(chunks)) == after
    assert (error.kind, str(error), error.retryable) == (kind, "mid", True)
    assert error.status == (status or 504)


async def test_a_prompt_too_long_is_known_inside_the_stream_too(server: ModelServer, provider: Provider) -> None:
    """H3-3."""
    message = "prompt is too long: 1000001 tokens > 1000000 maximum"
    step = Step(blocks=[Say("x")], status=400, message=message, error_after=0)
    _, error = await until_it_fails(provider, request(server.play("long", step)))
    assert error.kind == "prompt_too_long"


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_a_reset_in_mid_stream_keeps_what_had_come_and_is_an_error(
    server: ModelServer, provider: Provider, after: int
) -> None:
    step = Step(blocks=[Say("one"), Say("two"), Say("three")], reset_after=after)
    chunks, error = await until_it_fails(provider, request(server.play("reset", step)))
    assert blocks_of(chunks) == [Text("one"), Text("two")][:after]
    assert error.kind == "connection"


@pytest.mark.parametrize("close_delimited", [False, True])
@pytest.mark.parametrize("after", [0, 1, 2])
async def test_a_stream_that_ends_before_the_message_does_is_an_error(
    server: ModelServer, provider: Provider, after: int, close_delimited: bool
) -> None:
    step = Step(blocks=[Say("one"), Say("two")], end_after=after, close_delimited=close_delimited)
    chunks, error = await until_it_fails(provider, request(server.play("end", step)))
    assert len(blocks_of(chunks)) == after
    assert error.kind == "connection"


async def test_an_answer_that_ends_by_closing_the_connection_is_complete(
    server: ModelServer, provider: Provider
) -> None:
    token = server.play("close", Step(blocks=[Say("all of it")], close_delimited=True))
    chunks = await chunks_of(provider, request(token))
    assert blocks_of(chunks) == [Text("all of it")]
    assert ending_of(chunks).stop == "end_turn"


async def test_half_an_event_gives_nothing_and_can_be_given_up(server: ModelServer, provider: Provider) -> None:
    """F9: the watchdog is the loop's; the adapter must yield nothing, and stop when it is told to."""
    token = server.play("half", Step(blocks=[Say("one"), Say("two")], stall="half_event", stall_after=1))
    seen: list[Chunk] = []
    first = asyncio.Event()

    async def read() -> None:
        async for chunk in provider.stream(request(token)):
            seen.append(chunk)
            if isinstance(chunk, BlockDone):
                first.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(first.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.left(1)
    assert blocks_of(seen) == [Text("one")]


@pytest.mark.parametrize("stall", ["silent", "pings"])
async def test_a_server_that_stalls_is_left_when_the_call_is_cancelled(
    server: ModelServer, provider: Provider, stall: Literal["silent", "pings"]
) -> None:
    """F9: pings are not events."""
    token = server.play("stall", Step(stall=stall))
    seen: list[Chunk] = []

    async def read() -> None:
        async for chunk in provider.stream(request(token)):
            seen.append(chunk)

    task = asyncio.create_task(read())
    await server.requested(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.left(1)
    assert seen == []


async def test_closing_the_stream_early_lets_go_of_the_connection(server: ModelServer, provider: Provider) -> None:
    gate = Gate()
    token = server.play("early", Step(blocks=[Say("one"), Say("two")], gate=gate, gate_after=1))
    stream = provider.stream(request(token))
    async for chunk in stream:
        if isinstance(chunk, BlockDone):
            break
    await stream.aclose()  # type: ignore[attr-defined]  # the protocol promises an iterator, the adapter is a generator
    await server.left(1)


@pytest.mark.parametrize(
    "raw",
    ['{"command": "ls', "ls -la", '["a"]', "null", "42", '"text"', '{"a": 1}}', '{"a": "\\ud83d"}', "[" * 5000],
)
async def test_malformed_input_is_kept_as_it_came(server: ModelServer, provider: Provider, raw: str) -> None:
    """F35, H2-2."""
    token = server.play("bad", Step(blocks=[Call("Bash", raw=raw, id="t1"), Say("on")]))
    chunks = await chunks_of(provider, request(token))
    assert blocks_of(chunks) == [ToolCall("t1", "Bash", {}, malformed=raw), Text("on")]
    assert ending_of(chunks).stop == "tool_use"


async def test_broken_utf8_is_mended_and_breaks_nothing(server: ModelServer, provider: Provider) -> None:
    token = server.play("utf8", Step(blocks=[Say(f"a{BROKEN}b"), Say("fine €")], chunk=100))
    assert blocks_of(await chunks_of(provider, request(token))) == [Text("a\ufffdb"), Text("fine €")]


async def test_an_event_that_is_not_json_is_a_protocol_error(server: ModelServer, provider: Provider) -> None:
    _, error = await until_it_fails(
        provider, request(server.play("raw", Step(raw=b"event: message_start\ndata: {oops\n\n")))
    )
    assert error.kind == "protocol"
    assert error.retryable


async def test_a_web_page_in_place_of_a_stream_is_named(server: ModelServer, provider: Provider) -> None:
    step = Step(raw=b"<html>Sign in</html>", headers={"content-type": "text/html"})
    _, error = await until_it_fails(provider, request(server.play("page", step)))
    assert error.kind == "protocol"
    assert "base URL" in str(error)


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. It is bound to a different conversation.",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest message cannot be modified.",
    ],
)
async def test_thinking_the_server_refuses_is_left_out_for_good(
    server: ModelServer, provider: Provider, message: str
) -> None:
    """F5's kin: history that is refused once would be refused for ever, and the session with it."""

    def picky(body: dict[str, object]) -> Step:
        if "stale" in str(body["messages"]):
            return Step(status=400, message=message)
        return Step(blocks=[Say("good")])

    token = server.play("picky", picky)
    stale = Message("assistant", (Thinking("old", signature="stale", origin="anthropic"), Text("said")))
    fresh = Message("assistant", (Thinking("new", signature="fresh", origin="anthropic"), Text("said")))
    go, on = Message("user", (Text(token),)), Message("user", (Text("on"),))
    chunks = await chunks_of(provider, request("", messages=(go, stale, on)))
    assert blocks_of(chunks) == [Text("good")]
    assert len(server.requests) == 2
    await chunks_of(provider, request("", messages=(go, stale, on, fresh, on)))
    assert len(server.requests) == 3
    assert b"fresh" in server.requests[2].raw


async def test_a_refusal_that_dropping_thinking_cannot_cure_is_reported(
    server: ModelServer, provider: Provider
) -> None:
    step = Step(status=400, message="Invalid `signature` in `thinking` block")
    messages = (
        Message("user", (Text(server.play("no", step)),)),
        Message("assistant", (Thinking("old", signature="stale", origin="anthropic"), Text("said"))),
        Message("user", (Text("on"),)),
    )
    _, error = await until_it_fails(provider, request("", messages=messages))
    assert error.kind == "invalid_request"
    assert len(server.requests) == 2


async def test_an_empty_answer_is_an_answer(server: ModelServer, provider: Provider) -> None:
    chunks = await chunks_of(provider, request(server.play("empty", Step(blocks=[]))))
    assert [type(chunk).__name__ for chunk in chunks] == ["MessageBegan", "MessageDone"]


async def test_every_byte_in_a_packet_of_its_own_changes_nothing(server: ModelServer, provider: Provider) -> None:
    step = Step(blocks=[Think("hm €"), Say("grüße 😀\nzwei"), Call("Bash", {"command": "echo é"}, id="t")])
    whole = server.play("whole", step)
    bytewise = server.play("bytewise", msgspec.structs.replace(step, slice=1))
    first = await chunks_of(provider, request(whole))
    second = await chunks_of(provider, request(bytewise))
    assert blocks_of(first) == blocks_of(second)
    assert len(first) == len(second)


texts = st.text(st.characters(codec="utf-8", exclude_characters=BROKEN), max_size=40)


@settings(max_examples=25, deadline=None)
@given(
    text=texts,
    command=st.dictionaries(texts, texts | st.integers(), max_size=3),
    chunk=st.integers(1, 7),
    size=st.integers(1, 64),
)
def test_any_text_survives_any_cutting(text: str, command: dict[str, object], chunk: int, size: int) -> None:
    with ModelServer() as server:
        step = Step(blocks=[Say(f".{text}"), Call("T", dict(command), id="t")], chunk=chunk, slice=size)
        token = server.play("cut", step)
        chunks = asyncio.run(_ask(server.url, token))
    assert blocks_of(chunks) == [Text(f".{text}"), ToolCall("t", "T", dict(command))]
    assert "".join(part.text for part in chunks if isinstance(part, TextDelta)) == f".{text}"


async def _ask(url: str, token: str) -> list[Chunk]:
    http = HttpClient()
    try:
        return await chunks_of(Anthropic(http, base_url=url, api_key="key"), request(token))
    finally:
        await http.close()
