"""The scripted model, and stages that end with their test."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.modelserver.server import ModelServer
from tests.server.stage import Stage


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def stage(model: ModelServer, tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Stage]]]:
    made: list[Stage] = []

    async def make(**options: Any) -> Stage:
        made.append(Stage(model, tmp_path, **options))
        return await made[-1].start()

    yield make
    for each in made:
        await each.close()
