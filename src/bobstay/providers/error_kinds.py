"""Says what a vendor's error means for us: one table for all vendors, inside a stream and outside.

Imported when an error has happened, never before: patterns take time to compile.
"""

import re
from typing import Any

import msgspec

from bobstay.providers.base import RETRYABLE, ErrorKind, ProviderError
from bobstay.providers.retry_after import retry_after

MESSAGE_LIMIT = 2000

# What a vendor calls the error, in `type`, `code` or `status`, and the HTTP status the same error has outside a stream.
NAMED: dict[str, tuple[ErrorKind, int]] = {
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
}

# Names so exact that they outweigh the HTTP status they came with.
_EXACT: frozenset[ErrorKind] = frozenset({"prompt_too_long", "quota", "refused", "authentication"})

BY_STATUS: dict[int, ErrorKind] = {
    400: "invalid_request",
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "server",  # two calls got in each other's way: trying again is right
    413: "image_too_large",
    425: "server",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

# Statuses under which the words of a message are worth reading: elsewhere "tokens" means a rate, not a length.
_WORDY = (400, 413, 422, 500)

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

# Sentences that speak of tokens, yet no shorter history would help.
_NO_OVERFLOW = re.compile(
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

_NO_MONEY = re.compile(
    r"""credit\ balance\ is\ too\ low | reached\ your\ specified\ API\ usage\ limits
    | insufficient\ (credits|funds|balance) | requires\ more\ credits""",
    re.IGNORECASE | re.VERBOSE,
)

_BAD_KEY = re.compile(r"API key not valid|API key expired|invalid (x-)?api[- ]key", re.IGNORECASE)


def classify(status: int | None, body: bytes | dict[str, Any], headers: dict[str, str], provider: str) -> ProviderError:
    """Judge an error answer, or (with no status, or 200) an error that came inside a stream."""
    content = _content(body)
    message = _message(content)
    names = _names(content)
    if status is None or status < 300:
        status = _status_of_twin(names, content)
    kind = _kind(status, names, message)
    if kind == "rate_limit" and provider == "gemini" and _per_day(content):
        kind = "quota"
    wait = retry_after(headers, content, message) if kind in RETRYABLE else None
    text = message or _without_words(status, provider, headers)
    return ProviderError(text, kind=kind, status=status, retry_after=wait)


def _kind(status: int | None, names: list[str], message: str) -> ErrorKind:
    named = next((NAMED[name] for name in names if name in NAMED), None)
    exact: ErrorKind | None = next(
        (NAMED[name][0] for name in names if name in NAMED and NAMED[name][0] in _EXACT), None
    )
    if exact:
        return exact
    if status is None or status in _WORDY:
        if _OVERFLOW.search(message) and not _NO_OVERFLOW.search(message):
            return "prompt_too_long"
        if _IMAGE.search(message):
            return "image_too_large"
        if _NO_MONEY.search(message):
            return "quota"
        if _BAD_KEY.search(message):
            return "authentication"
    if status is None:
        return named[0] if named else "server"
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status >= 500:
        return named[0] if named and named[0] in RETRYABLE else "server"
    if 300 <= status < 400:
        return "not_found"
    return "invalid_request"


def _status_of_twin(names: list[str], content: Any) -> int | None:
    """Which HTTP status an error inside a stream would have had."""
    code = _error_part(content).get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
        return code
    return next((NAMED[name][1] for name in names if name in NAMED), None)


def _content(body: bytes | dict[str, Any]) -> Any:
    if isinstance(body, dict):
        return body
    try:
        content = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # malformed JSON and broken UTF-8 are both ValueErrors
        return body.decode("utf-8", "replace")
    # Gemini wraps the error of a streamed call in a list.
    return content[0] if isinstance(content, list) and content else content


def _error_part(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        return {}
    for key in ("error", "response", "detail"):
        inner = content.get(key)
        if isinstance(inner, dict):
            return _error_part(inner) if key == "response" else inner
    return content


def _names(content: Any) -> list[str]:
    """What the error is called, the most exact name first."""
    error = _error_part(content)
    found = [error.get("code"), error.get("status"), error.get("type")]
    details = error.get("details")
    if isinstance(details, list):
        found += [detail.get("reason") for detail in details if isinstance(detail, dict)]
    return [name.lower() for name in found if isinstance(name, str)]


def _message(content: Any) -> str:
    error = _error_part(content)
    text: Any = error.get("message") or error.get("error") or error.get("detail") or ""
    if isinstance(content, str) and not content.lstrip().startswith("<"):
        text = content
    if not isinstance(text, str):
        text = msgspec.json.encode(text).decode()
    raw = error.get("metadata", {}).get("raw") if isinstance(error.get("metadata"), dict) else None
    if isinstance(raw, str) and raw and raw not in text:
        # A broker's own words are "provider returned error"; what the vendor behind it said is here.
        text = f"{text}: {_message(_content(raw.encode())) or raw}"
    shown = "".join(
        character if character.isprintable() or character == "\n" else " "
        for character in str(text)[: 2 * MESSAGE_LIMIT]
    )
    return shown.strip()[:MESSAGE_LIMIT]


def _per_day(content: Any) -> bool:
    details = _error_part(content).get("details")
    return isinstance(details, list) and b"PerDay" in msgspec.json.encode(details)


def _without_words(status: int | None, provider: str, headers: dict[str, str]) -> str:
    where = f"The {provider} server"
    if status is None:
        return f"{where} reported an error without saying which."
    if 300 <= status < 400:
        return f"{where} answered with a redirect to {headers.get('location', 'nowhere')[:200]}. Check the base URL."
    return f"{where} answered with HTTP status {status} and no message."
