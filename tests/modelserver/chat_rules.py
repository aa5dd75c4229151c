"""Refusals of Chat Completions servers by vendor, with their sources.

Sources were read 2026-11-17; `docs/providers.md` has them in full.
"""

import re
from typing import Any

import msgspec

from tests.modelserver.dialect import Refusal

Body = dict[str, Any]

OPENAI_SETTINGS = frozenset(
    [
        "model",
        "messages",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning_effort",
        "prompt_cache_key",
        "temperature",
        "top_p",
        "stop",
        "store",
        "metadata",
    ]
)
MISTRAL_SETTINGS = frozenset(
    [
        "model",
        "messages",
        "stream",
        "max_tokens",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning_effort",
        "temperature",
        "top_p",
        "stop",
        "random_seed",
        "response_format",
        "safe_prompt",
    ]
)
MISTRAL_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
MISTRAL_MODELS = ("mistral", "magistral", "devstral", "codestral", "ministral", "pixtral", "mixtral")
EFFORTS = {
    "gpt-5.5": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.6": ("none", "low", "high", "max"),
    "o3": ("low", "medium", "high"),
}
SKIP = "skip_thought_signature_validator"
_LARGE_BOUND = re.compile(r'"maxLength":\d{4,}|"maxItems":\d{3,}')
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


def vendor_of(path: str, model: str) -> str:
    """Return the vendor to play: by the first part of the path, or the model's name if the path has none."""
    first = path.strip("/").split("/", 1)[0]
    if first not in ("v1", "chat"):
        return first
    name = model.lower()
    if name.startswith("google/gemini"):
        return "openrouter"
    for beginning, vendor in (("deepseek-", "deepseek"), ("kimi-", "moonshot"), ("glm-", "zai")):
        if name.startswith(beginning):
            return vendor
    if name.startswith(MISTRAL_MODELS):
        return "mistral"
    return ""


def refusal_of(vendor: str, body: Body, signatures: dict[str, str]) -> Refusal | None:
    """Return why the vendor refuses a request. `signatures` are those that OpenRouter's Gemini sent, by call id."""
    checks = [_shape, _pairs]
    model = str(body.get("model", "")).lower()
    checks += {
        "openai": [_openai],
        "deepseek": [_deepseek],
        "deepseek-r1": [_deepseek_r1],
        "moonshot": [_moonshot],
        "zai": [_zai],
        "ollama": [_ollama],
        "llamacpp": [_llamacpp],
    }.get(vendor, [])
    if vendor == "mistral":
        checks += [_mistral_settings, _mistral_order]
    elif any(name in model for name in MISTRAL_MODELS):
        # OpenRouter passes Mistral's own refusal on: charmbracelet/crush#279 (2025-07).
        checks.append(_mistral_order)
    found = next((refusal for check in checks if (refusal := check(body)) is not None), None)
    if found is None and vendor == "openrouter" and model.startswith("google/gemini"):
        found = _openrouter_gemini(body, signatures)
    return found


# ---------------------------------------------------------------- all of them


def _shape(body: Body) -> Refusal | None:
    """OpenAI's API reference, and every server that validates with its types."""
    if not body.get("messages"):
        return Refusal("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    if body.get("tools") == []:
        return Refusal("Invalid 'tools': empty array. Expected an array with minimum length 1.")
    if "stream_options" in body and not body.get("stream"):
        return Refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    for tool in body.get("tools") or ():
        if not _NAME.fullmatch(tool["function"]["name"]):
            return Refusal("Invalid 'tools[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
    for place, message in enumerate(body["messages"]):
        if not message.get("content") and not message.get("tool_calls") and message["role"] == "assistant":
            return Refusal(f"Invalid value for 'messages[{place}].content': expected a string, got null.")
        for call in message.get("tool_calls") or ():
            if len(call["id"]) > 40:
                return Refusal(f"Invalid 'messages[{place}].tool_calls[0].id': string too long.")
            if not isinstance(call["function"]["arguments"], str):
                return Refusal(f"Invalid type for 'messages[{place}].tool_calls[0].function.arguments'.")
    return None


def _pairs(body: Body) -> Refusal | None:
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                return Refusal(f"Invalid parameter: {text}")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        return Refusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
    return None


# ---------------------------------------------------------------- hosted


def _openai(body: Body) -> Refusal | None:
    for key in body:
        if key not in OPENAI_SETTINGS:
            return Refusal(f"Unrecognized request argument supplied: {key}")
    model = body["model"]
    reasons = model.startswith(("o1", "o3", "o4", "gpt-5"))
    if reasons and "max_tokens" in body:
        return Refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
    effort = body.get("reasoning_effort")
    if model.startswith(("gpt-5.4", "gpt-5.5", "gpt-5.6")) and body.get("tools") and effort != "none":
        # BerriAI/litellm#34569 (2026-07): with no effort at all, too. openai/openai-openapi#541 (2026-05).
        return Refusal(
            f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
    if effort is not None and not reasons:
        return Refusal("Unrecognized request argument supplied: reasoning_effort")
    if effort is not None and effort not in EFFORTS.get(model, ("minimal", "low", "medium", "high")):
        return Refusal(f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model.")
    for place, message in enumerate(body["messages"]):
        for key in ("reasoning_content", "reasoning_details", "reasoning"):
            if key in message:
                return Refusal(f"Unknown parameter: 'messages[{place}].{key}'.")
    return None


def _deepseek(body: Body) -> Refusal | None:
    """anomalyco/opencode#24722, vercel/ai#14740 (2026-04): the field must be there, if only empty (dsh#739)."""
    thinks = (body.get("thinking") or {}).get("type") != "disabled"
    for message in body["messages"]:
        if thinks and message["role"] == "assistant" and "reasoning_content" not in message:
            return Refusal("The `reasoning_content` in the thinking mode must be passed back to the API.")
    return None


def _deepseek_r1(body: Body) -> Refusal | None:
    """As deepseek-reasoner was up to V3.1: Euyug/Mirai-Gpt-Plugin#4 (2025-01), anomalyco/opencode#4949 (2025-12)."""
    if any("reasoning_content" in message for message in body["messages"]):
        return Refusal(
            "The reasoning_content is an intermediate result for display purposes only and will not be included in the "
            "context for inference. Please remove the reasoning_content from your message to reduce network traffic."
        )
    return None


def _moonshot(body: Body) -> Refusal | None:
    """theopenco/llmgateway#2093 (2026-04): an empty text counts as missing, one space does not."""
    thinks = (body.get("thinking") or {}).get("type") != "disabled"
    if thinks and body.get("tool_choice", "auto") not in ("auto", "none"):
        # simstudioai/sim#5716 (2026-07).
        return Refusal("tool_choice 'specified' is incompatible with thinking enabled")
    for place, message in enumerate(body["messages"]):
        if thinks and message.get("tool_calls") and not message.get("reasoning_content"):
            return Refusal(
                f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {place}"
            )
    return None


def _zai(body: Body) -> Refusal | None:
    """docs.z.ai/guides/capabilities/thinking-mode; adolfousier/opencrabs#1348 (2026-09)."""
    kind = (body.get("thinking") or {}).get("type", "enabled")
    if kind not in ("enabled", "disabled") or (kind == "disabled" and body["model"].startswith("glm-5.3")):
        return Refusal(f"Invalid API parameter: thinking.type '{kind}'")
    return None


def _openrouter_gemini(body: Body, signatures: dict[str, str]) -> Refusal | None:
    """OpenRouterTeam/typescript-sdk#120 (2025-12), RooCodeInc/Roo-Code#10640 (2026-01)."""
    for message in body["messages"]:
        calls = message.get("tool_calls") or ()
        if not calls:
            continue
        details = message.get("reasoning_details") or []
        given = [detail for detail in details if detail.get("type") == "reasoning.encrypted"]
        if not given:
            return Refusal(
                "Gemini models require OpenRouter reasoning details to be preserved in each request. Upstream error: "
                "Function call is missing a thought_signature in functionCall parts."
            )
        known = {SKIP, *(signatures[call["id"]] for call in calls if call["id"] in signatures)}
        if any(detail.get("data") not in known for detail in given):
            return Refusal("Unable to submit request because Thought signature is not valid.")
    return None


# ---------------------------------------------------------------- Mistral


def _mistral_settings(body: Body) -> Refusal | None:
    """mistralai/platform-docs-public#7, editor-code-assistant/eca#231 (2025-12), charmbracelet/crush#1590 (2025-12)."""
    extra: list[list[Any]] = [["body", key] for key in body if key not in MISTRAL_SETTINGS]
    for place, message in enumerate(body["messages"]):
        role = message["role"]
        extra += [["body", "messages", place, role, key] for key in message if key not in MISTRAL_FIELDS[role]]
    if extra:
        where = "".join(f'["{part}"]' for part in extra[0])
        return Refusal(f"extra_forbidden: {where}: Extra inputs are not permitted", 422)
    if body.get("reasoning_effort", "none") not in ("none", "high"):
        return Refusal("reasoning_effort: Input should be 'none' or 'high'", 422)
    return None


def _mistral_order(body: Body) -> Refusal | None:
    """BerriAI/litellm#17761 (2025-12), aliou/pi-neuralwatt#12 (2026-06); code 3230."""
    before = ""
    for message in body["messages"]:
        role = message["role"]
        if before == "tool" and role not in ("tool", "assistant"):
            return Refusal(f"Unexpected role '{role}' after role 'tool'")
        for call in message.get("tool_calls") or ():
            if not _MISTRAL_ID.fullmatch(call["id"]):
                return Refusal(f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9. ")
        before = role
    if before == "assistant":
        return Refusal("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
    return None


# ---------------------------------------------------------------- local


def _ollama(body: Body) -> Refusal | None:
    """ollama/ollama, openai/openai.go (2026): the levels it knows."""
    effort = body.get("reasoning_effort", "none")
    if effort not in ("high", "medium", "low", "none"):
        return Refusal(f'invalid reasoning value: \'{effort}\' (must be "high", "medium", "low", or "none")')
    return None


def _llamacpp(body: Body) -> Refusal | None:
    """The template of gpt-oss: ggml-org/llama.cpp#17040 (2025-11). Bounds: #17473 (2025-11) to #28469 (2026-09)."""
    if _LARGE_BOUND.search(msgspec.json.encode(body.get("tools")).decode()):
        return Refusal("Failed to initialize samplers: failed to parse grammar")
    for message in body["messages"]:
        both = message.get("content") and message.get("reasoning_content")
        if "gpt-oss" in body["model"] and both and message.get("tool_calls"):
            return Refusal("Cannot pass both content and thinking in an assistant message with tool calls!", 500)
    return None
