"""Fixtures for both kinds of databases, and sessions that are projected into them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.db.postgres import Cluster
from tests.server.db.projected_sessions import OpenProjected, ProjectedSessions


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of a new database; empty means SQLite in the server's folder."""
    if request.param == "sqlite":
        return ""
    made: Cluster = request.getfixturevalue("cluster")
    return asyncio.run(made.empty_database())


@pytest.fixture
async def open_projected(tmp_path: Path) -> AsyncIterator[OpenProjected]:
    """Opens databases; two with the same folder and address are two lives of one server."""
    made: list[ProjectedSessions] = []

    async def make(url: str = "", folder: Path = tmp_path, **options: Any) -> ProjectedSessions:
        projected = await ProjectedSessions.open(url, folder, **options)
        made.append(projected)
        return projected

    yield make
    for projected in made:
        await projected.close()


@pytest.fixture
async def projected(url: str, open_projected: OpenProjected) -> ProjectedSessions:
    return await open_projected(url)
