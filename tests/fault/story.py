"""A run of twenty tool calls with countable effects, and a model that continues from any history."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct

from bobstay.engine import pipeline, repair
from tests.modelserver.script import Call, Part, Say, Step

MARK = """#!/bin/sh
stand_at() {
    [ -p "$1" ] || return 0
    setsid sleep 300 &
    echo here > "$1"
    exec sleep 300
}
stand_at "before-$1"
echo "$1" >> effects
stand_at "after-$1"
echo "did $1"
"""
"""Adds a line to `effects`. Where the test created a pipe, it reports to it and blocks, with a stray process."""

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
}
ARGUMENTS = (
    *("--permission-prompt-tool", "stdio", "--include-partial-messages"),
    *("--allowedTools", "Bash(./mark:*)", "Read", "Write", "Edit", "--"),
)
WORDS = "Now for the next part of the work, which is number {}. "


NEVER_BEGAN = (repair.NOT_STARTED, pipeline.NEVER_STARTED.format(reason="by the user"))
"""Results of a call that was cut off before it began, by a crash or an interrupt."""
UNSURE = (repair.INTERRUPTED, pipeline.INTERRUPTED.format(reason="by the user"))
"""Results of a call whose progress is unknown."""


class Deed(Struct, frozen=True):
    """One call. Its name is in its id, so that it is known again in any history."""

    name: str
    tool: str
    input: dict[str, Any]
    asks: bool = False

    @property
    def repeatable(self) -> bool:
        """Without effects: a model that lost the result simply asks again."""
        return self.tool in ("Read", "AskUserQuestion")


def _bash(name: str, *, asks: bool = False) -> Deed:
    return Deed(name, "Bash", {"command": f"./{'asked' if asks else 'mark'} {name}"}, asks)


def _read(number: int) -> Deed:
    return Deed(f"r{number}", "Read", {"file_path": f"e{number}.txt"})


def _edit(number: int) -> Deed:
    fields = {"file_path": f"e{number}.txt", "old_string": f"row {number}:", "new_string": f"row {number}:+"}
    return Deed(f"e{number}", "Edit", fields)


def _write(number: int) -> Deed:
    return Deed(f"w{number}", "Write", {"file_path": f"w{number}.txt", "content": f"written {number}\n"})


STEPS: tuple[tuple[Deed, ...], ...] = (
    (_bash("b1"),),
    (_read(1), _read(2), _read(3)),
    (_write(1), _write(2)),
    (_edit(1),),
    (_bash("b2"), _bash("b3")),
    (_bash("b4", asks=True),),
    (_edit(2), _edit(3)),
    (_bash("b5"),),
    (_read(4), _bash("b6"), _write(3)),
    (_bash("b7", asks=True), Deed("q1", "AskUserQuestion", {"questions": [QUESTION]}, asks=True)),
    (_bash("b8", asks=True), _read(5)),
)
DEEDS: dict[str, Deed] = {deed.name: deed for step in STEPS for deed in step}
assert len(DEEDS) == 20


def lay_out(work: Path) -> None:
    """The folder the run works in."""
    work.mkdir()
    for name in ("mark", "asked"):
        (work / name).write_text(MARK)
        (work / name).chmod(0o755)
    for number in range(1, 6):
        (work / f"e{number}.txt").write_text(f"row {number}:\n")


def effects(work: Path) -> Counter[str]:
    """How often each deed happened."""
    path = work / "effects"
    seen = Counter(path.read_text().split() if path.exists() else [])
    for number in range(1, 4):
        seen[f"e{number}"] = (work / f"e{number}.txt").read_text().count("+")
        seen[f"w{number}"] = int((work / f"w{number}.txt").exists())
    return +seen


def written(work: Path) -> dict[str, tuple[int, int]]:
    """Identity of a file, which changes when it is written again."""
    states = {name: os.stat(work / name) for name in ("w1.txt", "w2.txt", "w3.txt") if (work / name).exists()}
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in states.items()}


def allow(request: dict[str, Any]) -> dict[str, Any]:
    """The answer of the host's user to every request."""
    given = request["input"]
    if request["tool_name"] == "AskUserQuestion":
        given = {**given, "answers": {QUESTION["question"]: "Blue"}}
    return {"behavior": "allow", "updatedInput": given}


class Model:
    """Requests what is not done yet, step by step. `stops` are responses that block at some point, by their step."""

    def __init__(self, stops: dict[int, Step] | None = None) -> None:
        self.stops = dict(stops or {})

    def __call__(self, body: dict[str, Any]) -> Step:
        known = results(body["messages"])
        for number, step in enumerate(STEPS):
            missing = [deed for deed in step if not _settled(deed, known)]
            if missing:
                stop = self.stops.pop(number, None)
                return _with_blocks(stop or Step(), blocks(number, missing, known))
        return Step(blocks=[Say("All is done.")])


def blocks(number: int, deeds: list[Deed], known: dict[str, str] | None = None) -> list[Part]:
    attempts = Counter(identity.partition("-")[0] for identity in known or {})
    calls = [Call(deed.tool, deed.input, f"{deed.name}-{attempts[deed.name] + 1}") for deed in deeds]
    return [Say(WORDS.format(number)), *calls]


def results(messages: list[dict[str, Any]]) -> dict[str, str]:
    """By the id of each call in a request: the text it was answered with."""
    found: dict[str, str] = {}
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                found[block["tool_use_id"]] = as_text(block["content"])
    return found


def as_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _settled(deed: Deed, known: dict[str, str]) -> bool:
    answers = [text for identity, text in known.items() if identity.partition("-")[0] == deed.name]
    return any(text not in NEVER_BEGAN and not (deed.repeatable and text in UNSURE) for text in answers)


def _with_blocks(step: Step, parts: list[Part]) -> Step:
    step.blocks = parts
    return step
