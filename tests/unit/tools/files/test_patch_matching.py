"""Applying the chunks of a patch: where a change is found, and that nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.tools.base import ToolError
from bobstay.tools.files.patch_format import Chunk, Marker, UpdateFile, parse_patch
from bobstay.tools.files.patch_matching import apply_chunks
from bobstay.tools.files.text_diff import diff_lines


def apply(text: str, body: str) -> str:
    (section,) = parse_patch(f"*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch")
    assert isinstance(section, UpdateFile)
    return apply_chunks(text, section.chunks).text


@pytest.mark.parametrize(
    ("text", "body", "result"),
    [
        ("a\nb\nc\n", " a\n-b\n+B", "a\nB\nc\n"),
        ("a\nb\nc", " b\n-c\n+C", "a\nb\nC"),
        ("a\nb", "-b", "a\n"),
        ("a\nb", " b\n+c", "a\nb\nc"),
        ("a", "+b", "a\nb"),
        ("a\r\nb\r\n", "-b\n+B\n+C", "a\r\nB\r\nC\r\n"),
        ("a\nb\r\nc\n", "-b\n+B", "a\nB\r\nc\n"),
        ("", "+a", "a\n"),
        ("x\na\nx\nb\n", "@@ a\n-x\n+y", "x\na\ny\nb\n"),
        ("class A:\n  x\nclass B:\n  x\n", "@@ class B:\n-  x\n+  y", "class A:\n  x\nclass B:\n  y\n"),
        ("f\nx\ng\nx\n", "-x\n+1\n@@\n-x\n+2", "f\n1\ng\n2\n"),
        ("x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n"),
        ("a\nb\n", "@@ a\n+new", "a\nnew\nb\n"),
        ("a\nb\n", "@@\n+new", "a\nb\nnew\n"),
    ],
)
def test_a_change_is_made_at_its_place(text: str, body: str, result: str) -> None:
    """H1-4"""
    assert apply(text, body) == result


@pytest.mark.parametrize(
    ("text", "body", "result"),
    [
        ("keep  \nold \n", " keep\n-old\n+new", "keep  \nnew\n"),
        ("\t  keep\n  old\n", "keep\n-old\n+new".replace("keep", " keep", 1), "\t  keep\nnew\n"),
        ("say “hi” — now\nold\n", ' say "hi" - now\n-old\n+new', "say “hi” — now\nnew\n"),
        ("a\n", " a\n-b\n+c", ""),
    ],
)
def test_a_place_is_found_by_tolerance_and_kept_lines_stay_as_they_are(text: str, body: str, result: str) -> None:
    """H1-10"""
    if result:
        assert apply(text, body) == result
    else:
        with pytest.raises(ToolError, match="not in the file"):
            apply(text, body)


def test_a_tolerant_or_ambiguous_match_is_said() -> None:
    """H1-10"""
    loose = apply_chunks("old \n", (Chunk((), (("-", "old"), ("+", "new"))),))
    assert "found at line 1 by ignoring differences in blanks at line ends" in loose.notes[0]
    twice = apply_chunks("x\ny\nx\n", (Chunk((), (("-", "x"), ("+", "z"))),))
    assert twice.text == "z\ny\nx\n"
    assert "not those at line 3" in twice.notes[0]


def test_a_missing_place_names_what_is_similar() -> None:
    """H1-10"""
    with pytest.raises(ToolError, match=r"(?s)Change 2 of 2: .* after line 1.*2\tdef second\(\):"):
        apply("first\ndef second():\n", "-first\n+1st\n@@\n-def sekond():\n+x")
    with pytest.raises(ToolError, match="named behind @@ is not in the file"):
        apply("a\n", "@@ nowhere\n+x")
    with pytest.raises(ToolError, match="at the end of the file"):
        apply("a\nb\n", "@@\n-a\n+x\n*** End of File")


def test_a_hostile_patch_takes_no_minutes() -> None:
    """H1-4"""
    text = "a\n" * 20_000 + "b\n"
    lines: list[tuple[Marker, str]] = [(" ", "a")] * 10_000
    with pytest.raises(ToolError, match="occur too often"):
        apply_chunks(text, (Chunk((), (*lines, ("-", "c"))),))


LINES = st.lists(st.sampled_from(["a", "b", " c", "d ", "", "“q”", "\udcff"]), min_size=1, max_size=12)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_whole_diff_turns_one_text_into_the_other(old: list[str], new: list[str], newline: str, ended: bool) -> None:
    """H1-10"""
    last = newline if ended else ""
    before, after = newline.join(old) + last, newline.join(new) + last
    if not ended and (not old[-1] or not new[-1]):
        return  # an empty last line without a newline is no line
    if newline not in before:
        return  # the text shows no newline style
    lines: list[tuple[Marker, str]] = []
    at = 0
    for change in diff_lines(old, new):
        lines += [(" ", line) for line in old[at : change.old_start]]
        lines += [("-", line) for line in old[change.old_start : change.old_end]]
        lines += [("+", line) for line in new[change.new_start : change.new_end]]
        at = change.old_end
    lines += [(" ", line) for line in old[at:]]
    result = apply_chunks(before, (Chunk((), tuple(lines)),)).text
    # Where the last line is only removed, the newline before it stays: no change names it.
    assert result == after or (not ended and lines[-1][0] == "-" and result == after + newline)
