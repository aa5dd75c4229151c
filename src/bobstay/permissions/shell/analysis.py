"""The answer of whoever reads a shell command: the policy judges this, never the text."""

from typing import Literal

from msgspec import Struct

from bobstay.permissions.shell.rule_texts import Suspect


class SimpleCommand(Struct, frozen=True):
    """One simple command, understood word by word."""

    texts: tuple[str, ...]
    """Its spellings, with and without harmless prefixes; an allow rule must match one of them."""
    exact_only: bool = False
    """It runs or writes what its arguments say: no rule with a wildcard may approve it."""
    read_only: bool = False
    """Provably changes nothing and looks at nothing outside the working directories."""
    expands: bool = False
    """Only an exact rule may approve it, and the shell puts names of files in the place of a pattern in its text."""
    handed: bool = False
    """That it only looks was found by looking at the names of files that are there."""
    edits: bool = False
    """Only makes, moves or removes the files in `writes`."""
    reads: tuple[str, ...] = ()
    """Absolute paths its words may name."""
    writes: tuple[str, ...] = ()
    unresolved: bool = False
    """Some of its words may name files that cannot be told."""
    sweeps: tuple[str, ...] = ()
    """Directories all files of which it reads."""
    refused: str = ""
    """Why no rule may approve it where it stands."""
    nameless: bool = False
    """Which program it runs cannot be told."""


class RedirectTarget(Struct, frozen=True):
    """Where a redirection leads."""

    kind: Literal["read", "write"]
    path: str = ""
    """Absolute; empty if it cannot be told."""
    source: str = ""


class ShellAnalysis(Struct):
    text: str
    commands: tuple[SimpleCommand, ...] = ()
    """All that would run, each to be allowed on its own."""
    hidden: tuple[SimpleCommand, ...] = ()
    """What scripts inside arguments would run: for rules that restrict."""
    suspects: tuple[Suspect, ...] = ()
    """Every text that might be a command in there; deny and ask rules are matched with these."""
    trouble: str = ""
    """Why it cannot be analysed, so that nothing may allow it; empty if it was understood whole."""
    certain: bool = False
    """`suspects` is complete: a deny rule that matches none of them does not apply."""
    critical: str = ""
    """Why it could remove a system, a home or the work itself; empty if it could not."""
    targets: tuple[RedirectTarget, ...] = ()
    expands: bool = False
    """Some pattern in it is expanded by the shell."""

    @property
    def read_only(self) -> bool:
        """Whether it provably only looks. Its targets are the policy's business."""
        return not self.trouble and all(command.read_only for command in self.commands)
