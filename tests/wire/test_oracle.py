"""The golden table is true: the protocol's first implementation, which the SDK brings along, behaves like that.

And where it and we do the same thing, hosts read the same verdict.
"""

import os
from pathlib import Path

import pytest

from tests.modelserver import ModelServer
from tests.wire.flows import FLOWS, check, drive, verdict
from tests.wire.program import BOBSTAY, ORACLE

pytestmark = pytest.mark.skipif(not os.path.exists(ORACLE), reason=f"the SDK's wheel brought no program at {ORACLE}")


@pytest.mark.parametrize("name", FLOWS)
async def test_both_programs_follow_the_golden_flow_and_agree(name: str, server: ModelServer, tmp_path: Path) -> None:
    verdicts = []
    for path in (ORACLE, BOBSTAY):
        directory = tmp_path / os.path.basename(path)
        directory.mkdir()
        frames = await drive(path, name, server, directory)
        check(name, frames)
        verdicts.append(verdict(frames))
    assert verdicts[0] == verdicts[1]
