"""The reference implementation, which comes with the SDK, matches the golden flows.

Where both programs do the same thing, hosts see the same result.
"""

import os
from pathlib import Path

import pytest

from tests.kit.program import BOBSTAY, ORACLE
from tests.modelserver import ModelServer
from tests.wire.flows import FLOWS, check, drive, outcome_of

pytestmark = pytest.mark.skipif(not os.path.exists(ORACLE), reason=f"the SDK's wheel brought no program at {ORACLE}")


@pytest.mark.parametrize("name", FLOWS)
async def test_both_programs_follow_the_golden_flow_and_agree(name: str, model: ModelServer, tmp_path: Path) -> None:
    outcomes = []
    for path in (ORACLE, BOBSTAY):
        directory = tmp_path / os.path.basename(path)
        directory.mkdir()
        frames = await drive(path, name, model, directory)
        check(name, frames)
        outcomes.append(outcome_of(frames))
    assert outcomes[0] == outcomes[1]
