"""One query through the official SDK."""

import json
import re
import uuid
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, ResultError, ThinkingBlock, query
from claude_agent_sdk.types import StreamEvent

from tests.modelserver import Call, Counts, Say, Step, Think
from tests.sdk.conftest import SdkHost
from tests.sdk.reading import content, result, results, system, texts
from tests.wire.flows import say


async def test_a_plain_question_is_answered(sdk: SdkHost) -> None:
    messages = await sdk.query(sdk.play(say("Hello there.")))
    init, done = system(messages, "init")[0], result(messages)
    assert re.match(r"\d+\.\d+\.\d+", init["claude_code_version"])
    assert init["cwd"] == str(sdk.work)
    assert texts(messages) == ["Hello there."]
    assert (done.subtype, done.is_error, done.result, done.num_turns) == ("success", False, "Hello there.", 1)
    assert uuid.UUID(done.session_id) == uuid.UUID(init["session_id"])
    assert done.usage is not None
    assert (done.usage["input_tokens"], done.usage["output_tokens"]) == (100, 20)


async def test_thinking_is_a_block_of_its_own(sdk: SdkHost) -> None:
    messages = await sdk.query(sdk.play(Step(blocks=[Think("Hmm."), Say("Done.")])))
    reply = [message for message in messages if isinstance(message, AssistantMessage)]
    assert [type(message.content[0]).__name__ for message in reply] == ["ThinkingBlock", "TextBlock"]
    thought = reply[0].content[0]
    assert isinstance(thought, ThinkingBlock)
    assert (thought.thinking, bool(thought.signature)) == ("Hmm.", True)
    assert reply[0].message_id == reply[1].message_id


async def test_files_are_read_edited_and_written(sdk: SdkHost) -> None:
    path = f"{sdk.work}/a.txt"
    steps = [
        Step(blocks=[Say("Reading."), Call("Read", {"file_path": path}, "t1")]),
        Step(blocks=[Call("Edit", {"file_path": path, "old_string": "one", "new_string": "ONE"}, "t2")]),
        Step(blocks=[Call("Write", {"file_path": f"{sdk.work}/b.txt", "content": "new\n"}, "t3")]),
        say("Edited."),
    ]
    messages = await sdk.query(sdk.play(*steps), permission_mode="acceptEdits")
    assert (sdk.work / "a.txt").read_text() == "ONE\ntwo\n"
    assert (sdk.work / "b.txt").read_text() == "new\n"
    assert [(block.tool_use_id, block.is_error) for block in results(messages)] == [
        ("t1", False),
        ("t2", False),
        ("t3", False),
    ]
    displays = [message.tool_use_result for message in messages if getattr(message, "tool_use_result", None)]
    assert displays[1]["filePath"] == path
    assert displays[1]["structuredPatch"]


async def test_tool_errors_are_results_and_the_run_goes_on(sdk: SdkHost) -> None:
    calls: list[Any] = [
        Call("Read", {"file_path": f"{sdk.work}/nope.txt"}, "e1"),
        Call("NoSuchTool", {"x": 1}, "e2"),
        Call("Bash", {"wrong": "y"}, "e3"),
    ]
    messages = await sdk.query(sdk.play(*(Step(blocks=[call]) for call in calls), say("Seen.")))
    assert [block.is_error for block in results(messages)] == [True, True, True]
    assert result(messages).result == "Seen."


async def test_words_come_as_they_are_said(sdk: SdkHost) -> None:
    first = Step(blocks=[Think("Hmm."), Say("Partial text."), Call("Bash", {"command": "echo hi"}, "t1")])
    messages = await sdk.query(sdk.play(first, say("End.")), include_partial_messages=True)
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    kinds = [event["type"] for event in events]
    assert (kinds.count("message_start"), kinds.count("message_stop"), kinds.count("content_block_stop")) == (2, 2, 4)
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta["text"] for delta in deltas if delta["type"] == "text_delta") == "Partial text.End."
    pieces = "".join(delta["partial_json"] for delta in deltas if delta["type"] == "input_json_delta")
    assert json.loads(pieces) == {"command": "echo hi"}


async def test_options_reach_the_model(sdk: SdkHost) -> None:
    options: dict[str, Any] = {
        "system_prompt": "UNIQUE-SYSTEM-MARK",
        "model": "claude-sonnet-4-5",
        "tools": ["Read", "Bash"],
        "effort": "low",
        "thinking": {"type": "disabled"},
        "betas": ["context-1m-2025-08-07"],
        "strict_mcp_config": True,
        "setting_sources": [],
        "add_dirs": [str(sdk.work)],
        "max_turns": 5,
        "max_budget_usd": 5.0,
        "include_hook_events": True,
        "fallback_model": "claude-haiku-4-5",
    }
    messages = await sdk.query(sdk.play(say("ok")), **options)
    (body,) = sdk.bodies
    assert "UNIQUE-SYSTEM-MARK" in json.dumps(body["system"])
    assert body["model"].startswith("claude-sonnet-4-5")
    assert sorted(tool["name"] for tool in body["tools"]) == ["Bash", "Read"]
    assert sorted(system(messages, "init")[0]["tools"]) == ["Bash", "Read"]


async def test_a_preset_keeps_the_default_prompt_and_adds_to_it(sdk: SdkHost) -> None:
    preset = {"type": "preset", "preset": "claude_code", "append": "UNIQUE-APPEND-MARK"}
    await sdk.query(sdk.play(say("ok")), system_prompt=preset)
    prompt = json.dumps(sdk.bodies[0]["system"])
    assert "UNIQUE-APPEND-MARK" in prompt
    assert len(prompt) > 500


async def test_a_tool_that_is_not_allowed_is_not_offered(sdk: SdkHost) -> None:
    messages = await sdk.query(sdk.play(say("ok")), disallowed_tools=["Bash"])
    assert "Bash" not in system(messages, "init")[0]["tools"]
    assert "Bash" not in [tool["name"] for tool in sdk.bodies[0]["tools"]]


async def test_structured_output_is_checked_and_given_back(sdk: SdkHost) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    steps = [
        Step(blocks=[Call("StructuredOutput", {"name": 7}, "o1")]),
        Step(blocks=[Call("StructuredOutput", {"name": "Ada"}, "o2")]),
    ]
    messages = await sdk.query(sdk.play(*steps), output_format={"type": "json_schema", "schema": schema})
    assert [block.is_error for block in results(messages)] == [True, False]
    assert result(messages).structured_output == {"name": "Ada"}


async def failing(sdk: SdkHost, prompt: str, **options: Any) -> tuple[list[Any], ResultError]:
    """What came before the exception, and the exception."""
    messages: list[Any] = []
    try:
        async for message in query(prompt=prompt, options=sdk.options(**options)):
            messages.append(message)
    except ResultError as error:
        return messages, error
    pytest.fail("the SDK raised no ResultError")


async def test_a_limit_is_a_result_and_then_an_exception(sdk: SdkHost) -> None:
    steps = [Step(blocks=[Call("Bash", {"command": f"echo {number}"}, f"n{number}")]) for number in range(6)]
    messages, error = await failing(sdk, sdk.play(*steps), max_turns=2)
    done = result(messages)
    assert (done.subtype, done.is_error, done.terminal_reason) == ("error_max_turns", True, "max_turns")
    assert (error.subtype, error.exit_code) == ("error_max_turns", 1)
    assert len(sdk.bodies) == 2


async def test_a_budget_ends_the_run(sdk: SdkHost) -> None:
    dear = Counts(input=900_000, output=9_000)
    steps = [
        Step(blocks=[Call("Bash", {"command": f"echo {number}"}, f"n{number}")], usage=dear) for number in range(4)
    ]
    messages, _ = await failing(sdk, sdk.play(*steps), max_budget_usd=0.5, model="claude-sonnet-4-5")
    assert result(messages).subtype == "error_max_budget_usd"


async def test_an_api_error_is_a_message_a_result_and_an_exception(sdk: SdkHost) -> None:
    messages, error = await failing(sdk, sdk.play(Step(status=400, message="bad thing")))
    done = result(messages)
    assert (done.subtype, done.is_error, done.terminal_reason) == ("success", True, "api_error")
    assert (done.api_error_status, error.api_error_status) == (400, 400)
    assert "bad thing" in (done.result or "")
    last = [message for message in messages if isinstance(message, AssistantMessage)][-1]
    assert (last.model, last.error) == ("<synthetic>", "unknown")


async def test_a_busy_server_is_asked_again(sdk: SdkHost) -> None:
    messages = await sdk.query(sdk.play(Step(status=529, times=1, then=say("Recovered."))))
    assert result(messages).result == "Recovered."
    (retry,) = system(messages, "api_retry")
    assert (retry["error_status"], retry["attempt"]) == (529, 1)


async def test_retries_end_some_time(sdk: SdkHost) -> None:
    step = Step(status=429, message="slow down", headers={"retry-after": "0"})
    messages, _ = await failing(sdk, sdk.play(step))
    assert result(messages).api_error_status == 429
    assert [message for message in messages if isinstance(message, AssistantMessage)][-1].error == "rate_limit"


async def test_an_answer_cut_off_is_continued(sdk: SdkHost) -> None:
    messages = await sdk.query(sdk.play(say("Cut off", stop="max_tokens"), say("and continued.")))
    assert result(messages).result == "and continued."
    assert len(sdk.bodies) == 2


async def test_rules_of_the_settings_hold(sdk: SdkHost) -> None:
    settings = json.dumps({"permissions": {"deny": ["Bash(touch:*)"], "allow": ["Write"]}})
    steps = [
        Step(blocks=[Call("Bash", {"command": "touch no.txt"}, "r1")]),
        Step(blocks=[Call("Write", {"file_path": f"{sdk.work}/yes.txt", "content": "y"}, "r2")]),
        say("ok"),
    ]
    messages = await sdk.query(sdk.play(*steps), settings=settings)
    assert [block.is_error for block in results(messages)] == [True, False]
    assert not (sdk.work / "no.txt").exists()
    assert (sdk.work / "yes.txt").exists()
    assert "touch" in content(results(messages)[0]) or "denied" in content(results(messages)[0])
