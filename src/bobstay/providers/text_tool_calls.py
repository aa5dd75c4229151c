"""Recovers tool calls from the text of small local models, where the server did not parse them."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.providers.base import ToolSpec


class TextToolCall(Struct, frozen=True):
    name: str
    input: dict[str, Any]


Offered: TypeAlias = dict[str, ToolSpec]
Calls: TypeAlias = tuple[TextToolCall, ...] | None
CallParser: TypeAlias = Callable[[re.Match[str]], Calls]

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.:-]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.:-]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED_ARGUMENTS = re.compile(r"\s*([\w.:-]{1,200})\[ARGS\](\{.*)", re.DOTALL)
_MARK = "[TOOL_CALLS]"

_OPENINGS = ("<tool_call>", "<function=", _MARK)
_FIRST_KEYS = ('"name"', '"function"', '"type"', '"id"', '"arguments"', '"parameters"')
_KNOWN_KEYS = frozenset({"name", "arguments", "parameters", "type", "id", "function"})
_MAX_OPENING_LENGTH = 64


def recover_calls(text: str, tools: Sequence[ToolSpec]) -> tuple[TextToolCall, ...] | None:
    """Return the calls that `text` consists of, or None if it is ordinary text.

    Calls are recovered only if each names one of `tools` and `text` contains nothing else: a model that adds other
    text, or shows calls in a code fence, is explaining and not calling. If one of several calls is invalid, none is
    recovered: running only some of them would be worse.
    """
    offered = {tool.name: tool for tool in tools}
    for find in (_parse_tagged, _parse_marked, _parse_functions, _parse_bare_json):
        found = find(text, offered)
        if found:
            return found
    return None


def is_quoted(text: str, calls: Sequence[TextToolCall], results: Sequence[str]) -> bool:
    """Whether `text`, or the input of one of its `calls`, occurs in a tool's result; white space is ignored.

    Then the model may only be repeating what it has read, which may be hostile.
    """
    wanted = {_compact(text), *(_compact(msgspec.json.encode(call.input).decode()) for call in calls if call.input)}
    return any(fragment in compact for compact in map(_compact, results) for fragment in wanted)


def _compact(text: str) -> str:
    return "".join(text.split())


def may_become_call(text: str) -> bool:
    """Whether a text with this beginning could still turn out to consist of calls only."""
    head = text.lstrip()[:_MAX_OPENING_LENGTH]
    if _share_prefix(head, _OPENINGS):
        return True
    if not head or head[0] not in "{[":
        return not head
    inner = head[1:].lstrip() if head[0] == "[" else head
    if not inner:
        return True
    return inner[0] == "{" and _share_prefix(inner[1:].lstrip(), _FIRST_KEYS)


def _share_prefix(head: str, openings: tuple[str, ...]) -> bool:
    return any(opening.startswith(head) or head.startswith(opening) for opening in openings)


def _parse_tagged(text: str, offered: Offered) -> Calls:
    def calls_in(match: re.Match[str]) -> Calls:
        return _parse_functions(match[1], offered) or _parse_json_calls(match[1], offered)

    return _parse_matches(text, _TAGGED, calls_in)


def _parse_functions(text: str, offered: Offered) -> Calls:
    def calls_in(match: re.Match[str]) -> Calls:
        tool = offered.get(match[1])
        if tool is None:
            return None
        arguments = _decode_object(match[2]) if match[2].lstrip().startswith("{") else _parse_parameters(match[2], tool)
        return None if arguments is None else (TextToolCall(match[1], arguments),)

    return _parse_matches(text, _FUNCTION, calls_in)


def _parse_matches(text: str, pattern: re.Pattern[str], calls_in: CallParser) -> Calls:
    calls: list[TextToolCall] = []
    end = 0
    for match in pattern.finditer(text):
        found = calls_in(match)
        if not found or text[end : match.start()].strip():
            return None
        calls += found
        end = match.end()
    return tuple(calls) if calls and not text[end:].strip() else None


def _parse_marked(text: str, offered: Offered) -> Calls:
    prose, mark, rest = text.partition(_MARK)
    if not mark or prose.strip():
        return None
    calls: list[TextToolCall] = []
    for piece in rest.removesuffix("</s>").split(_MARK):
        named = _NAMED_ARGUMENTS.fullmatch(piece)
        if named is not None:
            arguments = _decode_object(named[2]) if named[1] in offered else None
            found: Calls = None if arguments is None else (TextToolCall(named[1], arguments),)
        else:
            found = _parse_json_calls(piece, offered)
        if not found:
            return None
        calls += found
    return tuple(calls)


def _parse_bare_json(text: str, offered: Offered) -> Calls:
    return _parse_json_calls(text, offered) if text.lstrip().startswith(("{", "[")) else None


def _parse_json_calls(text: str, offered: Offered) -> Calls:
    """Parse calls from one JSON value, or one value per line; None unless all of them are calls."""
    whole = _decode_json(text)
    values: list[Any]
    if isinstance(whole, list):
        values = whole
    elif isinstance(whole, dict):
        values = [whole]
    else:
        values = [_decode_json(line) for line in text.splitlines() if line.strip()]
    calls = [_parse_call(value, offered) for value in values]
    found = tuple(call for call in calls if call is not None)
    return found if found and len(found) == len(calls) else None


def _parse_call(value: Any, offered: Offered) -> TextToolCall | None:
    if not isinstance(value, dict) or not _KNOWN_KEYS.issuperset(value):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name", inner)
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        arguments = _decode_object(arguments)
    if not isinstance(name, str) or name not in offered or not isinstance(arguments, dict):
        return None
    return TextToolCall(name, arguments)


def _parse_parameters(text: str, tool: ToolSpec) -> dict[str, Any] | None:
    """Parse `<parameter=name>value</parameter>`; the schema says which values are plain text."""
    if _PARAMETER.sub("", text).strip():
        return None
    properties = tool.schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    found: dict[str, Any] = {}
    for name, value in _PARAMETER.findall(text):
        wanted = known.get(name)
        is_text = isinstance(wanted, dict) and wanted.get("type") == "string"
        parsed = None if is_text else _decode_json(value)
        found[name] = value if parsed is None else parsed
    return found


def _decode_object(text: str) -> dict[str, Any] | None:
    value = _decode_json(text)
    return value if isinstance(value, dict) else None


def _decode_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
