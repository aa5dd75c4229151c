"""The weaker sandbox for machines without bubblewrap: less can be done in it, and no more harm (H5-8)."""

from collections.abc import Iterator

import pytest

from bobstay.permissions.sandbox.availability import Availability, landlock_version
from tests.security.probes import Probe
from tests.security.probes.files import OBEYED, READING, REPOSITORY, WRITING
from tests.security.probes.kernel import CALLS, NAMESPACES, PROCESSES, REACHING, SETTINGS
from tests.security.sandbox_world import USERS, World, as_user, attack, world_of

ALL = (*WRITING, *OBEYED, *REPOSITORY, *READING, *SETTINGS, *NAMESPACES, *PROCESSES, *CALLS, *REACHING)
BEYOND = {
    "read what others put into the temporary folder": "there is no other view of the disk",
    "see the processes of others": "there is no namespace of processes",
    "live on in another session": "the session itself ends what its commands leave",
    "live on after a double fork": "the session itself ends what its commands leave",
}
"""What it does not stop, and why; the documentation says so too."""
LANDLOCK = Availability("landlock")

pytestmark = pytest.mark.skipif(landlock_version() < 6, reason="this kernel's Landlock is too old to hold signals")


@pytest.fixture(scope="module", params=USERS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with world_of(request.param) as made:
        yield made


def test_every_probe_but_a_few_known_ones_is_refused(world: World) -> None:
    probes = [probe for probe in ALL if probe.name not in BEYOND and (world.user == "root" or not probe.root_only)]

    def all_of_them() -> list[str]:
        done = []
        for probe in probes:
            world.build(probe.world)
            sandbox = world.sandbox(LANDLOCK)
            if attack(world, probe, sandbox):
                done.append(probe.name)
            sandbox.close()
        return done

    assert as_user(world.user, all_of_them) == []


@pytest.mark.parametrize("name", BEYOND)
def test_what_it_does_not_stop_is_known(world: World, name: str) -> None:
    """So that this list is shortened when one of them is stopped after all."""
    (probe,) = [probe for probe in ALL if probe.name == name]
    if probe.late:
        pytest.skip("the session ends what its commands leave: see the tests of orphans")

    def once() -> bool:
        world.build(probe.world)
        sandbox = world.sandbox(LANDLOCK)
        try:
            return attack(world, probe, sandbox)
        finally:
            sandbox.close()

    assert as_user(world.user, once) is True


def test_work_on_what_exists_gets_done(world: World) -> None:
    script = (
        "echo two >> a.txt && mkdir shared/new && echo x > shared/new/f && echo y > $TMPDIR/t && ls / > /dev/null "
        "&& cat a.txt; mkdir sub/new; echo x > new"
    )
    probe = Probe("work", script, says="two")

    def once() -> bool:
        world.build("plain")
        sandbox = world.sandbox(LANDLOCK)
        try:
            return attack(world, probe, sandbox)
        finally:
            sandbox.close()

    assert as_user(world.user, once) is True
    assert (world.ws / "a.txt").read_text() == "one\ntwo\n"
    assert (world.ws / "shared/new/f").exists()
    assert not (world.ws / "sub/new").exists(), "a folder with a protected file in it takes no new ones"
    assert not (world.ws / "new").exists()
