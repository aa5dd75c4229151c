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


class Recovered(Struct, frozen=True):
    prose: str
    """What the model said around its calls."""
    calls: tuple[LeakedCall, ...]


Offered: TypeAlias = dict[str, ToolSpec]
Calls: TypeAlias = tuple[LeakedCall, ...] | None
CallsIn: TypeAlias = Callable[[re.Match[str]], Calls]

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.:-]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.:-]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED_ARGUMENTS = re.compile(r"\s*([\w.:-]{1,200})\[ARGS\](\{.*)", re.DOTALL)
_FENCED_AT_END = re.compile(r"```(?:json|tool_call|tool_code)?[ \t]*\n((?:(?!```).)*)```\s*\Z", re.DOTALL)
_MARK = "[TOOL_CALLS]"

_OPENINGS = ("<tool_call>", "<function=", _MARK)
_FIRST_KEYS = ('"name"', '"function"', '"type"', '"id"', '"arguments"', '"parameters"')
_KNOWN_KEYS = frozenset({"name", "arguments", "parameters", "type", "id", "function"})
_FENCES = ("```json\n", "```tool_call\n", "```tool_code\n", "```\n")
_LONGEST_OPENING = 64


def recover(text: str, tools: Sequence[ToolSpec]) -> Recovered | None:
    """Return the calls that `text` consists of and the prose around them, or None if it is just text.

    A call counts only if it names one of `tools`. Marked calls may stand among prose; fenced JSON may follow prose,
    for a model that goes on talking after it is explaining, not calling; bare JSON must be all there is. Where one
    of several calls makes no sense, nothing is recovered: running half of what was meant is worse than none.
    """
    offered = {tool.name: tool for tool in tools}
    for find in (_in_tags, _after_mark, _in_functions, _in_fence, _bare):
        found = find(text, offered)
        if found is not None:
            return found
    return None


def may_become_call(text: str) -> bool:
    """Tell whether a text that begins like this could still turn out to be nothing but a call."""
    head = text.lstrip()[:_LONGEST_OPENING]
    if _agree(head, _OPENINGS):
        return True
    if head.startswith("`"):
        if any(fence.startswith(head) for fence in _FENCES):
            return True
        fence = next((fence for fence in _FENCES if head.startswith(fence)), None)
        if fence is None:
            return False
        head = head[len(fence) :].lstrip()
    if not head or head[0] not in "{[":
        return not head
    inner = head[1:].lstrip() if head[0] == "[" else head
    if not inner:
        return True
    return inner[0] == "{" and _agree(inner[1:].lstrip(), _FIRST_KEYS)


def _agree(head: str, openings: tuple[str, ...]) -> bool:
    return any(opening.startswith(head) or head.startswith(opening) for opening in openings)


def _in_tags(text: str, offered: Offered) -> Recovered | None:
    def calls_in(match: re.Match[str]) -> Calls:
        functions = _in_functions(match[1], offered)
        if functions is not None and not functions.prose:
            return functions.calls
        return _calls_of_json(match[1], offered)

    return _cut_out(text, _TAGGED, calls_in)


def _in_functions(text: str, offered: Offered) -> Recovered | None:
    def calls_in(match: re.Match[str]) -> Calls:
        tool = offered.get(match[1])
        if tool is None:
            return None
        arguments = _object(match[2]) if match[2].lstrip().startswith("{") else _parameters(match[2], tool)
        return None if arguments is None else (LeakedCall(match[1], arguments),)

    return _cut_out(text, _FUNCTION, calls_in)


def _cut_out(text: str, pattern: re.Pattern[str], calls_in: CallsIn) -> Recovered | None:
    calls: list[LeakedCall] = []
    prose: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        found = calls_in(match)
        if not found:
            return None
        calls += found
        prose.append(text[end : match.start()].strip())
        end = match.end()
    if not calls:
        return None
    prose.append(text[end:].strip())
    return Recovered("\n\n".join(part for part in prose if part), tuple(calls))


def _after_mark(text: str, offered: Offered) -> Recovered | None:
    prose, mark, rest = text.partition(_MARK)
    if not mark:
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
    return Recovered(prose.strip(), tuple(calls))


def _in_fence(text: str, offered: Offered) -> Recovered | None:
    match = _FENCED_AT_END.search(text)
    calls = _calls_of_json(match[1], offered) if match is not None else None
    if match is None or not calls:
        return None
    return Recovered(text[: match.start()].strip(), calls)


def _bare(text: str, offered: Offered) -> Recovered | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    calls = _calls_of_json(text, offered)
    return Recovered("", calls) if calls else None


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
