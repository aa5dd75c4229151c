"""The shape of shell text once it is parsed: words of parts, commands of words, scripts of commands."""

from typing import Literal, TypeAlias

from msgspec import Struct

UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./~^-")
"""A word of these alone is compared without the quotes it was written with."""


class NotUnderstood(ValueError):  # noqa: N818 - it names a state of mind, not an event
    """The text is not shell, or shell of a kind this parser refuses to guess about."""


class Part(Struct):
    """A piece of a word: literal text, or something whose value the text does not tell."""

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
        """Whether the shell hands it over as `value` and nothing else."""
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
    """What a here-document holds."""
    start: int = 0
    """Where that begins."""
    stop: int = 0
    """Where its delimiter stands."""
    quoted: bool = False
    inner: list[Part] = []
    """What is expanded inside the here-document."""


class SimpleNode(Struct):
    """Assignments, words and redirections: what the shell runs in one go."""

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
    """What stands before it: `&&`, `||`, or nothing for the first of a list."""
    merged: bool = False
    """Errors go through some of its pipes as well."""


class AndOrList(Struct):
    """Pipelines joined by `&&` and `||`, and whether the shell waits for them."""

    pipelines: list[Pipeline]
    background: bool = False


class Script(Struct):
    chains: list[AndOrList]
    start: int = 0
    end: int = 0


def is_message(script: Script) -> bool:
    """Exactly `cat <<'D' ... D`: the way to write a long text as one argument."""
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
