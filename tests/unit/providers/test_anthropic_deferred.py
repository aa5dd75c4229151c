"""Deferred tools of Anthropic: loading one leaves the cached prefix alone, and every reference has its tool (H1-6)."""

from typing import Any

import msgspec
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.message import Message, Text, ToolCall, ToolReply
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.base import Request, ToolSpec
from tests.modelserver import ModelServer, Say, Step
from tests.modelserver.anthropic_rules import complaints
from tests.unit.providers.model_calls import blocks_of, chunks_of, request

READ = ToolSpec("Read", "Reads.", {"type": "object"})
SEARCH = ToolSpec("ToolSearch", "Searches.", {"type": "object"})
FOUND = ToolSpec("mcp__a__found", "Is found.", {"type": "object", "properties": {"x": {"type": "string"}}}, True)
OTHER = ToolSpec("mcp__a__other", "Another.", {"type": "object"}, True)
BEFORE = (Message("user", (Text("go"),)),)
ASKED = Message("assistant", (ToolCall("t1", "ToolSearch", {"query": "found"}),))


def found(*names: str) -> tuple[Message, ...]:
    return (*BEFORE, ASKED, Message("user", (ToolReply("t1", (Text("Loaded"),), loads=names),)))


def body_of(asked: Request, address: str = "https://api.anthropic.com") -> bytes:
    return Anthropic(HttpClient(), base_url=address, api_key="k").body(asked)


def decoded(asked: Request) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(body_of(asked))
    assert list(complaints(body)) == []
    return body


def test_a_tool_that_was_found_is_deferred_and_the_result_refers_to_it() -> None:
    """H1-6"""
    tools = (READ, FOUND, SEARCH)
    body = decoded(request("", model="claude-sonnet-4-5", messages=found(FOUND.name), tools=tools))
    assert [(tool["name"], tool.get("defer_loading", False)) for tool in body["tools"]] == [
        ("Read", False),
        ("ToolSearch", False),
        (FOUND.name, True),
    ]
    assert body["tools"][-1]["input_schema"] == FOUND.schema
    reference = {"type": "tool_reference", "tool_name": FOUND.name}
    assert body["messages"][-1]["content"][0]["content"] == [reference]


def test_loading_a_tool_leaves_all_bytes_up_to_the_mark_of_the_cache_as_they_were() -> None:
    """H1-5, H1-6"""
    first = body_of(request("", model="claude-sonnet-4-5", messages=BEFORE, tools=(READ, SEARCH)))
    later = body_of(request("", model="claude-sonnet-4-5", messages=found(FOUND.name), tools=(READ, SEARCH, FOUND)))
    prefix = first[: first.index(b'"cache_control"')]
    assert later.startswith(prefix)
    for body in (first, later):
        tools = msgspec.json.decode(body)["tools"]
        assert [tool["name"] for tool in tools if "cache_control" in tool] == ["ToolSearch"]


def test_a_reference_to_a_tool_that_is_gone_becomes_text_again() -> None:
    """H1-6"""
    body = decoded(request("", model="claude-sonnet-4-5", messages=found(FOUND.name), tools=(READ, SEARCH)))
    assert body["messages"][-1]["content"][0]["content"] == [{"type": "text", "text": "Loaded"}]
    both = found(FOUND.name, OTHER.name)
    body = decoded(request("", model="claude-sonnet-4-5", messages=both, tools=(READ, OTHER)))
    reference = {"type": "tool_reference", "tool_name": OTHER.name}
    assert body["messages"][-1]["content"][0]["content"] == [reference]


def test_a_tool_whose_result_is_not_in_the_conversation_any_more_is_sent_whole() -> None:
    """H1-6: after a compaction nothing refers to it, so that the model could not see it."""
    body = decoded(request("", model="claude-sonnet-4-5", messages=BEFORE, tools=(READ, FOUND)))
    assert not any("defer_loading" in tool for tool in body["tools"])


@pytest.mark.parametrize("model", ["claude-3-5-haiku-latest", "deepseek-v4-pro"])
def test_a_model_that_does_not_know_references_gets_the_schema_and_the_text(model: str) -> None:
    """H1-6"""
    asked = request("", model=model, messages=found(FOUND.name), tools=(READ, FOUND))
    body = msgspec.json.decode(body_of(asked))
    assert FOUND.name in [tool["name"] for tool in body["tools"]]
    assert "tool_reference" not in body_of(asked).decode()
    assert "defer_loading" not in body_of(asked).decode()


def test_a_request_never_has_deferred_tools_only() -> None:
    """H1-6"""
    body = decoded(request("", model="claude-sonnet-4-5", messages=found(FOUND.name), tools=(FOUND,)))
    assert not any("defer_loading" in tool for tool in body["tools"])


async def test_a_gateway_that_refuses_references_is_asked_without_them_from_then_on(
    server: ModelServer, http: HttpClient
) -> None:
    """H1-6"""

    def older(body: Any) -> Step:
        if "defer_loading" in msgspec.json.encode(body).decode():
            return Step(status=400, message="tools.2.custom.defer_loading: Extra inputs are not permitted")
        return Step(blocks=[Say("done")])

    provider = Anthropic(http, base_url=server.url, api_key="key")
    token = server.play("older", older)
    messages = found(FOUND.name)
    messages = (*messages[:-1], Message("user", (*messages[-1].blocks, Text(token))))
    asked = request("", model="claude-sonnet-4-5", messages=messages, tools=(READ, SEARCH, FOUND))
    for _ in range(2):
        assert blocks_of(await chunks_of(provider, asked)) == [Text("done")]
    assert len(server.requests) == 3
    assert b"tool_reference" in server.requests[0].raw
    assert all(b"tool_reference" not in each.raw for each in server.requests[1:])


TOOL: dict[str, Any] = {"name": "Read", "input_schema": {"type": "object"}}
LATER = {"name": "Later", "input_schema": {"type": "object"}, "defer_loading": True}
MARK = {"cache_control": {"type": "ephemeral"}}


def refused(*tools: dict[str, Any], content: list[dict[str, Any]], **more: Any) -> str:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": content}]},
    ]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 10, "tools": list(tools), "messages": messages, **more}
    return next(complaints(body), "")


REFERENCE = {"type": "tool_reference", "tool_name": "Later"}
SAID = {"type": "text", "text": "out"}


@pytest.mark.parametrize(
    ("complaint", "expected"),
    [
        (refused(TOOL, LATER, content=[REFERENCE]), ""),
        (refused(LATER, content=[SAID]), "At least one tool must be non-deferred"),
        (refused(TOOL, {**LATER, **MARK}, content=[SAID]), "cannot have both defer_loading=true and cache_control"),
        (refused(TOOL, content=[REFERENCE]), "Tool reference 'Later' not found in available tools"),
        (refused(TOOL, LATER, content=[SAID, REFERENCE]), "cannot be mixed with other content"),
        (refused(TOOL, LATER, content=[SAID], model="claude-3-5-haiku-latest"), "Extra inputs are not permitted"),
    ],
)
def test_the_double_refuses_what_the_api_refuses(complaint: str, expected: str) -> None:
    assert expected in complaint if expected else complaint == ""
