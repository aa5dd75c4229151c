"""Fixture: an authentication server that ends with the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.auth.auth_server import AuthServer


@pytest.fixture
async def auth_server(tmp_path: Path) -> AsyncIterator[AuthServer]:
    async with AuthServer(tmp_path) as running:
        yield running
