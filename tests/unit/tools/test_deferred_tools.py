"""Tools whose schemas wait for a search: which they are, how they are found, and what a resume knows (H1-6)."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.tools.deferred_tools import (
    DeferrableTool,
    LoadedTools,
    SearchMode,
    choose_deferred,
    describe_deferred,
    parse_search_mode,
    read_matches,
    search_tools,
    split_tools,
)
from bobstay.tools.tool_search import ToolSearch, ToolSearchArgs
from tests.kit.tool_context import make_context

SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "description": "x" * 400}}}
TOOLS = (
    DeferrableTool("mcp__slack__send_message", "Sends a message to a channel.", "chat", SCHEMA),
    DeferrableTool("mcp__slack__listChannels", "Lists the channels.", "", SCHEMA),
    DeferrableTool("mcp__github__create_issue", "Opens an issue with a message.", "bug ticket", SCHEMA),
    DeferrableTool("mcp__always__there", "Is there.", "", SCHEMA, always_load=True),
)
ALL = frozenset(tool.name for tool in TOOLS if not tool.always_load)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("true", SearchMode("on")),
        ("false", SearchMode("off")),
        ("", SearchMode("auto", 10)),
        ("auto", SearchMode("auto", 10)),
        ("auto:3", SearchMode("auto", 3)),
        ("AUTO:0", SearchMode("auto", 0)),
        ("auto:999", SearchMode("auto", 100)),
        ("nonsense", SearchMode("auto", 10)),
    ],
)
def test_the_variable_says_when_tools_are_deferred(text: str, mode: SearchMode) -> None:
    """H1-6"""
    assert parse_search_mode(text) == mode


def test_tools_are_deferred_beyond_a_share_of_the_window() -> None:
    """H1-6"""
    tokens = sum(tool.size for tool in TOOLS) / 4
    assert choose_deferred(TOOLS, SearchMode(), int(tokens * 10) + 10) == frozenset()
    assert choose_deferred(TOOLS, SearchMode(), int(tokens * 10) - 10) == ALL
    assert choose_deferred(TOOLS, SearchMode("on"), 10**9) == ALL
    assert choose_deferred(TOOLS, SearchMode("off"), 1) == frozenset()
    assert choose_deferred((), SearchMode("on"), 1) == frozenset()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select:mcp__slack__send_message", ["mcp__slack__send_message"]),
        ("select: MCP__github__create_issue , mcp__slack__listChannels,nosuch", [TOOLS[2].name, TOOLS[1].name]),
        ("select:nosuch", []),
        ("mcp__slack__listchannels", ["mcp__slack__listChannels"]),
        ("slack", ["mcp__slack__listChannels", "mcp__slack__send_message"]),
        ("send message", ["mcp__slack__send_message", "mcp__github__create_issue"]),
        ("+github message", ["mcp__github__create_issue"]),
        ("+nothing message", []),
        ("ticket", ["mcp__github__create_issue"]),
        ("channels", ["mcp__slack__listChannels", "mcp__slack__send_message"][:1]),
        ("", []),
        ("+", []),
    ],
)
def test_a_query_finds_tools_by_name_hint_and_description(query: str, found: list[str]) -> None:
    """H1-6"""
    assert search_tools(TOOLS, query, 5) == found


@given(st.text(max_size=600), st.integers(1, 5))
def test_no_query_fails_or_finds_more_than_was_asked_for(query: str, limit: int) -> None:
    """H1-6"""
    found = search_tools(TOOLS, query, limit)
    assert set(found) <= {tool.name for tool in TOOLS}
    assert len(found) <= (len(TOOLS) if query.strip().lower().startswith("select:") else limit)


async def test_what_a_search_found_is_known_after_a_resume(tmp_path: Path) -> None:
    """H1-6"""
    search = ToolSearch(lambda: TOOLS)
    loaded = LoadedTools()
    for query in ("+github issue", "select:mcp__slack__listChannels", "nosuchword"):
        outcome = await search.run(ToolSearchArgs(query), make_context(tmp_path))
        assert isinstance(outcome.content, str)
        reply = ToolReply("c", (Text(outcome.content),))
        loaded.apply(ToolDone(reply, name=search.name, display=outcome.display))
    assert loaded.names == {"mcp__github__create_issue", "mcp__slack__listChannels"}
    assert "No matching" in str(outcome.content)
    assert not outcome.is_error
    sent = split_tools(TOOLS, ALL, loaded.names)
    assert sent == {*loaded.names, "mcp__always__there"}


def test_results_of_other_tools_load_nothing() -> None:
    """H1-6"""
    loaded = LoadedTools()
    display = {"matches": ["mcp__a__b"]}
    loaded.apply(ToolDone(ToolReply("c", ()), name="Grep", display=display))
    loaded.apply(ToolDone(ToolReply("c", (), is_error=True), name="ToolSearch", display=display))
    assert loaded.names == frozenset()


@pytest.mark.parametrize("display", [None, 5, "x", {}, {"matches": 5}, {"matches": [1, None]}])
def test_a_log_with_nonsense_loads_nothing(display: Any) -> None:
    """H1-6"""
    assert read_matches(display) == frozenset()


def test_the_names_of_a_few_tools_are_told() -> None:
    """H1-6"""
    told = describe_deferred(TOOLS, ALL)
    assert all(name in told for name in ALL)
    assert "mcp__always__there" not in told
    assert describe_deferred(TOOLS, frozenset()) == ""


def test_five_hundred_tools_cost_a_hundredth_of_their_schemas() -> None:
    """H1-6"""
    tools = tuple(
        DeferrableTool(f"mcp__server{index % 10}__tool_number_{index}", "Does a thing. " * 8, "", SCHEMA)
        for index in range(500)
    )
    deferred = choose_deferred(tools, SearchMode(), 200_000)
    assert len(deferred) == 500
    told = describe_deferred(tools, deferred)
    own = ToolSearch.description + str(ToolSearchArgs.__struct_fields__)
    assert len(told) + len(own) <= sum(tool.size for tool in tools) / 100
    assert "mcp__server3__* (50 tools)" in told
