"""Fixtures: consoles that end with their test, and real PostgreSQL servers."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.consoles import BareConsole, RunningConsole, StartConsole
from tests.modelserver.server import ModelServer
from tests.server.db.postgres import Cluster, running_cluster
from tests.server.files.files_host import FilesHost


@pytest.fixture
async def start_console(model: ModelServer, tmp_path: Path) -> AsyncIterator[StartConsole]:
    """Starts consoles in one folder, each the next life of the same server."""
    made: list[BareConsole] = []

    async def start(**options: Any) -> BareConsole:
        made.append(BareConsole(model, tmp_path, **options))
        return await made[-1].start()

    yield start
    for each in made:
        await each.close()


@pytest.fixture
async def server(model: ModelServer, tmp_path: Path) -> AsyncIterator[RunningConsole]:
    async with RunningConsole(model, tmp_path) as made:
        yield made


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FilesHost]:
    made = FilesHost(tmp_path)
    yield made
    made.release_all()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One that many tests share."""
    yield from running_cluster()


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """One that a test may stop."""
    yield from running_cluster()
