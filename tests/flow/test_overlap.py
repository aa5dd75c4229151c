"""Tools start while the model still streams, and run side by side where they may (H2-5, H2-6, H2-7)."""

import asyncio

from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome
from bobstay.model.event import Event, MessageDone, ToolDone, ToolStarted
from bobstay.model.live_events import ToolProgress
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool
from bobstay.tools.function_tool import tool
from tests.kit.scripted_session import MakeSession, ScriptedHooks
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


async def test_a_call_runs_before_the_message_that_made_it_ends(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("one")
    gate = Gate()
    step = Step(blocks=[Call("Read", {"file_path": "a.txt"}, "t1"), Say("more")], gate=gate, gate_after=1)

    def open_when_read(event: Event) -> None:
        if isinstance(event, ToolDone):
            gate.open()

    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("overlap", step, Step(blocks=[Say("end")])), open_when_read)
    assert done.text == "end"
    order = [type(event) for event in session.of(ToolDone, MessageDone)]
    assert order == [ToolDone, MessageDone, MessageDone]


async def test_results_stand_in_the_order_of_the_calls(model: ModelServer, make_session: MakeSession) -> None:
    second_done = asyncio.Event()

    @tool(read_only=True)
    async def slow() -> str:
        "Waits for the other."
        await second_done.wait()
        return "slow result"

    @tool(read_only=True)
    async def fast() -> str:
        "Does not wait."
        second_done.set()
        return "fast result"

    session = make_session(tools=(slow, fast))
    prompt = model.play("order", Step(blocks=[Call("slow", {}, "a"), Call("fast", {}, "b")]), Step(blocks=[Say("end")]))
    async with asyncio.timeout(DEADLINE):
        await session.run(prompt)
    assert [event.reply.call_id for event in session.of(ToolDone)] == ["b", "a"]
    replies = model.requests[-1].body["messages"][-1]["content"]
    assert [block["tool_use_id"] for block in replies if block["type"] == "tool_result"] == ["a", "b"]


async def test_writers_run_one_after_the_other_in_order(model: ModelServer, make_session: MakeSession) -> None:
    running: list[str] = []
    overlapped: list[list[str]] = []

    @tool
    async def write(name: str) -> str:
        "States nothing, so it runs alone."
        running.append(name)
        overlapped.append(list(running))
        await asyncio.sleep(0)
        running.remove(name)
        return name

    session = make_session(tools=(write,), allow=("write",))
    calls = [Call("write", {"name": name}, name) for name in "abc"]
    await session.run(model.play("alone", Step(blocks=list(calls)), Step(blocks=[Say("end")])))
    assert overlapped == [["a"], ["b"], ["c"]]


async def test_a_failing_call_leaves_its_neighbours_alone(model: ModelServer, make_session: MakeSession) -> None:
    @tool(read_only=True)
    async def broken() -> str:
        "Breaks."
        raise RuntimeError("boom")

    @tool(read_only=True)
    async def fine() -> str:
        "Works."
        return "fine"

    session = make_session(tools=(broken, fine))
    prompt = model.play(
        "fail", Step(blocks=[Call("broken", {}, "a"), Call("fine", {}, "b")]), Step(blocks=[Say("end")])
    )
    assert (await session.run(prompt)).ending == "completed"
    by_id = {event.reply.call_id: event.reply for event in session.of(ToolDone)}
    assert by_id["a"].is_error
    assert "boom" in by_id["a"].text
    assert by_id["b"].text == "fine"


async def test_live_output_is_shown_while_a_command_runs(model: ModelServer, make_session: MakeSession) -> None:
    """H2-4"""
    session = make_session(allow=("Bash",))
    fifo = session.work / "go"
    prompt = model.play(
        "live",
        Step(blocks=[Call("Bash", {"command": "mkfifo go; echo early; cat go"}, "a")]),
        Step(blocks=[Say("end")]),
    )

    def release(event: Event) -> None:
        if isinstance(event, ToolProgress) and "early" in event.text:
            fifo.write_text("late\n")

    async with asyncio.timeout(DEADLINE):
        await session.run(prompt, release)
    assert "early" in "".join(event.text for event in session.of(ToolProgress))
    assert "late" in session.of(ToolDone)[0].reply.text


async def test_at_most_ten_calls_run_at_once(model: ModelServer, make_session: MakeSession) -> None:
    running = 0
    most = 0
    full = asyncio.Event()

    @tool(read_only=True)
    async def busy(number: int) -> str:
        "Counts how many run."
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 10:
            full.set()
        await full.wait()
        for _ in range(50):
            await asyncio.sleep(0)
        running -= 1
        return str(number)

    session = make_session(tools=(busy,))
    calls = [Call("busy", {"number": number}, f"c{number}") for number in range(25)]
    await session.run(model.play("many", Step(blocks=list(calls)), Step(blocks=[Say("end")])))
    assert len(session.of(ToolDone)) == 25
    assert most == 10


async def test_a_call_that_a_hook_rewrote_waits_for_what_its_new_input_gets_in_the_way_of(
    model: ModelServer, make_session: MakeSession
) -> None:
    looking = asyncio.Event()

    class Look(Tool[Args]):
        name = "look"
        description = "Takes a while, beside all that only look."
        args = Args

        def read_only(self, args: Args, context: Context) -> bool:
            return True

        def claims(self, args: Args, context: Context) -> tuple[Claim, ...]:
            return (Claim("*", shared=True),)

        async def run(self, args: Args, context: Context) -> Outcome:
            looking.set()
            for _ in range(200):
                await asyncio.sleep(0)
            return Outcome("looked")

    class Rewriting(ScriptedHooks):
        async def run(self, call: HookCall) -> HookOutcome:
            if call.subject != "Bash":
                return NO_OPINION
            await looking.wait()
            return HookOutcome(updated_input={"command": "touch made"})

    session = make_session(tools=(Look(),), allow=("Bash", "look"), hooks=Rewriting(PreToolUse=lambda _: NO_OPINION))
    calls = Step(blocks=[Call("Bash", {"command": "pwd"}, "a"), Call("look", {}, "b")])
    async with asyncio.timeout(DEADLINE):
        await session.run(model.play("rewritten", calls, Step(blocks=[Say("end")])))
    steps = [(type(event).__name__, event.name) for event in session.of(ToolStarted, ToolDone)]
    assert steps.index(("ToolStarted", "Bash")) > steps.index(("ToolDone", "look"))
    assert (session.work / "made").exists()
