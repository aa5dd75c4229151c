"""What holds for every test, and the fixtures of more than one suite: parts of `tests/kit` that end with their test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

# What the fixtures make is imported when a test asks for it: most unit tests need none of it.
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.kit.installed_command import InstalledCommand
    from tests.kit.scripted_session import MakeSession, ScriptedSession
    from tests.modelserver.server import ModelServer

settings.register_profile(
    "calm",
    deadline=None,
    # The same examples for everybody where a change is judged; new ones each time on the machines of those who make it.
    derandomize=bool(os.environ.get("CI")),
    # Property tests are judged by what they find, not by how busy the machine is.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example],
)
settings.load_profile("calm")
pytest.register_assert_rewrite("tests.kit", "tests.wire.flows")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """The scripted model."""
    from tests.modelserver.server import ModelServer

    with ModelServer() as running:
        yield running


@pytest.fixture
def command(model: ModelServer, tmp_path: Path) -> InstalledCommand:
    """The installed command in a new home and project."""
    from tests.kit.installed_command import InstalledCommand

    return InstalledCommand(model, tmp_path)


@pytest.fixture
async def make_session(model: ModelServer, tmp_path: Path) -> AsyncIterator[MakeSession]:
    """Makes sessions in one folder; the second with the same id resumes the first."""
    from tests.kit.scripted_session import ScriptedSession

    made: list[ScriptedSession] = []

    def make(**options: Any) -> ScriptedSession:
        made.append(ScriptedSession(model, tmp_path, **options))
        return made[-1]

    yield make
    for each in made:
        await each.close()
