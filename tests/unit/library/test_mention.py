"""Mentions of files in prompts and commands: where they stand, and what of the sentence they leave (H9-3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.library.mention import LONGEST, MOST, Mention, find_mentions


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("see @f.txt and @d please", [Mention("f.txt"), Mention("d")]),
        ("see @a/b.txt, please", [Mention("a/b.txt")]),
        ("lines\n@f.txt\t@~/g", [Mention("f.txt"), Mention("~/g")]),
        ('@"with space.txt" x', [Mention("with space.txt")]),
        ("@f#L2-3 @f#L7 @g#L3-L9", [Mention("f", 2, 3), Mention("f", 7, 7), Mention("g", 3, 9)]),
        ("@f#L9-3 @g#L0", [Mention("f", 9, 9), Mention("g", 1, 1)]),
        ("@f#L2-L3. (as @f#L4)", [Mention("f", 2, 3), Mention("f", 4, 4)]),
        ('@"a b"#L2 @"c d"#L1-2', [Mention("a b", 2, 2), Mention("c d", 1, 2)]),
        ("mail me@f.txt (@f.txt) `@f` x@", []),
        ('@ @"" @" @\' @, @!?', []),
        ("@.. @. @../x @./...", [Mention(".."), Mention("."), Mention("../x"), Mention("./...")]),
        ("@a(b) @[id].ts @@scope/x", [Mention("a(b)"), Mention("[id].ts"), Mention("@scope/x")]),
        ("@f @f", [Mention("f")]),
        ("@a\0b", []),
    ],
)
def test_mentions_begin_a_word(text: str, mentions: list[Mention]) -> None:
    assert list(find_mentions(text)) == mentions


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("Look at @f.txt.", ("f.txt.", "f.txt")),
        ("(see @f.txt)", ("f.txt)", "f.txt")),
        ("What is in @a..?", ("a..?", "a")),
        ("**see @f.txt**", ("f.txt**", "f.txt")),
        ("@a(b).", ("a(b).", "a(b)")),
        ("@d/..!", ("d/..!", "d/..")),
        ("@f.txt.,", ("f.txt.", "f.txt")),
        ("@...", ("...",)),
        ('Look at @"f.txt."', ("f.txt.",)),
    ],
)
def test_punctuation_may_belong_to_the_sentence_or_to_the_name(text: str, candidates: tuple[str, ...]) -> None:
    (mention,) = find_mentions(text)
    assert mention.candidates == candidates


def test_a_text_that_goes_on_after_something_else_does_not_begin_with_a_mention() -> None:
    assert find_mentions("@a @b", inside=True) == (Mention("b"),)


def test_what_is_too_long_or_too_much_is_not_looked_at() -> None:
    assert find_mentions(f"@{'x' * (LONGEST + 1)} @f") == (Mention("f"),)
    assert len(find_mentions(" ".join(f"@{number}" for number in range(2 * MOST)))) == MOST


@given(st.text(st.sampled_from('@a."#L123-, \n(~/)!'), max_size=100))
def test_what_is_mentioned_stands_in_the_text(text: str) -> None:
    for mention in find_mentions(text):
        assert all(candidate and candidate in text for candidate in mention.candidates)
        assert 0 <= mention.first <= mention.last


@given(st.text(st.characters(exclude_characters='"\n\0', exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_name_can_be_mentioned_in_quotes(name: str) -> None:
    assert Mention(name) in find_mentions(f'see @"{name}" now') or "#L" in name or not name.strip()


@given(st.text(st.sampled_from("ab_-/."), min_size=1, max_size=20), st.integers(1, 99), st.integers(0, 99))
def test_any_range_of_lines_can_be_mentioned(path: str, first: int, more: int) -> None:
    assert find_mentions(f"x @{path}#L{first}-{first + more}") == (Mention(path, first, first + more),)


def test_hostile_texts_are_read_in_linear_time() -> None:
    for piece in ("@", '@"', "@a.", " @a(", "@a" + "." * 50_000 + " ", "@(" + ")" * 50_000 + " ", '@"\n', " @#L1"):
        find_mentions(piece * (2_000_000 // len(piece)))
