"""Fixtures for both kinds of databases, and desks that write sessions into them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.db.desk import Desk
from tests.server.db.postgres import Cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of a new database; empty means SQLite in the server's folder."""
    if request.param == "sqlite":
        return ""
    made: Cluster = request.getfixturevalue("cluster")
    return asyncio.run(made.empty_database())


@pytest.fixture
async def desks(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Desk]]]:
    """Makes desks; two with the same folder and address are two lives of one server."""
    made: list[Desk] = []

    async def make(url: str = "", folder: Path = tmp_path, **options: Any) -> Desk:
        desk = await Desk.open(url, folder, **options)
        made.append(desk)
        return desk

    yield make
    for desk in made:
        await desk.close()


@pytest.fixture
async def desk(url: str, desks: Callable[..., Awaitable[Desk]]) -> Desk:
    return await desks(url)
