"""Projection of logs to the tables, on both databases."""

from sqlalchemy import text

from bobstay.model.event import (
    BlockDone,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    Noted,
    Prompted,
    Raw,
    RunDone,
    Task,
    TasksReplaced,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.model.session_events import ArtifactMade, WorkerExited
from bobstay.server.db import task_table
from bobstay.server.db.interaction_listing import list_interactions
from bobstay.server.db.projected_tables import artifacts, parts, sessions, tasks, tool_calls
from bobstay.server.db.transcript_pages import CallRow, read_call, read_page
from tests.server.db.projected_sessions import ProjectedSessions


async def call(projected: ProjectedSessions, id: str = "c1") -> CallRow:
    await projected.settled()
    found = await read_call(projected.database, "one", id)
    assert found is not None
    return found


def todos(*titles: str, status: str = "pending") -> TasksReplaced:
    return TasksReplaced(tuple(Task(title, status, f"doing {title}") for title in titles))  # type: ignore[arg-type]


# ---------------------------------------------------------------- calls and results


async def test_of_two_results_of_a_call_the_last_one_counts_and_there_is_one_row(projected: ProjectedSessions) -> None:
    """FM-8, S002-11, S002-12, S002-18: the hook and the user message may both bring a result."""
    projected.write(projected.call("c1"), projected.result("c1", "from the hook"))
    projected.write(Prompted("p1", (ToolReply("c1", (Text("from the message"),)),)))
    found = await call(projected)
    assert (found.output, found.rev, found.status) == ("from the message", 2, "completed")
    assert [row["call_id"] for row in await projected.table(tool_calls)] == ["c1"]


async def test_results_in_different_batches_are_counted_together(projected: ProjectedSessions) -> None:
    projected.write(projected.call("c1"), projected.result("c1", "first", is_error=True))
    assert (await call(projected)).status == "error"
    projected.write(projected.result("c1", "second"))
    found = await call(projected)
    assert (found.output, found.rev, found.status) == ("second", 2, "completed")


async def test_a_result_before_its_call_is_joined_when_the_call_comes(projected: ProjectedSessions) -> None:
    """FM-9, S000-72."""
    projected.write(TurnStarted(1, "m", "default"), projected.result("c1", "early"))
    assert (await call(projected)).status == "no_call"
    page = await read_page(projected.database, "one")
    assert [(row.kind, row.id) for row in page.rows] == [("result", "c1")]
    projected.write(projected.call("c1", command="glob"))
    found = await call(projected)
    assert (found.status, found.output, found.input) == ("completed", "early", {"command": "glob"})
    page = await read_page(projected.database, "one")
    assert [(row.kind, row.id) for row in page.rows] == [("assistant", "m1")]
    assert page.rows[0].parts[0].call == found


async def test_a_result_whose_call_never_comes_is_kept_and_marked(projected: ProjectedSessions) -> None:
    """FM-9."""
    projected.write(TurnStarted(1, "m", "default"), projected.result("c9", "whose?"), RunDone("completed"))
    found = await call(projected, "c9")
    assert (found.status, found.output) == ("no_call", "whose?")
    page = await read_page(projected.database, "one")
    assert [(row.kind, row.seq) for row in page.rows] == [("turn", 4), ("result", 3)]


async def test_a_call_waits_for_its_result_only_while_its_turn_goes_on(projected: ProjectedSessions) -> None:
    """FM-10: after a crash no row pulses."""
    projected.write(TurnStarted(1, "m", "default"), projected.call("c1"))
    assert (await call(projected)).status == "pending"
    projected.write(ToolStarted("c1", "Bash", {"command": "ls"}))
    assert (await call(projected)).status == "running"
    projected.write(WorkerExited("w1", why="lost"))
    assert (await call(projected)).status == "no_result"
    projected.write(TurnStarted(1, "m", "default"), projected.call("c2", message="m2"))
    assert (await call(projected)).status == "no_result"
    assert (await call(projected, "c2")).status == "pending"
    projected.write(projected.result("c1", "late but here"))
    assert (await call(projected)).status == "completed"


async def test_refused_and_interrupted_calls_say_so(projected: ProjectedSessions) -> None:
    projected.write(
        TurnStarted(1, "m", "default"), projected.call("c1"), projected.result("c1", "no", denied=True, is_error=True)
    )
    projected.write(projected.call("c2", index=1), projected.result("c2", "stopped", interrupted=True, is_error=True))
    assert (await call(projected, "c1")).status == "denied"
    assert (await call(projected, "c2")).status == "interrupted"


async def test_a_call_told_of_again_keeps_its_place(projected: ProjectedSessions) -> None:
    """S002-13."""
    projected.write(projected.call("c1", command="a"), Noted("between"), projected.call("c1", command="b"))
    found = await call(projected)
    assert (found.seq, found.input) == (2, {"command": "b"})
    assert len(await projected.table(parts)) == 1


async def test_a_huge_output_is_kept_with_both_ends_and_its_length(projected: ProjectedSessions) -> None:
    """FM-58, stored side."""
    huge = "begin" + "x" * 3_000_000 + "end"
    projected.write(projected.call("c1", content="y" * 2_000_000), projected.result("c1", huge))
    found = await call(projected)
    assert found.output.startswith("begin")
    assert found.output.endswith("end")
    assert len(found.output) < 70_000
    assert found.output_length == len(huge)
    assert found.input["content"].startswith("yyy")
    assert len(found.input["content"]) < 5_000
    assert found.input_length > 2_000_000


# ---------------------------------------------------------------- tasks


async def test_a_list_of_tasks_replaces_the_one_before(projected: ProjectedSessions) -> None:
    """S002-4, S002-5, S002-7, S002-8."""
    projected.write(todos("a", "b", "c"))
    projected.write(todos("x"), session="one-1")
    await projected.settled()
    projected.write(todos("b", "d", status="in_progress"))
    await projected.settled()
    found = [row for row in await projected.table(tasks) if row["session_id"] == "one"]
    assert [(row["id"], row["title"], row["status"], row["description"], row["sort_order"]) for row in found] == [
        ("sdk-one-0", "b", "in_progress", "doing b", 0),
        ("sdk-one-1", "d", "in_progress", "doing d", 1),
    ]
    before = await projected.table(tasks)
    projected.write(todos("b", "d", status="in_progress"))
    await projected.settled()
    after = await projected.table(tasks)
    same = ("id", "title", "status", "description", "sort_order")
    assert [[row[name] for name in same] for row in after] == [[row[name] for name in same] for row in before]
    projected.write(TasksReplaced(()))
    await projected.settled()
    assert [row["id"] for row in await projected.table(tasks)] == ["sdk-one-1-0"]


async def test_a_status_nobody_knows_is_pending_live_and_in_the_log(projected: ProjectedSessions) -> None:
    """S002-6."""
    projected.write(todos("a", status="blocked"))
    await projected.settled()
    assert [row["status"] for row in await projected.table(tasks)] == ["pending"]
    projected.write(Raw({"type": "tasks_replaced", "tasks": [{"content": "r", "status": "odd"}, {"status": 1}, 7]}))
    await projected.settled()
    assert [(row["title"], row["status"]) for row in await projected.table(tasks)] == [("r", "pending")]
    await projected.database.rebuild()
    assert [(row["title"], row["status"]) for row in await projected.table(tasks)] == [("r", "pending")]


async def test_tasks_of_people_are_never_touched(projected: ProjectedSessions) -> None:
    """S002-9."""
    projected.write(todos("a"))
    mine = await task_table.add_task(projected.database, "one", "mine", by="ann")
    projected.write(todos("b"), TasksReplaced(()))
    await projected.settled()
    await projected.database.rebuild()
    await projected.database.forget("one")
    assert await task_table.list_tasks(projected.database, "one") == [mine]


async def test_a_list_that_cannot_be_stored_leaves_the_one_before(projected: ProjectedSessions) -> None:
    """S002-10: the database itself refuses one of the rows."""
    projected.write(todos("a", "b"))
    await projected.settled()
    if projected.database.engines.dialect == "sqlite":
        guard = [
            (
                "CREATE TRIGGER no_poison BEFORE INSERT ON tasks WHEN new.title = 'poison' "
                "BEGIN SELECT RAISE(ABORT, 'poison'); END"
            )
        ]
    else:
        guard = [
            (
                "CREATE FUNCTION no_poison() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN IF new.title = 'poison' THEN RAISE EXCEPTION 'poison'; END IF; RETURN new; END $$"
            ),
            "CREATE TRIGGER no_poison BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION no_poison()",
        ]
    async with projected.database.engines.write.begin() as connection:
        for statement in guard:
            await connection.execute(text(statement))
    projected.write(Noted("before"), todos("x", "poison"), Noted("after"))
    await projected.settled()
    assert [row["title"] for row in await projected.table(tasks)] == ["a", "b"]
    page = await read_page(projected.database, "one")
    assert [row.data["text"] for row in page.rows] == ["after", "before"]
    assert projected.database.health().skipped == 1
    projected.write(todos("c"))
    await projected.settled()
    assert [row["title"] for row in await projected.table(tasks)] == ["c"]


# ---------------------------------------------------------------- interactions


def opened(id: str) -> InteractionOpened:
    return InteractionOpened(id, "permission", ToolCall("c1", "Bash", {"command": "rm"}), "risky")


async def test_interactions_are_kept_with_their_outcome(projected: ProjectedSessions) -> None:
    projected.write(TurnStarted(1, "m", "default"), opened("i1"), opened("i2"), opened("i3"))
    projected.write(InteractionClosed("i1", "allowed", by="ann"))
    projected.write(InteractionClosed("i2", "denied", "too risky", "bob", {"command": "ls"}))
    await projected.settled()
    found = {row.id: row for row in (await list_interactions(projected.database)).interactions}
    assert {id: (row.state, row.by, row.message) for id, row in found.items()} == {
        "i1": ("allowed", "ann", ""),
        "i2": ("denied", "bob", "too risky"),
        "i3": ("open", "", ""),
    }
    assert found["i2"].changed_input == {"command": "ls"}
    assert found["i2"].closed_at >= found["i2"].opened_at
    assert [row.id for row in (await list_interactions(projected.database, state="open")).interactions] == ["i3"]
    decided = await list_interactions(projected.database, state="decided")
    assert {row.id for row in decided.interactions} == {"i1", "i2"}
    projected.write(RunDone("interrupted_tools"))
    await projected.settled()
    assert (await list_interactions(projected.database, state="open")).interactions == ()
    decided = await list_interactions(projected.database, state="decided")
    assert {row.id for row in decided.interactions} == {"i1", "i2", "i3"}
    assert [row.id for row in (await list_interactions(projected.database, state="cancelled")).interactions] == ["i3"]


async def test_an_outcome_is_never_overwritten(projected: ProjectedSessions) -> None:
    """FM-12, FM-36: whoever comes later changes nothing, in the same batch or another."""
    projected.write(
        opened("i1"), InteractionClosed("i1", "denied", by="ann"), InteractionClosed("i1", "allowed", by="bob")
    )
    await projected.settled()
    projected.write(InteractionClosed("i1", "allowed", by="carol"))
    await projected.settled()
    assert [(row.state, row.by) for row in (await list_interactions(projected.database)).interactions] == [
        ("denied", "ann")
    ]


async def test_a_late_exit_does_not_change_how_a_session_ended(projected: ProjectedSessions) -> None:
    """FM-12, stored side."""
    projected.write(TurnStarted(1, "m", "default"), RunDone("api_error", "it broke"), WorkerExited("w1", code=0))
    await projected.settled()
    assert [row["status"] for row in await projected.table(sessions)] == ["failed"]


# ---------------------------------------------------------------- transcript


async def test_the_transcript_comes_in_pages_newest_first(projected: ProjectedSessions) -> None:
    for turn in range(5):
        projected.write(Prompted(f"p{turn}", (Text(f"question {turn}"),)))
        projected.write(BlockDone(f"m{turn}", 0, Thinking("hmm")), BlockDone(f"m{turn}", 1, Text(f"answer {turn}")))
        projected.write(
            projected.call(f"c{turn}", message=f"m{turn}", index=2), projected.result(f"c{turn}", f"output {turn}")
        )
        projected.write(MessageDone(f"m{turn}", "sonnet", "end_turn", Usage(1, 2), 0.5))
    await projected.settled()
    first = await read_page(projected.database, "one", limit=4)
    assert [row.id for row in first.rows] == ["m4", "p4", "m3", "p3"]
    newest = first.rows[0]
    assert [(part.kind, part.text) for part in newest.parts[:2]] == [("thinking", "hmm"), ("text", "answer 4")]
    assert newest.parts[2].call is not None
    assert newest.parts[2].call.output == "output 4"
    assert (newest.model, newest.stop, newest.usage, newest.cost) == ("sonnet", "end_turn", Usage(1, 2), 0.5)
    assert (first.seq, newest.changed, first.before) == (31, 31, first.rows[-1].seq)
    assert newest.seq < newest.changed
    seen = [row.id for row in first.rows]
    page = first
    while page.before is not None:
        page = await read_page(projected.database, "one", page.before, 4)
        seen += [row.id for row in page.rows]
    assert seen == [id for turn in (4, 3, 2, 1, 0) for id in (f"m{turn}", f"p{turn}")]


async def test_pictures_are_told_of_without_their_data(projected: ProjectedSessions) -> None:
    projected.write(Prompted("p1", (Text("look"), Image("image/png", "A" * 400_000))))
    await projected.settled()
    page = await read_page(projected.database, "one")
    assert [(part.kind, part.media_type, part.length) for part in page.rows[0].parts][1] == (
        "image",
        "image/png",
        300_000,
    )
    assert max(len(str(row)) for row in await projected.table(parts)) < 1_000


async def test_what_nobody_knows_is_a_row_of_its_own(projected: ProjectedSessions) -> None:
    """S000-13."""
    projected.write(Raw({"type": "from_the_future", "value": [1, 2]}))
    await projected.settled()
    page = await read_page(projected.database, "one")
    assert [(row.kind, row.data) for row in page.rows] == [("raw", {"type": "from_the_future", "value": [1, 2]})]


async def test_text_no_database_takes_is_made_storable(projected: ProjectedSessions) -> None:
    odd = "nul \0 half \ud800 ok \U0001f600"
    projected.write(Prompted("p\0", (Text(odd),)), projected.call("c\ud800", odd=odd), projected.result("c\ud800", odd))
    projected.write(ArtifactMade("a\0", "plan", odd, odd), todos(odd), opened("i\0"), Noted(odd))
    projected.write(MessageDone("m" * 5_000, "model\0", "end_turn", Usage(2**80, -1), float("inf")))
    await projected.settled()
    assert projected.database.health().skipped == 0
    page = await read_page(projected.database, "one")
    assert "ok \U0001f600" in page.rows[-1].parts[0].text
    assert [row["title"][:3] for row in await projected.table(artifacts)] == ["nul"]
