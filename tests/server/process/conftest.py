"""Fixtures with process workers that end with their test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.process.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()
