"""Every hostile probe works outside the sandbox and is refused inside, for root and for others (H5-8)."""

from collections.abc import Iterator

import pytest

from bobstay.permissions.sandbox.availability import available
from tests.security.probes import Probe
from tests.security.probes.depth import BELOW, REPOSITORIES
from tests.security.probes.files import OBEYED, READING, REPOSITORY, WRITING
from tests.security.probes.kernel import CALLS, NAMESPACES, PROCESSES, REACHING, SETTINGS
from tests.security.sandbox_world import USERS, World, as_user, attack, world_of

FILES = (*WRITING, *OBEYED, *BELOW, *REPOSITORY, *REPOSITORIES)
PROBES = (*FILES, *READING, *SETTINGS, *NAMESPACES, *PROCESSES, *CALLS, *REACHING)
CASES = [
    pytest.param(user, probe, id=f"{user}-{probe.name.replace(' ', '-')}")
    for user in USERS
    for probe in PROBES
    if user == "root" or not probe.root_only  # others could not do it outside either
    if user != "oneself" or not probe.made_by_root
]


@pytest.fixture(scope="module", autouse=True)
def _sandbox_works() -> None:
    assert available().kind == "bwrap", available().refusal


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with world_of(request.param) as made:
        yield made


@pytest.mark.parametrize(("world", "probe"), CASES, indirect=["world"])
def test_a_probe_that_works_outside_is_refused_inside(world: World, probe: Probe) -> None:
    def both() -> dict[str, object]:
        world.build(probe.world)
        outside = attack(world, probe, None)
        world.build(probe.world)
        before = world.snapshot()
        sandbox = world.sandbox()
        inside = attack(world, probe, sandbox)
        sandbox.close()
        new = sorted(path for path in world.snapshot() if path not in before)
        return {"outside": outside, "inside": inside, "left": [path for path in new if _is_ours(path)]}

    assert as_user(world.user, both) == {"outside": True, "inside": False, "left": []}


def test_there_are_enough_probes() -> None:
    for user in USERS:
        assert len([case for case in CASES if case.values[0] == user]) >= 40


def _is_ours(path: str) -> bool:
    """Whether this is a stand-in that should be gone, and not what the probe made itself."""
    from bobstay.permissions.sandbox.placeholders import is_stand_in

    return is_stand_in(path)
