"""The scripted model, and worlds that end with their test."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.world import World
from tests.modelserver.server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def world(server: ModelServer, tmp_path: Path) -> AsyncIterator[Callable[..., World]]:
    made: list[World] = []

    def make(**options: Any) -> World:
        made.append(World(server, tmp_path, **options))
        return made[-1]

    yield make
    for each in made:
        await each.close()
