"""Before trust nothing of a hostile repository is executed, connected to or loaded; each payload works (H4-3)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.modelserver import ModelServer
from tests.security.hostile_repository import HostileRepository, Listener
from tests.security.repos import TRAPS, Trap

EVERY = pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with Listener() as running:
        yield running


def test_there_are_thirty_of_them_under_different_names() -> None:
    assert len({trap.name for trap in TRAPS}) >= 30


@EVERY
def test_nothing_happens_before_trust(trap: Trap, tmp_path: Path, model: ModelServer, listener: Listener) -> None:
    hostile = HostileRepository(trap, tmp_path, model, listener)
    evidence = hostile.run(shims=True)
    assert not trap.fired(evidence), evidence
    assert not evidence.marked
    assert evidence.connections == 0
    assert bool(evidence.requests) is trap.starts, evidence.errors
    if trap.starts:
        assert "This folder is not trusted, and git runs programs" in evidence.requests


@EVERY
def test_the_payload_is_alive(trap: Trap, tmp_path: Path, model: ModelServer, listener: Listener) -> None:
    """The control: the same run in the same repository, trusted; or the program that the payload targets."""
    hostile = HostileRepository(trap, tmp_path, model, listener)
    if trap.by_hand is not None:
        trusted = hostile.run("--trust")
        assert not trap.fired(trusted), "the product runs this itself, so the control should be a trusted run"
        evidence = hostile.by_hand()
    else:
        if trap.revive is not None:
            trap.revive(hostile.repo, hostile.bait)
        evidence = hostile.run("--trust")
    assert trap.fired(evidence), evidence
