"""Engines that are started once for each prompt, and the safety of their command line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import BlockDone, MessageDone, Noted, Raw, RunDone
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig, WorkerExited, WorkerStarted
from bobstay.server.workers.process.engine_command_line import (
    EngineConversation,
    EngineLaunch,
    clear_mcp_configs,
    live_arguments,
    one_shot_arguments,
    starting_mode,
    write_mcp_config,
)
from tests.kit.process_sessions import QUICK, ProcessSessions

ONCE = {"live": False}


async def test_each_prompt_is_a_process_of_its_own_that_takes_up_the_talk(sessions: ProcessSessions) -> None:
    """S000-3, S000-19, S000-21, S000-29"""
    case = sessions.create(config=ONCE)
    case.say("argv one")
    case.say("argv two")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    first, second = (json.loads(done.text) for done in case.events(RunDone))
    assert first[-3:] == ["--print", "--", "argv one"]
    assert second[-3:] == ["--print", "--", "argv two"]
    assert "--session-id" in first
    assert second[second.index("--resume") + 1] == "11111111-2222-4333-8444-555555555555"
    assert [exited.code for exited in case.events(WorkerExited)] == [0, 0]
    assert sorted({started.epoch for started in case.events(WorkerStarted)}) == [1, 2]
    assert case.status == "completed"


@pytest.mark.parametrize("query", ["--help me", "-p", "--settings={}", "--", "", "  ", "a\nb"])
async def test_a_query_that_looks_like_a_flag_reaches_the_engine_as_it_is(
    sessions: ProcessSessions, query: str
) -> None:
    """S000-4, FM-48"""
    case = sessions.create(config=ONCE)
    case.say(query)
    await case.worker.start()
    assert (await case.until(RunDone)).text == query


async def test_what_no_command_line_can_hold_fails_the_turn_and_says_so(sessions: ProcessSessions) -> None:
    case = sessions.create(config=ONCE)
    case.say("nul\0byte")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    (done,) = case.events(RunDone)
    assert done.ending == "failed"
    assert "arguments" in done.text
    assert case.events(WorkerExited)[-1].why == "not_started"
    assert case.status == "failed"


async def test_one_that_runs_is_interrupted_by_a_signal(sessions: ProcessSessions) -> None:
    """S000-25"""
    case = sessions.create(config=ONCE, timeouts=QUICK)
    case.say("hold")
    await case.worker.start()
    await case.holds(lambda: bool(case.view.open_calls))
    await case.interrupt()
    assert case.status == "interrupted"
    assert len(case.events(RunDone)) == 1


async def test_stderr_of_a_turn_that_went_well_is_told_once(sessions: ProcessSessions) -> None:
    """S003-15, S000-21"""
    case = sessions.create(config=ONCE)
    case.say("late")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    assert case.status == "completed"
    told = [noted.text for noted in case.events(Noted)] + [exited.error for exited in case.events(WorkerExited)]
    assert [text.count("afterwards") for text in told if "afterwards" in text] == [1], told


@pytest.mark.parametrize("form", ["text", "json"])
async def test_an_engine_that_says_it_all_at_once_is_heard_when_it_has_ended(
    sessions: ProcessSessions, form: str
) -> None:
    """S000-2"""
    case = sessions.create(config={**ONCE, "output_format": form})
    case.say("argv")
    await case.worker.start()
    done = await case.until(RunDone)
    flags = json.loads(done.text)
    assert flags[flags.index("--output-format") + 1] == form
    assert "--verbose" not in flags
    assert done.ending == "completed"
    (said,) = case.events(BlockDone)
    assert said.block == Text(done.text)
    await case.holds(lambda: not case.worker.alive())
    assert (case.status, case.view.steps) == ("completed", 1)
    if form == "json":
        (message,) = case.events(MessageDone)
        assert (message.usage.output, message.cost) == (7, 0.5)
        assert case.view.workers[0].engine_session == "11111111-2222-4333-8444-555555555555"


async def test_an_engine_whose_person_likes_it_verbose_is_understood(sessions: ProcessSessions) -> None:
    """With `verbose` in its own settings, `claude` writes all its frames as a list in the place of the last."""
    case = sessions.create(config={**ONCE, "output_format": "json"})
    case.say("verbose hello")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    assert case.status == "completed"
    assert [said.block for said in case.events(BlockDone)] == [Text("hello")]
    assert [done.text for done in case.events(RunDone)] == ["hello"]
    assert case.view.workers[0].engine_session == "11111111-2222-4333-8444-555555555555"


async def test_the_next_prompt_goes_on_with_a_talk_of_which_only_text_came(sessions: ProcessSessions) -> None:
    case = sessions.create(config={**ONCE, "output_format": "text"})
    for prompt in ("argv one", "argv two"):
        case.say(prompt)
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    first, second = (json.loads(done.text) for done in case.events(RunDone))
    assert second[second.index("--resume") + 1] == first[first.index("--session-id") + 1]


async def test_a_copy_of_a_session_goes_on_with_its_own_talk_where_only_text_comes(sessions: ProcessSessions) -> None:
    parent = sessions.create(config={**ONCE, "output_format": "text"})
    parent.say("argv")
    await parent.worker.start()
    await parent.holds(lambda: not parent.worker.alive())
    talk = parent.view.workers[0].engine_session
    copy = sessions.around(await sessions.registry.branch_off(parent.session.id, "", parent.view.config))
    for prompt in ("argv one", "argv two"):
        copy.say(prompt)
    await copy.worker.start()
    await copy.holds(lambda: not copy.worker.alive())
    first, second = (json.loads(done.text) for done in copy.events(RunDone)[-2:])
    assert first[first.index("--resume") + 1] == talk
    assert "--fork-session" in first
    assert "--resume-session-at" not in first, "the engine knows none of our ids"
    assert second[second.index("--resume") + 1] == first[first.index("--session-id") + 1] != talk


async def test_a_copy_of_a_session_whose_engine_tells_no_ids_is_of_the_whole_talk(sessions: ProcessSessions) -> None:
    parent = sessions.create(config={**ONCE, "output_format": "json"})
    parent.say("argv")
    await parent.worker.start()
    await parent.holds(lambda: not parent.worker.alive())
    copy = sessions.around(await sessions.registry.branch_off(parent.session.id, "", parent.view.config))
    copy.say("argv")
    await copy.worker.start()
    await copy.holds(lambda: not copy.worker.alive())
    flags = json.loads(copy.events(RunDone)[-1].text)
    assert "--fork-session" in flags
    assert "--resume-session-at" not in flags


async def test_a_talk_that_failed_to_begin_is_not_gone_on_with(sessions: ProcessSessions) -> None:
    case = sessions.create(config={**ONCE, "output_format": "text"})
    case.say("crash it went wrong")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    assert case.view.workers[0].engine_session == ""


@pytest.mark.parametrize(
    ("form", "prompt", "ending"),
    [("text", "crash it went wrong", "failed"), ("json", "junk this is no JSON", "failed"), ("text", "junk", "failed")],
)
async def test_what_it_says_at_once_is_kept_where_the_turn_failed(
    sessions: ProcessSessions, form: str, prompt: str, ending: str
) -> None:
    case = sessions.create(config={**ONCE, "output_format": form})
    case.say(prompt)
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    (done,) = case.events(RunDone)
    assert done.ending == ending
    assert done.text
    words = prompt.partition(" ")[2]
    assert words in done.text + str([raw.data for raw in case.events(Raw)])


async def test_an_ephemeral_session_leaves_nothing_to_go_on_with(sessions: ProcessSessions) -> None:
    """S003-4, S003-40: each process begins anew, and what each costs is added up."""
    case = sessions.create(config={**ONCE, "ephemeral": True})
    case.say("argv one")
    case.say("argv two")
    await case.worker.start()
    await case.holds(lambda: not case.worker.alive())
    found = [json.loads(done.text) for done in case.events(RunDone)]
    assert len(found) == 2
    for flags in found:
        assert "--no-session-persistence" in flags
        assert "--resume" not in flags
    assert found[0][found[0].index("--session-id") + 1] != found[1][found[1].index("--session-id") + 1]
    assert case.view.cost == 1.0
    notes = [note.text for note in case.events(Noted)]
    assert [note for note in notes if "starts over" in note] == notes[:1]


words = st.text(max_size=20) | st.sampled_from(["--settings={}", "-p", "--", "-", "--model=x"])


def test_flags_are_there_only_when_they_say_something() -> None:
    """S000-5, S000-6, S000-30, S003-2, S003-4"""
    bare = one_shot_arguments(EngineLaunch(SessionConfig(max_turns=0)), "hi")
    assert bare == (
        *("--output-format", "stream-json", "--verbose", "--include-partial-messages"),
        *("--print", "--", "hi"),
    )
    config = SessionConfig(
        model="opus",
        system_prompt="be kind",
        append_system_prompt="and brief",
        allowed_tools=("Read", "Bash(git:*)"),
        disallowed_tools=("WebFetch",),
        max_budget_usd=0.5,
    )
    found = live_arguments(
        EngineLaunch(config, EngineConversation(resume="id", fork=True, at="entry"), "plan", "/tmp/mcp.json")
    )
    for pair in (
        ("--model", "opus"),
        ("--system-prompt", "be kind"),
        ("--append-system-prompt", "and brief"),
        ("--allowedTools", "Read,Bash(git:*)"),
        ("--disallowedTools", "WebFetch"),
        ("--max-turns", "100"),
        ("--max-budget-usd", "0.5"),
        ("--permission-mode", "plan"),
        ("--permission-prompt-tool", "stdio"),
        ("--mcp-config", "/tmp/mcp.json"),
        ("--resume", "id"),
        ("--resume-session-at", "entry"),
    ):
        assert found[found.index(pair[0]) + 1] == pair[1]
    assert {"-p", "--replay-user-messages", "--include-partial-messages", "--verbose", "--fork-session"} < set(found)
    assert not any("skip-permissions" in flag for flag in found), "S003-5"


@given(words, words, words, st.lists(words, max_size=3))
def test_values_never_become_flags(model: str, prompt: str, query: str, tools: list[str]) -> None:
    """FM-48, S000-3"""
    config = SessionConfig(model=model, system_prompt=prompt, allowed_tools=tuple(tools))
    found = one_shot_arguments(EngineLaunch(config), query)
    assert found[-3:] == ("--print", "--", query)
    ours = {"--output-format", "--verbose", "--include-partial-messages", "--max-turns"}
    ours |= {"--model", "--system-prompt", "--allowedTools"}
    place = 0
    while place < len(found) - 3:
        name, joined, _ = found[place].partition("=")
        assert name in ours
        lone = name in ("--verbose", "--include-partial-messages")
        assert joined or lone or not found[place + 1].startswith("-"), "some parsers would take it for a flag"
        place += 1 if joined or lone else 2


def test_bypassing_is_not_started_with_once_its_time_is_over() -> None:
    """FM-39, S003-5"""
    config = SessionConfig(permission_mode="bypassPermissions", bypass_until=100.0)
    assert starting_mode(config, "", 99.0) == "bypassPermissions"
    assert starting_mode(config, "", 100.0) == "default"
    assert starting_mode(config, "plan", 100.0) == "plan"


def test_files_of_a_server_that_crashed_are_removed(sessions: ProcessSessions) -> None:
    """S000-7"""
    directory = str(sessions.directory / "tmp")
    write_mcp_config({"mcpServers": {}}, directory)
    other = sessions.directory / "tmp" / f"other-{new_id()}"
    other.write_text("not ours")
    assert clear_mcp_configs(directory) == 1
    assert [path.name for path in (sessions.directory / "tmp").iterdir()] == [other.name]
    assert clear_mcp_configs("/no/such/directory") == 0
