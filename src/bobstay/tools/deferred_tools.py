"""Deferred tools: decides whose schemas are sent only after a search, and finds tools by words."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.model.event import Event, ToolDone

SEARCH_TOOL = "ToolSearch"
DEFAULT_PERCENT = 10
"""Share of the context window that schemas may take before they are deferred."""
_CHARACTERS_PER_TOKEN = 4
_MAX_FULL_LIST = 4_000
"""Characters that the names of a few tools may take; those of many must stay below a hundredth of the schemas."""
_FEW = 100
_OWN_COST = 900
"""Characters of the search tool itself."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MODE = re.compile(r"auto(?::(\d{1,3}))?")


class SearchMode(Struct, frozen=True):
    """When tools are deferred: always, never, or beyond a share of the context window."""

    kind: Literal["on", "off", "auto"] = "auto"
    percent: int = DEFAULT_PERCENT


class DeferrableTool(Struct, frozen=True):
    """What is known of a tool before its schema is sent."""

    name: str
    description: str = ""
    hint: str = ""
    schema: dict[str, Any] = {}
    always_load: bool = False

    @property
    def size(self) -> int:
        """Characters that its definition takes in a request."""
        return len(self.name) + len(self.description) + len(msgspec.json.encode(self.schema))


Tools: TypeAlias = Sequence[DeferrableTool]


def parse_search_mode(text: str) -> SearchMode:
    """Read a value of ENABLE_TOOL_SEARCH; one that makes no sense counts as `auto`."""
    lowered = text.strip().lower()
    if lowered in ("true", "1", "on", "yes"):
        return SearchMode("on")
    if lowered in ("false", "0", "off", "no"):
        return SearchMode("off")
    found = _MODE.fullmatch(lowered)
    percent = int(found.group(1)) if found and found.group(1) else DEFAULT_PERCENT
    return SearchMode("auto", min(percent, 100))


def choose_deferred(tools: Tools, mode: SearchMode, window: int) -> frozenset[str]:
    """Return the names of the tools whose schemas wait for a search.

    Args:
        tools: Those that may be deferred at all.
        mode: What the person wants.
        window: Tokens of the model's context.
    """
    candidates = [tool for tool in tools if not tool.always_load]
    if mode.kind == "off" or not candidates:
        return frozenset()
    tokens = sum(tool.size for tool in tools) / _CHARACTERS_PER_TOKEN
    if mode.kind == "auto" and tokens <= window * mode.percent / 100:
        return frozenset()
    return frozenset(tool.name for tool in candidates)


def describe_deferred(tools: Tools, deferred: frozenset[str]) -> str:
    """Tell the model which tools it can search for: all names, or of many only whose they are."""
    hidden = sorted((tool for tool in tools if tool.name in deferred), key=lambda tool: tool.name)
    if not hidden:
        return ""
    names = "\n".join(tool.name for tool in hidden)
    budget = _MAX_FULL_LIST
    if len(hidden) > _FEW:
        budget = sum(tool.size for tool in hidden) // 100 - _OWN_COST
    if len(names) <= budget:
        return f"Tools that {SEARCH_TOOL} loads; they cannot be seen before:\n{names}"
    counts: dict[str, int] = {}
    for tool in hidden:
        group = _group_of(tool.name)
        counts[group] = counts.get(group, 0) + 1
    lines = [f"{group}* ({count} tools)" for group, count in sorted(counts.items())]
    while len(lines) > 1 and sum(map(len, lines)) > max(budget, 300):
        lines.pop()
        lines[-1] = "and others"
    return f"{len(hidden)} more tools; find them by words with {SEARCH_TOOL}:\n" + "\n".join(lines)


def search_tools(tools: Tools, query: str, limit: int) -> list[str]:
    """Return the names of the tools that fit a query, the best first.

    `select:A,B` names tools; otherwise words are looked for in names, hints and descriptions, and `+word` must occur.
    """
    query = query.strip()[:500]
    if query.lower().startswith("select:"):
        by_name = {tool.name.lower(): tool.name for tool in tools}
        wanted = (name.strip().lower() for name in query[len("select:") :].split(","))
        return list(dict.fromkeys(by_name[name] for name in wanted if name in by_name))
    words = [word for word in query.lower().split() if word.strip("+")]
    required = [word[1:] for word in words if word.startswith("+")]
    plain = [word.lstrip("+") for word in words]
    scored: list[tuple[int, str]] = []
    for tool in tools:
        if query.lower() == tool.name.lower():
            return [tool.name]
        scores = {word: _score(tool, word) for word in dict.fromkeys(plain)}
        total = sum(scores.values())
        if total and all(scores[word] for word in required):
            scored.append((-total, tool.name))
    return [name for _, name in sorted(scored)[:limit]]


class LoadedTools:
    """The deferred tools that were found so far: a fold of the log, so that a resumed session knows them."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()

    def apply(self, event: Event) -> None:
        if isinstance(event, ToolDone) and event.name == SEARCH_TOOL and not event.reply.is_error:
            self.names |= read_matches(event.display)


def read_matches(display: Any) -> frozenset[str]:
    """Read the names of the tools that a search loaded from what is stored of it."""
    matches = display.get("matches") if isinstance(display, dict) else None
    return frozenset(name for name in matches if isinstance(name, str)) if isinstance(matches, list) else frozenset()


def split_tools(tools: Iterable[DeferrableTool], deferred: frozenset[str], loaded: frozenset[str]) -> set[str]:
    """Return the names of the tools whose schemas are sent: those that are not deferred, and those found."""
    return {tool.name for tool in tools if tool.name not in deferred or tool.name in loaded}


def _score(tool: DeferrableTool, word: str) -> int:
    parts = [part.lower() for part in _PARTS.findall(tool.name)]
    if word in parts:
        return 12
    score = 6 if any(part.startswith(word) for part in parts) else 3 if word in tool.name.lower() else 0
    if word in tool.hint.lower().split():
        score = max(score, 8)
    elif word in tool.hint.lower():
        score = max(score, 4)
    if re.search(rf"\b{re.escape(word)}", tool.description.lower()):
        score = max(score, 2)
    return score


def _group_of(name: str) -> str:
    """What the names of a server's tools begin with."""
    start, server, _ = [*name.split("__", 2), "", ""][:3]
    return f"{start}__{server}__" if server else name
