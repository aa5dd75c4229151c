"""Fields in the many ways people write them (H9-3, H9-4)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.library.definition import LibraryNotice
from bobstay.library.definition_fields import is_name
from bobstay.markdown.field_values import as_count, as_flag, as_line, as_list, as_map, as_text


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ("Read, Bash(git log:*) Edit", ("Read", "Bash(git log:*)", "Edit")),
        ("Bash(echo:*), Bash(tr a, b)", ("Bash(echo:*)", "Bash(tr a, b)")),
        ('"a b", c', ("a b", "c")),
        ("src/**/*.{ts,tsx}", ("src/**/*.{ts,tsx}",)),
        ("[src/*.{ts,tsx}, lib, 'a b']", ("src/*.{ts,tsx}", "lib", "a b")),
        ("[ab]*.py, [cd]", ("[ab]*.py", "[cd]")),
        ("[unclosed", ("[unclosed",)),
        ("Read, Bash(unclosed, x", ("Read", "Bash(unclosed, x")),
        (["a", " b ", None, 3], ("a", "b", "3")),
        (None, ()),
        ("", ()),
        ("~", ()),
    ],
)
def test_a_list_is_a_list_or_one_text(value: Any, items: tuple[str, ...]) -> None:
    assert as_list(value) == items


def test_half_of_a_long_rule_is_never_a_rule() -> None:
    rules = as_list("x " * 4_000 + "Bash(git log:*)")
    assert "Bash" not in rules


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), ("true", True), ("Yes", True), ("no", False), (None, False), ("perhaps", False)]
)
def test_a_flag_is_read(value: Any, *, flag: bool) -> None:
    assert as_flag(value) is flag


@pytest.mark.parametrize(("value", "count"), [(3, 3), ("12", 12), (0, None), (True, None), ("-1", None), ("x", None)])
def test_a_count_is_a_whole_number_from_one_on(value: Any, count: int | None) -> None:
    assert as_count(value) == count


def test_characters_that_hide_text_or_move_the_cursor_are_removed() -> None:
    assert as_line("a\x1b[2J\u202eb\U000e0041\n c") == "a[2Jb c"
    assert str(LibraryNotice("/x\x1b", "bad\nthing", 3)) == "/x?:3: bad?thing"


@pytest.mark.parametrize("name", ["a", "front-end", "größe", "a.b", "x_1"])
def test_a_name_can_be_typed(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", "a:b", "a@b", "$(x)", "a;b", "a\x00", "x" * 200, "'a'"])
def test_other_names_are_refused(name: str) -> None:
    assert not is_name(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(value=JSON)
def test_any_value_is_converted_to_something(value: Any) -> None:
    assert isinstance(as_text(value), str)
    assert "\n" not in as_line(value)
    assert all(as_list(value))
    assert as_count(value) is None or isinstance(value, str | int | float)
    assert isinstance(as_map(value), dict)
    assert isinstance(as_flag(value), bool)
