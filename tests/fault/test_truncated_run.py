"""The log of a real run truncated at every byte of its last three entries loads and can be resumed.

F1, H3-8. Beside the cuts of `test_truncation`, which look at the log alone.
"""

import shutil
from pathlib import Path

import pytest

from bobstay.engine.repair import repair
from bobstay.engine.state import State
from bobstay.model.event import InteractionOpened, MessageDone, Prompted, RunDone, ToolDone
from bobstay.model.message import Text, text_of
from bobstay.sessions.log_store import LogStore
from tests.fault import story
from tests.fault.aftermath import Remains, check_end, check_remains, check_requests, read_remains, resume_run, sessions
from tests.fault.killing import PROMPT, Killing
from tests.fault.points import SEED, chooser
from tests.fault.victim import Victim
from tests.kit.program import initialize, prompt
from tests.unit.engine.test_repair import illegalities

WAYS = ["at its end", "before an approval"]


async def run_story(killing: Killing, way: str) -> Path:
    """Play the story to its end, or kill it where a person is asked; return its log."""
    killing.silent_about = "" if way == "at its end" else "b4"
    options = ("--session-id", killing.session, *story.ARGUMENTS)
    victim = await Victim.begin(killing.server, killing.folder, *options, answer=killing.person)
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await victim.until("result" if way == "at its end" else "can_use_tool")
        await victim.kill_now()
    finally:
        await victim.kill()
    await victim.leaves_nobody()
    killing.silent_about = ""
    return sessions(killing.folder) / f"{killing.session}.jsonl"


@pytest.mark.parametrize("way", WAYS)
async def test_every_cut_of_the_last_three_entries_loads(killing: Killing, way: str) -> None:
    path = await run_story(killing, way)
    whole, all_of_it = path.read_bytes(), read_remains(killing.folder, killing.session)
    last = all_of_it.branch[-1].event
    assert isinstance(last, RunDone if way == "at its end" else InteractionOpened | MessageDone)
    lines = whole.splitlines(keepends=True)
    for size in range(sum(map(len, lines[:-3])), len(whole)):
        path.write_bytes(whole[:size])
        remains = opened(path)
        assert len(remains.warnings) <= 1
        assert remains.branch == all_of_it.branch[: len(remains.branch)]
        assert len(remains.branch) >= len(all_of_it.branch) - 3
        assert f"{killing.token} {PROMPT}" in [text_of(event.blocks) for event in remains.of(Prompted)]
        assert remains.of(ToolDone) == all_of_it.of(ToolDone)
        state = remains.state.apply(Prompted("p", (Text("Go on."),)))
        assert illegalities(repair(state.messages, never_started=state.never_started)) == []


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
async def test_the_program_goes_on_from_a_cut(killing: Killing, way: str, place: int) -> None:
    path = await run_story(killing, way)
    lines = path.read_bytes().splitlines(keepends=True)
    kept = chooser(way, place).randrange(len(lines[-place]))
    print(f"seed {SEED}: {kept} bytes of entry -{place}")
    path.write_bytes(b"".join(lines[:-place]) + lines[-place][:kept])
    work, prompt_text = killing.folder / "work", f"{killing.token} {PROMPT}"
    remains = read_remains(killing.folder, killing.session)
    check_remains(remains, work, [], prompt_text)
    before = {"effects": story.effects(work), "written": story.written(work)}
    requests = await resume_run(killing.server, killing.folder, killing.session, killing.token)
    check_requests(requests, remains, prompt_text)
    check_end(killing.folder, killing.session, remains, requests, before)


def opened(path: Path) -> Remains:
    copy = path.parent.parent / "cut"
    copy.mkdir(exist_ok=True)
    shutil.copy(path, copy / path.name)
    log, branch, warnings = LogStore(str(copy)).open(path.stem)
    log.close()
    state = State()
    for envelope in branch:
        state = state.apply(envelope.event)
    return Remains(branch, warnings, state)
