"""Refusals of the Gemini API: the double makes them, and the adapter avoids them."""

from typing import Any

import msgspec
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.message import Image, Message, Text, ToolCall, ToolReply
from bobstay.providers.base import Request, ToolSpec
from bobstay.providers.catalogue import lookup
from bobstay.providers.gemini import Gemini, model_generation
from bobstay.providers.thinking import fit_thinking
from tests.modelserver.gemini_rules import complaints

MODEL = "gemini-3.8-flash"
USER = {"role": "user", "parts": [{"text": "hi"}]}
CALL = {"functionCall": {"name": "Read", "args": {}}, "thoughtSignature": "c2ln"}
CALLED = {"role": "model", "parts": [CALL]}
ANSWER = {"functionResponse": {"name": "Read", "response": {"output": "x"}}}
ANSWERED = {"role": "user", "parts": [ANSWER]}
GOOD: dict[str, Any] = {"contents": [USER, CALLED, ANSWERED]}


def thinking(**config: Any) -> dict[str, Any]:
    return {**GOOD, "generationConfig": {"thinkingConfig": config}}


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (MODEL, {}, "contents is not specified"),
    (MODEL, {**GOOD, "colour": 1}, 'Unknown name "colour"'),
    (MODEL, {"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "Please use a valid role"),
    (MODEL, {"contents": [{"role": "user", "parts": []}]}, "contents.parts must not be empty"),
    (MODEL, {"contents": [{"role": "user", "parts": [{}]}]}, "required oneof field 'data'"),
    (MODEL, {"contents": [{"role": "user", "parts": [{"text": ""}]}]}, "empty text parameter"),
    (MODEL, {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/gif"}}]}]}, "MIME type"),
    (MODEL, {"contents": [USER, {"role": "model", "parts": [{"text": "x"}]}]}, "last turn has the role `model`"),
    (MODEL, {"contents": [USER, CALLED, {"role": "user", "parts": [ANSWER, ANSWER]}]}, "is equal to the number"),
    (MODEL, {"contents": [USER, CALLED, USER]}, "is equal to the number"),
    (MODEL, {"contents": [USER, ANSWERED]}, "function response turn comes immediately after"),
    (MODEL, {"contents": [CALLED, ANSWERED]}, "function call turn comes immediately after"),
    (
        MODEL,
        {"contents": [USER, {"role": "model", "parts": [{"functionCall": CALL["functionCall"]}]}, ANSWERED]},
        "missing a thought_signature",
    ),
    (
        MODEL,
        {"contents": [USER, {"role": "model", "parts": [{**CALL, "thoughtSignature": "!"}]}, ANSWERED]},
        "Base64 decoding failed",
    ),
    (MODEL, thinking(thinkingLevel="MINIMAL"), "Thinking level MINIMAL is not supported"),
    (MODEL, thinking(thinkingLevel="LOW", thinkingBudget=1), "only one of thinking budget and thinking level"),
    ("gemini-4-argon", thinking(thinkingBudget=1000), "Thinking budget is not supported"),
    ("gemini-3-pro-preview", thinking(thinkingLevel="MEDIUM"), "Thinking level MEDIUM is not supported"),
    ("gemini-2.5-pro", thinking(thinkingBudget=0), "only works in thinking mode"),
    ("gemini-2.5-flash", thinking(thinkingBudget=50_000), "between 1 and 24576"),
    ("gemini-2.5-flash", thinking(thinkingLevel="LOW"), "Thinking level is not supported"),
    ("gemini-2.0-flash", thinking(thinkingBudget=0), "thinking is not supported"),
    (MODEL, {**GOOD, "tools": [{"functionDeclarations": [{"name": "1st"}]}]}, "Invalid function name"),
    (MODEL, {**GOOD, "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "a"}]}]}, "Duplicate function"),
    (
        MODEL,
        {**GOOD, "tools": [{"functionDeclarations": [{"name": "a", "parameters": {"$ref": "#"}}]}]},
        'Unknown name "$ref"',
    ),
]


@pytest.mark.parametrize(("model", "body", "expected"), REFUSED, ids=[expected[:40] for _, _, expected in REFUSED])
def test_the_double_refuses_what_the_api_refuses(model: str, body: dict[str, Any], expected: str) -> None:
    assert expected in next(complaints(model, body), "")


def test_the_double_takes_what_is_right() -> None:
    assert list(complaints(MODEL, GOOD)) == []


MODELS = [
    "gemini-4-argon",
    "gemini-3.8-flash",
    "gemini-3.7-flash",
    "gemini-3.6-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.1-pro-preview",
    "gemini-3-pro-preview",
    "gemini-3-flash-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-2.0-flash",
    "gemini-flash-latest",
]


@pytest.mark.parametrize("effort", [None, "low", "medium", "max"])
@pytest.mark.parametrize("wanted", ["off", "adaptive", 100, 5000, 50_000])
@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_asked_to_think_only_as_it_accepts(model: str, wanted: Any, effort: Any) -> None:
    info = lookup(model)
    thinks, fitting = fit_thinking(wanted, effort, info.thinks, info.efforts)
    asked = Request(model, (), (Message("user", (Text("hi"),)),), thinking=thinks, thinks=info.thinks, effort=fitting)
    assert list(complaints(model, body_of(asked))) == []


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("gemini-4-argon", (4, 0)),
        ("models/gemini-3.1-pro-preview", (3, 1)),
        ("gemini-2.5-flash", (2, 5)),
        ("gemini-pro-latest", (99, 0)),
        ("gemma-3", (0, 0)),
    ],
)
def test_the_generation_is_read_from_the_name(name: str, numbers: tuple[int, int]) -> None:
    assert model_generation(name) == numbers


@pytest.mark.parametrize("model", MODELS)
def test_calls_of_other_models_and_pictures_of_any_kind_can_be_sent(model: str) -> None:
    history = (
        Message("user", (Text("look"), Image("image/gif", "R0lG"))),
        Message("assistant", (ToolCall("toolu_1", "Read", {}), ToolCall("toolu_2", "1 no such/tool", {}))),
        Message("user", (ToolReply("toolu_1", (Image("image/gif", "R0lG"),)), ToolReply("toolu_2", (Text("x"),)))),
    )
    tools = (ToolSpec("Read", "", {"type": "object", "anyOf": [{}]}),)
    assert list(complaints(model, body_of(Request(model, ("Be good.",), history, tools=tools)))) == []


def body_of(asked: Request) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(Gemini(HttpClient(), base_url="http://x", api_key="k").body(asked))
    return decoded
