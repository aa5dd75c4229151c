"""Path patterns match as in .gitignore."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.path_pattern import BadPattern, PathPattern, Segment, matches_wildcard
from tests.kit.waiting import DEADLINE


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a.pyc", False),
        ("?", "a", True),
        ("?", "ab", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[^a-c]x", "dx", True),
        ("[]]", "]", True),
        ("\\[1\\]", "[1]", True),
        ("\\*", "*", True),
        ("\\*", "x", False),
        ("a*b*c", "a__b__c", True),
        ("a*b*c", "a__c__b", False),
    ],
)
def test_a_segment_has_the_meaning_it_has_in_gitignore(pattern: str, name: str, expected: bool) -> None:
    assert Segment(pattern).matches(name) is expected


@pytest.mark.parametrize("pattern", ["[a", "a\\", "[", "[!"])
def test_an_unfinished_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Segment(pattern)


def test_a_pattern_may_not_climb() -> None:
    with pytest.raises(BadPattern, match=r"\.\."):
        PathPattern("a/../b", any_depth=False)


@pytest.mark.parametrize("pattern", ["*a" * 40 + "b", "a*" * 200, "**/" * 40 + "x"])
def test_no_pattern_takes_long_however_nasty(pattern: str) -> None:
    compiled = PathPattern(pattern, any_depth=True)
    began = time.process_time()
    compiled.matches(["a" * 200] * 40, generously=True)
    matches_wildcard(pattern, "a" * 10_000)
    assert time.process_time() - began < DEADLINE


plain = st.text(st.characters(exclude_characters="*?[]\\/", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(plain, min_size=1, max_size=5), st.lists(plain, max_size=3))
def test_a_literal_path_matches_itself_and_what_is_in_it(parts: list[str], below: list[str]) -> None:
    parts = [part for part in parts if part not in (".", "..")] or ["a"]
    pattern = PathPattern("/".join(parts), any_depth=False)
    assert pattern.matches(parts, generously=False)
    assert pattern.matches([*parts, *below], generously=False)
    assert not pattern.matches(parts[:-1], generously=True)


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_the_linear_wildcard_agrees_with_the_obvious_one(pattern: str, text: str) -> None:
    def obvious(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return any(obvious(pattern[1:], text[length:]) for length in range(len(text) + 1))
        return bool(text) and pattern[0] == text[0] and obvious(pattern[1:], text[1:])

    assert matches_wildcard(pattern, text) is obvious(pattern, text)
    assert Segment(pattern).matches(text) is obvious(pattern, text)


def test_a_star_in_the_last_place_permits_no_depth_but_forbids_all_of_it() -> None:
    pattern = PathPattern("docs/*", any_depth=False)
    assert pattern.matches(["docs", "a"], generously=False)
    assert not pattern.matches(["docs", "a", "b"], generously=False)
    assert pattern.matches(["docs", "a", "b"], generously=True)
