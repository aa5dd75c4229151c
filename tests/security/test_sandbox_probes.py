"""Every hostile probe works outside the sandbox and is refused inside, for root and for others (H5-8)."""

from collections.abc import Iterator

import pytest

from bobstay.permissions.sandbox.availability import available
from tests.security.probe_host import USERS, ProbeHost, as_user, attack, open_probe_host
from tests.security.probes import Probe
from tests.security.probes.depth import BELOW, REPOSITORIES
from tests.security.probes.files import OBEYED, READING, REPOSITORY, WRITING
from tests.security.probes.kernel import CALLS, NAMESPACES, PROCESSES, REACHING, SETTINGS

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
def host(request: pytest.FixtureRequest) -> Iterator[ProbeHost]:
    with open_probe_host(request.param) as made:
        yield made


@pytest.mark.parametrize(("host", "probe"), CASES, indirect=["host"])
def test_a_probe_that_works_outside_is_refused_inside(host: ProbeHost, probe: Probe) -> None:
    def both() -> dict[str, object]:
        host.build(probe.workspace)
        outside = attack(host, probe, None)
        host.build(probe.workspace)
        before = host.snapshot()
        sandbox = host.sandbox()
        inside = attack(host, probe, sandbox)
        sandbox.close()
        new = sorted(path for path in host.snapshot() if path not in before)
        return {"outside": outside, "inside": inside, "left": [path for path in new if _is_ours(path)]}

    assert as_user(host.user, both) == {"outside": True, "inside": False, "left": []}


def test_there_are_enough_probes() -> None:
    for user in USERS:
        assert len([case for case in CASES if case.values[0] == user]) >= 40


def _is_ours(path: str) -> bool:
    """Whether this is a placeholder that should be gone, and not a file of the probe itself."""
    from bobstay.permissions.sandbox.placeholders import is_placeholder

    return is_placeholder(path)
