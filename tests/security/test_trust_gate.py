"""Before trust nothing of a hostile repository is executed, connected to or loaded; each payload works (H4-3)."""

import pytest

from tests.security.hostile_repository import LayTrap
from tests.security.repos import TRAPS, Trap

EVERY = pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)


def test_there_are_thirty_of_them_under_different_names() -> None:
    assert len({trap.name for trap in TRAPS}) >= 30


@EVERY
def test_nothing_happens_before_trust(trap: Trap, lay_trap: LayTrap) -> None:
    hostile = lay_trap(trap)
    evidence = hostile.run(shims=True)
    assert not trap.fired(evidence), evidence
    assert not evidence.marked
    assert evidence.connections == 0
    assert bool(evidence.requests) is trap.starts, evidence.errors
    if trap.starts:
        assert "This folder is not trusted, and git runs programs" in evidence.requests


@EVERY
def test_the_payload_is_alive(trap: Trap, lay_trap: LayTrap) -> None:
    """The control: the same run in the same repository, trusted; or the program that the payload targets."""
    hostile = lay_trap(trap)
    if trap.by_hand is not None:
        trusted = hostile.run("--trust")
        assert not trap.fired(trusted), "the product runs this itself, so the control should be a trusted run"
        evidence = hostile.by_hand()
    else:
        if trap.revive is not None:
            trap.revive(hostile.repo, hostile.bait)
        evidence = hostile.run("--trust")
    assert trap.fired(evidence), evidence
