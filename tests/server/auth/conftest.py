"""Houses that are torn down with their test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.auth.house import House


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with House(tmp_path) as running:
        yield running
