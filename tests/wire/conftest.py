"""The scripted model, for tests that run a whole program."""

from collections.abc import Iterator

import pytest

from tests.modelserver import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running
