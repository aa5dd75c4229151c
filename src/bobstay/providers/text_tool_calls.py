"""Finds tool calls that small local models write into their text because the server did not parse them out."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.providers.base import ToolSpec


class LeakedCall(Struct, frozen=True):
    name: str
    input: dict[str, Any]


Offered: TypeAlias = dict[str, ToolSpec]
Calls: TypeAlias = tuple[LeakedCall, ...] | None
CallsIn: TypeAlias = Callable[[re.Match[str]], Calls]

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.:-]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.:-]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED_ARGUMENTS = re.compile(r"\s*([\w.:-]{1,200})\[ARGS\](\{.*)", re.DOTALL)
_MARK = "[TOOL_CALLS]"

_OPENINGS = ("<tool_call>", "<function=", _MARK)
_FIRST_KEYS = ('"name"', '"function"', '"type"', '"id"', '"arguments"', '"parameters"')
_KNOWN_KEYS = frozenset({"name", "arguments", "parameters", "type", "id", "function"})
_LONGEST_OPENING = 64


def recover(text: str, tools: Sequence[ToolSpec]) -> tuple[LeakedCall, ...] | None:
    """Return the calls that `text` consists of, or None if it is just text.

    A call counts only if it names one of `tools` and if all of `text` are calls: a model that says anything beside
    them, or shows them in a code fence, is explaining and not calling. Where one of several calls makes no sense,
    nothing is recovered: running half of what was meant is worse than none.
    """
    offered = {tool.name: tool for tool in tools}
    for find in (_in_tags, _after_mark, _in_functions, _bare):
        found = find(text, offered)
        if found:
            return found
    return None


def is_quoted(text: str, calls: Sequence[LeakedCall], results: Sequence[str]) -> bool:
    """Tell whether `text`, or the input of one of its `calls`, stands in a tool's result.

    Then the model may only repeat what it has read, and what it has read may be hostile. White space does not count.
    """
    wanted = {_compact(text), *(_compact(msgspec.json.encode(call.input).decode()) for call in calls if call.input)}
    return any(words in compact for compact in map(_compact, results) for words in wanted)


def _compact(text: str) -> str:
    return "".join(text.split())


def may_become_call(text: str) -> bool:
    """Tell whether a text that begins like this could still turn out to be nothing but a call."""
    head = text.lstrip()[:_LONGEST_OPENING]
    if _agree(head, _OPENINGS):
        return True
    if not head or head[0] not in "{[":
        return not head
    inner = head[1:].lstrip() if head[0] == "[" else head
    if not inner:
        return True
    return inner[0] == "{" and _agree(inner[1:].lstrip(), _FIRST_KEYS)


def _agree(head: str, openings: tuple[str, ...]) -> bool:
    return any(opening.startswith(head) or head.startswith(opening) for opening in openings)


def _in_tags(text: str, offered: Offered) -> Calls:
    def calls_in(match: re.Match[str]) -> Calls:
        return _in_functions(match[1], offered) or _calls_of_json(match[1], offered)

    return _nothing_but(text, _TAGGED, calls_in)


def _in_functions(text: str, offered: Offered) -> Calls:
    def calls_in(match: re.Match[str]) -> Calls:
        tool = offered.get(match[1])
        if tool is None:
            return None
        arguments = _object(match[2]) if match[2].lstrip().startswith("{") else _parameters(match[2], tool)
        return None if arguments is None else (LeakedCall(match[1], arguments),)

    return _nothing_but(text, _FUNCTION, calls_in)


def _nothing_but(text: str, pattern: re.Pattern[str], calls_in: CallsIn) -> Calls:
    calls: list[LeakedCall] = []
    end = 0
    for match in pattern.finditer(text):
        found = calls_in(match)
        if not found or text[end : match.start()].strip():
            return None
        calls += found
        end = match.end()
    return tuple(calls) if calls and not text[end:].strip() else None


def _after_mark(text: str, offered: Offered) -> Calls:
    prose, mark, rest = text.partition(_MARK)
    if not mark or prose.strip():
        return None
    calls: list[LeakedCall] = []
    for piece in rest.removesuffix("</s>").split(_MARK):
        named = _NAMED_ARGUMENTS.fullmatch(piece)
        if named is not None:
            arguments = _object(named[2]) if named[1] in offered else None
            found: Calls = None if arguments is None else (LeakedCall(named[1], arguments),)
        else:
            found = _calls_of_json(piece, offered)
        if not found:
            return None
        calls += found
    return tuple(calls)


def _bare(text: str, offered: Offered) -> Calls:
    return _calls_of_json(text, offered) if text.lstrip().startswith(("{", "[")) else None


def _calls_of_json(text: str, offered: Offered) -> Calls:
    """The calls in one JSON value, or in one value a line; None unless all of it are calls."""
    whole = _json(text)
    values: list[Any]
    if isinstance(whole, list):
        values = whole
    elif isinstance(whole, dict):
        values = [whole]
    else:
        values = [_json(line) for line in text.splitlines() if line.strip()]
    calls = [_call(value, offered) for value in values]
    found = tuple(call for call in calls if call is not None)
    return found if found and len(found) == len(calls) else None


def _call(value: Any, offered: Offered) -> LeakedCall | None:
    if not isinstance(value, dict) or not _KNOWN_KEYS.issuperset(value):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name", inner)
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        arguments = _object(arguments)
    if not isinstance(name, str) or name not in offered or not isinstance(arguments, dict):
        return None
    return LeakedCall(name, arguments)


def _parameters(text: str, tool: ToolSpec) -> dict[str, Any] | None:
    """Read `<parameter=name>value</parameter>`; the schema tells which values are meant as plain text."""
    if _PARAMETER.sub("", text).strip():
        return None
    properties = tool.schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    found: dict[str, Any] = {}
    for name, value in _PARAMETER.findall(text):
        wanted = known.get(name)
        is_text = isinstance(wanted, dict) and wanted.get("type") == "string"
        parsed = None if is_text else _json(value)
        found[name] = value if parsed is None else parsed
    return found


def _object(text: str) -> dict[str, Any] | None:
    value = _json(text)
    return value if isinstance(value, dict) else None


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
