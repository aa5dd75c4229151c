"""Tables that are not projections: environments, push subscriptions, idempotent responses, the audit log."""

import asyncio

import pytest
from sqlalchemy import update

from bobstay.server.db import state_tables, task_table
from bobstay.server.db.audit_reader import read_audit_log
from bobstay.server.db.own_tables import idempotency, session_env
from bobstay.server.errors import ApiError
from tests.server.db.projected_sessions import ProjectedSessions


async def test_a_session_keeps_its_environment(projected: ProjectedSessions) -> None:
    await state_tables.set_environment(projected.database, "one", {"A": "1", "B": "two words"})
    await state_tables.set_environment(projected.database, "two", {"A": "other"})
    await state_tables.set_environment(projected.database, "one", {"B": "three"})
    rows = [(row["session_id"], row["name"], row["value"]) for row in await projected.table(session_env)]
    assert rows == [("one", "B", "three"), ("two", "A", "other")]


async def test_devices_are_noted_once(projected: ProjectedSessions) -> None:
    await state_tables.subscribe(projected.database, "ann", "https://push/1", {"auth": "x"})
    second = await state_tables.subscribe(projected.database, "ann", "https://push/1", {"auth": "y"})
    other = await state_tables.subscribe(projected.database, "bob", "https://push/2", {})
    assert await state_tables.subscriptions(projected.database) == [second, other]
    assert await state_tables.unsubscribe(projected.database, second.id) is True
    assert await state_tables.unsubscribe(projected.database, second.id) is False
    assert await state_tables.subscriptions(projected.database, "ann") == []


async def test_a_request_that_comes_twice_is_done_once(projected: ProjectedSessions) -> None:
    """FM-7, stored side."""
    database = projected.database
    assert await state_tables.begin_request(database, "ann", "k1", "f1") is None
    with pytest.raises(ApiError) as running:
        await state_tables.begin_request(database, "ann", "k1", "f1")
    assert running.value.problem.code == "conflict"
    await state_tables.finish_request(database, "ann", "k1", 201, '{"id": 1}')
    assert await state_tables.begin_request(database, "ann", "k1", "f1") == state_tables.StoredResponse(
        201, '{"id": 1}'
    )
    with pytest.raises(ApiError) as other:
        await state_tables.begin_request(database, "ann", "k1", "f2")
    assert "another request" in str(other.value)
    assert await state_tables.begin_request(database, "bob", "k1", "f1") is None
    await state_tables.abandon_request(database, "bob", "k1")
    assert await state_tables.begin_request(database, "bob", "k1", "f1") is None


async def test_of_many_at_once_one_is_the_first(projected: ProjectedSessions) -> None:
    answers = await asyncio.gather(
        *(state_tables.begin_request(projected.database, "ann", "k", "f") for _ in range(8)), return_exceptions=True
    )
    assert sum(answer is None for answer in answers) == 1
    assert sum(isinstance(answer, ApiError) for answer in answers) == 7


async def test_an_answer_is_kept_for_a_day(projected: ProjectedSessions) -> None:
    await state_tables.begin_request(projected.database, "ann", "k", "f")
    await state_tables.finish_request(projected.database, "ann", "k", 200, "")
    async with projected.database.write_transaction() as connection:
        await connection.execute(update(idempotency).values(at=idempotency.c.at - state_tables.DAY - 1))
    assert await state_tables.begin_request(projected.database, "ann", "k", "other") is None


async def test_the_audit_trail_comes_in_pages_newest_first(projected: ProjectedSessions) -> None:
    """S000-87."""
    for number in range(7):
        projected.database.audit.record(
            "ann", f"deed.{number % 2}", {"number": number, "odd": "\0\ud800"}, f"s{number % 3}"
        )
    await projected.database.audit.wait_until_written()
    first = await read_audit_log(projected.database, limit=4)
    assert [entry.detail["number"] for entry in first.entries] == [6, 5, 4, 3]
    second = await read_audit_log(projected.database, first.before, 4)
    assert ([entry.detail["number"] for entry in second.entries], second.before) == ([2, 1, 0], None)
    assert [
        entry.detail["number"]
        for entry in (await read_audit_log(projected.database, session="s1", what="deed.0")).entries
    ] == [4]


async def test_a_person_cannot_pile_up_tasks_without_end(
    projected: ProjectedSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_table, "MOST_OF_A_PERSON", 3)
    for number in range(3):
        await task_table.add_task(projected.database, "one", f"{number}", by="ann")
    with pytest.raises(ApiError) as caught:
        await task_table.add_task(projected.database, "one", "more", by="ann")
    assert caught.value.problem.code == "too_many"
