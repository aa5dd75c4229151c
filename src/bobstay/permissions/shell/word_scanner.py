"""Scans one shell word: quotes, escapes, expansions. Anything ambiguous is marked or refused."""

import re
from typing import Literal

from bobstay.permissions.shell.syntax import NotUnderstood, Part, Script, Word

RUN = re.compile(r"[A-Za-z0-9_@%+=:,./^!\]-]+")
"""Literal characters in a word (`=` and `:` matter only to a tilde behind them)."""
IN_QUOTES = re.compile(r'[^"\\$`]+')
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAMETER = re.compile(
    r"\{(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+)(?P<operation>:?[-+?][^$`'\"\\{}()<>|&;*?\[\]~!]*|%%?[\w.,/*-]*|##?[\w.,/*-]*"
    r"|//?[\w.,-]*/[\w.,-]*|\^\^?|,,?|:[0-9]+(?::[0-9]+)?)?|#(?P<length>[A-Za-z_][A-Za-z0-9_]*))\}"
)
"""`${n}`, `${#n}` and operators whose operand is plain text."""
SUMS = re.compile(r"[0-9\s+*/%()<>=!&|^~?:,-]*")
"""Arithmetic without variables."""
COUNTED = re.compile(r"(?![\s\S]*(?:<<|\*\*))[0-9\s+*/%()<>=&|^?:,]{1,16}")
"""Arithmetic that cannot become negative, not even by overflow."""
SPECIAL = "?#$!@*-"
STOPS = " \t\n;&|<>()"
DEEPEST = 40
LONGEST_SUM = 200
ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
CODED = re.compile(
    r"\\(?:x\{([0-9A-Fa-f]+)\}?|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|([\s\S]))"
)
ASCII = re.compile(r"[\x00-\x7f]+")
BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")


class WordScanner:
    """The layer of the parser that scans words."""

    def __init__(self, text: str, at: int, end: int, depth: int) -> None:
        self.text = text
        self.at = at
        self.end = end
        self.depth = depth
        self.trouble = ""
        """Why the text may never be allowed although it could be parsed; the first reason found."""

    def nested(self, closer: str) -> Script:
        raise NotImplementedError

    def within(self, start: int, end: int) -> Script:
        raise NotImplementedError

    def doubt(self, why: str) -> None:
        self.trouble = self.trouble or why

    def word(self) -> Word:
        """Scan the word at the current position; there must be one."""
        text, start = self.text, self.at
        found = Word("", start, [])
        if text.startswith("#", start, self.end):
            raise NotUnderstood(f"a comment is where a word is expected (character {start})")
        while self.at < self.end:
            character = text[self.at]
            if run := RUN.match(text, self.at, self.end):
                found.parts.append(Part("text", run.group()))
                self.at = run.end()
            elif character in STOPS:
                if character in "<>" and text[self.at + 1 : self.at + 2] == "(":
                    self._process_substitution(found, start)
                    continue
                break
            else:
                self._piece(found, character, start)
        if self.at == start:
            raise NotUnderstood(f"there is no word where one is expected (character {start})")
        found.source = text[start : self.at]
        if found.brace:
            found.brace = _may_expand(found.source)
        return found

    def _piece(self, found: Word, character: str, start: int) -> None:
        text = self.text
        match character:
            case "'":
                close = text.find("'", self.at + 1, self.end)
                if close < 0:
                    raise NotUnderstood("a single quote is not closed")
                found.parts.append(Part("text", text[self.at + 1 : close], True))
                self.at = close + 1
            case '"':
                self.at += 1
                self._double(found.parts)
            case "\\":
                self._escape(found.parts)
            case "$":
                self._dollar(found.parts, quoted=False)
            case "`":
                self._backtick(found.parts, quoted=False)
            case _:
                if character in "*?[":
                    found.glob = found.glob or character != "[" or not self._is_lone(start)
                elif character == "{":
                    found.brace = True
                elif character == "~":
                    found.tilde = found.tilde or self.at == start or text[self.at - 1] in "=:"
                found.parts.append(Part("text", character))
                self.at += 1

    def _is_lone(self, start: int) -> bool:
        return self.at == start and (self.at + 1 >= self.end or self.text[self.at + 1] in STOPS)

    def _process_substitution(self, found: Word, start: int) -> None:
        if self.at != start:
            raise NotUnderstood("a process substitution is inside a word")
        self.at += 2
        script = self.nested(")")
        found.parts.append(Part("pipe", self.text[start : self.at], False, script, start))
        if self.at < self.end and self.text[self.at] not in STOPS:
            self.doubt("a process substitution is part of a longer word")

    def _escape(self, parts: list[Part]) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.end)]
        if not following:
            raise NotUnderstood("it ends with a backslash")
        if following == "\n":
            self.doubt("a line is continued inside a word")
        else:
            if following == "`":
                self.doubt("a backtick is escaped")
            parts.append(Part("text", following, True))
        self.at += 2

    def _double(self, parts: list[Part]) -> None:
        """Scan the text between double quotes; the opening one was already consumed."""
        text = self.text
        parts.append(Part("text", "", True))
        while self.at < self.end:
            if run := IN_QUOTES.match(text, self.at, self.end):
                parts.append(Part("text", run.group(), True))
                self.at = run.end()
                continue
            character = text[self.at]
            if character == '"':
                self.at += 1
                return
            if not self.expansion(parts):
                self._quoted_escape(parts)
        raise NotUnderstood("a double quote is not closed")

    def expansion(self, parts: list[Part]) -> bool:
        """Scan the expansion at the current position of quoted text, if there is one."""
        match self.text[self.at]:
            case "$":
                self._dollar(parts, quoted=True)
            case "`":
                self._backtick(parts, quoted=True)
            case _:
                return False
        return True

    def _quoted_escape(self, parts: list[Part]) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.end)]
        if following == "\n":
            self.doubt("a line is continued inside quotes")
        elif following == "`":
            self.doubt("a backtick is escaped")
        elif following and following in '"$\\':
            parts.append(Part("text", following, True))
        else:
            parts.append(Part("text", "\\" + following, True))
        self.at += 2

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        text, start = self.text, self.at
        following = text[start + 1 : min(start + 2, self.end)]
        if following == "(":
            self._parenthesis(parts, quoted)
        elif following == "{":
            self._parameter(parts, quoted)
        elif following == "[":
            self.doubt("arithmetic in $[ ] may run what a variable holds")
            self.at += 2
            self._skip_expansion("]", parts, quoted)
        elif following == "'" and not quoted:
            self._ansi_c_quote(parts)
        elif following == '"' and not quoted:
            self.at += 2
            self._double(parts)
        elif name := NAME.match(text, start + 1, self.end):
            parts.append(Part("variable", name.group(), quoted))
            self.at = name.end()
        elif following and (following in SPECIAL or following.isdigit()):
            parts.append(Part("number" if following in "?#$" else "variable", following, quoted))
            self.at += 2
        else:
            parts.append(Part("text", "$", quoted))
            self.at += 1

    def _parenthesis(self, parts: list[Part], quoted: bool) -> None:
        start = self.at
        if self.text.startswith("((", start + 1):
            close = self.arithmetic(start + 3)
            kind: Literal["number", "other"] = (
                "number" if COUNTED.fullmatch(self.text[start + 3 : close - 2]) else "other"
            )
            parts.append(Part(kind, self.text[start:close], quoted))
            self.at = close
            return
        self.at += 2
        script = self.nested(")")
        parts.append(Part("script", self.text[start : self.at], quoted, script, start))

    def arithmetic(self, start: int) -> int:
        """Check the arithmetic `... ))` that begins at `start`; returns where it ends."""
        close = self.text.find("))", start, self.end)
        while 0 <= close <= start + LONGEST_SUM:
            inner = self.text[start:close]
            if SUMS.fullmatch(inner) and inner.count("(") == inner.count(")"):
                return close + 2
            close = self.text.find("))", close + 1, self.end)
        raise NotUnderstood("arithmetic names a variable or cannot be parsed")

    def _parameter(self, parts: list[Part], quoted: bool) -> None:
        start = self.at
        simple = PARAMETER.match(self.text, start + 1, self.end)
        if simple is not None:
            name = simple.group("name")
            if name:
                parts.append(Part("other" if simple.group("operation") else "variable", name, quoted))
            else:
                parts.append(Part("number", simple.group(), quoted))
            self.at = simple.end()
            return
        self.doubt("an expansion in ${ } does more than insert a variable")
        self.at += 2
        self._skip_expansion("}", parts, quoted)

    def _skip_expansion(self, closer: str, parts: list[Part], quoted: bool) -> None:
        """Skip text that is never allowed, collecting only the substitutions in it."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotUnderstood("it is nested too deeply")
        while self.at < self.end:
            character = self.text[self.at]
            if character == closer:
                self.at += 1
                self.depth -= 1
                parts.append(Part("other", "", quoted))
                return
            if character == "\\":
                self.at += 2
            elif character == "'" and not quoted:
                close = self.text.find("'", self.at + 1, self.end)
                self.at = close + 1 if close >= 0 else self.end
            elif not self.expansion(parts):
                self.at += 1
        raise NotUnderstood(f"an expansion has no closing {closer}")

    def _backtick(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        close = self.text.find("`", start + 1, self.end)
        if close < 0:
            raise NotUnderstood("a backtick is not closed")
        if "\\" in self.text[start:close]:
            raise NotUnderstood("a backslash is between backticks")
        script = self.within(start + 1, close)
        self.at = close + 1
        parts.append(Part("script", self.text[start : self.at], quoted, script, start))

    def _ansi_c_quote(self, parts: list[Part]) -> None:
        """Scan `$'...'`, with its escape sequences."""
        position = self.at + 2
        while position < self.end and self.text[position] != "'":
            position += 2 if self.text[position] == "\\" else 1
        if position >= self.end:
            raise NotUnderstood("a single quote is not closed")
        text = self.text[self.at + 2 : position]
        value = decode_escapes(text)
        if "\0" in value or "\\c" in text or "\\x{" in text:
            self.doubt("an escape encodes a NUL or control character, or is one that few shells support")
        # The locale decides which bytes a non-ASCII letter becomes, and some escapes encode single bytes.
        known = len(ASCII.sub("", value)) <= len(ASCII.sub("", text))
        parts.append(Part("text" if known else "other", value, True))
        self.at = position + 1


def _may_expand(source: str) -> bool:
    """Whether braces may expand. A closing brace need not end them: it may be quoted or literal."""
    first, last = source.find("{"), source.rfind("}")
    inside = source[first + 1 : last]
    return bool(BRACES.search(source)) or "{" in source[first + 1 :] or "," in inside or ".." in inside


def decode_escapes(text: str) -> str:
    """Decode the escapes inside `$'...'`."""
    return CODED.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    braced, two, four, eight, octal, other = found.groups()
    if braced:
        return chr(int(braced[-8:], 16) & 0xFF)
    if number := two or four or eight:
        code = int(number, 16)
        return chr(code) if code < 0x110000 else "\0"
    if octal:
        return chr(int(octal, 8) & 0xFF)
    simple: str = ESCAPES.get(other, "")
    return simple or (other if other in "\\'\"?" else "\\" + other)
