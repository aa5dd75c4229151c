"""Reads the part of YAML that people write in front matter, and text that is nearly YAML; never fails.

A full YAML parser refuses a whole document for one colon too many, and would be a dependency that every start pays for.
This one keeps what it understands: a line it cannot read is skipped and reported.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct

from bobstay.markdown.yaml_document import YamlDocument, YamlProblem
from bobstay.markdown.yaml_scalars import (
    BLANKS,
    DEEPEST,
    NotFlowError,
    flow_end,
    parse_flow,
    quoted_end,
    resolve_plain,
    unquote,
)

MOST_PROBLEMS = 20
_KEY = re.compile(
    r"""(?:"((?:[^"\\]|\\.){0,200})"|'((?:[^']|''){0,200})'|([^\s#'"\[\]{},|>&*!%@`?:-][^:]{0,200}?|-[^\s:][^:]{0,200}?))"""
    r"""[ ]*:(?:[ ]+(.*)|$)"""
)
_BLOCK = re.compile(r"([|>])([-+]?)([1-9]?)([-+]?)(?:[ ]+#.*)?")
_COMMENT = re.compile(r"(?:^|[ \t\n])#.*$")


def parse_yaml(text: str) -> YamlDocument:
    """Read a mapping. Lines that are none of it are reported and skipped."""
    reader = _Reader(text)
    fields: dict[str, Any] = reader.read_flow_document()
    while (line := reader.next_line()) is not None:
        if _is_item(line) or not _KEY.fullmatch(line.text):
            reader.skip("expected `key: value`")
        else:
            fields.update(reader.read_block(-1, 0))
    return YamlDocument(fields, tuple(reader.problems))


class _Line(Struct):
    number: int
    indent: int
    text: str
    """Without indentation and blanks at its end."""


class _Reader:
    """A position in the lines of a document. `position` only grows, so that reading takes linear time."""

    def __init__(self, text: str) -> None:
        self.raw = [_expand_indentation(line.rstrip("\r")) for line in text.split("\n")]
        self.lines = [
            _Line(number, len(line) - len(line.lstrip(" ")), line.strip(BLANKS))
            for number, line in enumerate(self.raw, 1)
        ]
        self.position = 0
        self.problems: list[YamlProblem] = []

    def next_line(self) -> _Line | None:
        """Return the next line that is not empty and not a comment."""
        while self.position < len(self.lines):
            line = self.lines[self.position]
            if line.text and not line.text.startswith("#"):
                return line
            self.position += 1
        return None

    def skip(self, why: str) -> None:
        line = self.lines[self.position]
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(YamlProblem(line.number, f"{why}: {line.text[:80]}"))
        self.position += 1

    def read_flow_document(self) -> dict[str, Any]:
        """Read a document that is one inline map; empty if it is none."""
        line = self.next_line()
        if line is None or not line.text.startswith("{"):
            return {}
        start, self.position = self.position, self.position + 1
        if text := self._extend(line.text, -1, flow_end):
            with suppress(NotFlowError):
                found = parse_flow(text)
                return found if isinstance(found, dict) else {}
        self.position = start
        return {}

    def read_block(self, parent: int, depth: int) -> Any:
        """Read the value whose lines are indented by more than `parent`."""
        line = self.next_line()
        if line is None or line.indent <= parent or depth > DEEPEST:
            return None
        if _is_item(line):
            return self._read_list(line.indent, depth)
        if _KEY.fullmatch(line.text):
            return self._read_mapping(line.indent, depth)
        self.position += 1
        return self._read_inline(line.text, parent, depth)

    def _read_mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self.next_line()) is not None and line.indent >= indent:
            key = _KEY.fullmatch(line.text) if line.indent == indent and not _is_item(line) else None
            if key is None:
                self.skip("expected `key: value`")
                continue
            self.position += 1
            found[_key_name(key)] = self._read_value(key[4] or "", indent, depth)
        return found

    def _read_value(self, rest: str, indent: int, depth: int) -> Any:
        if rest and not rest.startswith("#"):
            return self._read_inline(rest, indent, depth)
        line = self.next_line()
        if line is not None and line.indent == indent and _is_item(line):
            return self._read_list(indent, depth + 1)  # YAML lets the items stand below their key
        return self.read_block(indent, depth + 1)

    def _read_list(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while (line := self.next_line()) is not None and line.indent >= indent:
            if line.indent > indent or not _is_item(line):
                if line.indent == indent:
                    break
                self.skip("expected `- item`")
                continue
            content = line.text[1:].lstrip(" ")
            if not content or content.startswith("#"):
                self.position += 1
                found.append(self.read_block(indent, depth + 1))
                continue
            inner = _Line(line.number, indent + len(line.text) - len(content), content)
            if depth < DEEPEST and (_is_item(inner) or _KEY.fullmatch(content)):
                # The rest of the line begins a block of its own, which goes on below it.
                self.lines[self.position] = inner
                found.append(self.read_block(indent, depth + 1))
                continue
            self.position += 1
            found.append(self._read_inline(content, indent, depth + 1))
        return found

    def _read_inline(self, rest: str, indent: int, depth: int) -> Any:
        """Read a value that begins on the line before the position, whose further lines are indented by more."""
        if block := _BLOCK.fullmatch(rest):
            return self._read_block_scalar(block, indent)
        if rest[0] in "'\"" and (text := self._extend(rest, indent, quoted_end)):
            return unquote(text)
        if rest[0] in "[{" and (text := self._extend(rest, indent, flow_end)):
            try:
                return parse_flow(text)
            except NotFlowError:
                return " ".join(text.split())
        plain = _COMMENT.sub("", " ".join([rest, *self._continuation(indent)])).strip(BLANKS)
        return resolve_plain(plain) if depth else plain

    def _extend(self, rest: str, indent: int, find_end: Callable[[str], int]) -> str:
        """Return the text up to the end of a quoted scalar or collection, over several lines if need be; "" if none."""
        last = self._last_continuation(indent)
        text = "\n".join([rest, *self.raw[self.position : last]])
        end = find_end(text)
        line_end = text.find("\n", end)
        if end < 0 or _COMMENT.sub("", text[end : line_end if line_end >= 0 else len(text)]).strip(BLANKS):
            return ""  # something follows it: it was only the beginning of plain text
        self.position += text.count("\n", 0, end)
        return text[:end]

    def _last_continuation(self, indent: int) -> int:
        last = self.position
        while last < len(self.lines):
            line = self.lines[last]
            if line.text and line.indent <= indent and not (line.indent == indent and line.text[0] in "]}"):
                break
            last += 1
        return last

    def _continuation(self, indent: int) -> list[str]:
        found: list[str] = []
        while self.position < len(self.lines):
            line = self.lines[self.position]
            if not line.text or line.indent <= indent:
                break
            found.append(line.text)
            self.position += 1
        return found

    def _read_block_scalar(self, header: re.Match[str], indent: int) -> str:
        start, last = self.position, self.position
        content = max(indent, 0) + int(header[3]) if header[3] else 0
        while last < len(self.lines):
            line = self.lines[last]
            if line.text:
                content = content or line.indent
                if line.indent <= indent or line.indent < content:
                    break
            last += 1
        self.position = last
        rows = [row[content:].rstrip(" ") if not row.strip(BLANKS) else row[content:] for row in self.raw[start:last]]
        kept = len(rows)
        while kept and not rows[kept - 1]:
            kept -= 1
        text = "\n".join(rows[:kept]) if header[1] == "|" else _fold(rows[:kept])
        chomping = header[2] or header[4]
        if chomping == "+":
            return text + "\n" * (len(rows) - kept + bool(kept))
        return text if chomping == "-" or not kept else text + "\n"


def _expand_indentation(line: str) -> str:
    text = line.lstrip(" \t")
    return line[: len(line) - len(text)].expandtabs(2) + text


def _is_item(line: _Line) -> bool:
    return line.text == "-" or line.text.startswith("- ")


def _key_name(key: re.Match[str]) -> str:
    if key[1] is not None:
        return unquote(f'"{key[1]}"')
    return key[2].replace("''", "'") if key[2] is not None else key[3].strip()


def _fold(rows: list[str]) -> str:
    """Join the rows of a `>` scalar: with blanks, but not around rows that are empty or indented further."""
    text = ""
    breaks = 0
    previous_plain = False
    for number, row in enumerate(rows):
        if not row:
            breaks += 1
            continue
        plain = row[0] not in " \t"
        if number:
            if plain and previous_plain:
                text += "\n" * breaks if breaks else " "
            else:
                text += "\n" * (breaks + (1 if text else 0))
        text += row
        breaks, previous_plain = 0, plain
    return text
