"""Answers of language servers as text: every form the protocol allows, and any other."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.tools.base import ToolError
from bobstay.tools.lsp.answers import describe_hover, describe_locations, describe_symbols, find_column
from bobstay.tools.lsp.diagnostic import new_errors, read_diagnostics
from bobstay.tools.lsp.source_text import from_uri, from_utf16, to_uri, to_utf16


def span(line: int, character: int = 0) -> dict[str, Any]:
    return {"start": {"line": line, "character": character}, "end": {"line": line, "character": character}}


def test_locations_are_shown_with_their_line_only_where_it_may_be_read(tmp_path: Path) -> None:
    """H1-4, H5-1"""
    (tmp_path / "a b.py").write_text("one\n\U0001d54f two\n")
    (tmp_path / "secret.py").write_text("key\n")

    def is_denied(path: str) -> bool:
        return path.endswith("secret.py")

    answer = [
        {"uri": to_uri(f"{tmp_path}/a b.py"), "range": span(1, 3)},
        {"targetUri": to_uri("/etc/hostname"), "targetRange": span(0), "targetSelectionRange": span(0, 2)},
        {"uri": to_uri(f"{tmp_path}/secret.py"), "range": span(0)},
        {"uri": "https://example.org/x.py", "range": span(0)},
    ]
    assert (
        describe_locations(answer, (tmp_path,), is_denied)
        == f"{tmp_path}/a b.py:2:3: \U0001d54f two\n/etc/hostname:1:3"
    )


def test_a_hover_has_many_forms() -> None:
    """H1-4"""
    assert describe_hover({"contents": "plain"}) == "plain"
    assert describe_hover({"contents": {"kind": "markdown", "value": "**x**"}}) == "**x**"
    assert describe_hover({"contents": ["a", {"language": "c", "value": "b"}]}) == "a\n\nb"
    assert describe_hover(None) == ""
    assert describe_hover({"contents": "x" * 9_000}).endswith("[cut]")


def test_symbols_are_an_outline() -> None:
    """H1-4"""
    inner = {"name": "f", "kind": 6, "range": span(3)}
    flat = {"name": "g", "kind": 99, "location": {"range": span(7)}}
    answer = [{"name": "A", "kind": 5, "range": span(1), "children": [inner]}, flat]
    assert describe_symbols(answer) == "class A (line 2)\n  method f (line 4)\nsymbol g (line 8)"


async def test_a_symbol_is_found_in_its_line(tmp_path: Path) -> None:
    """H1-4"""
    path = tmp_path / "a"
    path.write_text("x = compute(y)\n")
    assert await find_column(str(path), 1, "compute", None) == 4
    assert await find_column(str(path), 1, None, 5) == 4
    with pytest.raises(ToolError, match=r"Line 1 does not contain 'z'. It reads: x = compute"):
        await find_column(str(path), 1, "z", None)
    with pytest.raises(ToolError, match="there is no line 9"):
        await find_column(str(path), 9, "z", None)


def test_only_errors_that_were_not_there_are_new() -> None:
    """H1-4"""

    def error(line: int, message: str, severity: int = 1) -> dict[str, Any]:
        return {"range": span(line), "message": message, "severity": severity}

    before = read_diagnostics([error(1, "a"), error(2, "a")], "")
    now = read_diagnostics([error(5, "a"), error(6, "a"), error(7, "a"), error(8, "b"), error(9, "c", 2)], "")
    assert [(each.line, each.message) for each in new_errors(before, now)] == [(8, "a"), (9, "b")]


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 2**40), st.text(max_size=8), st.just("file:///etc/passwd")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("uri", "targetUri", "range", "start", "line", "character", "contents", "value", "name", "kind"),
                    *("children", "location", "message", "severity", "code", "source", "targetRange"),
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_any_answer_can_be_described(answer: Any) -> None:
    """H1-4"""
    described = (describe_hover(answer), describe_symbols(answer), describe_locations(answer, (Path("/nowhere"),)))
    assert all(isinstance(each, str) for each in described)
    assert all(each.describe() for each in read_diagnostics(answer, "one\ntwo"))


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.integers(0, 25))
def test_columns_are_converted_back_and_forth(line: str, column: int) -> None:
    """H1-4"""
    assert from_utf16(line, to_utf16(line, column)) == min(column, len(line))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_paths_become_uris_and_paths_again(name: str) -> None:
    """H1-4"""
    assert from_uri(to_uri(f"/x/{name}")) == f"/x/{name}"
