"""The header of a Markdown file is read leniently: a broken one does not lose the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.context.markdown_header import header_list, header_text, split_header


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a, b", ("a", "b")),
        ("a b", ("a", "b")),
        ("[a, 'b c']", ("a", "b c")),
        ('["src/**/*.ts"]', ("src/**/*.ts",)),
        ("src/*.{ts,tsx}, lib", ("src/*.{ts,tsx}", "lib")),
        ("Bash(git log:*), Read", ("Bash(git log:*)", "Read")),
        ('"**/*.py"', ("**/*.py",)),
        ("\n  - a\n  - 'b'", ("a", "b")),
        ("\n- a\n- b", ("a", "b")),
        ("", ()),
    ],
)
def test_a_list_may_be_written_in_many_ways(written: str, expected: tuple[str, ...]) -> None:
    header, body = split_header(f"---\nkey: {written}\nother: x\n---\nbody")
    assert header_list(header, "key") == expected
    assert header_text(header, "other") == "x"
    assert body == "body"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("key: some text", "some text"),
        ("key: 'quoted'", "quoted"),
        ("key: [unclosed", "[unclosed"),
        ("key: >\n  two\n  lines", "two lines"),
        ("\t: broken\n}{\nkey: a: b", "a: b"),
    ],
)
def test_a_text_is_read_even_where_the_header_is_no_yaml(header: str, expected: str) -> None:
    assert header_text(split_header(f"---\n{header}\n---\nbody")[0], "key") == expected


@pytest.mark.parametrize("text", ["no header", "---\nkey: never closed", "--- \n", "", "x\n---\na: b\n---\n"])
def test_without_a_header_all_of_it_is_the_text(text: str) -> None:
    assert split_header(text) == ({}, text)


@given(st.text(max_size=200))
def test_no_text_breaks_it_and_the_body_is_its_end(text: str) -> None:
    header, body = split_header(f"---\n{text}\n---\nEND")
    assert body.endswith("END")
    for key in header:
        assert isinstance(header_text(header, key), str)
        assert all(header_list(header, key))
