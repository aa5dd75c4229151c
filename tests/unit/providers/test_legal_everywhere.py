"""Every vendor accepts every history after it was repaired and encoded (H3-7, F4)."""

import json
from typing import Any

from hypothesis import given, settings

from bobstay.engine.repair import repair
from bobstay.http.client import HttpClient
from bobstay.model.message import Message
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.base import Request
from bobstay.providers.chat_completions import Chat
from bobstay.providers.gemini import Gemini
from bobstay.providers.responses import Responses
from tests.unit.engine.test_repair import histories

HTTP = HttpClient()
ANTHROPIC = Anthropic(HTTP, base_url="http://x", api_key="k")
RESPONSES = Responses(HTTP, base_url="http://x", api_key="k")
CHAT = Chat(HTTP, base_url="http://x", api_key="k")
GEMINI = Gemini(HTTP, base_url="http://x", api_key="k")


def body(provider: Any, history: list[Message]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(provider.body(Request("some-model", ("You.",), tuple(repair(history)))))
    return found


@given(histories)
@settings(max_examples=200, deadline=None)
def test_anthropic_gets_alternating_roles_and_every_call_answered_at_once(history: list[Message]) -> None:
    messages = body(ANTHROPIC, history)["messages"]
    asked: list[str] = []
    for place, message in enumerate(messages):
        assert message["role"] == ("user" if place % 2 == 0 else "assistant")
        assert message["content"]
        answers = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert answers == asked
        assert all(block["type"] == "tool_result" for block in message["content"][: len(answers)])
        asked = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert all(block.get("text", "x").strip() for block in message["content"])
    assert asked == []


@given(histories)
@settings(max_examples=200, deadline=None)
def test_openai_gets_one_output_for_every_call_after_it(history: list[Message]) -> None:
    open_calls: list[str] = []
    seen: set[str] = set()
    for item in body(RESPONSES, history)["input"]:
        if item.get("type") == "function_call":
            assert item["call_id"] not in seen
            seen.add(item["call_id"])
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            open_calls.remove(item["call_id"])
        elif item.get("role") == "assistant":
            assert not open_calls or item["content"]
    assert open_calls == []


@given(histories)
@settings(max_examples=200, deadline=None)
def test_chat_completions_get_tool_messages_right_after_the_calls(history: list[Message]) -> None:
    waiting: list[str] = []
    for message in body(CHAT, history)["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == [], "something stands between calls and their answers"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        assert message.get("content") or waiting
    assert waiting == []


@given(histories)
@settings(max_examples=200, deadline=None)
def test_gemini_gets_as_many_responses_as_calls(history: list[Message]) -> None:
    wanted: list[str] = []
    before = ""
    for content in body(GEMINI, history)["contents"]:
        assert content["role"] in ("user", "model")
        assert content["role"] != before
        before = content["role"]
        assert content["parts"]
        answered = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        assert answered == wanted
        wanted = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
    assert wanted == []
