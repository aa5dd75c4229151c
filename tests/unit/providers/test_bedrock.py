"""Claude on Amazon Bedrock: signed requests, envelopes and exceptions, against a double that checks them."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.message import Message, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, ErrorKind, Provider, ProviderError, ToolSpec
from bobstay.providers.cloud_setup import build_bedrock
from bobstay.providers.provider_registry import ProviderKeys
from tests.modelserver import Call, Counts, ModelServer, Say, Step, Think
from tests.modelserver.bedrock import encode_message, envelope
from tests.unit.providers.model_calls import blocks_of, chunks_of, ending_of, request

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SIGNED = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "AWS_REGION": "us-east-1",
}
TOOL = ToolSpec("Read", "Read a file", {"type": "object", "properties": {"file_path": {"type": "string"}}})


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def bedrock(server: ModelServer, http: HttpClient, values: dict[str, str] | None = None, **more: Any) -> Provider:
    address = {"ANTHROPIC_BEDROCK_BASE_URL": server.url}
    return build_bedrock(http, ProviderKeys({**(SIGNED if values is None else values), **address}, **more))


async def failure_of(provider: Provider, prompt: str, **changes: Any) -> tuple[list[Chunk], ProviderError]:
    chunks: list[Chunk] = []

    async def read() -> None:
        async for chunk in provider.stream(request(prompt, **{"model": MODEL, **changes})):
            chunks.append(chunk)

    with pytest.raises(ProviderError) as caught:
        await read()
    return chunks, caught.value


async def test_a_signed_request_is_accepted_and_the_answer_comes_out_of_its_envelopes(
    server: ModelServer, http: HttpClient
) -> None:
    """H3-11: the double checks the signature with botocore's own signer."""
    step = Step(
        blocks=[Think("hm"), Say("I read it."), Call("Read", {"file_path": "a.py"}, id="call_1")],
        usage=Counts(input=100, output=20, cache_read=30, cache_write=5),
    )
    asked = request(server.play("full", step), model=MODEL, tools=(TOOL,), session_id="s", hosted_search=True)
    chunks = await chunks_of(bedrock(server, http), asked)
    assert server.refused == []
    assert [type(block) for block in blocks_of(chunks)] == [Thinking, Text, ToolCall]
    done = ending_of(chunks)
    assert (done.stop, done.usage) == ("tool_use", Usage(input=100, output=20, cache_read=30, cache_write=5))
    assert done.request_id.startswith("aws-")
    sent = server.requests[0]
    assert sent.path == "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"
    assert sent.body["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream", "metadata"} & sent.body.keys()


async def test_cache_breakpoints_stay_as_they_are_for_anthropic(server: ModelServer, http: HttpClient) -> None:
    """H3-11."""
    await chunks_of(bedrock(server, http), request("hi", model=MODEL, tools=(TOOL,)))
    body = server.requests[0].body
    marked = {"type": "ephemeral"}
    assert body["tools"][-1]["cache_control"] == body["system"][-1]["cache_control"] == marked
    assert body["messages"][-1]["content"][-1]["cache_control"] == marked


async def test_an_arn_is_one_segment_of_the_path(server: ModelServer, http: HttpClient) -> None:
    model = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    await chunks_of(bedrock(server, http), request("hi", model=model))
    assert server.refused == []
    assert server.requests[0].path.split("/")[2] == (
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc"
    )


async def test_an_api_key_of_bedrock_is_sent_as_it_is_and_needs_no_botocore(
    server: ModelServer, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    provider = bedrock(server, http, {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-good"})
    await chunks_of(provider, request("hi", model=MODEL))
    assert server.refused == []
    assert server.requests[0].headers["authorization"] == "Bearer bedrock-api-key-good"


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ({**SIGNED, "AWS_SECRET_ACCESS_KEY": "wrong"}, "authentication", "signature we calculated does not match"),
        ({**SIGNED, "AWS_ACCESS_KEY_ID": "AKIDNOBODY"}, "authentication", "token included in the request is invalid"),
        ({**SIGNED, "AWS_SESSION_TOKEN": "expired-session-token"}, "authentication", "aws sso login"),
        ({**SIGNED, "AWS_REGION": "eu-west-1"}, "authentication", "scoped to a valid region"),
        ({"AWS_BEARER_TOKEN_BEDROCK": "wrong", "AWS_REGION": "us-east-1"}, "permission", "API Key is valid"),
        ({"CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"}, "authentication", "Missing Authentication Token"),
    ],
)
async def test_credentials_that_aws_refuses_are_named_and_not_tried_forever(
    server: ModelServer, http: HttpClient, values: dict[str, str], kind: ErrorKind, words: str
) -> None:
    chunks, error = await failure_of(bedrock(server, http, values), "hi")
    assert (chunks, error.kind, error.status, words in str(error)) == ([], kind, 403, True)
    assert len(server.requests) <= 2


async def test_a_session_token_is_signed_too(server: ModelServer, http: HttpClient) -> None:
    await chunks_of(
        bedrock(server, http, {**SIGNED, "AWS_SESSION_TOKEN": "good-session-token"}), request("hi", model=MODEL)
    )
    assert server.refused == []


async def test_a_profile_is_asked_for_its_credentials_and_its_region(
    server: ModelServer, http: HttpClient, tmp_path: Path
) -> None:
    program = tmp_path / "credentials.py"
    found = {"Version": 1, "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": SIGNED["AWS_SECRET_ACCESS_KEY"]}
    program.write_text(f"print({msgspec.json.encode(found).decode()!r})")
    (tmp_path / "config").write_text(
        f"[profile work]\nregion = us-east-1\ncredential_process = {sys.executable} {program}\n"
    )
    learned: dict[str, str] = {}
    provider = bedrock(server, http, {"AWS_PROFILE": "work"}, learn_secrets=learned.update)
    await chunks_of(provider, request("hi", model=MODEL))
    await chunks_of(provider, request("hi", model=MODEL))
    assert server.refused == []
    assert learned == {"AWS credentials 1": SIGNED["AWS_SECRET_ACCESS_KEY"]}


async def test_credentials_that_were_renewed_elsewhere_are_found_when_the_old_ones_are_refused(
    server: ModelServer, http: HttpClient, tmp_path: Path
) -> None:
    def write(token: str) -> None:
        (tmp_path / "credentials").write_text(
            f"[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {SIGNED['AWS_SECRET_ACCESS_KEY']}\n"
            f"aws_session_token = {token}\n"
        )

    write("expired-session-token")
    provider = bedrock(server, http, {"AWS_REGION": "us-east-1"})
    _, error = await failure_of(provider, "hi")
    assert error.kind == "authentication"
    write("good-session-token")
    assert blocks_of(await chunks_of(provider, request("hi", model=MODEL))) == [Text("(no scenario)")]


async def test_without_credentials_the_ways_to_get_some_are_named(server: ModelServer, http: HttpClient) -> None:
    _, error = await failure_of(bedrock(server, http, {"AWS_REGION": "us-east-1"}), "hi")
    assert error.kind == "authentication"
    assert "aws sso login" in str(error)
    assert "AWS_BEARER_TOKEN_BEDROCK" in str(error)
    assert server.requests == []


async def test_a_sign_in_that_is_missing_or_a_profile_that_is_not_there_is_named(
    server: ModelServer, http: HttpClient, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(
        "[profile sso]\nsso_start_url = https://example.awsapps.com/start\nsso_region = us-east-1\n"
        "sso_account_id = 123456789012\nsso_role_name = Dev\nregion = us-east-1\n"
    )
    for profile, words in (("sso", "Token"), ("nobody", "nobody")):
        _, error = await failure_of(bedrock(server, http, {"AWS_PROFILE": profile}), "hi")
        assert (error.kind, words in str(error), "aws sso login" in str(error)) == ("authentication", True, True)


async def test_without_any_region_the_variable_is_named(http: HttpClient) -> None:
    values = {name: value for name, value in SIGNED.items() if name != "AWS_REGION"}
    _, error = await failure_of(build_bedrock(http, ProviderKeys(values)), "hi")
    assert (error.kind, "AWS_REGION" in str(error)) == ("unreachable", True)


async def test_a_region_in_a_profile_cannot_lead_to_another_host(http: HttpClient, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nregion = evil.example/#\n")
    values = {name: value for name, value in SIGNED.items() if name != "AWS_REGION"}
    _, error = await failure_of(build_bedrock(http, ProviderKeys(values)), "hi")
    assert "is not a region" in str(error)


async def test_looking_for_credentials_does_not_hold_up_anything_else(
    server: ModelServer, http: HttpClient, tmp_path: Path
) -> None:
    """The program that prints them waits until the loop has let something else run."""
    gate = tmp_path / "gate"
    found = {"Version": 1, "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": SIGNED["AWS_SECRET_ACCESS_KEY"]}
    program = tmp_path / "slow.py"
    program.write_text(
        "import os, time\n"
        f"open({str(tmp_path / 'asked')!r}, 'w').close()\n"
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        f"print({msgspec.json.encode(found).decode()!r})"
    )
    (tmp_path / "config").write_text(
        f"[profile slow]\nregion = us-east-1\ncredential_process = {sys.executable} {program}\n"
    )
    provider = bedrock(server, http, {"AWS_PROFILE": "slow"})
    asking = asyncio.create_task(chunks_of(provider, request("hi", model=MODEL)))
    async with asyncio.timeout(60):
        while not (tmp_path / "asked").exists():
            await asyncio.sleep(0.01)
    assert not asking.done()
    gate.touch()
    assert blocks_of(await asking) == [Text("(no scenario)")]


@pytest.mark.parametrize(
    ("exception", "kind", "status", "retryable"),
    [
        ("ThrottlingException", "rate_limit", 429, True),
        ("ModelStreamErrorException", "server", 424, True),
        ("ModelTimeoutException", "timeout", 408, True),
        ("InternalServerException", "server", 500, True),
        ("ServiceUnavailableException", "overloaded", 503, True),
        ("ValidationException", "invalid_request", 400, False),
        ("ModelNotReadyException", "rate_limit", 429, True),
        ("ModelErrorException", "server", 424, True),
        ("ServiceQuotaExceededException", "quota", 400, False),
        ("AccessDeniedException", "permission", 403, False),
        ("ResourceNotFoundException", "not_found", 404, False),
    ],
)
@pytest.mark.parametrize("after", [None, 0, 1])
async def test_an_exception_is_judged_the_same_inside_the_stream_and_outside(
    server: ModelServer,
    http: HttpClient,
    exception: str,
    kind: ErrorKind,
    status: int,
    retryable: bool,
    after: int | None,
) -> None:
    """F10."""
    step = Step(
        blocks=[Say("one"), Say("two")], status=status, error_type=exception, message="not now", error_after=after
    )
    chunks, error = await failure_of(bedrock(server, http), server.play("fails", step))
    assert len(blocks_of(chunks)) == (after or 0)
    assert (error.kind, error.status, error.retryable, str(error)) == (kind, status, retryable, "not now")


async def test_an_exception_nobody_knows_is_a_failure_of_the_server(server: ModelServer, http: HttpClient) -> None:
    raw = encode_message({":message-type": "exception", ":exception-type": "newException"}, b'{"message":"odd"}')
    _, error = await failure_of(bedrock(server, http), server.play("odd", Step(raw=raw)))
    assert (error.kind, str(error)) == ("server", "odd")


async def test_an_error_message_of_the_framing_is_an_error_too(server: ModelServer, http: HttpClient) -> None:
    headers = {":message-type": "error", ":error-code": "InternalServerException", ":error-message": "broke"}
    _, error = await failure_of(bedrock(server, http), server.play("e", Step(raw=encode_message(headers, b""))))
    assert (error.kind, str(error)) == ("server", "broke")


async def test_what_the_model_itself_said_is_shown_with_the_exception(server: ModelServer, http: HttpClient) -> None:
    headers = {":message-type": "exception", ":exception-type": "modelStreamErrorException"}
    payload = b'{"message":"The model failed","originalStatusCode":529,"originalMessage":"overloaded"}'
    _, error = await failure_of(bedrock(server, http), server.play("e", Step(raw=encode_message(headers, payload))))
    assert (error.kind, str(error)) == ("server", "The model failed: overloaded")


async def test_a_quota_of_the_day_is_not_tried_again(server: ModelServer, http: HttpClient) -> None:
    step = Step(status=429, message="Too many tokens per day, please wait before trying again.")
    _, error = await failure_of(bedrock(server, http), server.play("day", step))
    assert (error.kind, error.retryable) == ("quota", False)


async def test_a_prompt_that_is_too_long_is_known(server: ModelServer, http: HttpClient) -> None:
    step = Step(status=400, message="Input is too long for requested model.")
    _, error = await failure_of(bedrock(server, http), server.play("long", step))
    assert error.kind == "prompt_too_long"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "us., eu., apac. or global."),
        ("claude-sonnet-5-5", "AWS_REGION"),
    ],
)
async def test_a_name_that_does_not_work_is_answered_with_what_to_write(
    server: ModelServer, http: HttpClient, model: str, words: str
) -> None:
    _, error = await failure_of(bedrock(server, http), "hi", model=model)
    assert (error.kind, words in str(error)) == ("invalid_request", True)


async def test_betas_go_into_the_body_and_ours_are_left_out_where_they_are_refused(
    server: ModelServer, http: HttpClient
) -> None:
    provider = bedrock(server, http, headers={"anthropic-beta": "context-1m-2025-08-07"})
    await chunks_of(provider, request("hi", model=MODEL, tools=(TOOL,), thinking=2048, thinks="budget"))
    first = server.requests[-1]
    assert first.body["anthropic_beta"] == [
        "context-1m-2025-08-07",
        "fine-grained-tool-streaming-2025-05-14",
        "interleaved-thinking-2025-05-14",
    ]
    assert "anthropic-beta" not in first.headers
    old = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
    await chunks_of(bedrock(server, http), request("hi", model=old, tools=(TOOL,), thinking=2048, thinks="budget"))
    assert "anthropic_beta" not in server.requests[-1].body
    refusing = Step(status=400, message="invalid beta flag", times=1, then=Step(blocks=[Say("fine")]))
    asked = request(server.play("beta", refusing), model=MODEL, tools=(TOOL,))
    assert blocks_of(await chunks_of(bedrock(server, http), asked)) == [Text("fine")]
    assert "anthropic_beta" not in server.requests[-1].body
    assert server.refused == []


async def test_a_beta_that_the_user_asked_for_is_not_dropped_without_a_word(
    server: ModelServer, http: HttpClient
) -> None:
    _, error = await failure_of(bedrock(server, http), "hi", betas=("made-up-2026-01-01",))
    assert (error.kind, str(error)) == ("invalid_request", "invalid beta flag")


async def test_thinking_goes_back_to_the_model_it_came_from(server: ModelServer, http: HttpClient) -> None:
    """The same signatures are valid at Anthropic and in both clouds."""
    call = Step(blocks=[Think("a thought", "signed"), Call("Read", {"file_path": "a"}, id="call_1")])
    provider = bedrock(server, http)
    prompt = server.play("think", call, Step(blocks=[Say("done")]))
    first = blocks_of(await chunks_of(provider, request(prompt, model=MODEL, tools=(TOOL,))))
    history = (
        Message("user", (Text(prompt),)),
        Message("assistant", tuple(first)),
        Message("user", (ToolReply("call_1", (Text("x"),)),)),
    )
    await chunks_of(provider, request("", model=MODEL, tools=(TOOL,), messages=history))
    assert server.refused == []
    assert b"a thought" in server.requests[-1].raw


async def test_a_changed_byte_in_mid_stream_is_an_error_and_keeps_what_had_come(
    server: ModelServer, http: HttpClient
) -> None:
    start = envelope({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {}}})
    broken = bytearray(envelope({"type": "ping"}))
    broken[-20] ^= 1
    chunks, error = await failure_of(bedrock(server, http), server.play("bad", Step(raw=start + bytes(broken))))
    assert len(chunks) == 1
    assert (error.kind, error.retryable) == ("protocol", True)


@pytest.mark.parametrize("payload", [b"", b"[]", b'{"bytes":5}', b'{"bytes":"*"}', b'{"bytes":"bm8ganNvbg=="}'])
async def test_a_part_that_cannot_be_read_is_an_error(server: ModelServer, http: HttpClient, payload: bytes) -> None:
    raw = encode_message({":message-type": "event", ":event-type": "chunk"}, payload)
    _, error = await failure_of(bedrock(server, http), server.play("part", Step(raw=raw)))
    assert error.kind == "protocol"


async def test_events_of_other_kinds_are_skipped(server: ModelServer, http: HttpClient) -> None:
    first = encode_message({":message-type": "event", ":event-type": "initial-response"}, b"{}")
    _, error = await failure_of(bedrock(server, http), server.play("skip", Step(raw=first)))
    assert error.kind == "connection"  # the answer ends before it began


@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/event-stream"])
async def test_an_answer_that_is_no_event_stream_names_the_address_to_check(
    server: ModelServer, http: HttpClient, kind: str
) -> None:
    step = Step(raw=b"<html>", headers={"content-type": kind})
    _, error = await failure_of(bedrock(server, http), server.play("page", step))
    assert (error.kind, "ANTHROPIC_BEDROCK_BASE_URL" in str(error)) == ("protocol", True)


async def test_every_byte_in_a_packet_of_its_own_changes_nothing(server: ModelServer, http: HttpClient) -> None:
    token = server.play("slow", Step(blocks=[Say("Hello, ünï."), Call("Read", {"file_path": "a"})], slice=1))
    blocks = blocks_of(await chunks_of(bedrock(server, http), request(token, model=MODEL, tools=(TOOL,))))
    assert blocks[0] == Text("Hello, ünï.")


async def test_tools_that_a_search_found_are_sent_whole(server: ModelServer, http: HttpClient) -> None:
    """H1-6: to defer them needs a beta there."""
    found = ToolSpec("mcp__a__found", "Is found.", {"type": "object"}, is_deferred=True)
    called = Message("assistant", (ToolCall("t1", "ToolSearch", {}),))
    reply = Message("user", (ToolReply("t1", (Text("Loaded"),), loads=(found.name,)),))
    messages = (Message("user", (Text("go"),)), called, reply)
    await chunks_of(bedrock(server, http), request("", model=MODEL, messages=messages, tools=(TOOL, found)))
    assert server.refused == []
    assert [tool.get("defer_loading") for tool in server.requests[0].body["tools"]] == [None, None]
