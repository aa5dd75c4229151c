"""Tool calls that small local models write into their text (F35, H3-12)."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.providers.base import ToolSpec
from bobstay.providers.text_tool_calls import TextToolCall, is_quoted, may_become_call, recover_calls

READ = ToolSpec(
    "Read",
    "Read a file",
    {"type": "object", "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}}},
)
TOOLS = (READ, ToolSpec("Bash", "Run", {"type": "object"}))
CALL = '{"name": "Read", "arguments": {"file_path": "a.py"}}'
EXPECTED = TextToolCall("Read", {"file_path": "a.py"})


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"  {CALL}\n",
        f"[{CALL}]",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"[TOOL_CALLS][{CALL}]",
        f"[TOOL_CALLS] [{CALL}]</s>",
        '[TOOL_CALLS]Read[ARGS]{"file_path": "a.py"}',
        '<function=Read>{"file_path": "a.py"}</function>',
        "<function=Read>\n<parameter=file_path>\na.py\n</parameter>\n</function>",
        "<tool_call>\n<function=Read>\n<parameter=file_path>\na.py\n</parameter>\n</function>\n</tool_call>",
        '{"name": "Read", "parameters": {"file_path": "a.py"}}',
        '{"name": "Read", "arguments": "{\\"file_path\\": \\"a.py\\"}"}',
        '{"type": "function", "function": {"name": "Read", "arguments": {"file_path": "a.py"}}}',
        '{"type": "function", "function": "Read", "parameters": {"file_path": "a.py"}}',
    ],
)
def test_a_text_that_is_only_a_call_is_recovered_and_held_back_while_it_streams(text: str) -> None:
    """F35: raw JSON where a call was meant."""
    assert recover_calls(text, TOOLS) == (EXPECTED,)
    assert all(may_become_call(text[:length]) for length in range(len(text) + 1))


@pytest.mark.parametrize(
    "text",
    [
        f"I will look.\n\n<tool_call>{CALL}</tool_call>",
        f"First.\n<tool_call>{CALL}</tool_call>\nThen.",
        f"<tool_call>{CALL}</tool_call> That is the form.",
        f"Let me see:\n```json\n{CALL}\n```",
        f"```json\n{CALL}\n```",
        f"```\n<tool_call>{CALL}</tool_call>\n```",
        f"Right. [TOOL_CALLS][{CALL}]",
        "Use <function=Read>{}</function>",
    ],
)
def test_a_call_among_other_words_or_in_a_fence_is_a_quotation(text: str) -> None:
    assert recover_calls(text, TOOLS) is None


@pytest.mark.parametrize(
    ("result", "quoted"),
    [
        (CALL, True),
        (f"words <tool_call>{CALL}</tool_call> words", True),
        (CALL.replace(" ", "\n  "), True),
        ('{"file_path":"a.py"}', True),
        ("a.py", False),
        ("", False),
    ],
)
def test_a_call_is_quoted_if_it_or_its_input_stands_in_a_result(result: str, quoted: bool) -> None:
    assert is_quoted(CALL, (EXPECTED,), ["something else", result]) is quoted


@pytest.mark.parametrize("text", [f"{CALL}\n{CALL}", f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>"])
def test_several_calls_are_recovered_in_order(text: str) -> None:
    assert recover_calls(text, TOOLS) == (EXPECTED, EXPECTED)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nothing to do.",
        '{"name": "Unknown", "arguments": {}}',
        '{"name": "Read", "arguments": ["a"]}',
        '{"name": "Read", "description": "reads", "parameters": {"type": "object"}}',
        "<tool_call>{broken</tool_call>",
        f"<tool_call>{CALL}</tool_call><tool_call>{{broken</tool_call>",
        f"Use it like this:\n```json\n{CALL}\n```\nwhere file_path is the path.",
        f"The object {CALL} calls it.",
        "<function=Unknown>{}</function>",
        "<function=Read>words</function>",
        "[TOOL_CALLS]",
        "[1, 2]",
        "{" * 5000,
        "[" * 100_000,
    ],
)
def test_what_is_no_call_of_an_offered_tool_stays_text(text: str) -> None:
    assert recover_calls(text, TOOLS) is None


def test_nothing_is_recovered_when_no_tool_is_offered() -> None:
    assert recover_calls(CALL, ()) is None


def test_parameters_in_tags_follow_the_schema() -> None:
    text = "<function=Read><parameter=file_path>12</parameter><parameter=limit>12</parameter></function>"
    found = recover_calls(text, TOOLS)
    assert found is not None
    assert found[0].input == {"file_path": "12", "limit": 12}


@pytest.mark.parametrize(
    "text", ["Hello", "{'a'", '{"colour": 1', "```python\n", "```json\n", "```\n{", "<b>", "[1", "[x](y)", "# Title"]
)
def test_ordinary_openings_are_not_held_back(text: str) -> None:
    assert not may_become_call(text)


PIECES = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                "<tool_call>",
                "</tool_call>",
                "[TOOL_CALLS]",
                "[ARGS]",
                "<function=Read>",
                "</function>",
                "```json\n",
                "```",
                "<parameter=a>",
                "</parameter>",
                *"{}[]:\n",
                '"name"',
                '"Read"',
                CALL,
            ]
        ),
    ),
    max_size=12,
).map("".join)


@given(PIECES)
def test_recovery_never_raises_and_finds_only_offered_tools(text: str) -> None:
    found = recover_calls(text, TOOLS)
    may_become_call(text)
    if found is not None:
        assert found
        assert {call.name for call in found} <= {"Read", "Bash"}


@given(st.text(alphabet=st.characters(exclude_characters="<{[")))
def test_text_without_any_call_is_untouched(text: str) -> None:
    assert recover_calls(text, TOOLS) is None


@given(
    st.dictionaries(st.text(max_size=8), st.one_of(st.integers(-(2**53), 2**53), st.text(max_size=20), st.booleans()))
)
def test_every_input_written_as_json_comes_back_whole(arguments: dict[str, object]) -> None:
    text = msgspec.json.encode({"name": "Bash", "arguments": arguments}).decode()
    assert recover_calls(text, TOOLS) == (TextToolCall("Bash", arguments),)
