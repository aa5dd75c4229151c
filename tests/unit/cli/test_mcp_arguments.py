"""Arguments and listings of `bobstay mcp` with any input (H8-5)."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bobstay.cli.flag_parser import UsageError
from bobstay.cli.mcp_arguments import ACTIONS, build_entry, parse_mcp_arguments
from bobstay.cli.mcp_listing import ServerRow, as_json, as_text, describe_target, redact_url
from bobstay.config.mcp_files import ListedServer, McpFiles, McpFilesError, check_name
from bobstay.config.paths import Paths

words = st.one_of(
    st.sampled_from([*ACTIONS, "--", "-e", "A=1", "--header", "X: y", "-s", "user", "-t", "http", "https://a.example"]),
    st.text(max_size=12),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
entries = st.dictionaries(
    st.sampled_from(["type", "command", "args", "env", "url", "headers", "x"]), values, max_size=6
)


@given(st.lists(words, max_size=8))
def test_any_command_line_is_understood_or_refused(arguments: list[str]) -> None:
    with suppress(UsageError):
        parsed = parse_mcp_arguments(arguments)
        if parsed.action in ("add", "add-json"):
            name, entry = build_entry(parsed)
            assert isinstance(name, str)
            assert entry.get("command") or entry.get("url")


def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(UsageError, match="bobstay mcp has no command 'ad'"):
        parse_mcp_arguments(["ad", "x"])


@given(st.text(max_size=20), entries)
def test_any_entry_of_a_file_can_be_shown(name: str, entry: dict[str, Any]) -> None:
    row = ServerRow(ListedServer(name, "project", "/x/.mcp.json", entry))
    for text in (as_text(row), describe_target(entry)):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
    json.dumps(as_json(row))


@given(st.text("abcdef0123456789", min_size=20, max_size=40))
@example("0123456789abcdef0123")
def test_no_value_of_a_variable_header_or_query_is_shown(secret: str) -> None:
    url = f"https://user:{secret}@mcp.example/x?a={secret}&{secret}"
    entry = {"type": "http", "url": url, "env": {"A": secret}, "headers": {"B": f"Bearer {secret}"}}
    row = ServerRow(ListedServer("a", "user", "/f", entry))
    shown = as_text(row) + json.dumps(as_json(row))
    assert secret not in shown


@given(st.text(max_size=60))
def test_any_text_can_stand_for_an_address(url: str) -> None:
    redact_url(url)


@given(st.binary(max_size=200) | entries.map(lambda entry: json.dumps({"mcpServers": entry}).encode()))
@example(b'{"mcpServers": {"a": 1}, "projects": []}')
@example(b"[" * 3000)
def test_any_file_is_listed_or_named_in_a_problem(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        (home / ".bobstay").mkdir(parents=True)
        for file in (home / ".bobstay" / "mcp.json", home / ".claude.json", Path(folder, ".mcp.json")):
            file.write_bytes(data)
        files = McpFiles(Paths.read({"HOME": str(home)}), folder)
        _, problems = files.list_servers()
        assert all(folder in problem for problem in problems)
        with suppress(McpFilesError):
            files.add("project", "added", {"command": "x"})
            assert "added" in [server.name for server in files.list_servers()[0]]


@pytest.mark.parametrize("name", ["", "a b", "a__b", "ä", "a/b", "../x", "x" * 65, "a\n"])
def test_a_name_that_tools_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(McpFilesError):
        check_name(name)
