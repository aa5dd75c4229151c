"""One entry of `mcpServers`: what it becomes, and what is wrong with it (H8-2)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.mcp.server_config import BadServer, McpServerConfig, parse_server
from bobstay.mcp.tool_names import BadServerName, normalise_server, tool_name
from bobstay.mcp.variable_expansion import Variables
from bobstay.permissions.access import Effect
from bobstay.permissions.rule import Rule
from bobstay.tools.tool_registry import _NAME_CHARACTERS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from(["type", "command", "args", "env", "url", "headers", "alwaysLoad", "timeout", "name"])


def parse(raw: Any, name: str = "srv", **variables: str) -> McpServerConfig:
    return parse_server(name, raw, "user", "test", Variables(variables))


def test_an_entry_with_a_command_is_a_process() -> None:
    """H8-1"""
    config = parse({"command": "npx", "args": ["-y", "x"], "env": {"A": "b", "N": 5}})
    assert (config.transport, config.command, config.args) == ("stdio", "npx", ("-y", "x"))
    assert config.env == {"A": "b", "N": "5"}


@pytest.mark.parametrize(
    ("raw", "transport"),
    [
        ({"type": "http", "url": "http://x/mcp"}, "http"),
        ({"type": "streamable-http", "url": "https://x/mcp"}, "http"),
        ({"url": "https://x/mcp"}, "http"),
        ({"type": "sse", "url": "http://x/sse"}, "sse"),
        ({"type": "ws", "url": "ws://x/"}, "ws"),
        ({"url": "wss://x/"}, "ws"),
        ({"type": "sdk", "name": "calc"}, "sdk"),
        ({"type": "stdio", "command": "x"}, "stdio"),
    ],
)
def test_the_transport_is_named_or_follows_from_the_address(raw: dict[str, Any], transport: str) -> None:
    """H8-1"""
    assert parse(raw).transport == transport


def test_variables_are_replaced_in_every_value() -> None:
    """H8-2"""
    config = parse(
        {"command": "${BIN}", "args": ["--x=${A}", "${NONE:-dflt}", "${NONE}", "$A"], "env": {"K": "${A}-${B:-}"}},
        BIN="prog",
        A="1",
    )
    assert (config.command, config.args, config.env) == ("prog", ("--x=1", "dflt", "${NONE}", "$A"), {"K": "1-"})
    remote = parse({"type": "http", "url": "http://${H}/", "headers": {"X": "Bearer ${T}"}}, H="host", T="tok")
    assert (remote.url, remote.headers) == ("http://host/", {"X": "Bearer tok"})


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ([], "not an object"),
        ({}, "neither a command nor a url"),
        ({"type": "zzz"}, "'zzz' is not known"),
        ({"type": 5}, "is not known"),
        ({"command": 5}, "command is not a text"),
        ({"command": " "}, "no command"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "a", "args": "b"}, "args is not a list"),
        ({"command": "a", "args": [1]}, "args is not a list"),
        ({"command": "a", "env": {"A": []}}, "not a text"),
        ({"command": "a", "env": {"A=B": "x"}}, "cannot be used"),
        ({"type": "http"}, "begins with http"),
        ({"type": "http", "url": "file:///etc/passwd"}, "begins with http"),
        ({"type": "ws", "url": "http://x"}, "begins with ws"),
        ({"type": "http", "url": "http://x:99999/"}, "is not a URL"),
        ({"type": "http", "url": "http://x/ y"}, "begins with http"),
        ({"type": "http", "url": "http://x/", "headers": {"A b": "x"}}, "cannot be sent"),
        ({"type": "http", "url": "http://x/", "headers": {"A": "x\r\ny"}}, "cannot be sent"),
        ({"command": "\ud800"}, "not valid Unicode"),
    ],
)
def test_an_entry_that_cannot_be_used_says_why(raw: Any, why: str) -> None:
    """H8-2"""
    with pytest.raises(BadServer, match=why):
        parse(raw)


@given(st.text(), st.dictionaries(KEYS | st.text(), JSON) | JSON)
def test_whatever_stands_in_a_file_is_an_entry_or_a_sentence(name: str, raw: Any) -> None:
    """H8-2"""
    try:
        config = parse(raw, name)
    except BadServer:
        return
    assert config.digest
    assert config.signature
    assert config.public["type"] == config.transport


def test_an_approval_is_bound_to_what_is_written_not_to_the_values_of_variables() -> None:
    """H8-2"""
    raw = {"command": "x", "args": ["${A}"]}
    assert parse(raw, A="1").digest == parse(raw, A="2").digest
    assert parse(raw).digest != parse({**raw, "env": {"B": "c"}}).digest
    assert parse(raw).digest != parse(raw, "other").digest


def test_what_is_shown_holds_no_secrets() -> None:
    """H8-2"""
    raw = {"type": "http", "url": "http://x/${KEY}", "headers": {"Authorization": "Bearer s3cret"}}
    assert parse(raw, KEY="s3cret").public == {"type": "http", "url": "http://x/${KEY}"}


def test_secrets_of_an_entry_can_be_redacted() -> None:
    """H8-2"""
    key = "kX9vQ2mZ7pL4tR8w"
    process = parse({"command": "x", "env": {"API_TOKEN": key, "LEVEL": "info"}})
    assert list(process.secrets.values()) == [key]
    remote = parse({"url": "http://x/", "headers": {"Authorization": "Bearer ${T}", "X-Team": "blue"}}, T=key)
    assert list(remote.secrets.values()) == [key]


@pytest.mark.parametrize("name", ["a__b", "a_", "search!", "a::b", "", "___", "-", "!", "x" * 65])
def test_a_name_that_blurs_the_border_to_its_tools_is_refused(name: str) -> None:
    """H8-2"""
    with pytest.raises(BadServerName):
        normalise_server(name)


@pytest.mark.parametrize(
    ("name", "called"), [("my server", "my_server"), ("plugin:p:s", "plugin_p_s"), ("a-b_c9", "a-b_c9"), ("_a", "_a")]
)
def test_other_characters_become_underscores(name: str, called: str) -> None:
    """H8-4"""
    assert normalise_server(name) == called


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_a_rule_about_one_server_never_covers_the_tools_of_another(one: str, other: str, tool: str) -> None:
    """H8-4"""
    try:
        first, second = normalise_server(one), normalise_server(other)
    except BadServerName:
        return
    name = tool_name(second, tool)
    assert len(name) <= 128
    assert _NAME_CHARACTERS.issuperset(name)
    for text in (f"mcp__{first}", f"mcp__{first}__*"):
        assert Rule.parse(text, Effect.ALLOW).names(name) == (first == second)


def test_a_name_that_is_too_long_is_shortened_and_stays_distinct() -> None:
    """H8-4"""
    assert len(tool_name("s", "x" * 500)) == 128
    assert tool_name("s", "x" * 500) != tool_name("s", "x" * 501)


def test_a_variable_that_a_project_must_not_have_stays_as_written() -> None:
    """H8-2"""
    variables = Variables({"ANTHROPIC_API_KEY": "sk", "GH": "tok"}, lambda name: name.startswith("ANTHROPIC"))
    assert variables.expand("${ANTHROPIC_API_KEY} ${GH}") == "${ANTHROPIC_API_KEY} tok"
    assert variables.refused == ["ANTHROPIC_API_KEY"]
