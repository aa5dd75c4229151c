"""Classifies the errors of all vendors, whether they come as a response or inside a stream.

Imported only when an error happened, because its patterns take time to compile.
"""

import re
from typing import Any

import msgspec

from bobstay.providers.base import RETRYABLE, ErrorKind, ProviderError
from bobstay.providers.retry_after import parse_retry_after

MESSAGE_LIMIT = 2000

# By the vendor's name of the error in `type`, `code` or `status`: its kind, and its HTTP status outside a stream.
KINDS_BY_NAME: dict[str, tuple[ErrorKind, int]] = {
    "context_length_exceeded": ("prompt_too_long", 400),
    "exceed_context_size_error": ("prompt_too_long", 400),
    "model_context_window_exceeded": ("prompt_too_long", 400),
    "model_max_prompt_tokens_exceeded": ("prompt_too_long", 400),
    "insufficient_quota": ("quota", 429),
    "billing_error": ("quota", 402),
    "billing_not_active": ("quota", 429),
    "invalid_prompt": ("refused", 400),
    "content_policy_violation": ("refused", 400),
    "content_filter": ("refused", 400),
    "api_key_invalid": ("authentication", 401),
    "invalid_api_key": ("authentication", 401),
    "invalid_image_format": ("image_too_large", 400),
    "image_parse_error": ("image_too_large", 400),
    "image_too_large": ("image_too_large", 400),
    "authentication_error": ("authentication", 401),
    "unauthenticated": ("authentication", 401),
    "permission_error": ("permission", 403),
    "permission_denied": ("permission", 403),
    "not_found_error": ("not_found", 404),
    "not_found": ("not_found", 404),
    "model_not_found": ("not_found", 404),
    "request_too_large": ("image_too_large", 413),
    "rate_limit_error": ("rate_limit", 429),
    "rate_limit_exceeded": ("rate_limit", 429),
    "too_many_requests": ("rate_limit", 429),
    "resource_exhausted": ("rate_limit", 429),
    "timeout_error": ("timeout", 504),
    "deadline_exceeded": ("timeout", 504),
    "overloaded_error": ("overloaded", 529),
    "overloaded": ("overloaded", 529),
    "server_is_overloaded": ("overloaded", 503),
    "slow_down": ("overloaded", 503),
    "unavailable": ("overloaded", 503),
    "unavailable_error": ("overloaded", 503),
    "api_error": ("server", 500),
    "server_error": ("server", 500),
    "internal_server_error": ("server", 500),
    "internal": ("server", 500),
    "internalservererror": ("server", 500),
    "vector_store_timeout": ("timeout", 504),
    "invalid_request_error": ("invalid_request", 400),
    "invalid_argument": ("invalid_request", 400),
    "failed_precondition": ("invalid_request", 400),
    "badrequesterror": ("invalid_request", 400),
    # Amazon Bedrock (API_runtime_ResponseStream, CommonErrors); credentials are refused with 403 there.
    "throttlingexception": ("rate_limit", 429),
    "modelnotreadyexception": ("rate_limit", 429),
    "servicequotaexceededexception": ("quota", 400),
    "modeltimeoutexception": ("timeout", 408),
    "modelerrorexception": ("server", 424),
    "modelstreamerrorexception": ("server", 424),
    "internalserverexception": ("server", 500),
    "serviceunavailableexception": ("overloaded", 503),
    "validationexception": ("invalid_request", 400),
    "accessdeniedexception": ("permission", 403),
    "resourcenotfoundexception": ("not_found", 404),
    "unrecognizedclientexception": ("authentication", 403),
    "invalidclienttokenid": ("authentication", 403),
    "expiredtokenexception": ("authentication", 403),
    "expiredtoken": ("authentication", 403),
    "invalidsignatureexception": ("authentication", 403),
    "incompletesignatureexception": ("authentication", 403),
    "missingauthenticationtokenexception": ("authentication", 403),
}

# Kinds whose names are so specific that they outweigh the HTTP status.
_DECISIVE_KINDS: frozenset[ErrorKind] = frozenset({"prompt_too_long", "quota", "refused", "authentication"})

KINDS_BY_STATUS: dict[int, ErrorKind] = {
    400: "invalid_request",
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "server",  # two calls conflicted: a retry is right
    413: "image_too_large",
    424: "server",  # Bedrock: the model failed
    425: "server",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

# Statuses for which the message text is examined: with others, "tokens" refers to a rate, not a length.
_MESSAGE_STATUSES = (400, 413, 422, 500)

_OVERFLOW = re.compile(
    r"""prompt\ is\ too\ long | prompt\ too\ long | input\ is\ too\ long
    | exceeds?\ (the\ |this\ model's\ )?(available\ |maximum\ |max\ |model's\ )?context\ (limit|length|size|window)
    | exceeded\ max\ context\ length | context\ (size|length|window)\ (was\ |has\ been\ |is\ )?exceed
    | maximum\ (context|prompt)\ length\ is | maximum\ context\ length
    | longer\ than\ the\ maximum\ model\ length | too\ long\ to\ fit\ into\ the\ model
    | larger\ than\ the\ max(imum)?\ context\ size
    | input\ token\ count\b.{0,40}(exceeds|but\ model\ only\ supports)
    | prompt\ token\ count\ of\ \d+\ exceeds
    | exceeded\ model\ token\ limit
    | when\ context\ the\ overflows | greater\ than\ the\ context\ length
    | inputs`?\ tokens\ \+\ `?max_new_tokens
    | too\ many\ input\ tokens""",
    re.IGNORECASE | re.VERBOSE,
)

# Messages about tokens for which a shorter history would not help.
_NOT_OVERFLOW = re.compile(
    r"""max(_completion|_output|_new)?_tokens\W{1,3}.{0,40}\bis\ too\ large
    | maximum\ allowed\ number\ of\ output\ tokens
    | budget_tokens | tokens?\ per\ (min|minute|day|hour)\b""",
    re.IGNORECASE | re.VERBOSE,
)

_IMAGE = re.compile(
    r"""\bimages?\b.{0,80}(exceed|too\ (large|big|many)|not\ (a\ )?(valid|support)|does\ not\ represent)
    | (could\ not|unable\ to|cannot|failed\ to)\ (process|decode|load|read)\b.{0,20}\bimage
    | (invalid|unsupported)\ image
    | (too\ many|not\ support)\ images?\b""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)

_NO_CREDIT = re.compile(
    r"""credit\ balance\ is\ too\ low | reached\ your\ specified\ API\ usage\ limits
    | insufficient\ (credits|funds|balance) | requires\ more\ credits""",
    re.IGNORECASE | re.VERBOSE,
)

_BAD_KEY = re.compile(r"API key not valid|API key expired|invalid (x-)?api[- ]key", re.IGNORECASE)


def classify(status: int | None, body: bytes | dict[str, Any], headers: dict[str, str], provider: str) -> ProviderError:
    """Classify an error response, or (without a status, or with 200) an error inside a stream."""
    content = _decode_body(body)
    message = _error_message(content)
    names = _error_names(content)
    if status is None or status < 300:
        status = _equivalent_status(names, content)
    kind = _choose_kind(status, names, message)
    if kind == "rate_limit" and provider == "gemini" and _is_daily_quota(content):
        kind = "quota"
    wait = parse_retry_after(headers, content, message) if kind in RETRYABLE else None
    text = message or _default_message(status, provider, headers)
    return ProviderError(text, kind=kind, status=status, retry_after=wait)


def _choose_kind(status: int | None, names: list[str], message: str) -> ErrorKind:
    named = next((KINDS_BY_NAME[name] for name in names if name in KINDS_BY_NAME), None)
    exact: ErrorKind | None = next(
        (
            KINDS_BY_NAME[name][0]
            for name in names
            if name in KINDS_BY_NAME and KINDS_BY_NAME[name][0] in _DECISIVE_KINDS
        ),
        None,
    )
    if exact:
        return exact
    if status is None or status in _MESSAGE_STATUSES:
        if _OVERFLOW.search(message) and not _NOT_OVERFLOW.search(message):
            return "prompt_too_long"
        if _IMAGE.search(message):
            return "image_too_large"
        if _NO_CREDIT.search(message):
            return "quota"
        if _BAD_KEY.search(message):
            return "authentication"
    if status is None:
        return named[0] if named else "server"
    if status in KINDS_BY_STATUS:
        return KINDS_BY_STATUS[status]
    if status >= 500:
        return named[0] if named and named[0] in RETRYABLE else "server"
    if 300 <= status < 400:
        return "not_found"
    return "invalid_request"


def _equivalent_status(names: list[str], content: Any) -> int | None:
    """Return the HTTP status that an error inside a stream would have had as a response."""
    code = _error_object(content).get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
        return code
    return next((KINDS_BY_NAME[name][1] for name in names if name in KINDS_BY_NAME), None)


def _decode_body(body: bytes | dict[str, Any]) -> Any:
    if isinstance(body, dict):
        return body
    try:
        content = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # malformed JSON and broken UTF-8 are both ValueErrors
        return body.decode("utf-8", "replace")
    # Gemini wraps the error of a streamed call in a list.
    return content[0] if isinstance(content, list) and content else content


def _error_object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        return {}
    for key in ("error", "response", "detail"):
        inner = content.get(key)
        if isinstance(inner, dict):
            return _error_object(inner) if key == "response" else inner
    return content


def _error_names(content: Any) -> list[str]:
    """Return the names of the error, the most specific first."""
    error = _error_object(content)
    found = [error.get("code"), error.get("status"), error.get("type")]
    details = error.get("details")
    if isinstance(details, list):
        found += [detail.get("reason") for detail in details if isinstance(detail, dict)]
    return [name.lower() for name in found if isinstance(name, str)]


def _error_message(content: Any) -> str:
    error = _error_object(content)
    text: Any = error.get("message") or error.get("error") or error.get("detail") or ""
    if isinstance(content, str) and not content.lstrip().startswith("<"):
        text = content
    if not isinstance(text, str):
        text = msgspec.json.encode(text).decode()
    raw = error.get("metadata", {}).get("raw") if isinstance(error.get("metadata"), dict) else None
    if isinstance(raw, str) and raw and raw not in text:
        # A broker's own message is "provider returned error"; that of the vendor behind it is here.
        text = f"{text}: {_error_message(_decode_body(raw.encode())) or raw}"
    shown = "".join(
        character if character.isprintable() or character == "\n" else " "
        for character in str(text)[: 2 * MESSAGE_LIMIT]
    )
    return shown.strip()[:MESSAGE_LIMIT]


def _is_daily_quota(content: Any) -> bool:
    details = _error_object(content).get("details")
    return isinstance(details, list) and b"PerDay" in msgspec.json.encode(details)


def _default_message(status: int | None, provider: str, headers: dict[str, str]) -> str:
    where = f"The {provider} server"
    if status is None:
        return f"{where} reported an error without saying which."
    if 300 <= status < 400:
        return f"{where} answered with a redirect to {headers.get('location', 'nowhere')[:200]}. Check the base URL."
    return f"{where} answered with HTTP status {status} and no message."
