"""A plugin of pytest that runs the chosen tests in their order, and a failing one twice.

Other load on the machine must kill no mutant. And a test that is made from a table of the code itself may be gone with
the mutant, which nobody would notice: it is passed over.
"""

import os

import pytest
from _pytest.runner import runtestprotocol

_CHOSEN = os.environ["MUTANTS_TESTS"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    with open(_CHOSEN, encoding="utf-8") as file:
        positions = {name: position for position, name in enumerate(file.read().splitlines())}
    chosen = [(position, item) for item in items if (position := _position(item, positions)) is not None]
    items[:] = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        begin_anew = getattr(item, "_initrequest", None)  # as pytest does before the first time: new fixtures
        if begin_anew is not None:
            begin_anew()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _position(item: pytest.Item, positions: dict[str, int]) -> int | None:
    """A file stands for all its tests."""
    whole = positions.get(item.nodeid.partition("::")[0])
    return positions.get(item.nodeid, whole)
