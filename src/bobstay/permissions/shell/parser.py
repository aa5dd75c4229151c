"""A small strict parser of the shell grammar: it parses exactly or raises, and never guesses."""

import re

from bobstay.permissions.shell.redirects import RedirectScanner
from bobstay.permissions.shell.syntax import (
    AndOrList,
    Command,
    Compound,
    NotUnderstood,
    Part,
    Pipeline,
    Script,
    SimpleNode,
    Test,
    Word,
    is_message,
)
from bobstay.permissions.shell.word_scanner import DEEPEST, NAME

KEYWORD = re.compile(r"(?:[a-z]+|!|\{|\}|\[\[)(?=[ \t\n;&|<>()]|\Z)")
CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
OPENERS = frozenset({"if", "for", "while", "until", "case", "select", "function", "{", "[[", "coproc"})
NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\+?=|\[)")
"""The beginning of an assignment to a variable or an array element."""
NUMBERED = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")
FUNCTION = re.compile(r"[ \t]*\([ \t]*\)[ \t\n]*")


def parse(text: str) -> tuple[Script, str]:
    """Parse the whole text as a script; also returns why it may never be allowed, or "". Raises `NotUnderstood`."""
    parser = Parser(text, 0, len(text), 0)
    script = parser.script()
    if parser.at < parser.end:
        raise NotUnderstood(f"unexpected {text[parser.at]!r} where a command must begin (character {parser.at})")
    if parser.waiting:
        raise NotUnderstood("a here-document has no body")
    return script, parser.trouble


class Parser(RedirectScanner):
    """The layer of the parser that combines words into commands, and commands into scripts."""

    _looked_at = -1
    _keyword = ""

    def nested(self, closer: str) -> Script:
        self.deepen()
        before = self.documents
        waiting, self.waiting = self.waiting, []
        if waiting:
            self.doubt("a substitution is on the line of a here-document")
        script = self.script()
        if self.at >= self.end or self.text[self.at] != closer or self.waiting:
            raise NotUnderstood(f"a substitution has no closing {closer}")
        self.waiting = waiting
        if self.documents > before and not is_message(script):
            self.doubt("a here-document is inside a substitution")
        self.at += 1
        self.depth -= 1
        return script

    def within(self, start: int, end: int) -> Script:
        inner = Parser(self.text, start, end, self.depth)
        inner.deepen()
        script = inner.script()
        if inner.at < inner.end or inner.waiting:
            raise NotUnderstood("the text between backticks is not a script")
        self.doubt(inner.trouble)
        if inner.documents:
            self.doubt("a here-document is between backticks")
        return script

    def deepen(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotUnderstood("it is nested too deeply")

    def script(self) -> Script:
        """Parse chains until a token that can only end them."""
        found = Script([], self.at)
        while True:
            self.skip_lines()
            if self.at >= self.end or self.text[self.at] in ");" or self.keyword() in CLOSERS:
                break
            chain = self._chain()
            found.chains.append(chain)
            following = self.text[self.at : min(self.at + 1, self.end)]
            if following == "&":
                chain.background = True
                self.at += 1
            elif following == ";" and self.text[self.at : self.at + 2] not in (";;", ";&"):
                self.at += 1
            elif following not in ("\n", "#"):
                break
        found.end = self.at
        return found

    def body(self, *closers: str) -> tuple[Script, str]:
        """Parse a script that must not be empty; returns it and the keyword that ends it."""
        script = self.script()
        closer = self.keyword()
        if not script.chains or closer not in closers:
            raise NotUnderstood(f"expected {' or '.join(closers)} (character {self.at})")
        self.at += len(closer)
        return script, closer

    def _chain(self) -> AndOrList:
        found = AndOrList([self._pipeline("")])
        while True:
            joint = self.text[self.at : min(self.at + 2, self.end)]
            if joint not in ("&&", "||"):
                return found
            self.at += 2
            self.skip_lines()
            found.pipelines.append(self._pipeline(joint))

    def _pipeline(self, joint: str) -> Pipeline:
        """Parse commands joined by pipes, and the blanks behind them."""
        found = Pipeline([], joint)
        while self.keyword() == "!":
            self.at += 1
            self.blanks()
        while True:
            found.commands.append(self._command())
            self.blanks()
            here = self.text[self.at : min(self.at + 2, self.end)]
            if not here.startswith("|") or here == "||":
                return found
            found.merged = found.merged or here == "|&"
            self.at += 2 if here == "|&" else 1
            self.skip_lines()

    def _command(self) -> Command:
        keyword = self.keyword()
        if keyword in OPENERS or self.text.startswith("(", self.at, self.end):
            self.deepen()
            found = self._opened(keyword)
            self.depth -= 1
            while redirect := self.redirect():
                found.redirects.append(redirect)
            return found
        if keyword in CLOSERS or keyword == "in":
            raise NotUnderstood(f"unexpected {keyword} where a command must begin (character {self.at})")
        return self._simple()

    def _opened(self, keyword: str) -> Command:
        start = self.at
        self.at += len(keyword)
        match keyword:
            case "":
                return self._parenthesis_command(start)
            case "{":
                script, _ = self.body("}")
                return Compound("group", [script], [], [])
            case "if":
                return self._if()
            case "while" | "until":
                condition, _ = self.body("do")
                script, _ = self.body("done")
                return Compound("loop", [condition, script], [], [])
            case "for" | "select":
                return self._for(keyword)
            case "case":
                return self._case()
            case "[[":
                return self._test(start)
            case "coproc":
                self.doubt("a coprocess keeps running in parallel with the shell")
                self.blanks()
                return self._command()
            case _:
                self.blanks()
                self.word()
                if parentheses := FUNCTION.match(self.text, self.at, self.end):
                    self.at = parentheses.end()
                return self._function()

    def _function(self) -> Compound:
        self.doubt("a function is defined, which may change the meaning of any command")
        self.skip_lines()
        self.deepen()
        inside = Script([AndOrList([Pipeline([self._command()])])], self.at, self.at)
        self.depth -= 1
        return Compound("function", [inside], [], [])

    def _parenthesis_command(self, start: int) -> Compound:
        if self.text.startswith("((", start, self.end):
            self.at = self.arithmetic(start + 2)
            return Compound("arithmetic", [], [], [])
        self.at += 1
        script = self.script()
        if not script.chains or self.text[self.at : min(self.at + 1, self.end)] != ")":
            raise NotUnderstood("a subshell is empty or not closed")
        self.at += 1
        return Compound("subshell", [script], [], [])

    def _if(self) -> Compound:
        scripts: list[Script] = []
        ends: tuple[str, ...] = ("elif", "else", "fi")
        while ends:
            if len(ends) > 1:
                condition, _ = self.body("then")
                scripts.append(condition)
            script, closer = self.body(*ends)
            scripts.append(script)
            ends = {"elif": ends, "else": ("fi",)}.get(closer, ())
        return Compound("if", scripts, [], [])

    def _for(self, keyword: str) -> Compound:
        self.blanks()
        name = NAME.match(self.text, self.at, self.end)
        if name is None:
            raise NotUnderstood(f"{keyword} is not followed by a name")
        self.at = name.end()
        words: list[Word] = []
        known = False
        self.skip_lines()
        if self.keyword() == "in":
            self.at += 2
            known = keyword == "for"
            self.blanks()
            while self.at < self.end and self.text[self.at] not in ";\n&|<>()":
                words.append(self.word())
                self.blanks()
        self.blanks()
        if self.text.startswith(";", self.at, self.end):
            self.at += 1
        self.skip_lines()
        if self.keyword() != "do":
            raise NotUnderstood(f"expected do (character {self.at})")
        self.at += 2
        script, _ = self.body("done")
        return Compound("for", [script], words, [], name.group() if known else "")

    def _case(self) -> Compound:
        self.blanks()
        found = Compound("case", [], [self.word()], [])
        self.skip_lines()
        if self.keyword() != "in":
            raise NotUnderstood("expected in after case")
        self.at += 2
        while True:
            self.skip_lines()
            if self.keyword() == "esac":
                self.at += 4
                return found
            self._case_item(found)

    def _case_item(self, found: Compound) -> None:
        if self.text.startswith("(", self.at, self.end):
            self.at += 1
        while True:
            self.blanks()
            found.words.append(self.word())
            self.blanks()
            here = self.text[self.at : min(self.at + 1, self.end)]
            self.at += 1
            if here == ")":
                break
            if here != "|":
                raise NotUnderstood("expected ) after the pattern of a case")
        found.scripts.append(self.script())
        for mark in (";;&", ";;", ";&"):
            if self.text.startswith(mark, self.at, self.end):
                self.at += len(mark)
                return
        if self.keyword() != "esac":
            raise NotUnderstood("expected ;; or esac")

    def _test(self, start: int) -> Test:
        words: list[Word] = []
        while True:
            self.skip_lines()
            here = self.text[self.at : min(self.at + 2, self.end)]
            if here == "]]":
                self.at += 2
                return Test(words, start, self.at, [])
            length = 2 if here in ("&&", "||") else 1 if here[:1] and here[0] in "()<>" else 0
            if length:
                words.append(Word(here[:length], self.at, [Part("text", here[:length])]))
                self.at += length
            else:
                words.append(self.word())

    def _simple(self) -> Command:
        found = SimpleNode([], [], [])
        while True:
            self.blanks()
            if redirect := self.redirect():
                found.redirects.append(redirect)
                continue
            if self.at >= self.end or self.text[self.at] in "\n;&|)#":
                break
            if self.text[self.at] == "(":
                return self._odd_parenthesis(found)
            self._add(found)
        if not (found.assignments or found.words or found.redirects):
            raise NotUnderstood(f"there is no command where one is expected (character {self.at})")
        return found

    def _add(self, found: SimpleNode) -> None:
        """Parse one more word, which may be an assignment."""
        named = None if found.words else NAMED.match(self.text, self.at, self.end)
        if named and named.group().endswith("["):
            self.doubt("a subscript may be evaluated")
        assigned = named if named and named.group().endswith("=") else None
        if assigned and self.text.startswith("(", assigned.end(), self.end):
            self.doubt("an array is assigned")
            start = self.at
            self.at = assigned.end() + 1
            word = self._array(start)
        else:
            word = self.word()
            if NUMBERED.fullmatch(word.source) and self.text[self.at : min(self.at + 1, self.end)] in ("<", ">"):
                self.doubt("a redirection stores its descriptor in a variable")
        (found.assignments if assigned else found.words).append(word)

    def _array(self, start: int) -> Word:
        parts: list[Part] = []
        while True:
            self.skip_lines()
            if self.text.startswith(")", self.at, self.end):
                self.at += 1
                return Word(self.text[start : self.at], start, [*parts, Part("other")])
            parts += self.word().parts

    def _odd_parenthesis(self, found: SimpleNode) -> Compound:
        """Parse `name ()`, which defines a function; any other parenthesis behind a word is refused."""
        opening = FUNCTION.match(self.text, self.at, self.end)
        if opening is None or len(found.words) != 1 or found.assignments or found.redirects:
            raise NotUnderstood(f"a parenthesis is inside a command (character {self.at})")
        self.at = opening.end()
        return self._function()

    def keyword(self) -> str:
        """The keyword at the current position, or ""; cached for repeated calls at the same position."""
        if self.at != self._looked_at:
            found = KEYWORD.match(self.text, self.at, self.end)
            self._looked_at, self._keyword = self.at, found.group() if found else ""
        return self._keyword
