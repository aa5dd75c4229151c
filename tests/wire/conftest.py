"""The scripted model, for tests that run the whole program."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.wire.flows", "tests.wire.program")

from tests.modelserver import ModelServer  # noqa: E402 - what it imports must not come before the line above


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running
