"""Scans redirections, here-documents, and the blanks, comments and newlines between commands."""

import re

from bobstay.permissions.shell.syntax import NotUnderstood, Part, Redirect
from bobstay.permissions.shell.word_scanner import STOPS, WordScanner

REDIRECT = re.compile(r"([0-9]*)(<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)|(&>>|&>)")
BEGINS = frozenset("0123456789<>&")
DELIMITER = re.compile(r"'([^'\n]+)'|\"([^\"\n$`\\]+)\"|([A-Za-z0-9_.-]+)")
BLANK = re.compile(r"(?:[ \t]|(?<=[ \t])\\\n)*")
"""A line continuation counts as a blank only behind one, where no parser can read it as part of a word."""
IN_DOCUMENT = re.compile(r"[^\\$`]+")


class RedirectScanner(WordScanner):
    """The layer of the parser that scans redirections."""

    def __init__(self, text: str, at: int, end: int, depth: int) -> None:
        super().__init__(text, at, end, depth)
        self.waiting: list[tuple[Redirect, str, bool]] = []
        """Here-documents whose body begins on the next line: redirection, delimiter, and whether tabs are removed."""
        self.documents = 0

    def redirect(self) -> Redirect | None:
        self.blanks()
        if self.at >= self.end or self.text[self.at] not in BEGINS:
            return None
        opening = REDIRECT.match(self.text, self.at, self.end)
        if opening is None:
            return None
        descriptor, operator, both = opening.groups()
        operator = operator or both
        if operator in "<>" and self.text.startswith("(", opening.end(), self.end):
            if descriptor:
                raise NotUnderstood("a process substitution follows a number")
            return None
        self.at = opening.end()
        self.blanks()
        found = Redirect(operator, descriptor=descriptor or "")
        if operator in ("<<", "<<-"):
            self._document(found)
        else:
            found.target = self.word()
        return found

    def _document(self, found: Redirect) -> None:
        self.documents += 1
        if self.documents > 1:
            self.doubt("there is more than one here-document")
        delimiter = DELIMITER.match(self.text, self.at, self.end)
        stop = delimiter.end() if delimiter else self.at
        if delimiter is None or (stop < self.end and self.text[stop] not in STOPS):
            raise NotUnderstood("the delimiter of a here-document is neither unquoted text nor entirely quoted")
        found.quoted = delimiter.group(3) is None
        self.waiting.append(
            (found, delimiter.group(1) or delimiter.group(2) or delimiter.group(3), found.operator == "<<-")
        )
        self.at = stop

    def _bodies(self) -> None:
        """Read the bodies of the here-documents that begin on this line."""
        for found, delimiter, tabs in self.waiting:
            found.start = start = self.at
            while True:
                if self.at >= self.end:
                    raise NotUnderstood(f"a here-document has no closing {delimiter}")
                stop = self.text.find("\n", self.at, self.end)
                stop = self.end if stop < 0 else stop
                line = self.text[self.at : stop]
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                self.at = stop + 1
            found.body = self.text[start : self.at]
            found.stop = stop - len(delimiter)
            if not found.quoted:
                self._expanded_body(found, start, self.at)
            self.at = stop
        self.waiting = []

    def _expanded_body(self, found: Redirect, start: int, end: int) -> None:
        inner = type(self)(self.text, start, end, self.depth)
        expanded: list[Part] = []
        while inner.at < end:
            if run := IN_DOCUMENT.match(self.text, inner.at, end):
                inner.at = run.end()
            elif not inner.expansion(expanded):
                if self.text[inner.at + 1 : inner.at + 2] in ("\n", "`"):
                    inner.doubt("a line is continued, or a backtick escaped, in a here-document")
                inner.at += 2
        found.inner = expanded
        self.doubt(inner.trouble)

    def blanks(self) -> None:
        if self.at >= self.end or self.text[self.at] not in " \t\\":
            return
        if found := BLANK.match(self.text, self.at, self.end):
            self.at = found.end()

    def skip_lines(self) -> None:
        """Skip blanks, comments and newlines; behind a newline the bodies of here-documents are read."""
        while True:
            self.blanks()
            if self.at >= self.end:
                return
            character = self.text[self.at]
            if character == "#":
                stop = self.text.find("\n", self.at, self.end)
                self.at = self.end if stop < 0 else stop
            elif character == "\n":
                self.at += 1
                if self.waiting:
                    self._bodies()
            else:
                return
