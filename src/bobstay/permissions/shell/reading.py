"""The answer of whoever reads a shell command: the policy judges this, never the text."""

from msgspec import Struct


class Simple(Struct, frozen=True):
    """One simple command, understood word by word."""

    texts: tuple[str, ...]
    """Its spellings, with and without harmless prefixes; an allow rule must match one of them."""
    exact_only: bool = False
    """It runs or writes what its arguments say: no rule with a wildcard may approve it."""
    read_only: bool = False
    """Provably changes nothing and looks at nothing outside the working directories."""
    edits: bool = False
    """Only makes, moves or removes the files in `writes`."""
    reads: tuple[str, ...] = ()
    """Operands that may be files it reads, as spelled."""
    writes: tuple[str, ...] = ()


class Reading(Struct, frozen=True):
    commands: tuple[Simple, ...] = ()
    """All that would run, each to be allowed on its own; empty if the text was not understood."""
    suspects: tuple[str, ...] = ()
    """Every text that might be a command in there; deny and ask rules are matched with these."""
    certain: bool = False
    """`suspects` is complete: a deny rule that matches none of them does not apply."""
    critical: str = ""
    """Why it could remove a system, a home or the work itself; empty if it could not."""
    redirected_reads: tuple[str, ...] = ()
    redirected_writes: tuple[str, ...] = ()
