"""Simulates the prompt cache of Anthropic Messages: what of a request was sent before, byte for byte."""

import hashlib
import json
from typing import Any

from msgspec import Struct

LOOK_BACK = 20
"""So many blocks before each mark the vendor looks for an earlier prefix."""


class CacheUse(Struct, frozen=True):
    """Bytes of one request."""

    read: int
    """Found in the cache."""
    marked: int
    """Up to its last mark, which is then in the cache."""


class PromptCache:
    """Pass it the bodies of requests in order. A prefix is tools, then system, then messages."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def use(self, body: dict[str, Any]) -> CacheUse:
        sizes, digests, marks = _prefixes(body)
        reachable = {at for mark in marks for at in range(max(0, mark - LOOK_BACK), mark + 1)}
        found = [sizes[at] for at in reachable if digests[at] in self._known]
        self._known.update(digests[mark] for mark in marks)
        return CacheUse(max(found, default=0), sizes[marks[-1]] if marks else 0)


def _prefixes(body: dict[str, Any]) -> tuple[list[int], list[bytes], list[int]]:
    """The size and the digest of the prefix that ends with each block, and which blocks are marked."""
    sizes, digests, marks, size = [], [], [], 0
    digest = hashlib.sha256(str(body["model"]).encode())
    for number, (kind, block) in enumerate(_blocks(body)):
        if "cache_control" in block:
            marks.append(number)
        plain = {name: value for name, value in block.items() if name != "cache_control"}
        data = f"{kind} {json.dumps(plain)}\n".encode()  # the order of fields counts
        size += len(data)
        digest.update(data)
        sizes.append(size)
        digests.append(digest.digest())
    return sizes, digests, marks


def _blocks(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [("tool", tool) for tool in body.get("tools", ())]
    found += [("system", block) for block in body.get("system", ())]
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(f"{number} {message['role']}", block) for block in blocks]
    return found
