"""Fixture: a running console that ends with the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.modelserver.server import ModelServer
from tests.server.api.running_console import RunningConsole


@pytest.fixture
async def server(model: ModelServer, tmp_path: Path) -> AsyncIterator[RunningConsole]:
    async with RunningConsole(model, tmp_path) as made:
        yield made
