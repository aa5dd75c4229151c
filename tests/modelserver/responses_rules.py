"""Refusals of OpenAI's Responses API, with their sources (read 2026-11-17; see `docs/providers.md`)."""

import re
from typing import Any

from tests.modelserver.dialect import Refusal

Body = dict[str, Any]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
"""Efforts of the reasoning models played here; `max` came with later models."""
UNVERIFIED = "/unverified/"
"""Path prefix of an organization that is not verified."""
_WITHOUT_REASONING = ("gpt-3", "gpt-4", "chatgpt")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refusal_of(path: str, body: Body, followers: dict[str, tuple[str, str]]) -> Refusal | None:
    """Return why the API refuses a request. `followers` has type and call id of the item after each reasoning item."""
    items = body.get("input")
    if isinstance(items, str):
        items = []
    return (
        _settings(body)
        or _reasoning(path, body)
        or _pairs(items or [])
        or _following(items or [], followers)
        or _stored(items or [], body)
    )


def _settings(body: Body) -> Refusal | None:
    limit = body.get("max_output_tokens")
    if limit is not None and limit < 16:
        return Refusal("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.")
    for tool in body.get("tools") or ():
        if tool["type"] != "function":
            continue
        if not _NAME.fullmatch(tool["name"]):
            return Refusal("Invalid 'tools[0].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
        if tool.get("strict", True) and tool["parameters"].get("additionalProperties") is not False:
            return Refusal(
                f"Invalid schema for function '{tool['name']}': In context=(), 'additionalProperties' is required "
                "to be supplied and to be false."
            )
    return None


def _reasoning(path: str, body: Body) -> Refusal | None:
    reasoning = body.get("reasoning") or {}
    encrypted = "reasoning.encrypted_content" in (body.get("include") or ())
    if str(body.get("model", "")).startswith(_WITHOUT_REASONING):
        if reasoning:
            return Refusal("Unsupported parameter: 'reasoning.effort' is not supported with this model.")
        return Refusal("Encrypted content is not supported with this model.") if encrypted else None
    effort = reasoning.get("effort", "medium")
    if effort not in EFFORTS:
        return Refusal(
            f"Unsupported value: 'reasoning.effort' does not support '{effort}' with this model. "
            f"Supported values are: {', '.join(map(repr, EFFORTS))}."
        )
    if "summary" in reasoning and path.startswith(UNVERIFIED):
        # continuedev/continue#9602 (2026-01), OpenHands/software-agent-sdk#987.
        return Refusal("Your organization must be verified to generate reasoning summaries.")
    return None


def _pairs(items: list[Body]) -> Refusal | None:
    calls: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            if len(item["call_id"]) > 64:
                return Refusal("Invalid 'input[1].call_id': string too long. Expected a maximum length of 64.")
            calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in calls:
                return Refusal(f"No tool call found for function call output with call_id {item['call_id']}.")
            calls.remove(item["call_id"])
    return Refusal(f"No tool output found for function call {calls[0]}.") if calls else None


def _following(items: list[Body], followers: dict[str, tuple[str, str]]) -> Refusal | None:
    """vercel/ai#7099, #8379 (2025-09, with hosted search), continuedev/continue#9838 (2026-01)."""
    for place, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        after = items[place + 1] if place + 1 < len(items) else {}
        found = (after.get("type", ""), after.get("call_id", ""))
        if (
            found != followers.get(item.get("encrypted_content", ""), found)
            or not found[0]
            or after.get("role") == "user"
        ):
            return Refusal("Item 'rs_1' of type 'reasoning' was provided without its required following item.")
    return None


def _stored(items: list[Body], body: Body) -> Refusal | None:
    """NousResearch/hermes-agent#10217 (2026-04): an id is looked up, and nothing was stored."""
    for item in items:
        if body.get("store") is False and item.get("type") in ("reasoning", "web_search_call") and "id" in item:
            return Refusal(
                f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false.", 404
            )
    return None
