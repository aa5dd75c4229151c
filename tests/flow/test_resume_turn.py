"""A turn that a crash cut off at an approval request is resumed: the request stays open, the call runs once."""

import asyncio

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import Event, InteractionClosed, InteractionOpened, MessageDone, RunDone, ToolDone, ToolStarted
from bobstay.model.message import Text
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks, ScriptedSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


async def crash_at(
    make_session: ScriptedSession, prompt: str, kind: type[Event] | tuple[type[Event], ...], count: int = 1
) -> None:
    """Play a prompt and drop everything after the `count`-th event of these kinds, as a killed process does."""
    turn = make_session.driver.turn((Text(prompt),))
    async for event in turn:
        count -= isinstance(event, kind)
        if not count:
            break
    make_session.log.close()
    await turn.aclose()


def yes(opened: InteractionOpened) -> Answer:
    return Answer(True, by="ada")


async def resume(make_session: ScriptedSession) -> list[Event]:
    return [event async for event in make_session.driver.resume_turn()]


async def test_an_open_question_stays_open_and_its_call_runs_once(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("done")]))
    first = make_session(person=Person(yes))
    await crash_at(first, prompt, InteractionOpened)
    assert not (first.work / "ran").exists()
    second = make_session(person=Person(yes))
    (asked,) = second.driver.state.interactions
    events = await resume(second)
    assert [opened.id for opened in second.person.asked] == [asked.id]
    assert not [event for event in events if isinstance(event, InteractionOpened)], "it was asked already"
    assert [event.by for event in events if isinstance(event, InteractionClosed)] == ["ada"]
    assert (second.work / "ran").exists()
    assert isinstance(events[-1], RunDone)
    assert events[-1].text == "done"


async def test_what_was_allowed_before_the_crash_is_not_asked_again(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(yes))
    await crash_at(first, prompt, InteractionClosed)
    second = make_session(person=Person(lambda _: Answer(False)))
    events = await resume(second)
    assert second.person.asked == []
    assert (second.work / "ran").exists()
    assert [event.name for event in events if isinstance(event, ToolStarted)] == ["Bash"]


async def test_an_input_changed_by_a_person_before_the_crash_is_what_runs(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch a"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(lambda _: Answer(True, input={"command": "touch b"})))
    await crash_at(first, prompt, InteractionClosed)
    second = make_session(person=Person())
    await resume(second)
    assert sorted(path.name for path in second.work.iterdir()) == ["b"]


async def test_a_call_that_had_begun_is_not_run_again(model: ModelServer, make_session: MakeSession) -> None:
    prompt = model.play(
        "crash",
        Step(
            blocks=[
                Call("Bash", {"command": "echo x >> first; sleep 60"}, "a"),
                Call("Bash", {"command": "echo x >> second"}, "b"),
            ]
        ),
        Step(blocks=[Say("ok")]),
    )
    first = make_session(person=Person(yes))
    # A call runs while the answer is still streaming: the second one must have arrived, too.
    await crash_at(first, prompt, (ToolStarted, MessageDone), 2)
    second = make_session(person=Person(yes))
    events = await resume(second)
    lost = [event for event in events if isinstance(event, ToolDone) and event.interrupted]
    assert [event.reply.call_id for event in lost] == ["a"]
    assert "check before trying again" in lost[0].reply.text
    assert (second.work / "second").read_text() == "x\n"


async def test_a_rule_made_meanwhile_answers_the_open_question(model: ModelServer, make_session: MakeSession) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(yes))
    await crash_at(first, prompt, InteractionOpened)
    second = make_session(person=Person(), deny=("Bash",))
    events = await resume(second)
    assert [(event.outcome, event.by) for event in events if isinstance(event, InteractionClosed)] == [
        ("denied", "rule")
    ]
    assert not (second.work / "ran").exists()


async def test_a_resumed_turn_can_be_interrupted(model: ModelServer, make_session: MakeSession) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(yes))
    await crash_at(first, prompt, InteractionOpened)
    person = Person(yes)
    person.hold = asyncio.Event()
    second = make_session(person=person)
    running = asyncio.ensure_future(resume(second))
    while not person.asked:
        await asyncio.sleep(0)
    second.driver.interrupt()
    events = await running
    assert [event.outcome for event in events if isinstance(event, InteractionClosed)] == ["cancelled"]
    assert isinstance(events[-1], RunDone)
    assert events[-1].ending == "interrupted_tools"
    assert not (second.work / "ran").exists()


def rewriting(command: str) -> ScriptedHooks:
    return ScriptedHooks(PreToolUse=lambda _: HookOutcome(updated_input={"command": command}))


async def test_a_question_whose_input_a_hook_changes_is_asked_anew(
    model: ModelServer, make_session: MakeSession
) -> None:
    """An answer is good for the input that was shown and no other."""
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch a"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(yes), hooks=rewriting("touch b"))
    await crash_at(first, prompt, InteractionOpened)
    second = make_session(person=Person(yes), hooks=rewriting("touch c"))
    (asked,) = second.driver.state.interactions
    events = await resume(second)
    assert [opened.call.input for opened in second.person.asked] == [{"command": "touch c"}]
    closed = {event.id: event.outcome for event in events if isinstance(event, InteractionClosed)}
    assert closed == {asked.id: "cancelled", second.person.asked[0].id: "allowed"}
    assert second.person.asked[0].id != asked.id


async def test_what_was_allowed_is_what_runs_whatever_a_hook_makes_of_it_now(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch a"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(yes), hooks=rewriting("touch b"))
    await crash_at(first, prompt, InteractionClosed)
    second = make_session(person=Person(), hooks=rewriting("touch c"))
    await resume(second)
    assert sorted(path.name for path in second.work.iterdir()) == ["b"]


async def test_a_rule_made_meanwhile_does_not_bring_back_what_a_person_changed(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Call("Bash", {"command": "touch a"}, "c")]), Step(blocks=[Say("ok")]))
    first = make_session(person=Person(lambda _: Answer(True, input={"command": "touch b"})))
    await crash_at(first, prompt, InteractionClosed)
    second = make_session(person=Person(), allow=("Bash",))
    await resume(second)
    assert sorted(path.name for path in second.work.iterdir()) == ["b"]
