"""The syntax tree of parsed shell text: words of parts, commands of words, scripts of commands."""

from typing import Literal, TypeAlias

from msgspec import Struct

UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./~^-")
"""A word of only these characters is compared without its quotes."""


class NotUnderstood(ValueError):  # noqa: N818 - it describes the text
    """The text is not valid shell syntax, or uses syntax that this parser does not support."""


class Part(Struct):
    """A piece of a word: literal text, or an expansion whose value the text does not contain."""

    kind: Literal["text", "variable", "script", "pipe", "number", "other"]
    text: str = ""
    """The literal text, the name of the variable, or the source."""
    quoted: bool = False
    script: "Script | None" = None
    start: int = 0
    """Where a substitution begins."""


class Word(Struct):
    source: str
    start: int
    parts: list[Part]
    glob: bool = False
    tilde: bool = False
    brace: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.source)

    @property
    def dynamic(self) -> bool:
        if len(self.parts) == 1:
            return self.parts[0].kind != "text"
        return any(part.kind != "text" for part in self.parts)

    @property
    def literal(self) -> bool:
        """Whether the shell passes it on as exactly `value`."""
        return not (self.glob or self.tilde or self.brace) and not self.dynamic

    @property
    def value(self) -> str:
        """The literal text in it."""
        if len(self.parts) == 1:
            return self.parts[0].text if self.parts[0].kind == "text" else ""
        return "".join(part.text for part in self.parts if part.kind == "text")


class Redirect(Struct):
    operator: str
    target: Word | None = None
    descriptor: str = ""
    body: str = ""
    """The text of a here-document."""
    start: int = 0
    """Where the body begins."""
    stop: int = 0
    """Where its delimiter is."""
    quoted: bool = False
    inner: list[Part] = []
    """The expansions inside the here-document."""


class SimpleNode(Struct):
    """A simple command: assignments, words and redirections."""

    assignments: list[Word]
    words: list[Word]
    redirects: list[Redirect]


class Test(Struct):
    """`[[ ... ]]`. Operators are words of a single literal part."""

    words: list[Word]
    start: int
    end: int
    redirects: list[Redirect]


class Compound(Struct):
    kind: Literal["subshell", "group", "if", "loop", "for", "case", "function", "arithmetic"]
    scripts: "list[Script]"
    words: list[Word]
    redirects: list[Redirect]
    name: str = ""
    """The variable of a loop over words."""


Command: TypeAlias = "SimpleNode | Test | Compound"


class Pipeline(Struct):
    commands: list[Command]
    joint: str = ""
    """The operator before it: `&&`, `||`, or "" for the first of a list."""
    merged: bool = False
    """Some of its pipes also carry error output (`|&`)."""


class AndOrList(Struct):
    """Pipelines joined by `&&` and `||`, and whether the shell waits for them."""

    pipelines: list[Pipeline]
    background: bool = False


class Script(Struct):
    chains: list[AndOrList]
    start: int = 0
    end: int = 0


def is_message(script: Script) -> bool:
    """Whether it is exactly `cat <<'D' ... D`, the usual way to pass a long text as one argument."""
    if len(script.chains) != 1 or script.chains[0].background or len(script.chains[0].pipelines) != 1:
        return False
    commands = script.chains[0].pipelines[0].commands
    if len(commands) != 1 or not isinstance(commands[0], SimpleNode):
        return False
    simple = commands[0]
    return (
        [word.source for word in simple.words] == ["cat"]
        and not simple.assignments
        and len(simple.redirects) == 1
        and simple.redirects[0].operator == "<<"
        and simple.redirects[0].quoted
    )
