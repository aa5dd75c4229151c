"""A stored session is resumed: nothing is lost, no tool runs twice, the prefix stays (H3-8, F3, F32)."""

import itertools

import msgspec

from bobstay.model.event import Event, ToolDone, ToolStarted
from bobstay.model.message import Text
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


async def test_a_session_goes_on_where_it_stopped(model: ModelServer, make_session: MakeSession) -> None:
    first = make_session()
    (first.work / "a.txt").write_text("remembered")
    await first.run(
        model.play("one", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")]), Step(blocks=[Say("First.")]))
    )
    first.log.close()
    second = make_session()
    assert second.warnings == []
    assert second.driver.state.messages == first.driver.state.messages
    await second.run(model.play("two", Step(blocks=[Say("Second.")])))
    sent = str(model.requests[-1].body["messages"])
    assert "remembered" in sent
    assert "First." in sent
    assert second.tool_environment.known(str(first.work / "a.txt"))


async def test_the_model_sees_the_same_prefix_before_and_after_a_restart(
    model: ModelServer, make_session: MakeSession
) -> None:
    first = make_session()
    (first.work / "a.txt").write_text("x")
    await first.run(
        model.play("one", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")]), Step(blocks=[Say("First.")]))
    )
    await first.run(model.play("two", Step(blocks=[Say("Second.")])))
    first.log.close()
    await make_session().run(model.play("three", Step(blocks=[Say("Third.")])))
    bodies = [request.body for request in model.requests]
    for earlier, later in itertools.pairwise(bodies):
        shared = len(earlier["messages"])
        assert plain(later["messages"][:shared]) == plain(earlier["messages"])
        assert plain(later["system"]) == plain(earlier["system"])
        assert plain(later["tools"]) == plain(earlier["tools"])


async def test_a_call_cut_off_by_a_crash_is_answered_not_run_again(
    model: ModelServer, make_session: MakeSession
) -> None:
    """The log ends after the call began: the model is asked to check first."""
    first = make_session(allow=("Bash", "Edit"))
    prompt = model.play(
        "crash", Step(blocks=[Call("Bash", {"command": "echo ran >> log"}, "c")]), Step(blocks=[Say("x")])
    )
    turn = first.driver.turn((Text(prompt),))
    async for event in turn:
        if isinstance(event, ToolStarted):
            break
    await turn.aclose()
    first.log.close()
    second = make_session(allow=("Bash", "Edit"))
    assert [call.id for call in second.driver.state.unanswered] == ["c"]
    await second.run(model.play("after", Step(blocks=[Say("ok")])))
    reply = next(
        block for m in model.requests[-1].body["messages"] for block in m["content"] if block["type"] == "tool_result"
    )
    assert reply["is_error"]
    assert "Check before" in str(reply["content"])
    assert not second.of(ToolStarted)


async def test_the_prompt_is_on_disk_before_the_model_is_asked(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    kinds: list[str] = []

    def look(body: dict[str, object]) -> Step:
        path = session.store.path(session.log.session_id)
        with open(path, "rb") as file:
            kinds.extend(msgspec.json.decode(line)["event"]["type"] for line in file)
        return Step(blocks=[Say("ok")])

    await session.run(model.play("disk", look))
    assert kinds == ["session_started", "prompted", "turn_started"]


async def test_every_block_and_result_is_on_disk_before_its_consequence(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(allow=("Bash",))
    path = session.store.path(session.log.session_id)
    stored: dict[str, list[str]] = {}

    def look(event: Event) -> None:
        if isinstance(event, ToolStarted | ToolDone):
            with open(path, "rb") as file:
                stored[type(event).__name__] = [msgspec.json.decode(line)["event"]["type"] for line in file]

    await session.run(
        model.play("each", Step(blocks=[Call("Bash", {"command": "true"}, "c")]), Step(blocks=[Say("x")])), look
    )
    assert "block_done" in stored["ToolStarted"]
    assert "tool_started" in stored["ToolStarted"]
    assert stored["ToolDone"][-1] == "tool_done" or "tool_done" in stored["ToolDone"]


def plain(value: object) -> object:
    """Without the cache marks, which move on as the conversation grows."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key != "cache_control"}
    return value
