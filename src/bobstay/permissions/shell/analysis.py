"""The result of analysing a shell command. The policy judges this result, never the text."""

from typing import Literal

from msgspec import Struct

from bobstay.permissions.shell.rule_texts import RuleTextStarts


class SimpleCommand(Struct, frozen=True):
    """One simple command whose every word was analysed."""

    texts: tuple[str, ...]
    """Its spellings, with and without harmless prefixes; an allow rule must match one of them."""
    exact_only: bool = False
    """It runs or writes what its arguments say: no rule with a wildcard may allow it."""
    read_only: bool = False
    """It provably changes nothing and reads nothing outside the working directories."""
    expands: bool = False
    """Only an exact rule may allow it, and the shell expands a pattern in its text to file names."""
    forwarded: bool = False
    """`read_only` depends on the names of files that exist now, which are forwarded to it."""
    edits: bool = False
    """It only creates, moves or removes the files in `writes`."""
    reads: tuple[str, ...] = ()
    """Absolute paths that its words may name."""
    writes: tuple[str, ...] = ()
    unresolved: bool = False
    """Some of its words may name files that are not known."""
    read_directories: tuple[str, ...] = ()
    """Directories whose files it reads without naming them."""
    refused: str = ""
    """Why no rule may allow it in this context."""
    unknown_name: bool = False
    """It is not known which program it runs."""


class RedirectTarget(Struct, frozen=True):
    """A file that a redirection opens."""

    kind: Literal["read", "write"]
    path: str = ""
    """Absolute; empty if not known."""
    source: str = ""


class ShellAnalysis(Struct):
    text: str
    commands: tuple[SimpleCommand, ...] = ()
    """Every simple command that would run; each must be allowed on its own."""
    hidden: tuple[SimpleCommand, ...] = ()
    """Commands that scripts inside arguments would run: for deny and ask rules."""
    rule_texts: tuple[RuleTextStarts, ...] = ()
    """Every text that might be a command; deny and ask rules are matched with these."""
    trouble: str = ""
    """Why it cannot be analysed, so that no rule may allow it; empty if all of it was analysed."""
    certain: bool = False
    """`rule_texts` is complete: a deny rule that matches none of them does not apply."""
    critical: str = ""
    """Why it could remove the system, a home or the working directory; empty if it could not."""
    targets: tuple[RedirectTarget, ...] = ()
    expands: bool = False
    """The shell expands some pattern in it."""

    @property
    def read_only(self) -> bool:
        """Whether every command is provably read-only. The policy judges `targets` separately."""
        return not self.trouble and all(command.read_only for command in self.commands)
