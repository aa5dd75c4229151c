"""Hunks applied to the old text give the new one; large differences take bounded time."""

import time

from hypothesis import example, given
from hypothesis import strategies as st

from bobstay.tools.files.numbered_lines import number_changed_lines
from bobstay.tools.files.patch import MAX_FIELD_SIZE, StructuredHunk, clip_display_text, make_patch, to_display_text
from bobstay.tools.files.text_diff import diff_lines
from tests.kit.waiting import DEADLINE

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "dd", "-x", "+y"]), max_size=30).map("\n".join)


def applied(old: str, hunks: list[StructuredHunk]) -> str:
    """Apply hunks as any patch program would."""
    lines = old.split("\n")
    ended = lines.pop() if lines[-1] == "" else None
    out: list[str] = []
    at = 0
    unended = ended is None
    for hunk in hunks:
        start = hunk["oldStart"] - 1 if hunk["oldLines"] else hunk["oldStart"]
        out += lines[at:start]
        at = start
        last = ""
        for line in hunk["lines"]:
            if line[0] in " -":
                assert lines[at] == line[1:]
                at += 1
            if line[0] in " +":
                out.append(line[1:])
            if line[0] == "\\":
                unended = last != "-"
            elif line[0] == "+" or (line[0] == " " and at == len(lines)):
                unended = False
            last = line[0]
    out += lines[at:]
    if hunks and at < len(lines):
        unended = ended is None
    return "\n".join(out) + ("" if unended or not out else "\n")


@given(TEXTS, TEXTS)
@example("a", "a\n")
@example("a\n", "a")
@example("", "a")
@example("a\n", "")
@example("x\na", "a")
def test_a_patch_applied_to_the_old_text_gives_the_new_text(old: str, new: str) -> None:
    assert applied(old, make_patch(old, new).hunks) == new


@given(TEXTS, TEXTS)
def test_the_counts_of_lines_agree_with_the_hunks(old: str, new: str) -> None:
    patch = make_patch(old, new)
    lines = [line[0] for hunk in patch.hunks for line in hunk["lines"]]
    assert (lines.count("+"), lines.count("-")) == (patch.added, patch.removed)
    for hunk in patch.hunks:
        signs = [line[0] for line in hunk["lines"]]
        assert hunk["oldLines"] == signs.count(" ") + signs.count("-")
        assert hunk["newLines"] == signs.count(" ") + signs.count("+")


def test_a_hunk_has_the_shape_programs_know() -> None:
    assert make_patch("one\ntwo\n", "ONE\ntwo\n").hunks == [
        {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-one", "+ONE", " two"]}
    ]


def test_changes_far_apart_get_hunks_of_their_own() -> None:
    old = [f"line {number}\n" for number in range(50)]
    new = [*old]
    new[5], new[40] = "five\n", "forty\n"
    hunks = make_patch("".join(old), "".join(new)).hunks
    assert [(hunk["oldStart"], hunk["oldLines"]) for hunk in hunks] == [(3, 7), (38, 7)]


def test_two_large_texts_with_scattered_changes_are_compared_quickly() -> None:
    """H1-7: a million lines must not hang the call."""
    old = [f"line {number}" for number in range(100_000)]
    new = [*old]
    for number in range(0, 100_000, 1000):
        new[number] = "changed"
    begun = time.perf_counter()
    found = diff_lines(old, new)
    assert len(found) == 100
    assert time.perf_counter() - begun < DEADLINE


def test_two_large_texts_with_nothing_in_common_count_as_wholly_changed() -> None:
    found = diff_lines(["a"] * 5000, ["b"] * 6000)
    assert [(c.old_end - c.old_start, c.new_end - c.new_start) for c in found] == [(5000, 6000)]


def test_fields_for_programs_are_bounded() -> None:
    assert to_display_text("a" * MAX_FIELD_SIZE) == "a" * MAX_FIELD_SIZE
    assert to_display_text("a" * (MAX_FIELD_SIZE + 1)) is None
    assert to_display_text("ä" * MAX_FIELD_SIZE) is None
    assert len(clip_display_text("ä" * MAX_FIELD_SIZE).encode()) <= MAX_FIELD_SIZE


def test_a_patch_for_programs_is_bounded() -> None:
    patch = make_patch("", "x" * 100 + "\n" + "y" * (MAX_FIELD_SIZE + 1) + "\n")
    assert patch.added == 2
    assert patch.bounded() == []


def test_the_snippet_after_a_change_has_the_new_line_numbers() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 21))
    hunks = make_patch(old, old.replace("line 10\n", "ten\nand a half\n")).hunks
    assert (
        number_changed_lines(hunks)
        == "7\tline 7\n8\tline 8\n9\tline 9\n10\tten\n11\tand a half\n12\tline 11\n13\tline 12\n14\tline 13"
    )


def test_the_snippet_after_very_many_changes_stays_short() -> None:
    old = "".join(f"line {number}\n" for number in range(2000))
    snippet = number_changed_lines(make_patch(old, old.replace("00\n", "hundred\n")).hunks)
    assert len(snippet.split("\n")) < 60
    assert "more changed places" in snippet
