"""The text of an instruction file: comments on lines of their own, imports outside of code (H4-4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.context.instruction_text import drop_comments, imports_of

MARKDOWN = st.text(st.sampled_from("<!->`~@a./# \n\\\"'"), max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n<!-- note -->\nb", "a\nb"),
        ("a\n  <!-- two\nlines --> \nb", "a\nb"),
        ("a <!-- inside --> b", "a <!-- inside --> b"),
        ("<!-- then --> text", "<!-- then --> text"),
        ("<!-- never closed\nb", "<!-- never closed\nb"),
        ("```\n<!-- code -->\n```\n<!-- no code -->", "```\n<!-- code -->\n```"),
        ("~~~~\n~~~\n<!-- code -->\n~~~~\n<!-- no code -->", "~~~~\n~~~\n<!-- code -->\n~~~~"),
    ],
)
def test_comments_on_lines_of_their_own_are_dropped(text: str, expected: str) -> None:
    assert drop_comments(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See @a.md and @b/c.md", ["a.md", "b/c.md"]),
        ("@a.md", ["a.md"]),
        ("- @~/x.md\n- (@/abs.md)", ["~/x.md", "/abs.md)"]),
        ("@with\\ blank.md @a.md#part", ["with blank.md", "a.md"]),
        ("twice @a.md @a.md", ["a.md"]),
        ("mail me@a.md `@a.md` ``x ` @a.md``", []),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~ sh\n@a.md\n```\n@a.md\n~~~\n@b.md", ["b.md"]),
        ("```\n@a.md", []),
    ],
)
def test_imports_are_found_outside_of_code(text: str, expected: list[str]) -> None:
    assert imports_of(text) == expected


@given(MARKDOWN)
def test_dropping_comments_only_removes_whole_lines(text: str) -> None:
    left = drop_comments(text).split("\n") if drop_comments(text) else []
    lines = iter(text.split("\n"))
    assert all(any(line == other for other in lines) for line in left)


@given(MARKDOWN)
def test_every_import_stands_in_the_text_after_an_at_sign(text: str) -> None:
    for path in imports_of(text):
        assert "@" + path.replace(" ", "\\ ") in text


@pytest.mark.parametrize("text", ["<!--\n" * 6_000, "`" * 32_000 + "@a", "`@" * 16_000, "<!--\n-->x\n" * 3_000])
def test_no_text_takes_long(text: str) -> None:
    assert isinstance(imports_of(drop_comments(text)), list)
