"""Replacing text changes nothing but the match, whatever the newlines and whitespace."""

import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import with_plain_newlines
from bobstay.tools.files.text_edits import Replacement, apply_replacements
from bobstay.tools.files.text_match import find_matches
from tests.kit.waiting import DEADLINE

PIECES = st.lists(
    st.sampled_from(["a", "b", "x y", "\n", "\r\n", "\r", "\t", "é", "\udcff", "\N{NO-BREAK SPACE}", "”", "\0"]),
    min_size=1,
    max_size=30,
)


def one(text: str, old: str, new: str, *, every: bool = False) -> str:
    return apply_replacements(text, [Replacement(old, new, every)]).text


@given(PIECES, st.data(), st.sampled_from(["", "new", "n\nm", "n\r\nm", "é", "\n"]), st.booleans())
@example(["a", "\r\n", "b"], None, "new", False)
def test_exactly_the_span_of_a_unique_text_changes(
    pieces: list[str], data: st.DataObject | None, new: str, every: bool
) -> None:
    """F15, F16, F19: bytes outside the match are identical, with and without replace_all."""
    text = "".join(pieces)
    start = data.draw(st.integers(0, len(text) - 1)) if data else 0
    end = data.draw(st.integers(start + 1, len(text))) if data else 1
    assume(text[start - 1 : start + 1] != "\r\n" and text[end - 1 : end + 1] != "\r\n")
    old = with_plain_newlines(text[start:end])
    assume(
        len(find_matches(text, old).spans) == 1
        and not find_matches(text, old).overlooked
        and old != with_plain_newlines(new)
    )
    result = one(text, old, new, every=every)
    assert result.startswith(text[:start])
    assert result.endswith(text[end:])
    middle = result[start : len(result) - len(text[end:])]
    assert with_plain_newlines(middle) == with_plain_newlines(new)
    plain = with_plain_newlines
    melted = not middle and text[start - 1 : start] == "\r" and text[end : end + 1] == "\n"
    assert melted or plain(result) == plain(text[:start]) + plain(new) + plain(text[end:])


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("old", ["b\nc", "b\r\nc", "b\rc"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", [True, False])
def test_the_newlines_of_a_file_never_hide_a_match_and_are_kept(newline: str, old: str, every: bool, end: bool) -> None:
    """F15, F16: any newline in the file, any in the text looked for."""
    text = newline.join(["a", "b", "c", "d"]) + newline * end
    expected = newline.join(["a", "X", "Y", "Z", "d"]) + newline * end
    assert one(text, old, "X\nY\nZ", every=every) == expected


def test_in_a_file_of_mixed_newlines_each_line_keeps_its_own() -> None:
    """F15: no line outside the change is converted, not even inside the match."""
    text = "a\r\nb\nc\r\nd\ne\r\n"
    assert one(text, "a\nb\nc\nd\n", "a\nb\nC\nd\n") == "a\r\nb\nC\r\nd\ne\r\n"
    assert one(text, "a\nb\n", "a\nB\n") == "a\r\nB\nc\r\nd\ne\r\n"
    assert one(text, "b\nc\n", "b\nnew\nc\n") == "a\r\nb\nnew\nc\r\nd\ne\r\n"


def test_places_that_differ_only_in_newlines_are_both_found() -> None:
    """F20: the model cannot see the difference, so it cannot have meant one of them."""
    with pytest.raises(ToolError, match=r"lines 1, 4"):
        one("a\r\nb\r\n\nfoo a\nb\n".replace("foo ", ""), "a\nb\n", "c\n")


def test_deleting_the_line_start_leaves_no_stray_carriage_return() -> None:
    assert one("a\r\nfoo\r\nb\r\n", "\nfoo", "") == "a\r\nb\r\n"


def test_a_new_newline_does_not_melt_with_half_a_newline_beside_it() -> None:
    assert one("a\rb\rX\nc", "X", "Y\n") == "a\rb\rY\r\n\nc"
    assert one("a\nb\n\rX", "X", "\nY") == "a\nb\n\r\r\nY"


def test_newlines_themselves_can_be_changed() -> None:
    assert one("a\r\nb\n", "a\r\nb", "a\nb") == "a\nb\n"
    assert one("a\nb\n", "a\nb", "a\r\nb") == "a\r\nb\n"


def test_carriage_returns_asked_for_in_a_file_without_them_are_written() -> None:
    assert one("a\nb\n", "b", "b\r\nc") == "a\nb\r\nc\n"


def test_a_text_in_two_places_is_refused_and_its_lines_are_named() -> None:
    """F20."""
    with pytest.raises(ToolError, match=r"2 places, at lines 1, 3.*replace_all"):
        one("x = 1\ny\nx = 1\n", "x = 1", "x = 2")


def test_overlapping_places_count_as_two() -> None:
    with pytest.raises(ToolError, match="2 places"):
        one("aaa", "aa", "b")
    assert one("aaaa", "aa", "b", every=True) == "bb"


def test_replace_all_changes_every_place() -> None:
    assert one("x\r\nx\nx", "x", "y", every=True) == "y\r\ny\ny"


def test_several_edits_are_applied_one_after_the_other() -> None:
    changed = apply_replacements("a b c", [Replacement("a", "b"), Replacement("b b", "z"), Replacement("c", "d")])
    assert (changed.text, changed.count) == ("z d", 3)


def test_of_several_edits_the_one_that_fails_is_named() -> None:
    with pytest.raises(ToolError, match=r"Edit 2 of 2: old_string is not in the file"):
        apply_replacements("a b c", [Replacement("a", "x"), Replacement("nothing", "y")])


@pytest.mark.parametrize("every", [False, True])
def test_spaces_for_tabs_are_found_and_the_new_text_gets_tabs(every: bool) -> None:
    """F17: a Go file has tabs, the model sends spaces."""
    text = "func main() {\n\tif ok {\n\t\trun()\n\t}\n}\n"
    old = "    if ok {\n        run()\n    }"
    new = "    if ok {\n        run()\n        for {\n            stop()\n        }\n    }"
    changed = apply_replacements(text, [Replacement(old, new, every)])
    assert changed.text == "func main() {\n\tif ok {\n\t\trun()\n\t\tfor {\n\t\t\tstop()\n\t\t}\n\t}\n}\n"
    assert "indented as the file is" in changed.notes[0]
    assert "line 2" in changed.notes[0]


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("if a:\n    b()\n    c()\n", "if a:\n\tb()\n\tc()", "if a:\n\tb()\n\td()", "if a:\n    b()\n    d()\n"),
        ("x\n    a()\n    b()\n", "a()\nb()\n", "a()\nif c:\n    b()\n", "x\n    a()\n    if c:\n        b()\n"),
        ("a()\nb()\n", "  a()\n  b()", "  a()\n  c()", "a()\nc()\n"),
        ("a()  \nb()\t\nc()\n", "a()\nb()\nc()", "a()\nb()\nd()", "a()  \nb()\t\nd()\n"),
        (
            "\tfoo(\n\t\tbar,\n\t)\n",
            "foo(\n        bar,\n    )",
            "foo(\n        baz,\n    )",
            "\tfoo(\n\t\tbaz,\n\t)\n",
        ),
        ("a  =  1\nb = 2\n", "a = 1\nb = 2", "a = 1\nb = 3", "a  =  1\nb = 3\n"),
        ("q\r\n\ta\r\n\tb\r\n", "    a\n    b\n", "    a\n    c\n", "q\r\n\ta\r\n\tc\r\n"),
        ("q\n\ta\n\tb\nz", "\n    a\n    b", "", "q\nz"),
    ],
)
def test_blanks_written_differently_are_found_and_unchanged_lines_stay(
    text: str, old: str, new: str, expected: str
) -> None:
    """F17: whitespace-equal unique match accepted and re-indented."""
    changed = apply_replacements(text, [Replacement(old, new)])
    assert changed.text == expected
    assert changed.notes


def test_a_place_found_by_tolerance_in_two_places_is_refused() -> None:
    """F17: ambiguous refused."""
    with pytest.raises(ToolError, match=r"2 places \(ignoring indentation.*lines 1, 3"):
        one("\tx()\ny\n\t\tx()\n", "    x()\n", "    z()\n")


def test_lines_indented_without_a_rule_are_not_taken_for_the_same() -> None:
    with pytest.raises(ToolError, match="not in the file"):
        one("if a:\n      b()\n c()\n", "if a:\n    b()\n    c()", "pass")


@pytest.mark.parametrize("every", [False, True])
def test_typographic_characters_are_found_but_not_rewritten(every: bool) -> None:
    """F18: the match may be found by plain quotes; all that was not changed keeps its own characters."""
    text = "say “hello” to\N{NO-BREAK SPACE}it\u2019s friend \u2013 now\nand “this”\n"
    changed = apply_replacements(
        text, [Replacement('say "hello" to it\'s friend - now', 'say "hello" to it\'s enemy - now', every)]
    )
    assert changed.text == "say “hello” to\N{NO-BREAK SPACE}it\u2019s enemy \u2013 now\nand “this”\n"
    assert "typographic" in changed.notes[0]


def test_bytes_that_are_no_text_can_be_named_as_they_are_shown() -> None:
    """F19: the replacement character represents them, and they stay unchanged."""
    assert one("k = \udcff\udcfe!\n", "k = \ufffd\ufffd!", "key = \ufffd\ufffd!") == "key = \udcff\udcfe!\n"


def test_line_numbers_copied_from_read_are_recognised() -> None:
    with pytest.raises(ToolError, match="line numbers that Read puts in front"):
        one("def f():\n    pass\n", "1\tdef f():\n2\t    pass", "x")


def test_a_text_that_is_not_there_is_answered_with_the_most_similar_place() -> None:
    text = "".join(f"def function_{number}(alpha, beta):\n    return {number}\n\n" for number in range(50))
    with pytest.raises(ToolError) as failure:
        one(text, "def function_17(alpha, betta):\n    return 18\n", "x")
    assert "def function_17(alpha, beta):" in str(failure.value)
    assert "52\tdef" in str(failure.value)
    assert len(str(failure.value)) < 2000


def test_a_text_like_nothing_in_the_file_is_said_to_be_so() -> None:
    with pytest.raises(ToolError, match="nor anything like it"):
        one("a\nb\n", "completely different words", "x")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("}\n" * 400_000, "}\n" * 500 + "x"),
        (" " * 1_000_000, " " * 5_000 + "x"),
        ("ab" * 500_000, "ba" * 3000 + "c"),
        ("word word word\n" * 60_000, "wort wort wort\n" * 50),
    ],
)
def test_hostile_texts_are_searched_in_bounded_time(text: str, old: str) -> None:
    """H1-7: no input makes the search run away."""
    begun = time.perf_counter()
    with pytest.raises(ToolError):
        one(text, old, "y")
    assert time.perf_counter() - begun < DEADLINE
