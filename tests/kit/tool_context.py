"""Shared code of the tool tests: a context for tool calls, and a file ledger that learns from outcomes."""

from pathlib import Path
from typing import Any

from bobstay.tools.base import Context, Outcome, ToolServices


class Ledger:
    """Remembers the files the model has seen, as a session does."""

    def __init__(self) -> None:
        self.hashes: dict[str, str] = {}

    def known(self, path: str) -> str | None:
        return self.hashes.get(path)

    def learn(self, outcome: Outcome) -> Outcome:
        """Take over what `outcome` made known, and hand it back so that calls chain."""
        self.hashes.update(outcome.files)
        return outcome


class Reports:
    """Keeps the progress texts a tool reported."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> None:
        self.texts.append(text)


def make_context(root: Path, **services: Any) -> Context:
    """A context of a session in `root`; `services` are fields of `ToolServices`. Fields may be set afterwards."""
    return Context(
        cwd=root,
        root=root,
        directories=(root,),
        files=Ledger(),
        spill=root.with_name(f"{root.name}-spill"),
        report=Reports(),
        call_id="call_1",
        session_id="00000000-0000-4000-8000-000000000001",
        services=ToolServices(**services),
        environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root)},
    )


def ledger_of(context: Context) -> Ledger:
    """The ledger `make_context` put in, by its own type."""
    assert isinstance(context.files, Ledger)
    return context.files
