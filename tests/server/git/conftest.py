"""A shelf that is closed after its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.files.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.close()
