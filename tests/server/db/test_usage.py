"""Usage by day, model, project, session and tool."""

from bobstay.model.event import Advised, Envelope, InteractionClosed, InteractionOpened, MessageDone, SessionStarted
from bobstay.model.message import ToolCall, Usage
from bobstay.model.session_events import Configured, SessionConfig
from bobstay.server.db.projection import day
from bobstay.server.db.spending import level, spending
from bobstay.server.db.tool_time import Group
from bobstay.server.sessions.session_view import SessionView
from tests.server.db.projected_sessions import ProjectedSessions

YESTERDAY, TODAY = 1_700_000_000.0, 1_700_086_400.0


def done(id: str, model: str = "sonnet", usage: Usage = Usage(10, 20, 30, 40), cost: float = 0.5) -> MessageDone:  # noqa: B008
    return MessageDone(id, model, "end_turn", usage, cost)


async def test_usage_is_summed_up_by_what_is_asked(projected: ProjectedSessions) -> None:
    projected.write(done("m1"), at=YESTERDAY)
    projected.write(done("m2", "haiku", cost=0.25), at=TODAY)
    projected.write(Configured(SessionConfig(project="/other")), session="two")
    projected.write(done("m3", usage=Usage(100, 0, 300, 0), cost=2.0), session="two", at=TODAY)
    projected.write(Advised("c", "allow", model="haiku", usage=Usage(1, 1), cost=0.125), session="two", at=TODAY)
    await projected.settled()
    by_day = await spending(projected.database, "day")
    assert [(group.key, group.calls, group.cost) for group in by_day.groups] == [
        (day(TODAY), 3, 2.375),
        (day(YESTERDAY), 1, 0.5),
    ]
    assert (by_day.total.calls, by_day.total.cost, by_day.total.sessions) == (4, 2.875, 2)
    by_model = {group.key: group for group in (await spending(projected.database, "model")).groups}
    assert (by_model["sonnet"].input, by_model["sonnet"].output, by_model["haiku"].calls) == (110, 20, 2)
    by_project = {group.key: group for group in (await spending(projected.database, "project")).groups}
    assert (by_project["/work"].cost, by_project["/other"].cost) == (0.75, 2.125)
    assert by_project["/other"].cache_hit_rate == 300 / 401
    assert by_project["/work"].cache_hit_rate == 60 / 160
    only = await spending(projected.database, "model", day(YESTERDAY), day(YESTERDAY))
    assert [group.key for group in only.groups] == ["sonnet"]
    assert (await spending(projected.database, "model", "2030-01-01")).total.calls == 0


async def test_a_model_call_told_of_twice_is_paid_once(projected: ProjectedSessions) -> None:
    """An external engine repeats a message with the count so far; the last one counts."""
    projected.write(done("m1", cost=0.5), done("m1", cost=0.75))
    await projected.settled()
    assert (await spending(projected.database, "day")).total.cost == 0.75


async def test_a_fork_does_not_pay_again_for_what_it_was_copied_from(projected: ProjectedSessions) -> None:
    projected.write(done("m1", cost=1.0))
    await projected.settled()
    log = projected.store.fork("one", "child", None, SessionStarted("/work", "1"))
    log.append(done("m2", cost=0.5))
    log.close()
    await projected.database.catch_up()
    total = await spending(projected.database, "session")
    assert {group.key: group.cost for group in total.groups} == {"one": 1.0, "child": 0.5}
    await projected.database.forget("one")
    assert (await spending(projected.database, "session")).total.cost == 1.5


async def test_sessions_say_how_full_their_context_is(projected: ProjectedSessions) -> None:
    """S000-31, S000-32, S000-33, S000-34."""
    projected.write(done("m1", usage=Usage(50_000, 5_800, 40_000, 5_000)))
    projected.write(done("m2", usage=Usage(1, 1)), parent_call="c1")
    projected.write(done("m3", usage=Usage(151_200)), session="two")
    projected.write(done("m4", usage=Usage(100_799)), session="three")
    await projected.settled()
    groups = {group.key: group for group in (await spending(projected.database, "session")).groups}
    assert (groups["one"].context, groups["one"].context_limit, groups["one"].level) == (100_800, 168_000, "warning")
    assert (groups["two"].fullness, groups["two"].level) == (0.9, "critical")
    assert groups["three"].level == "ok"


def test_what_a_sub_agent_used_counts_but_does_not_fill_the_context() -> None:
    """S000-32: the newest answer of the main talk is what is shown as used."""
    main = Envelope(1, "e1", "", 0.0, done("m1", usage=Usage(100, 20)))
    sub_agent = Envelope(2, "e2", "e1", 0.0, done("m2", usage=Usage(7, 3)), parent_call="c1")
    view = SessionView("one").apply(main).apply(sub_agent)
    assert (view.last_usage, view.context) == (Usage(100, 20), 120)
    assert view.usage == Usage(107, 23)


def test_the_thresholds_are_included() -> None:
    """S000-34."""
    assert [level(full) for full in (0.0, 0.599, 0.6, 0.899, 0.9, 1.5)] == [
        "ok",
        "ok",
        "warning",
        "warning",
        "critical",
        "critical",
    ]


async def test_the_time_of_tools_is_summed_up_by_what_is_asked(projected: ProjectedSessions) -> None:
    """What an engine measured counts; where it measured nothing, the time that passed, less that of a person."""
    projected.write(
        projected.call("a", "Bash"),
        projected.call("b", "Bash", index=1),
        projected.call("c", "Read", index=2),
        at=YESTERDAY,
    )
    projected.write(done("m1"), at=YESTERDAY)
    projected.write(projected.result("a", "ok", duration_ms=1_500), at=YESTERDAY + 100)
    projected.write(projected.result("b", "no", is_error=True, duration_ms=500), at=YESTERDAY + 100)
    projected.write(projected.result("c", "refused", is_error=True, denied=True), at=YESTERDAY)
    call = projected.call("d", "Task", message="m2")
    projected.write(call, session="two", at=TODAY)
    projected.write(InteractionOpened("i", "permission", ToolCall("d", "Task", {})), session="two", at=TODAY + 1)
    projected.write(InteractionClosed("i", "allowed"), session="two", at=TODAY + 61)
    projected.write(projected.result("d", "done"), done("m2", "haiku"), session="two", at=TODAY + 64)
    projected.write(projected.call("e", "Task", message="m3"), session="two", at=TODAY + 65)  # still at work
    await projected.settled()
    by_tool = await spending(projected.database, "tool")
    assert [(one.key, one.tool_calls, one.tool_errors, one.tool_denied, one.tool_ms) for one in by_tool.groups] == [
        ("Task", 2, 0, 0, 4_000),
        ("Bash", 2, 1, 0, 2_000),
        ("Read", 1, 0, 1, 0),
    ]
    assert (by_tool.total.tool_calls, by_tool.total.tool_ms, by_tool.total.cost) == (5, 6_000, 1.0)
    by_day = {one.key: one for one in (await spending(projected.database, "day")).groups}
    assert (by_day[day(YESTERDAY)].tool_ms, by_day[day(TODAY)].tool_ms) == (2_000, 4_000)
    by_model = {one.key: one for one in (await spending(projected.database, "model")).groups}
    assert (by_model["sonnet"].tool_calls, by_model["haiku"].tool_calls) == (3, 1)
    by_session = {one.key: one for one in (await spending(projected.database, "session")).groups}
    assert (by_session["one"].tool_errors, by_session["two"].tool_calls) == (1, 2)
    by_project = {one.key: one for one in (await spending(projected.database, "project")).groups}
    assert by_project["/work"].tool_ms == 6_000
    only = await spending(projected.database, "tool", day(TODAY), day(TODAY))
    assert [one.key for one in only.groups] == ["Task"]
    groups: tuple[Group, ...] = ("tool", "day", "session")
    before = [await spending(projected.database, group) for group in groups]
    await projected.database.rebuild()
    assert [await spending(projected.database, group) for group in groups] == before


async def test_a_fork_does_not_count_the_calls_it_was_copied_from(projected: ProjectedSessions) -> None:
    projected.write(projected.call("a"), projected.result("a", "ok", duration_ms=100), done("m1"))
    await projected.settled()
    log = projected.store.fork("one", "child", None, SessionStarted("/work", "1"))
    log.append(projected.call("b", message="m2"))
    log.append(projected.result("b", "ok", duration_ms=10))
    log.close()
    await projected.database.catch_up()
    assert (await spending(projected.database, "tool")).total.tool_ms == 110
