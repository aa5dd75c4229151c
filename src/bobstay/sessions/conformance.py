"""Conformance checks for implementations of `Log`: each check takes a `Logs` and asserts."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias

from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import (
    BlockDone,
    Decided,
    Durable,
    HookRan,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    PermissionsChanged,
    Prompted,
    Pruned,
    Raw,
    RunDone,
    SessionStarted,
    Task,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.sessions.log import Log, LogError, SessionBusy


class Logs(Protocol):
    """Creates the logs under test. Each check uses its own session ids."""

    def create(self, session_id: str) -> Log:
        """Return a new, empty log."""
        ...

    def reopen(self, session_id: str) -> Log:
        """Return an existing log, positioned at its last entry."""
        ...


Check: TypeAlias = Callable[[Logs], None]


def appended_events_are_read_back(logs: Logs) -> None:
    log = logs.create("read-back")
    stored = [log.append(event) for event in EVERY_KIND]
    assert list(log.read()) == stored
    assert [envelope.event for envelope in stored] == list(EVERY_KIND)
    log.close()


def sequence_numbers_have_no_gaps(logs: Logs) -> None:
    log = logs.create("numbers")
    assert log.seq == 0
    assert [log.append(Noted(str(number))).seq for number in range(5)] == [1, 2, 3, 4, 5]
    assert log.seq == 5
    log.close()


def each_entry_follows_the_one_before(logs: Logs) -> None:
    log = logs.create("chain")
    assert log.head == ""
    first = log.append(Noted("first"))
    assert first.parent == ""
    assert log.head == first.id
    second = log.append(Noted("second"))
    assert second.parent == first.id
    assert first.id != second.id
    log.close()


def a_named_parent_begins_a_branch(logs: Logs) -> None:
    log = logs.create("branch")
    root = log.append(Noted("root"))
    log.append(Noted("left"))
    right = log.append(Noted("right"), parent=root.id)
    assert right.parent == root.id
    assert right.seq == 3
    assert log.append(Noted("leaf")).parent == right.id
    log.close()


def given_ids_are_kept(logs: Logs) -> None:
    log = logs.create("names")
    stored = log.append(Noted("named"), id="an-id", agent="explorer", parent_call="call-1", sync=True)
    assert (stored.id, stored.agent, stored.parent_call) == ("an-id", "explorer", "call-1")
    assert list(log.read()) == [stored]
    log.close()


def reading_begins_after_the_cursor(logs: Logs) -> None:
    log = logs.create("cursor")
    stored = [log.append(Noted(str(number))) for number in range(6)]
    assert list(log.read(after=4)) == stored[4:]
    assert list(log.read(after=6)) == []
    log.close()


def an_entry_is_readable_once_it_is_stored(logs: Logs) -> None:
    log = logs.create("at-once")
    for number in range(3):
        log.append(Noted(str(number)))
        assert [envelope.seq for envelope in log.read()] == list(range(1, number + 2))
    log.close()


def what_waits_for_storage_is_called_in_order(logs: Logs) -> None:
    log = logs.create("in-order")
    called: list[int] = []
    for number in range(3):
        log.append(Noted(str(number)))
        log.when_stored(partial(called.append, number))
    asyncio.run(log.settled())
    assert called == [0, 1, 2]
    log.close()


def a_settled_log_has_stored_everything(logs: Logs) -> None:
    log = logs.create("settled")
    asyncio.run(log.settled())
    stored = [log.append(Noted(str(number))) for number in range(3)]
    asyncio.run(log.settled())
    log.close()
    log = logs.reopen("settled")
    assert list(log.read()) == stored
    log.close()


def a_reopened_log_continues(logs: Logs) -> None:
    log = logs.create("goes-on")
    first = log.append(Noted("before"))
    log.close()
    log = logs.reopen("goes-on")
    assert (log.session_id, log.seq, log.head) == ("goes-on", 1, first.id)
    second = log.append(Noted("after"))
    assert (second.seq, second.parent) == (2, first.id)
    assert list(log.read()) == [first, second]
    log.close()


def a_second_writer_is_refused(logs: Logs) -> None:
    log = logs.create("one-writer")
    log.append(Noted("mine"))
    try:
        logs.reopen("one-writer")
    except SessionBusy:
        pass
    else:
        raise AssertionError("two writers hold the same session")
    log.append(Noted("still mine"))
    log.close()
    second = logs.reopen("one-writer")
    assert second.seq == 2
    second.close()


def a_closed_log_refuses_events(logs: Logs) -> None:
    log = logs.create("closed")
    log.append(Noted("last"))
    log.close()
    log.close()
    try:
        log.append(Noted("too late"))
    except LogError:
        pass
    else:
        raise AssertionError("a closed log stored an event")


def unusual_text_and_large_events_survive(logs: Logs) -> None:
    log = logs.create("strange")
    events = [
        Noted(text)
        for text in ("", "\0\x01\x1b[31m", "a\nb\r\n\u2028\u2029\x85", '"}\n{"', "𝄞 é 日本", "x" * 5_000_000)
    ]
    for event in events:
        log.append(event)
    assert [envelope.event for envelope in log.read()] == events
    log.close()


CHECKS: tuple[Check, ...] = (
    appended_events_are_read_back,
    sequence_numbers_have_no_gaps,
    each_entry_follows_the_one_before,
    a_named_parent_begins_a_branch,
    given_ids_are_kept,
    reading_begins_after_the_cursor,
    an_entry_is_readable_once_it_is_stored,
    a_settled_log_has_stored_everything,
    what_waits_for_storage_is_called_in_order,
    a_reopened_log_continues,
    a_second_writer_is_refused,
    a_closed_log_refuses_events,
    unusual_text_and_large_events_survive,
)

_CALL = ToolCall("call-1", "Edit", {"path": "/a", "edits": [{"old": "x", "new": None}], "all": True})

EVERY_KIND: tuple[Durable, ...] = (
    SessionStarted("/work", "1.0", "some-model"),
    InputQueued("input-1", (Text("wait"), Image("image/png", "AAAA")), "queue", "client-1"),
    InputDropped("input-1"),
    Prompted("prompt-1", (Text("do it"),), client_id="client-2"),
    TurnStarted(1, "some-model", "default"),
    BlockDone("message-1", 0, Thinking("hm", "signed", "anthropic"), "some-model", Usage(1, 2, 3, 4)),
    BlockDone("message-1", 1, _CALL, partial=True),
    MessageDone("message-1", "some-model", "tool_use", Usage(10, 20), 0.25, 120, "request-1"),
    InteractionOpened("ask-1", "permission", _CALL, "writes", "rule", ({"type": "addRules"},), "/a", "edit a file"),
    InteractionClosed("ask-1", "allowed", "go on", "person"),
    ToolStarted("call-1", "Edit", {"path": "/a"}),
    ToolDone(
        ToolReply("call-1", (Text("done"), Image("image/png", "AAAA")), is_error=True),
        "Edit",
        {"patch": [1, 2.5, None]},
        decided=Decided("accept", "config", "mode"),
        files={"/a": "hash"},
        cwd="/work",
    ),
    TasksReplaced((Task("one", "pending"), Task("two", "completed", "doing two"))),
    Pruned(("call-1",), 1000),
    ModeChanged("plan"),
    ModelChanged("other-model", "fallback", "some-model"),
    PermissionsChanged(({"type": "setMode", "mode": "plan"},)),
    HookRan("check", "PreToolUse", "allow", "fine"),
    Noted("careful", "warning"),
    BackgroundStarted("b1", "call-1", "run the tests", "/spill/b1.output"),
    BackgroundEnded("b1", "call-1", "run the tests", "failed", 2, "/spill/b1.output", "next_turn"),
    Raw({"type": "of the future", "with": [1, {"more": True}]}),
    RunDone("completed", "all done", "end_turn", structured={"answer": 42}, turns=2, duration_ms=12),
)
"""One event of each kind, with fields of every shape."""
