"""Fixtures: sessions of external engines that end with their test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kit.process_sessions import ProcessSessions
from tests.modelserver import ModelServer


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[ProcessSessions]:
    """With the fake engine."""
    async with ProcessSessions(tmp_path) as made:
        yield made


@pytest.fixture
async def real(model: ModelServer, tmp_path: Path) -> AsyncIterator[ProcessSessions]:
    """With real engines, which ask the scripted model."""
    async with ProcessSessions(tmp_path, model) as made:
        yield made
