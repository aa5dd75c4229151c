"""The patch format of apply_patch: what is read, what is refused, and that any text is one or the other."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.tools.files.patch_format import (
    AddFile,
    Chunk,
    DeleteFile,
    FileSection,
    Marker,
    PatchFormatError,
    UpdateFile,
    parse_patch,
    patch_paths,
)

WHOLE = """\
*** Begin Patch
*** Add File: docs/new.md
+# Title
+
*** Delete File: old.txt
*** Update File: src/a.py
*** Move to: src/b.py
@@ class A:
@@     def f(self):
-        pass
+        return 1
@@
 last
+end
*** End of File
*** End Patch"""


def test_each_kind_of_section_is_read() -> None:
    """H1-4"""
    assert parse_patch(WHOLE) == (
        AddFile("docs/new.md", "# Title\n\n"),
        DeleteFile("old.txt"),
        UpdateFile(
            "src/a.py",
            (
                Chunk(("class A:", "    def f(self):"), (("-", "        pass"), ("+", "        return 1"))),
                Chunk((), ((" ", "last"), ("+", "end")), at_end=True),
            ),
            "src/b.py",
        ),
    )
    assert list(patch_paths(parse_patch(WHOLE))) == ["docs/new.md", "old.txt", "src/a.py", "src/b.py"]


@pytest.mark.parametrize(
    "text",
    [
        f"<<'EOF'\n{WHOLE}\nEOF\n",
        f"\n  {WHOLE}  \n\n",
        WHOLE.replace("\n", "\r\n"),
        WHOLE.replace("*** Begin Patch", "*** Begin Patch  ").replace("*** Delete", "  *** Delete"),
        WHOLE.replace("*** End of File\n", "*** End of File\n\n"),
        WHOLE.replace("*** Update File: ", "\n*** Update File:   "),
    ],
)
def test_blanks_and_a_here_document_around_markers_do_not_matter(text: str) -> None:
    """H1-4"""
    assert parse_patch(text) == parse_patch(WHOLE)


def test_the_first_change_needs_no_marker_and_an_empty_line_stands_for_itself() -> None:
    """H1-4"""
    text = "*** Begin Patch\n*** Update File: a\n one\n\n+two\n*** End Patch"
    assert parse_patch(text) == (UpdateFile("a", (Chunk((), ((" ", "one"), (" ", ""), ("+", "two"))),)),)


def test_a_kept_line_may_look_like_a_marker() -> None:
    """H1-4"""
    text = "*** Begin Patch\n*** Update File: a\n *** Add File: b\n+*** End Patch\n*** End Patch"
    (section,) = parse_patch(text)
    assert section == UpdateFile("a", (Chunk((), ((" ", "*** Add File: b"), ("+", "*** End Patch"))),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "first line of the patch must be '*** Begin Patch'"),
        ("*** Begin Patch", "last line of the patch must be '*** End Patch'"),
        ("*** Begin Patch\nbad\n*** End Patch", "'bad' stands where a section must begin"),
        ("*** Begin Patch\n*** End Patch", "has no section"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "the update of a is empty"),
        ("*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch", "has no lines"),
        ("*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch", "'x' begins with none of"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "must begin with '+'"),
        ("*** Begin Patch\n*** Delete File:\n*** End Patch", "must be followed by a path"),
        ("*** Begin Patch\n" + "\n" * 300_000 + "*** End Patch", "more than 200,000 lines"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_reason(text: str, problem: str) -> None:
    """H1-4"""
    with pytest.raises(PatchFormatError, match=re.escape(problem)):
        parse_patch(text)


PATH = st.from_regex(r"[a-z][a-z/.]{0,10}[a-z]", fullmatch=True)
LINE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12)
MARKERS: st.SearchStrategy[Marker] = st.sampled_from((" ", "-", "+"))
CHUNK = st.builds(
    Chunk,
    st.lists(LINE.filter(lambda line: line == line.rstrip() and line), max_size=2).map(tuple),
    st.lists(st.tuples(MARKERS, LINE), min_size=1, max_size=5).map(tuple).filter(lambda lines: lines[-1] != (" ", "")),
    st.booleans(),
)
SECTION = st.one_of(
    st.builds(AddFile, PATH, st.lists(LINE, max_size=4).map(lambda lines: "".join(f"{line}\n" for line in lines))),
    st.builds(DeleteFile, PATH),
    st.builds(UpdateFile, PATH, st.lists(CHUNK, min_size=1, max_size=3).map(tuple), st.one_of(st.just(""), PATH)),
)


def written(section: FileSection) -> list[str]:
    match section:
        case AddFile(path, content):
            return [f"*** Add File: {path}", *(f"+{line}" for line in content.split("\n")[:-1])]
        case DeleteFile(path):
            return [f"*** Delete File: {path}"]
        case UpdateFile(path, chunks, move_to):
            lines = [f"*** Update File: {path}"] + ([f"*** Move to: {move_to}"] if move_to else [])
            for chunk in chunks:
                lines += ["@@", *(f"@@ {context}" for context in chunk.contexts)]
                lines += [marker + text for marker, text in chunk.lines]
                lines += ["*** End of File"] if chunk.at_end else []
            return lines


@given(st.lists(SECTION, min_size=1, max_size=4))
def test_what_is_written_is_what_is_read(sections: list[FileSection]) -> None:
    """H1-4"""
    body = [line for section in sections for line in written(section)]
    assert parse_patch("\n".join(["*** Begin Patch", *body, "*** End Patch"])) == tuple(sections)


@given(st.text(st.sampled_from("*@+- \nabEF\r\0"), max_size=200), st.booleans())
def test_any_text_is_a_patch_or_is_refused(text: str, wrapped: bool) -> None:
    """H1-4"""
    if wrapped:
        text = f"*** Begin Patch\n*** Update File: a\n{text}\n*** End Patch"
    with suppress(PatchFormatError):
        assert parse_patch(text)
