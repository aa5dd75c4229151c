"""Checks after the program was killed: the log is intact, and the real program can resume."""

import itertools
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct

from bobstay.engine.state import State
from bobstay.model.api_shape import blocks_from_json
from bobstay.model.event import BlockDone, Envelope, Prompted, RunDone, ToolDone, ToolStarted
from bobstay.model.message import Message, ToolCall, text_of
from bobstay.sessions.log_store import LogStore
from tests.fault import story
from tests.fault.victim import Victim
from tests.kit.program import Frame, initialize, prompt
from tests.modelserver import ModelServer
from tests.modelserver.dialect import ModelRequest
from tests.unit.engine.test_repair import illegalities

RESUME_PROMPT = "Please go on."
Told = dict[str, Any]


class Remains(Struct):
    """The state a killed run left behind."""

    branch: list[Envelope]
    warnings: list[str]
    state: State

    def of(self, kind: type[Any]) -> list[Any]:
        return [entry.event for entry in self.branch if isinstance(entry.event, kind)]


def sessions(folder: Path) -> Path:
    return folder / "home" / ".bobstay" / "sessions"


def read_remains(folder: Path, session: str) -> Remains:
    """Open the log as the program would, but a copy of it: the program itself shall find the original."""
    copies = folder / f"copy-{len(list(folder.glob('copy-*')))}"
    shutil.copytree(sessions(folder), copies)
    log, branch, warnings = LogStore(str(copies)).open(session)
    log.close()
    state = State()
    for envelope in branch:
        state = state.apply(envelope.event)
    return Remains(branch, warnings, state)


def check_remains(remains: Remains, work: Path, frames: list[Frame], prompt_text: str) -> None:
    """The log is intact and contains everything that was reported to the host."""
    assert len(remains.warnings) <= 1, remains.warnings
    assert all("was never finished" in warning for warning in remains.warnings)
    assert [entry.seq for entry in remains.branch] == list(range(1, len(remains.branch) + 1))
    if any(frame["type"] in ("assistant", "user") or frame.get("subtype") == "init" for frame in frames):
        assert prompt_text in [text_of(event.blocks) for event in remains.of(Prompted)]
    done = {event.reply.call_id: event for event in remains.of(ToolDone)}
    for call, text in shown_results(frames).items():
        assert done[call].reply.text == text, call
    asked = [event.block.id for event in remains.of(BlockDone) if isinstance(event.block, ToolCall)]
    started = [event.call_id for event in remains.of(ToolStarted)]
    answered = [event.reply.call_id for event in remains.of(ToolDone)]
    for calls in (asked, started, answered):
        assert len(set(calls)) == len(calls), f"twice in the log: {Counter(calls).most_common(1)}"
    assert set(asked) - set(answered) == {call.id for call in remains.state.unanswered}
    seen = story.effects(work)
    assert all(count == 1 for count in seen.values()), seen
    assert set(seen) <= {name_of(call) for call in started}, "an effect nobody wrote down before"
    finished = {name_of(call) for call, event in done.items() if not event.reply.is_error}
    assert {name for name in finished if not story.DEEDS[name].repeatable} <= set(seen)


async def resume_run(model: ModelServer, folder: Path, session: str, token: str, *more: str) -> list[ModelRequest]:
    """Resume the session with the real program until it succeeds; return the requests to the model."""
    before = len(model.requests)
    victim = await Victim.begin(model, folder, "--resume", session, *more, *story.ARGUMENTS, answer=_person)
    try:
        victim.send(initialize(), prompt(f"{token} {RESUME_PROMPT}"))
        result = await victim.until("result")
        assert (result["subtype"], result["is_error"], result["result"]) == ("success", False, "All is done."), result
        code, errors = await victim.end(), await victim.errors()
        assert code == 0, errors
        assert "Traceback" not in errors
        assert all(line.startswith("Warning: line ") for line in errors.splitlines()), errors
        await victim.leaves_nobody()
    finally:
        await victim.kill()
    return model.requests[before:]


def check_requests(requests: list[ModelRequest], remains: Remains, prompt_text: str) -> None:
    """Each request is valid and continues the one before; nothing stored is missing."""
    for asked in requests:
        history = [Message(m["role"], blocks_from_json(m["content"])) for m in asked.body["messages"]]
        assert illegalities(history) == []
    for earlier, later in itertools.pairwise(requests):
        shared = len(earlier.body["messages"])
        changed = [
            (old, new)
            for old, new in zip(earlier.body["messages"], later.body["messages"][:shared], strict=True)
            if _plain(old) != _plain(new)
        ]
        assert not changed, f"a message already sent to the model was changed: {changed[0]}"
    first = requests[0].body["messages"]
    results = story.results(first)
    assert all(results[event.reply.call_id] == event.reply.text for event in remains.of(ToolDone))
    assert all(call.id in results for call in remains.state.unanswered)
    if remains.of(Prompted):
        assert prompt_text in str(first)
    assert RESUME_PROMPT in str(first[-1])


def check_end(folder: Path, session: str, remains: Remains, requests: list[ModelRequest], before: Told) -> None:
    """Every effect happened once, the model's results are correct, and the session is unlocked."""
    work = folder / "work"
    results = story.results(requests[-1].body["messages"])
    first = story.results(requests[0].body["messages"])
    never = {name_of(call) for call, text in first.items() if text in story.NEVER_BEGAN}
    assert not never & set(before["effects"]), f"told that it had no effect: {never & set(before['effects'])}"
    unsure = {name_of(call) for call, text in results.items() if text in story.UNSURE}
    cut_off = [event.reply.call_id for event in remains.of(ToolDone) if event.interrupted]
    cut_off += [call.id for call in remains.state.unanswered]
    assert unsure <= {name_of(call) for call in cut_off}
    seen = story.effects(work)
    assert all(count == 1 for count in seen.values()), seen
    lasting = {name for name, deed in story.DEEDS.items() if not deed.repeatable}
    assert lasting - unsure <= set(seen), f"not done: {lasting - unsure - set(seen)}"
    assert story.written(work).items() >= before["written"].items(), "a file was written twice"
    ended = read_remains(folder, session)
    assert ended.warnings == []
    assert ended.branch[: len(remains.branch)] == remains.branch
    assert isinstance(ended.branch[-1].event, RunDone)
    runs = Counter(name_of(event.call_id) for event in ended.of(ToolStarted))
    assert all(runs[name] <= 1 for name in lasting), runs
    log, _, _ = LogStore(str(sessions(folder))).open(session)
    log.close()
    assert not list(sessions(folder).glob("*.lease"))


async def check_all(
    model: ModelServer, folder: Path, session: str, token: str, victim: Victim, prompt_text: str
) -> Remains:
    """Everything above, in the order in which it can be seen."""
    await victim.leaves_nobody()
    work = folder / "work"
    remains = read_remains(folder, session)
    check_remains(remains, work, victim.frames, prompt_text)
    before = {"effects": story.effects(work), "written": story.written(work)}
    requests = await resume_run(model, folder, session, token)
    check_requests(requests, remains, prompt_text)
    check_end(folder, session, remains, requests, before)
    return remains


def shown_results(frames: list[Frame]) -> dict[str, str]:
    """The results a host has been shown, by call."""
    return story.results([frame["message"] for frame in frames if frame["type"] == "user"])


def name_of(call: str) -> str:
    return call.partition("-")[0]


def _person(request: Frame) -> Frame | None:
    return story.allow(request) if request["subtype"] == "can_use_tool" else {}


def _plain(value: Any) -> Any:
    """Without the cache markers, which move as the conversation grows."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key != "cache_control"}
    return value
