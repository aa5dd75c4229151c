"""The scripted model, stages that end with their test, and real PostgreSQL servers."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.modelserver.server import ModelServer
from tests.server.db.postgres import Cluster, running_cluster
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


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One that many tests share."""
    yield from running_cluster()


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """One that a test may stop."""
    yield from running_cluster()
