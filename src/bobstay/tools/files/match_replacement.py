"""Merges new text into a match so that unchanged text keeps the file's own characters."""

from bobstay.tools.files.file_content import Newline, dominant_newline, with_plain_newlines
from bobstay.tools.files.lookalikes import fold_lookalikes
from bobstay.tools.files.text_diff import diff_lines
from bobstay.tools.files.text_match import Span


def merge_replacement(text: str, span: Span, old: str, new: str) -> str:
    """The text to put at `span` of `text`, given that `old` was meant to become `new`."""
    present = text[span.start : span.end]
    if present == old and "\r" not in text:
        return new
    given, wanted = with_plain_newlines(old), with_plain_newlines(new)
    if given == wanted:  # the change is to the newlines themselves
        return new
    if "\r" not in text:  # carriage returns in the new text are intended
        wanted = new
    newline = _newline_at(text, span)
    piece = _by_lines(text, span, given.split("\n"), wanted.split("\n"), newline)
    return _keep_newlines_apart(text, span, piece)


def _by_lines(text: str, span: Span, given: list[str], wanted: list[str], newline: str) -> str:
    """Take unchanged lines from the file, whose lines at `span` match `given`, and the rest from `wanted`."""
    bodies, ends = _split(text[span.start : span.end])
    out: list[str] = []

    def keep(first: int, last: int) -> None:
        for at in range(first, last):
            out.append(bodies[at])
            out.append(ends[at] or newline)

    done = 0
    for change in diff_lines(given, wanted):
        keep(done, change.old_start)
        pairwise = change.old_end - change.old_start == change.new_end - change.new_start
        for offset, line in enumerate(wanted[change.new_start : change.new_end]):
            at = change.old_start + offset
            if span.reindent is not None:
                out.append(line if at == 0 and span.inside else span.reindent(line))
            else:
                out.append(_merge_line(bodies[at], given[at], line) if pairwise else line)
            out.append((ends[at] if pairwise else "") or newline)
        done = change.old_end
    keep(done, len(bodies))
    return "".join(out[:-1])


def _merge_line(present: str, given: str, wanted: str) -> str:
    """`wanted`, with the prefix and suffix it shares with `given` taken from `present`."""
    if present == given or len(present) != len(given):
        return wanted
    left, right = fold_lookalikes(given), fold_lookalikes(wanted)
    most = min(len(left), len(right))
    head = next((at for at in range(most) if left[at] != right[at]), most)
    most -= head
    tail = next((at for at in range(most) if left[-1 - at] != right[-1 - at]), most)
    return present[:head] + wanted[head : len(wanted) - tail] + present[len(present) - tail :]


def _split(text: str) -> tuple[list[str], list[str]]:
    """The lines of `text` and their line endings; the last ending is empty."""
    bodies = with_plain_newlines(text).split("\n")
    ends: list[str] = []
    at = 0
    for body in bodies[:-1]:
        at += len(body)
        end = "\r\n" if text.startswith("\r\n", at) else text[at]
        ends.append(end)
        at += len(end)
    return bodies, [*ends, ""]


def _keep_newlines_apart(text: str, span: Span, piece: str) -> str:
    """Keep a newline at the edge of `piece` from merging with an adjacent half of CRLF."""
    if piece.startswith("\n") and text[span.start - 1 : span.start] == "\r" and text[span.start] != "\n":
        piece = "\r" + piece
    if piece.endswith("\r") and text[span.end : span.end + 1] == "\n" and text[span.end - 1] != "\r":
        piece += "\n"
    return piece


def _newline_at(text: str, span: Span) -> Newline:
    """The newline used in the match, or else the nearest before or after it."""
    usual = dominant_newline(text)
    if usual == "\r":
        return usual
    at = text.find("\n", span.start, span.end)
    if at < 0:
        at = text.rfind("\n", 0, span.start)
    if at < 0:
        at = text.find("\n", span.end)
    if at < 0:
        return usual
    return "\r\n" if text[at - 1 : at] == "\r" else "\n"
