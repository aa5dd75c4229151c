"""A conversation through the official SDK's client: turns, control, sessions."""

import json
import uuid
from typing import Any

import pytest
from claude_agent_sdk import ClaudeSDKClient, ResultMessage, get_session_messages, list_sessions
from claude_agent_sdk.types import StreamEvent

from tests.modelserver import Call, Gate, Say, Step
from tests.sdk.conftest import SdkHost
from tests.sdk.reading import result, results, system, turn
from tests.wire.flows import say, wait_for

ECHO = Step(blocks=[Call("Bash", {"command": "echo remembered"}, "m1")])


async def test_turns_share_their_history_and_session(sdk: SdkHost) -> None:
    async with ClaudeSDKClient(sdk.options()) as client:
        first = await turn(client, sdk.play(say("First."), name="a"))
        second = await turn(client, sdk.play(ECHO, say("Second."), name="b"))
        third = await turn(client, sdk.play(say("Third."), name="c"))
    turns = (first, second, third)
    assert [result(messages).result for messages in turns] == ["First.", "Second.", "Third."]
    assert len({result(messages).session_id for messages in turns}) == 1
    assert all(len(system(messages, "init")) == 1 for messages in turns)
    history = json.dumps(sdk.bodies[-1]["messages"])
    assert all(phrase in history for phrase in ("First.", "Second.", '"m1"'))


async def test_the_server_tells_about_itself(sdk: SdkHost) -> None:
    async with ClaudeSDKClient(sdk.options()) as client:
        info = await client.get_server_info()
    assert info is not None
    assert {"commands", "output_style", "available_output_styles", "models", "account"} <= info.keys()
    assert all({"value", "displayName", "description"} <= model.keys() for model in info["models"])


async def test_a_prompt_while_busy_is_answered_in_its_turn(sdk: SdkHost) -> None:
    gate = Gate()
    async with ClaudeSDKClient(sdk.options()) as client:
        await client.query(sdk.play(Step(blocks=[Say("slow")], gate=gate), name="a"))
        await gate.reached()
        await client.query(sdk.play(say("Queued."), name="b"))
        await client.get_context_usage()
        gate.open()
        answers: list[Any] = []
        async for message in client.receive_messages():
            if isinstance(message, ResultMessage):
                answers.append(message.result)
                if len(answers) == 2:
                    break
    assert answers == ["slow", "Queued."]


async def test_an_interrupt_stops_the_words_and_leaves_the_session_alive(sdk: SdkHost) -> None:
    gate = Gate()
    async with ClaudeSDKClient(sdk.options(include_partial_messages=True)) as client:
        await client.query(sdk.play(Step(blocks=[Say("half"), Say("never")], gate=gate, gate_after=1), name="a"))
        messages: list[Any] = []
        async for message in client.receive_response():
            messages.append(message)
            if isinstance(message, StreamEvent) and message.event["type"] == "content_block_stop":
                await client.interrupt()
        gate.open()
        done = result(messages)
        assert (done.is_error, done.subtype) == (True, "error_during_execution")
        assert done.terminal_reason == "aborted_streaming"
        assert result(await turn(client, sdk.play(say("alive"), name="b"))).result == "alive"


async def test_an_interrupt_kills_the_tool(sdk: SdkHost) -> None:
    """F4, F12: the call is answered, and nothing of it keeps running."""
    command = "touch started; python3 -c \"import time; time.sleep(25); open('late.txt','w')\""
    async with ClaudeSDKClient(sdk.options(allowed_tools=["Bash"])) as client:
        await client.query(sdk.play(Step(blocks=[Call("Bash", {"command": command}, "i1")]), say("never"), name="a"))
        await wait_for(sdk.work / "started")
        await client.interrupt()
        messages = [message async for message in client.receive_response()]
        assert result(messages).terminal_reason == "aborted_tools"
        assert [block.is_error for block in results(messages)] == [True]
        assert result(await turn(client, sdk.play(say("alive"), name="b"))).result == "alive"


async def test_an_interrupt_when_idle_changes_nothing(sdk: SdkHost) -> None:
    async with ClaudeSDKClient(sdk.options()) as client:
        await client.interrupt()
        assert result(await turn(client, sdk.play(say("ok")))).result == "ok"


async def test_the_model_can_be_changed(sdk: SdkHost) -> None:
    async with ClaudeSDKClient(sdk.options(model="claude-sonnet-4-5")) as client:
        await turn(client, sdk.play(say("ok"), name="a"))
        await client.set_model("claude-haiku-4-5")
        messages = await turn(client, sdk.play(say("ok"), name="b"))
    assert sdk.bodies[-1]["model"].startswith("claude-haiku-4-5")
    assert system(messages, "init")[0]["model"].startswith("claude-haiku-4-5")


async def test_the_context_can_be_looked_at(sdk: SdkHost) -> None:
    async with ClaudeSDKClient(sdk.options()) as client:
        await turn(client, sdk.play(say("ok")))
        usage = await client.get_context_usage()
    assert {"categories", "totalTokens", "maxTokens", "rawMaxTokens", "percentage", "model"} <= usage.keys()
    assert {"memoryFiles", "mcpTools", "agents", "gridRows", "isAutoCompactEnabled"} <= usage.keys()


async def test_what_we_cannot_do_is_refused_and_the_session_lives(sdk: SdkHost) -> None:
    async with ClaudeSDKClient(sdk.options()) as client:
        with pytest.raises(Exception, match="checkpointing"):
            await client.rewind_files(str(uuid.uuid4()))
        assert result(await turn(client, sdk.play(say("still fine")))).result == "still fine"


async def test_sessions_are_resumed_and_forked(sdk: SdkHost) -> None:
    first = result(await sdk.query(sdk.play(ECHO, say("First."), name="a")))
    second = result(await sdk.query(sdk.play(say("Second."), name="b"), resume=first.session_id))
    assert second.session_id == first.session_id
    history = json.dumps(sdk.bodies[-1]["messages"])
    assert "First." in history
    assert "remembered" in history
    options = {"resume": first.session_id, "fork_session": True}
    forked = result(await sdk.query(sdk.play(say("Forked."), name="c"), **options))
    assert forked.session_id != first.session_id
    assert "Second." in json.dumps(sdk.bodies[-1]["messages"])
    await sdk.query(sdk.play(say("Again."), name="d"), resume=first.session_id)
    assert "Forked." not in json.dumps(sdk.bodies[-1]["messages"])


async def test_the_newest_session_is_continued(sdk: SdkHost) -> None:
    first = result(await sdk.query(sdk.play(say("Earlier."), name="a")))
    second = result(await sdk.query(sdk.play(say("Later."), name="b"), continue_conversation=True))
    assert second.session_id == first.session_id
    assert "Earlier." in json.dumps(sdk.bodies[-1]["messages"])


async def test_the_host_may_choose_the_id(sdk: SdkHost) -> None:
    chosen = str(uuid.uuid4())
    assert result(await sdk.query(sdk.play(say("ok")), session_id=chosen)).session_id == chosen


async def test_an_unknown_session_is_said_to_be_unknown(sdk: SdkHost) -> None:
    with pytest.raises(Exception, match="No conversation found"):
        await sdk.query(sdk.play(say("never")), resume=str(uuid.uuid4()))
    assert not sdk.bodies


async def test_the_sdk_reads_our_transcripts(sdk: SdkHost, monkeypatch: pytest.MonkeyPatch) -> None:
    done = result(await sdk.query(sdk.play(ECHO, say("On disk."))))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sdk.work.parent / "home" / ".claude"))
    assert [session.session_id for session in list_sessions(directory=str(sdk.work))] == [done.session_id]
    messages = get_session_messages(done.session_id, directory=str(sdk.work))
    assert (messages[0].type, messages[-1].type) == ("user", "assistant")
    assert "On disk." in json.dumps(messages[-1].message)
