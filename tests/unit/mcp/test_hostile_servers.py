"""Servers that send nonsense, too much, or nothing: one notice that names them, and everything else goes on."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from bobstay.mcp.clean_text import clean_line, clean_text
from bobstay.mcp.mcp_servers import McpRequestError
from bobstay.mcp.schema_check import OPEN_SCHEMA, BadSchema, check_schema
from tests.kit.mcp_sessions import McpSession, configure, mcp_session, scripted_entry
from tests.kit.waiting import until


def schema_of(session: McpSession, name: str) -> Any:
    return next(tool.schema for tool in session.servers.deferrable_tools() if tool.name == name)


async def test_dead_servers_say_why_and_hold_up_nobody(tmp_path: Path) -> None:
    """H8-3"""
    entries = {
        "missing": {"command": "/nonexistent/cmd"},
        "leaving": scripted_entry(MCP_MODE="exit"),
        "directory": {"command": str(tmp_path)},
        "good": scripted_entry(),
    }
    async with mcp_session(tmp_path, **entries) as session:
        states = {server["name"]: server["status"] for server in session.servers.summary()}
        assert states == {"missing": "failed", "leaving": "failed", "directory": "failed", "good": "connected"}
        assert "No such file" in session.error("missing")
        assert "exit code 1: no token was given" in session.error("leaving")
        assert await session.text("mcp__good__shout", s="hey") == "HEY!"


async def test_a_server_that_says_nothing_is_pending_and_then_fails(tmp_path: Path) -> None:
    """H8-3"""
    configs = configure(mute=scripted_entry(MCP_MODE="silent"), good=scripted_entry())
    session = McpSession(tmp_path, configs, {}, connect_timeout=6.0)
    began = time.monotonic()
    session.servers.start()
    assert time.monotonic() - began < 1, "starting waits for nobody"
    try:
        assert not await session.servers.settled(0.01)
        await until(lambda: session.state("good") == "connected")
        assert session.state("mute") == "pending"
        assert await session.servers.settled(60)
        assert (session.state("mute"), session.error("mute")) == (
            "failed",
            "It could not be connected: it took too long.",
        )
    finally:
        await session.servers.close()


async def test_text_between_the_messages_is_ignored(tmp_path: Path) -> None:
    """H8-3"""
    async with mcp_session(tmp_path, t=scripted_entry(MCP_MODE="garbage")) as session:
        assert await session.text("mcp__t__shout", s="hey") == "HEY!"


async def test_a_server_that_sends_only_nonsense_fails_and_the_nonsense_is_shown(tmp_path: Path) -> None:
    """H8-3"""
    options = {"connect_timeout": 5.0}
    async with mcp_session(tmp_path, {}, options, t=scripted_entry(MCP_MODE="only-garbage")) as session:
        assert session.state("t") == "failed"
        assert "Starting up" in session.error("t")


async def test_a_server_that_never_ends_its_line_is_ended(tmp_path: Path) -> None:
    """H8-3"""
    async with mcp_session(tmp_path, t=scripted_entry(MCP_MODE="endless")) as session:
        assert session.state("t") == "failed"
        assert "more than 64 MiB" in session.error("t")


async def test_a_tool_with_an_illegal_schema_is_offered_without_one_and_the_others_as_they_are(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry(MCP_MODE="illegal")) as session:
        assert "mcp__t__shout" in session.names
        assert schema_of(session, "mcp__t__shout")["properties"] == {"s": {"type": "string"}}
        for name in ("no-schema", "text-schema", "array", "bad-type", "far"):
            assert schema_of(session, f"mcp__t__{name}") == OPEN_SCHEMA
            assert len([notice for notice in session.notices if f"'{name}'" in notice]) == 1
        assert all(notice.startswith("MCP server 't'") for notice in session.notices)
        assert len([name for name in session.names if "we_ird_name" in name]) == 1
        assert len([notice for notice in session.notices if "same name" in notice]) == 2
        assert await session.text("mcp__t__output") == "no structure"


async def test_what_cannot_be_seen_is_removed_from_descriptions(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry(MCP_MODE="control")) as session:
        description = next(
            tool.description for tool in session.servers.deferrable_tools() if tool.name == "mcp__t__odd"
        )
        assert description.startswith("[31mred[0m hidden  donexxx")
        assert len(description) < 2_100


async def test_a_blocked_server_is_not_started_by_any_request_but_an_approval(tmp_path: Path) -> None:
    """H8-2"""
    pids = tmp_path / "pids"
    config = msgspec.structs.replace(configure(t=scripted_entry(MCP_PID=str(pids)))[0], blocked="Not approved.")
    session = McpSession(tmp_path, [config], {})
    session.servers.start()
    try:
        assert await session.servers.settled(0)
        assert session.servers.status()[0]["error"] == "Not approved."
        for request in (session.servers.toggle("t", enabled=True), session.servers.reconnect("t")):
            with pytest.raises(McpRequestError, match="Not approved"):
                await request
        assert not pids.exists()
        await session.servers.approve("t")
        await until(lambda: session.state("t") == "connected")
    finally:
        await session.servers.close()


async def test_closing_does_not_wait_for_servers_that_do_not_answer(tmp_path: Path) -> None:
    """H8-1"""
    session = McpSession(tmp_path, configure(a=scripted_entry(MCP_MODE="silent"), b=scripted_entry()), {})
    session.servers.start()
    await session.servers.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
WORDS = st.sampled_from(
    ["type", "properties", "items", "required", "enum", "anyOf", "$ref", "minimum", "minLength", "$defs"]
)
SCHEMAS = st.recursive(
    st.dictionaries(WORDS, st.sampled_from(["string", "object", "x", 1, -1, True, [], ["a"], ["a", "a"], None, "#/a"])),
    lambda inner: st.dictionaries(WORDS, inner | st.dictionaries(st.text(max_size=3), inner, max_size=2), max_size=3),
    max_leaves=6,
)


@given(JSON | SCHEMAS)
def test_a_schema_is_one_that_models_accept_or_it_is_refused(schema: Any) -> None:
    """H8-4"""
    try:
        checked = check_schema(schema)
    except BadSchema:
        return
    assert checked["type"] == "object"
    Draft202012Validator.check_schema(checked)
    msgspec.json.encode(checked)


def test_a_schema_that_is_too_deep_or_too_large_is_refused() -> None:
    """H8-4"""
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(60):
        deep = {"type": "object", "properties": {"a": deep}}
    large = {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(6_000)}}
    for schema in (deep, large):
        with pytest.raises(BadSchema):
            check_schema(schema)


@given(st.text(alphabet=st.characters(), max_size=300), st.integers(1, 100))
def test_clean_text_is_short_and_holds_nothing_invisible(text: str, limit: int) -> None:
    """H8-4"""
    cleaned = clean_text(text, limit)
    assert len(cleaned) <= limit + len(" [...]")
    assert not set(cleaned) & set("\x00\x1b\x7f\u202e\u200b\ufeff\U000e0041\r")
    cleaned.encode()
    assert "\n" not in clean_line(text, limit)
