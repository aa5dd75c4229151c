"""Classification of vendors' errors."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.providers.base import ErrorKind
from bobstay.providers.error_kinds import MESSAGE_LIMIT, classify


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def openai(message: str, kind: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def gemini(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


TOO_LONG: list[tuple[str, int | None, Any]] = [
    ("anthropic", 400, anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")),
    ("anthropic", 413, anthropic("invalid_request_error", "Prompt is too long")),
    (
        "anthropic",
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, "
            "decrease input length or `max_tokens` and try again",
        ),
    ),
    ("anthropic", None, anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")),
    ("anthropic", 400, {"message": "Input is too long for requested model."}),
    ("openai", 400, openai("Whatever the words are.", "invalid_request_error", "context_length_exceeded")),
    ("openai", None, {"type": "error", "code": "context_length_exceeded", "message": "Too much.", "param": "input"}),
    (
        "openai",
        None,
        {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "Too much."}}},
    ),
    ("openai", 400, openai("Your input exceeds the context window of this model. Please adjust your input.")),
    (
        "openai-chat",
        400,
        openai("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
    ),
    ("gemini", 400, gemini(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of")),
    (
        "gemini",
        400,
        [gemini(400, "INVALID_ARGUMENT", "The input token count is 1100000 but model only supports up to 1048576.")],
    ),
    ("ollama", 400, {"error": "the input length exceeds the context length"}),
    ("ollama", 500, {"error": "prompt too long; exceeded max context length by 123 tokens"}),
    (
        "vllm",
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    (
        "vllm",
        400,
        openai("The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    ),
    ("vllm", 400, openai("The prompt (total length 5000) is too long to fit into the model (context length 4096).")),
    (
        "llamacpp",
        400,
        {"error": {"code": 400, "message": "too big", "type": "exceed_context_size_error", "n_ctx": 4096}},
    ),
    ("llamacpp", 500, openai("the request exceeds the available context size. try increasing the context size")),
    ("llamacpp", 400, openai("request (9000 tokens) exceeds the available context size (4096 tokens)")),
    ("llamacpp", 500, openai("input is larger than the max context size. skipped")),
    ("lmstudio", 400, {"error": "Trying to keep the first 5000 tokens when context the overflows."}),
    (
        "openrouter",
        400,
        openai("This endpoint's maximum context length is 200000 tokens. However, you requested about 210000 tokens"),
    ),
    (
        "openrouter",
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": '{"type":"error","error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}'},
            }
        },
    ),
    ("openrouter", None, openai("This model's maximum prompt length is 131072 but the request contains 537812 tokens")),
]

NOT_TOO_LONG: list[tuple[str, int | None, Any, ErrorKind]] = [
    (
        "anthropic",
        400,
        anthropic(
            "invalid_request_error",
            "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-x",
        ),
        "invalid_request",
    ),
    (
        "anthropic",
        400,
        anthropic("invalid_request_error", "`max_tokens` must be greater than `thinking.budget_tokens`."),
        "invalid_request",
    ),
    (
        "anthropic",
        429,
        anthropic("rate_limit_error", "This request would exceed your limit of 30,000 input tokens per minute"),
        "rate_limit",
    ),
    (
        "openai",
        429,
        openai(
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",
            "tokens",
            "rate_limit_exceeded",
        ),
        "rate_limit",
    ),
    (
        "openai",
        400,
        openai("max_tokens is too large: 100000. This model supports at most 16384 completion tokens"),
        "invalid_request",
    ),
    (
        "vllm",
        400,
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is "
            "16384 tokens and your request has 5000 input tokens (32000 > 16384 - 5000)."
        ),
        "invalid_request",
    ),
    ("openai", 400, openai("Invalid 'tools[0].description': string too long."), "invalid_request"),
    ("openai", 401, openai("Incorrect API key: maximum context length"), "authentication"),
    ("gemini", 400, gemini(400, "INVALID_ARGUMENT", "Unable to parse tokens in the schema"), "invalid_request"),
    ("anthropic", 500, anthropic("api_error", "Internal server error while counting tokens"), "server"),
]


@pytest.mark.parametrize(("provider", "status", "body"), TOO_LONG)
def test_every_vendors_way_to_say_too_long_is_known(provider: str, status: int | None, body: Any) -> None:
    """H3-3."""
    error = classify(status, msgspec.json.encode(body), {}, provider)
    assert error.kind == "prompt_too_long", str(error)
    assert not error.retryable


@pytest.mark.parametrize(("provider", "status", "body", "kind"), NOT_TOO_LONG)
def test_errors_that_only_speak_of_tokens_are_not_taken_for_too_long(
    provider: str, status: int | None, body: Any, kind: ErrorKind
) -> None:
    """F7: compacting for these would destroy history for nothing, again and again."""
    assert classify(status, msgspec.json.encode(body), {}, provider).kind == kind


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"),
        (400, "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"),
        (400, "Could not process image"),
        (400, "The image data you provided does not represent a valid image."),
        (400, "Unable to process input image. Please retry."),
        (400, "Invalid image data URL"),
        (500, "this model does not support images"),
        (413, "Request exceeds the maximum size"),
        (413, ""),
    ],
)
def test_an_image_that_is_refused_is_known_so_that_it_can_be_left_out(status: int, message: str) -> None:
    """F5."""
    body = anthropic("invalid_request_error", message) if message else {}
    assert classify(status, msgspec.json.encode(body), {}, "anthropic").kind == "image_too_large"


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (301, "not_found", False),
        (400, "invalid_request", False),
        (401, "authentication", False),
        (402, "quota", False),
        (403, "permission", False),
        (404, "not_found", False),
        (405, "invalid_request", False),
        (408, "timeout", True),
        (409, "server", True),
        (422, "invalid_request", False),
        (429, "rate_limit", True),
        (500, "server", True),
        (502, "server", True),
        (503, "overloaded", True),
        (504, "timeout", True),
        (520, "server", True),
        (529, "overloaded", True),
    ],
)
def test_a_bare_status_has_a_meaning(status: int, kind: ErrorKind, retryable: bool) -> None:
    for body in (b"", b"<html><title>Bad gateway</title></html>", b"{}", b"null", b"[]", b"\xff\xfe"):
        error = classify(status, body, {}, "anthropic")
        assert (error.kind, error.status, error.retryable) == (kind, status, retryable)
        assert str(error)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (anthropic("overloaded_error", "Overloaded"), "overloaded", 529),
        (anthropic("rate_limit_error", "Slow down"), "rate_limit", 429),
        (anthropic("api_error", "Internal server error"), "server", 500),
        (anthropic("timeout_error", "Took too long"), "timeout", 504),
        (anthropic("authentication_error", "bad key"), "authentication", 401),
        (anthropic("permission_error", "no"), "permission", 403),
        (anthropic("not_found_error", "model: x"), "not_found", 404),
        (anthropic("request_too_large", "too large"), "image_too_large", 413),
        (anthropic("billing_error", "pay"), "quota", 402),
        (anthropic("invalid_request_error", "bad"), "invalid_request", 400),
        (anthropic("brand_new_error", "what?"), "server", None),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, "rate_limit", 429),
        ({"response": {"error": {"code": "server_error", "message": "x"}}}, "server", 500),
        ({"error": {"message": "Provider disconnected", "code": 502}}, "server", 502),
        ({"error": {"message": "busy", "code": "503"}}, "overloaded", 503),
        (gemini(503, "UNAVAILABLE", "The model is overloaded."), "overloaded", 503),
        ({"error": "llama runner process has terminated"}, "server", None),
        ({}, "server", None),
    ],
)
def test_an_error_inside_a_stream_counts_like_its_http_twin(
    body: dict[str, Any], kind: ErrorKind, status: int | None
) -> None:
    """F10."""
    for http_status in (None, 200):
        error = classify(http_status, body, {}, "anthropic")
        assert (error.kind, error.status) == (kind, status)


def test_no_money_left_is_not_a_rate_to_wait_for() -> None:
    quota = openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota")
    assert classify(429, quota, {"retry-after": "5"}, "openai").kind == "quota"
    assert classify(429, quota, {"retry-after": "5"}, "openai").retry_after is None
    low = anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
    assert classify(400, low, {}, "anthropic").kind == "quota"
    daily = {"@type": "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}
    minute = {"@type": "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}
    text = "You exceeded your current quota, please check your plan and billing details."
    assert classify(429, gemini(429, "RESOURCE_EXHAUSTED", text, daily), {}, "gemini").kind == "quota"
    assert classify(429, gemini(429, "RESOURCE_EXHAUSTED", text, minute), {}, "gemini").kind == "rate_limit"


def test_a_bad_key_is_known_even_where_the_status_does_not_say_so() -> None:
    reason = {"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}
    body = gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", reason)
    assert classify(400, body, {}, "gemini").kind == "authentication"


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7),
        ({"retry-after": " 0.5 "}, {}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, {}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, 30),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, {}, 0),
        ({"retry-after": "99999999"}, {}, 86_400),
        ({"retry-after": "soon"}, {}, None),
        ({"retry-after": "nan"}, {}, None),
        ({"retry-after": "-3"}, {}, None),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, {}, 360),
        (
            {
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "1000",
            },
            {},
            0.12,
        ),
        ({}, openai("Rate limit reached. Please try again in 1m2.5s."), 62.5),
        ({}, openai("Please try again in 20ms. Visit us."), 0.02),
        ({}, gemini(429, "RESOURCE_EXHAUSTED", "x", {"@type": "RetryInfo", "retryDelay": "34.5s"}), 34.5),
        ({}, {}, None),
    ],
)
def test_the_time_to_wait_is_found_wherever_it_is_said(
    headers: dict[str, str], body: dict[str, Any], seconds: float | None
) -> None:
    """H3-5."""
    found = classify(429, body, headers, "openai").retry_after
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_the_vendors_own_words_are_the_message_and_bounded() -> None:
    assert str(classify(404, anthropic("not_found_error", "model: gpt-9"), {}, "anthropic")) == "model: gpt-9"
    assert str(classify(500, {"detail": "boom"}, {}, "vllm")) == "boom"
    assert str(classify(500, b"plain words", {}, "vllm")) == "plain words"
    assert len(str(classify(500, b"x" * 1_000_000, {}, "vllm"))) == MESSAGE_LIMIT
    assert "\x1b" not in str(classify(500, b"\x1b[31mred", {}, "vllm"))
    redirect = classify(302, b"", {"location": "https://login.example/"}, "openai")
    assert "https://login.example/" in str(redirect)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "details", "metadata", "raw", "detail"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.none() | st.integers(200, 599), st.binary(max_size=60) | json_values.map(msgspec.json.encode))
def test_no_body_however_strange_breaks_the_table(status: int | None, body: bytes) -> None:
    error = classify(status, body, {"retry-after": "x"}, "gemini")
    assert str(error)
    assert len(str(error)) <= MESSAGE_LIMIT
