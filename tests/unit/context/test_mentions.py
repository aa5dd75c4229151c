"""Mentions of files in prompts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.context.mentions import FileMention, find_mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@f.txt", [FileMention("f.txt", sentence=True)]),
        ("see @a/b.txt, please", [FileMention("a/b.txt", sentence=True)]),
        ("lines\n@f.txt\t@~/g", [FileMention("f.txt", sentence=True), FileMention("~/g", sentence=True)]),
        ("@f.txt#L2-3", [FileMention("f.txt", 2, 3)]),
        ("@f.txt#L2-L3.", [FileMention("f.txt", 2, 3)]),
        ("@f.txt#L7", [FileMention("f.txt", 7, 7)]),
        ("@f.txt#L9-3", [FileMention("f.txt", 9, 9)]),
        ('@"with space.txt" and', [FileMention("with space.txt")]),
        ('@"with space.txt"#L1-2', [FileMention("with space.txt", 1, 2)]),
        ("@a @a", [FileMention("a", sentence=True)]),
        ("me@f.txt (@f.txt) @ @, x@", []),
    ],
)
def test_mentions_begin_a_word(text: str, expected: list[FileMention]) -> None:
    assert find_mentions(text) == expected


def test_punctuation_may_belong_to_the_sentence_or_to_the_name() -> None:
    assert find_mentions("Look at @f.txt.")[0].candidates == ("f.txt.", "f.txt")
    assert find_mentions('Look at @"f.txt."')[0].candidates == ("f.txt.",)
    assert find_mentions("@...")[0].candidates == ("...",)


@given(st.text(st.sampled_from('@a."#L123-, \n(~/'), max_size=100))
def test_what_is_mentioned_stands_in_the_text(text: str) -> None:
    for mention in find_mentions(text):
        assert mention.path
        assert mention.path in text
        assert 0 <= mention.first <= mention.last
        assert all(mention.candidates)


@given(st.text(st.characters(exclude_characters='"\n', exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_name_can_be_mentioned_in_quotes(name: str) -> None:
    assert FileMention(name) in find_mentions(f'see @"{name}" now') or "#L" in name


@given(st.text(st.sampled_from("ab_-/."), min_size=1, max_size=20), st.integers(1, 99), st.integers(0, 99))
def test_any_range_of_lines_can_be_mentioned(path: str, first: int, more: int) -> None:
    assert find_mentions(f"x @{path}#L{first}-{first + more}") == [FileMention(path, first, first + more)]
