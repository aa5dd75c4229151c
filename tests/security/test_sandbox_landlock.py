"""Landlock, the weaker sandbox for machines without bubblewrap: it permits less work, and no more harm (H5-8)."""

from collections.abc import Iterator

import pytest

from bobstay.permissions.sandbox.availability import Availability, landlock_version
from tests.security.probe_host import USERS, ProbeHost, as_user, attack, open_probe_host
from tests.security.probes import Probe
from tests.security.probes.files import OBEYED, READING, REPOSITORY, WRITING
from tests.security.probes.kernel import CALLS, NAMESPACES, PROCESSES, REACHING, SETTINGS

ALL = (*WRITING, *OBEYED, *REPOSITORY, *READING, *SETTINGS, *NAMESPACES, *PROCESSES, *CALLS, *REACHING)
BEYOND = {
    "read what others put into the temporary folder": "there is no other view of the disk",
    "see the processes of others": "there is no namespace of processes",
    "live on in another session": "the session itself ends what its commands leave",
    "live on after a double fork": "the session itself ends what its commands leave",
}
"""Probes that it does not stop, and why; the documentation lists them too."""
LANDLOCK = Availability("landlock")

pytestmark = pytest.mark.skipif(landlock_version() < 6, reason="this kernel's Landlock is too old to hold signals")


@pytest.fixture(scope="module", params=USERS)
def host(request: pytest.FixtureRequest) -> Iterator[ProbeHost]:
    with open_probe_host(request.param) as made:
        yield made


def test_every_probe_but_a_few_known_ones_is_refused(host: ProbeHost) -> None:
    probes = [probe for probe in ALL if probe.name not in BEYOND and (host.user == "root" or not probe.root_only)]

    def all_of_them() -> list[str]:
        done = []
        for probe in probes:
            host.build(probe.workspace)
            sandbox = host.sandbox(LANDLOCK)
            if attack(host, probe, sandbox):
                done.append(probe.name)
            sandbox.close()
        return done

    assert as_user(host.user, all_of_them) == []


@pytest.mark.parametrize("name", BEYOND)
def test_what_it_does_not_stop_is_known(host: ProbeHost, name: str) -> None:
    """So that the list is shortened when one of them is stopped."""
    (probe,) = [probe for probe in ALL if probe.name == name]
    if probe.late:
        pytest.skip("the session ends what its commands leave: see the tests of orphans")

    def once() -> bool:
        host.build(probe.workspace)
        sandbox = host.sandbox(LANDLOCK)
        try:
            return attack(host, probe, sandbox)
        finally:
            sandbox.close()

    assert as_user(host.user, once) is True


def test_work_on_what_exists_gets_done(host: ProbeHost) -> None:
    script = (
        "echo two >> a.txt && mkdir shared/new && echo x > shared/new/f && echo y > $TMPDIR/t && ls / > /dev/null "
        "&& cat a.txt; mkdir sub/new; echo x > new"
    )
    probe = Probe("work", script, says="two")

    def once() -> bool:
        host.build("plain")
        sandbox = host.sandbox(LANDLOCK)
        try:
            return attack(host, probe, sandbox)
        finally:
            sandbox.close()

    assert as_user(host.user, once) is True
    assert (host.ws / "a.txt").read_text() == "one\ntwo\n"
    assert (host.ws / "shared/new/f").exists()
    assert not (host.ws / "sub/new").exists(), "a folder with a protected file in it takes no new ones"
    assert not (host.ws / "new").exists()
