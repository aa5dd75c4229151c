"""Calls on different things run together, on the same thing in order (H2-6)."""

import asyncio
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.engine.call_scheduler import CallScheduler
from bobstay.system.mailbox import Mailbox
from bobstay.tools.base import EVERYTHING, Claim
from tests.kit.waiting import DEADLINE


async def ready(order: CallScheduler, *claims: tuple[Claim, ...]) -> list[bool]:
    """Which of these calls may run at once, none of them ever finishing."""
    tickets = [order.enter(each) for each in claims]
    tasks = [asyncio.ensure_future(ticket.wait_ready()) for ticket in tickets]
    for _ in range(5 * len(tasks)):
        await asyncio.sleep(0)
    running = [task.done() for task in tasks]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return running


async def test_different_files_go_together_and_the_same_file_in_order() -> None:
    a, b = (Claim("file:/a"),), (Claim("file:/b"),)
    assert await ready(CallScheduler(10), a, b, a) == [True, True, False]


async def test_readers_of_one_file_go_together_but_not_with_a_writer() -> None:
    read, write = (Claim("file:/a", shared=True),), (Claim("file:/a"),)
    assert await ready(CallScheduler(10), read, read, write, read) == [True, True, False, False]


async def test_a_call_that_claims_everything_runs_alone() -> None:
    a = (Claim("file:/a", shared=True),)
    assert await ready(CallScheduler(10), (EVERYTHING,), a) == [True, False]
    assert await ready(CallScheduler(10), a, (EVERYTHING,), a) == [True, False, False]


async def test_no_more_than_so_many_run_at_once() -> None:
    assert await ready(CallScheduler(2), (), (), ()) == [True, True, False]


@given(st.lists(st.lists(st.builds(Claim, st.sampled_from(["a", "b", "*"]), st.booleans()), max_size=3), max_size=8))
@settings(max_examples=60, deadline=None)
def test_every_call_gets_its_turn_in_the_end(claims: list[list[Claim]]) -> None:
    async def scenario() -> None:
        order = CallScheduler(2)
        tickets = [order.enter(tuple(each)) for each in claims]

        async def work(number: int) -> None:
            await tickets[number].wait_ready()
            await asyncio.sleep(0)
            tickets[number].finish()

        async with asyncio.timeout(DEADLINE):
            await asyncio.gather(*(work(number) for number in range(len(tickets))))

    asyncio.run(scenario())


async def finished(*tasks: "asyncio.Future[None]") -> list[bool]:
    for _ in range(20):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


async def test_a_rewritten_call_waits_for_a_later_one_that_runs_on_what_it_now_claims() -> None:
    order = CallScheduler(10)
    first, second = order.enter((Claim("file:/a"),)), order.enter((Claim("file:/b"),))
    await first.wait_ready()
    await second.wait_ready()
    await second.start()
    first.claims = (Claim("file:/b"),)
    starting = asyncio.ensure_future(first.start())
    assert await finished(starting) == [False]
    second.finish()
    await starting


async def test_a_later_call_that_has_not_begun_waits_for_an_earlier_one_that_was_rewritten() -> None:
    order = CallScheduler(10)
    first, second = order.enter((Claim("file:/a"),)), order.enter((Claim("file:/b"),))
    await first.wait_ready()
    await second.wait_ready()
    first.claims = (Claim("file:/b"),)
    await first.start()
    starting = asyncio.ensure_future(second.start())
    assert await finished(starting) == [False]
    first.finish()
    await starting


CLAIMS = st.lists(st.builds(Claim, st.sampled_from(["a", "b", "*"]), st.booleans()), max_size=2).map(tuple)


@given(st.lists(st.tuples(CLAIMS, CLAIMS), max_size=6), st.integers(1, 3), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_rewritten_calls_never_conflict_and_all_get_their_turn(
    claims: list[tuple[tuple[Claim, ...], tuple[Claim, ...]]], slots: int, random: Random
) -> None:
    async def scenario() -> None:
        order = CallScheduler(slots)
        tickets = [order.enter(first) for first, _ in claims]
        running: list[tuple[Claim, ...]] = []

        async def work(number: int) -> None:
            ticket = tickets[number]
            await ticket.wait_ready()
            for _ in range(random.randrange(3)):
                await asyncio.sleep(0)
            ticket.claims = claims[number][1]
            await ticket.start()
            for mine in ticket.claims:
                for other in (claim for each in running for claim in each):
                    together = mine.shared and other.shared
                    assert together or (mine.name != other.name and "*" not in (mine.name, other.name))
            running.append(ticket.claims)
            await asyncio.sleep(0)
            running.remove(ticket.claims)
            ticket.finish()

        async with asyncio.timeout(DEADLINE):
            await asyncio.gather(*(work(number) for number in range(len(tickets))))

    asyncio.run(scenario())


async def test_a_committed_thing_has_been_dealt_with_when_commit_returns() -> None:
    box: Mailbox[str] = Mailbox()
    stored: list[str] = []

    async def producer() -> None:
        await box.commit("first")
        assert stored == ["first"]
        box.put("second")

    task = asyncio.ensure_future(producer())
    while len(stored) < 2:
        await box.wait()
        thing = box.take()
        if thing is not None:
            stored.append(thing)
            assert not task.done() or thing == "second"
            box.take() if thing == "second" else None
        if thing == "first":
            following = box.take()
            assert following is None
    await task
