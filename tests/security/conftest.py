"""Fixture: a hostile repository, with somebody who listens for what it lures out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.modelserver import ModelServer
from tests.security.hostile_repository import HostileRepository, LayTrap, Listener


@pytest.fixture
def lay_trap(model: ModelServer, tmp_path: Path) -> Iterator[LayTrap]:
    with Listener() as listener:
        yield lambda trap: HostileRepository(trap, tmp_path, model, listener)
