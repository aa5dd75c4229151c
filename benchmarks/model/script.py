"""What the model says: read off the prompt's mark and the number of tool results in a request, so it keeps no state."""

import re
from typing import Any

import msgspec

MARK = re.compile(rb"BENCH:(\w+):(\w+):(\d+)")
READ_TOOLS = ("Read", "read")
SHELL_TOOLS = ("Bash", "bash", "exec_command", "shell_command", "shell")
PATH_FIELDS = ("file_path", "path")
COMMAND_FIELDS = ("command", "cmd")
TREE_STEPS = 20
"""Steps of each sub-agent in the scenario `tree`."""
WORDS = ("lorem ", "ipsum ", "dolor ", "sit ", "amet ", "consectetur ", "adipiscing ", "elit ", "sed ", "eiusmod\n\n")


class Tool(msgspec.Struct, frozen=True):
    name: str
    schema: dict[str, Any]

    @property
    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.schema.get("properties") or {}
        return fields


class Call(msgspec.Struct, frozen=True):
    name: str
    input: dict[str, Any]


class Reply(msgspec.Struct, frozen=True):
    """One answer: pieces of text, then perhaps calls."""

    pieces: list[str]
    call: Call | None = None
    more: list[Call] = []
    """Further calls of the same answer; only for Anthropic Messages."""


class Mark(msgspec.Struct, frozen=True):
    """Which run a request belongs to, what it plays and how often."""

    run: str
    scenario: str
    count: int


def mark_of(body: bytes) -> Mark | None:
    found = MARK.search(body, max(body.find(b"BENCH:"), 0))
    return Mark(found[1].decode(), found[2].decode(), int(found[3])) if found else None


def reply_to(mark: Mark, done: int, tools: list[Tool], folder: str) -> Reply:
    """The answer after `done` tool results. `folder` holds a directory for each run."""
    if mark.scenario == "stream":
        return Reply([WORDS[index % len(WORDS)] for index in range(mark.count)])
    if mark.scenario == "tree" and not done:
        first, *rest = [_agent(mark, number) for number in range(mark.count)]
        return Reply(["They work."], first, rest)
    call = _call(mark, done, tools, folder) if done < mark.count else None
    return Reply([f"Step {done}."], call) if call else Reply(["Hi! All done."])


def _call(mark: Mark, done: int, tools: list[Tool], folder: str) -> Call | None:
    match mark.scenario:
        case "read":
            return _filled(tools, READ_TOOLS, PATH_FIELDS, f"{folder}/{mark.run}/file_{done % 200:03}.txt")
        case "shell":
            return _filled(tools, SHELL_TOOLS, COMMAND_FIELDS, f"true {done}")
        case "nothing" | "lines" | "line":
            return _filled(tools, SHELL_TOOLS, COMMAND_FIELDS, f"cat {folder}/{mark.scenario}_{done % 20}.txt")
        case _:
            return None


def _agent(mark: Mark, number: int) -> Call:
    prompt = f"BENCH:{mark.run}:read:{TREE_STEPS} go"
    return Call("Agent", {"description": f"part {number}", "prompt": prompt})


def _filled(tools: list[Tool], names: tuple[str, ...], fields: tuple[str, ...], value: str) -> Call | None:
    """A call of the first of these tools that is offered, with its one interesting field filled in."""
    offered = {tool.name: tool for tool in tools}
    tool = next((offered[name] for name in names if name in offered), None)
    if tool is None:
        return None
    field = next((name for name in fields if name in tool.fields), fields[0])
    words = tool.fields.get(field, {}).get("type") == "array"
    given: dict[str, Any] = {name: _anything(tool.fields.get(name, {})) for name in tool.schema.get("required", ())}
    return Call(tool.name, {**given, field: ["bash", "-c", value] if words else value})


def _anything(schema: dict[str, Any]) -> Any:
    return {"boolean": False, "integer": 1, "number": 1, "array": []}.get(schema.get("type", ""), "x")
