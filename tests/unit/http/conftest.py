"""Fixtures: a scripted model and an HTTP client for each test."""

from collections.abc import AsyncIterator, Iterator

import pytest

from bobstay.http.client import HttpClient
from tests.modelserver import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()
