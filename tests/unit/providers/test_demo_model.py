"""The offline demo model, played through the real tools (H3-11)."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.live_events import MessageBegan, TextDelta
from bobstay.model.message import Block, Message, Text, ToolCall, ToolReply, text_of
from bobstay.providers.base import Chunk, Request, ToolSpec
from bobstay.providers.demo_model import Demo
from bobstay.tools.base import Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.bash import Bash
from bobstay.tools.builtin.edit import Edit
from bobstay.tools.builtin.glob import Glob
from bobstay.tools.builtin.read import Read
from bobstay.tools.builtin.todo_write import TodoWrite
from bobstay.tools.shell_session import ShellSession
from tests.kit.tool_context import ledger_of, make_context

TOOLS: dict[str, Tool[Any]] = {tool.name: tool for tool in (Bash(), Edit(), Glob(), Read(), TodoWrite())}
GREETING = 'def greet(name):\n    return "Hello, " + nam\n'
TEST = 'from greeting import greet\n\nassert greet("world") == "Hello, world"\nprint("ok")\n'


def request(messages: list[Message], names: frozenset[str] | None = None) -> Request:
    offered = TOOLS if names is None else names
    return Request("demo", ("You are a model.",), tuple(messages), tuple(ToolSpec(name, "", {}) for name in offered))


async def run_tool(call: ToolCall, context: Context) -> ToolReply:
    tool = TOOLS[call.name]
    try:
        args = msgspec.convert(call.input, tool.args)
        await tool.check(args, context)
        outcome: Outcome = ledger_of(context).learn(await tool.run(args, context))
    except ToolError as error:
        return ToolReply(call.id, (Text(str(error)),), is_error=True)
    content = (Text(outcome.content),) if isinstance(outcome.content, str) else outcome.content
    return ToolReply(call.id, content, outcome.is_error)


async def play(prompt: str, context: Context, deny: frozenset[str] = frozenset()) -> list[Message]:
    """Run the model to its end; calls of the tools in `deny` are refused as a person would."""
    messages = [Message("user", (Text(prompt),))]
    for _ in range(20):
        chunks = [chunk async for chunk in Demo().stream(request(messages))]
        blocks = tuple(chunk.block for chunk in chunks if isinstance(chunk, BlockDone))
        messages.append(Message("assistant", blocks))
        calls = [block for block in blocks if isinstance(block, ToolCall)]
        done = chunks[-1]
        assert isinstance(done, MessageDone)
        assert done.stop == ("tool_use" if calls else "end_turn")
        if not calls:
            return messages
        replies = [
            ToolReply(call.id, (Text("The user said no."),), is_error=True)
            if call.name in deny
            else await run_tool(call, context)
            for call in calls
        ]
        messages.append(Message("user", tuple(replies)))
    raise AssertionError("the demo did not end")


def calls_of(messages: list[Message]) -> list[ToolCall]:
    return [block for message in messages for block in message.blocks if isinstance(block, ToolCall)]


def names_of(messages: list[Message]) -> list[str]:
    return [call.name for call in calls_of(messages)]


@pytest.fixture
def project(tmp_path: Path) -> Context:
    (tmp_path / "greeting.py").write_text(GREETING)
    (tmp_path / "test_greeting.py").write_text(TEST)
    context = make_context(tmp_path, shells=ShellSession())
    context.environment["PATH"] = f"{Path(sys.executable).parent}:{context.environment['PATH']}"
    return context


async def test_it_mends_the_scratch_project(project: Context) -> None:
    messages = await play("fix the failing test", project)
    assert names_of(messages) == [
        "Glob",
        "TodoWrite",
        "Read",
        "Read",
        "Bash",
        "TodoWrite",
        "Edit",
        "Bash",
        "TodoWrite",
    ]
    assert (project.root / "greeting.py").read_text() == GREETING.replace("nam\n", "name\n")
    first, second = (call for call in calls_of(messages) if call.name == "Bash")
    assert first.input["command"] == second.input["command"] == "python3 test_greeting.py"
    replies = {b.call_id: b for m in messages for b in m.blocks if isinstance(b, ToolReply)}
    assert "NameError" in replies[first.id].text
    assert not replies[second.id].is_error
    assert "passes now" in text_of(messages[-1].blocks)


async def test_it_says_at_once_that_it_is_a_script(project: Context) -> None:
    messages = await play("fix the failing test", project)
    text = text_of(messages[1].blocks)
    assert "offline demo model" in text
    assert "without any intelligence" in text
    assert "offline demo model" not in text_of(messages[3].blocks)


@pytest.mark.parametrize(
    ("denied", "expected", "mended"),
    [
        ("Edit", "The change was not made: The user said no", False),
        ("Bash", "nobody has seen it pass", True),
        ("Read", "I could not read them: The user said no", False),
        ("Glob", "I could not list the files (The user said no)", False),
        ("TodoWrite", "passes now", True),
    ],
)
async def test_a_denied_call_is_respected_and_reported(
    project: Context, denied: str, expected: str, mended: bool
) -> None:
    messages = await play("fix the failing test", project, frozenset({denied}))
    assert expected in text_of(messages[-1].blocks)
    assert ("+ name" in (project.root / "greeting.py").read_text()) is mended
    assert names_of(messages).count(denied) <= 3


async def test_what_is_already_mended_is_left_alone(project: Context) -> None:
    (project.root / "greeting.py").write_text(GREETING.replace("nam\n", "name\n"))
    messages = await play("fix the failing test", project)
    assert "Edit" not in names_of(messages)
    assert "leave it as it is" in text_of(messages[-1].blocks)


async def test_any_other_prompt_makes_it_look_around(project: Context) -> None:
    (project.root / "README.md").write_text("# A fine project\n")
    messages = await play("what is this?", project)
    assert names_of(messages) == ["Glob", "TodoWrite", "Read", "TodoWrite"]
    assert "# A fine project" in text_of(messages[-1].blocks)
    assert "what is this?" in text_of(messages[-1].blocks)


async def test_an_empty_directory_is_no_obstacle(tmp_path: Path) -> None:
    messages = await play("fix everything", make_context(tmp_path))
    assert names_of(messages) == ["Glob"]
    assert "no text file here" in text_of(messages[-1].blocks)


async def test_a_second_prompt_is_a_new_walk_without_the_introduction(project: Context) -> None:
    messages = [*await play("hello", project), Message("user", (Text("fix the failing test"),))]
    chunks = [chunk async for chunk in Demo().stream(request(messages))]
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    assert "offline demo model" not in text
    assert "files" in text


async def test_words_said_during_a_turn_do_not_begin_it_anew(project: Context) -> None:
    messages = await play("fix the failing test", project)
    steered = list(messages[:3])
    steered[2] = Message("user", (*steered[2].blocks, Text("and hurry")))
    chunks = [chunk async for chunk in Demo().stream(request(steered))]
    called = [chunk.block.name for chunk in chunks if isinstance(chunk, BlockDone) if isinstance(chunk.block, ToolCall)]
    assert called == ["TodoWrite", "Read", "Read"]


async def test_it_streams_word_by_word_and_waits_only_if_asked(project: Context) -> None:
    messages = [Message("user", (Text("hello"),))]
    quick = [chunk async for chunk in Demo().stream(request(messages))]
    assert isinstance(quick[0], MessageBegan)
    deltas = [chunk.text for chunk in quick if isinstance(chunk, TextDelta)]
    assert len(deltas) > 10
    assert text_of(tuple(chunk.block for chunk in quick if isinstance(chunk, BlockDone))) == "".join(deltas)

    async def paced() -> list[Chunk]:
        return [chunk async for chunk in Demo(pace=0.001).stream(request(messages))]

    started = asyncio.get_running_loop().time()
    await paced()
    assert asyncio.get_running_loop().time() - started >= 0.001 * len(deltas)


BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, st.sampled_from(["fix the test", "hello", "", "<system-reminder>x</system-reminder>"])),
    st.builds(
        ToolCall, st.sampled_from("abc"), st.sampled_from(["Glob", "Read", "Bash", "Edit"]), st.just({"pattern": "*"})
    ),
    st.builds(
        ToolReply,
        st.sampled_from("abc"),
        st.sampled_from(["greeting.py\ntest_greeting.py", "1\tx = nam", "", "No files found"]).map(
            lambda text: (Text(text),)
        ),
        st.booleans(),
    ),
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=3).map(tuple)), max_size=30
)


@given(MESSAGES, st.sets(st.sampled_from(sorted(TOOLS))))
@settings(max_examples=150)
def test_no_history_confuses_it(messages: list[Message], offered: set[str]) -> None:
    """It calls only what is offered, and never fails."""

    async def ask() -> list[Chunk]:
        return [chunk async for chunk in Demo().stream(request(messages, frozenset(offered)))]

    chunks = asyncio.run(ask())
    assert isinstance(chunks[-1], MessageDone)
    blocks = [chunk.block for chunk in chunks if isinstance(chunk, BlockDone)]
    assert {block.name for block in blocks if isinstance(block, ToolCall)} <= offered
