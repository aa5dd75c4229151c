"""The end of bypassed permissions follows the wall clock, also while the machine sleeps."""

import asyncio
import time

import pytest

from bobstay.server.workers import bypass_timer
from bobstay.server.workers.bypass_timer import BypassTimer
from tests.kit.waiting import DEADLINE, until


async def test_a_bypass_ends_by_the_clock_though_timers_stood_still_while_the_machine_slept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """FM-39"""
    monkeypatch.setattr(bypass_timer, "CHECK_SECONDS", 0.01)
    over = asyncio.Event()
    timer = BypassTimer(over.set)
    timer.set("bypassPermissions", time.time() + 3600)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3601)
    await asyncio.wait_for(over.wait(), DEADLINE)


async def test_a_bypass_does_not_end_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """FM-39"""
    monkeypatch.setattr(bypass_timer, "CHECK_SECONDS", 0.001)
    looks = 0
    ended = False

    def clock() -> float:
        nonlocal looks
        looks += 1
        return 1000.0

    def end() -> None:
        nonlocal ended
        ended = True

    monkeypatch.setattr(time, "time", clock)
    timer = BypassTimer(end)
    timer.set("bypassPermissions", 2000.0)
    await until(lambda: looks >= 10)
    assert not ended
    timer.cancel()
