"""A host for file routes that is closed after its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.files.files_host import FilesHost


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FilesHost]:
    made = FilesHost(tmp_path)
    yield made
    made.close()
