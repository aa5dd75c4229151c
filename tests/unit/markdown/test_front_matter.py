"""Front matter: what people write there is read, also where it is no YAML, and the body stays as it is (H9-3, H9-4)."""

import importlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.markdown.front_matter import LONGEST, decode_body, split_front_matter
from bobstay.markdown.lenient_yaml import parse_yaml
from bobstay.markdown.yaml_document import parse_plain_fields


def fields(text: str) -> dict[str, Any]:
    return split_front_matter(f"---\n{text}\n---\nbody".encode()).fields


def test_a_file_without_front_matter_is_all_body() -> None:
    data = b"# Title\n---\nname: x\n---\n"
    matter = split_front_matter(data)
    assert (matter.fields, decode_body(data, matter)) == ({}, data.decode())


def test_the_body_begins_behind_the_closing_line() -> None:
    data = b"\xef\xbb\xbf---\r\nname: x\r\n---\r\n\r\n  body \xff\r\n---\r\n"
    matter = split_front_matter(data)
    assert matter.fields == {"name": "x"}
    assert data[matter.body_start :] == b"\r\n  body \xff\r\n---\r\n"


def test_front_matter_that_is_not_closed_is_text_and_reported() -> None:
    data = b"---\nname: x\n# Title\n"
    matter = split_front_matter(data)
    assert matter.unclosed
    assert (matter.fields, decode_body(data, matter)) == ({}, data.decode())
    assert [problem.line for problem in matter.problems] == [1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k: plain text", "plain text"),
        ("k: it's fine # a comment", "it's fine"),
        ("k: a: b: c", "a: b: c"),
        ("k: http://x/#top", "http://x/#top"),
        ('k: "two \\"words\\"\\n\\u00e9"', 'two "words"\né'),
        ("k: 'it''s'", "it's"),
        ('k: "a" and more', '"a" and more'),
        ('k: "unclosed', '"unclosed'),
        ("k: [unclosed", "[unclosed"),
        ("k: [name] [age]", "[name] [age]"),
        ("k: [a, 'b c', \"d\"]", ["a", "b c", "d"]),
        ("k: [a,\n  b,\n]", ["a", "b"]),
        ("k: {a: 1, b: [x], c: null}", {"a": 1, "b": ["x"], "c": None}),
        ('k: {"a": {"b": [1, true]}}', {"a": {"b": [1, True]}}),
        ("k:\n- a\n- b", ["a", "b"]),
        ("k:\n  - a\n  # comment\n  - b c", ["a", "b c"]),
        ("k: |\n  one\n    two\n\n  three", "one\n  two\n\nthree\n"),
        ("k: |-\n  one", "one"),
        ("k: >\n  one\n  two\n\n  three", "one two\nthree\n"),
        ("k: >-\n\tone\n\ttwo", "one two"),
        ("k: first\n  second\n  third", "first second third"),
        ("k:\n  Some text\n  on two lines", "Some text on two lines"),
        ("k:", None),
        ("k: 1.10", "1.10"),
        ("k: true", "true"),
        ('"k": v', "v"),
        ("k: \ud83d", "?"),
    ],
)
def test_a_value_is_read(text: str, value: object) -> None:
    data = f"---\n{text}\n---\n".encode(errors="replace")
    assert split_front_matter(data).fields == {"k": value}


def test_hooks_and_servers_are_nested_as_deep_as_people_write_them() -> None:
    text = """\
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: cat >> /tmp/log; echo "a: b" >> /tmp/log
          timeout: 5
  Stop: [{"hooks": [{"type": "command", "command": "true"}]}]
mcpServers:
  - inner:
      command: python3
      args: [server.py, --flag]
  - known"""
    read = fields(text)
    entry = {"type": "command", "command": 'cat >> /tmp/log; echo "a: b" >> /tmp/log', "timeout": 5}
    assert read["hooks"]["PreToolUse"] == [{"matcher": "Bash", "hooks": [entry]}]
    assert read["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "true"}]}]
    assert read["mcpServers"] == [{"inner": {"command": "python3", "args": ["server.py", "--flag"]}}, "known"]


def test_a_line_that_is_no_field_loses_only_itself() -> None:
    matter = split_front_matter(b"---\nname: x\nnonsense\n- item\ndescription: d\n---\nbody")
    assert matter.fields == {"name": "x", "description": "d"}
    assert [problem.line for problem in matter.problems] == [3, 4]
    assert "nonsense" in matter.problems[0].text


def test_front_matter_may_be_json() -> None:
    assert fields('{"name": "x", "tools": ["Read"]}') == {"name": "x", "tools": ["Read"]}
    assert fields("{name: x,\n tools: [Read]}") == {"name": "x", "tools": ["Read"]}


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.from_regex("[a-z][a-z0-9_-]{0,9}", fullmatch=True), inner)
    ),
    max_leaves=12,
)


@given(value=VALUES, flow=st.sampled_from([True, False, None]), width=st.sampled_from([20, 80, 10_000]))
@settings(max_examples=300, deadline=None)
def test_what_a_yaml_library_writes_is_read_back(value: Any, flow: bool | None, width: int) -> None:
    yaml = importlib.import_module("yaml")
    text = yaml.safe_dump({"k": {"v": value}}, default_flow_style=flow, width=width, allow_unicode=True)
    expected = yaml.safe_load(text)["k"]["v"]
    assert fields(text.rstrip("\n"))["k"]["v"] == expected


@given(
    lines=st.lists(
        st.one_of(
            st.from_regex(r"[a-z-]{1,6}:? ?[ -~\t]{0,12}", fullmatch=True), st.text(" \t:-_ka1#'[]>\r", max_size=8)
        ),
        max_size=6,
    )
)
@settings(max_examples=500, deadline=None)
def test_the_fast_way_reads_the_same_as_the_whole_reader(lines: list[str]) -> None:
    text = "\n".join(lines)
    plain = parse_plain_fields(text)
    if plain is not None:
        document = parse_yaml(text)
        assert (document.fields, document.problems) == (plain, ())


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["---\n", "...\n", "\n", "\r\n", "k: ", "- ", "  ", "\t", "[", "]", "{", "}", "'", '"', "|", ">", "#", ":"]
        ),
        st.text(max_size=6),
        st.binary(max_size=4),
    ),
    max_size=60,
)


@given(pieces=PIECES, opened=st.booleans())
@settings(max_examples=500, deadline=None)
def test_nothing_makes_it_fail_and_the_body_is_kept_byte_for_byte(pieces: list[str | bytes], *, opened: bool) -> None:
    data = b"".join(each if isinstance(each, bytes) else each.encode(errors="replace") for each in pieces)
    body = b"BODY\xfe\r\n" + data
    whole = b"---\n" + data.replace(b"---", b"").replace(b"...", b"") + b"\n---\n" + body if opened else data
    matter = split_front_matter(whole)
    decode_body(whole, matter)
    if opened:
        assert whole[matter.body_start :] == body


@pytest.mark.parametrize(
    "line",
    [
        b"- a\n",
        b"{\n",
        b"k: [\n",
        b" [\n",
        b"- [\n",
        b"k: '\n",
        b'"\n',
        b"[",
        b"{a: ",
        b"- ",
        b"k: |\n",
        b"\\",
        b"a\n ",
    ],
)
def test_hostile_front_matter_is_read_in_linear_time(line: bytes) -> None:
    data = b"---\n" + line * (LONGEST // len(line) - 10) + b"\n---\n"
    began = time.process_time()
    split_front_matter(data)
    assert time.process_time() - began < 3
