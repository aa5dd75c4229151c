"""Remembers the thinking that the Anthropic double sent, to check that it is sent back correctly.

Rules as of 2026-11-17: within the latest assistant message the thinking must be all there, unchanged and in order, or
not at all (platform.claude.com, api/errors, "Thinking blocks cannot be modified"). Newer models also refuse a block if
anything before it has changed since (build-with-claude/preserved-thinking; for accounts made since 2026-08-31).
"""

import copy
import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.modelserver.anthropic_rules import model_named

_THINKING = ("thinking", "redacted_thinking")


class SentThinking:
    def __init__(self) -> None:
        self._thoughts: dict[str, list[dict[str, Any]]] = {}
        """By call id: the thinking of its message."""
        self._prefixes: dict[str, set[str]] = {}
        """By signature: digests of what preceded the messages with it."""

    def remember(self, body: dict[str, Any], content: list[dict[str, Any]]) -> None:
        thoughts = _thoughts(content)
        for block in content:
            if block["type"] == "tool_use":
                self._thoughts[block["id"]] = copy.deepcopy(thoughts)
        model = model_named(str(body.get("model", "")))
        if model is not None and model.bound:
            for thought in thoughts:
                known = self._prefixes.setdefault(_signature(thought), set())
                known.add(_prefix(body, len(body["messages"])))

    def complaints(self, body: dict[str, Any]) -> Iterator[str]:
        messages = body.get("messages") or []
        latest = max((place for place, message in enumerate(messages) if message["role"] == "assistant"), default=None)
        if latest is not None:
            yield from self._latest(messages[latest], latest)
        model = model_named(str(body.get("model", "")))
        if model is not None and model.bound:
            yield from self._bound(body)

    def _latest(self, message: dict[str, Any], place: int) -> Iterator[str]:
        content = message["content"] if isinstance(message["content"], list) else []
        given = _thoughts(content)
        sent = next((self._thoughts[block["id"]] for block in content if block.get("id") in self._thoughts), None)
        if sent is not None and given and given != sent:
            yield (
                f"messages.{place}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message "
                "cannot be modified. These blocks must remain as they were in the original response."
            )

    def _bound(self, body: dict[str, Any]) -> Iterator[str]:
        for place, message in enumerate(body["messages"]):
            content = message["content"] if isinstance(message["content"], list) else []
            for thought in _thoughts(content) if message["role"] == "assistant" else ():
                known = self._prefixes.get(_signature(thought))
                if known is not None and _prefix(body, place) not in known:
                    yield (
                        f"messages.{place}.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
                        "different conversation. Remove the block, or set "
                        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
                    )


def _thoughts(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for block in content if block.get("type") in _THINKING]


def _signature(thought: dict[str, Any]) -> str:
    return str(thought.get("signature") or thought.get("data", ""))


def _prefix(body: dict[str, Any], count: int) -> str:
    """Return a digest of system prompt, tools and the first `count` messages, without thinking and cache marks."""
    messages = [
        {
            "role": message["role"],
            "content": [_unmarked(block) for block in message["content"] if block.get("type") not in _THINKING]
            if isinstance(message["content"], list)
            else message["content"],
        }
        for message in body["messages"][:count]
    ]
    system = body.get("system")
    sent = [
        [_unmarked(section) for section in system] if isinstance(system, list) else system,
        [_unmarked(tool) for tool in body.get("tools") or []],
        messages,
    ]
    return hashlib.sha256(msgspec.json.encode(sent)).hexdigest()


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}
