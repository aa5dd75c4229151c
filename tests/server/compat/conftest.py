"""A console behind its doors that ends with the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.modelserver.server import ModelServer
from tests.server.api.place import Place


@pytest.fixture
async def place(model: ModelServer, tmp_path: Path) -> AsyncIterator[Place]:
    async with Place(model, tmp_path) as made:
        yield made
