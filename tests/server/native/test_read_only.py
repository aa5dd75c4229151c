"""Read-only workflows with the native engine: no file changes, whatever was allowed before (S000-43)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened, RunDone
from tests.kit.consoles import BareConsole
from tests.modelserver import Call, ModelServer, Say, Step

ALLOWED = ("Bash", "Bash(*)", "Write", "Edit", "NotebookEdit")
DENIED = ("echo x > made.txt", "echo x >> kept.txt")
ASKED = (
    "sed -i s/a/b/ kept.txt",
    "echo x | tee made.txt",
    "python3 -c \"open('made.txt', 'w').write('x')\"",
    "touch made.txt",
)


@pytest.fixture
async def console(model: ModelServer, tmp_path: Path) -> AsyncIterator[BareConsole]:
    made = BareConsole(model, tmp_path)
    settings = {"permissions": {"allow": list(ALLOWED)}, "sandbox": {"enabled": True, "autoAllow": True}}
    (tmp_path / "bobstay").mkdir(exist_ok=True)
    (tmp_path / "bobstay" / "settings.json").write_text(json.dumps(settings))
    (made.work / "kept.txt").write_text("a\n")
    yield await made.start()
    await made.close()


async def refusing(console: BareConsole, session_id: str, turns: int) -> None:
    """Wait for the end of a turn, in which a person says no to whatever is asked."""

    def over() -> bool:
        return sum(isinstance(event, RunDone) for event in console.events(session_id)) == turns

    found = await console.until(session_id, lambda view: view.status == "waiting_input" or over())
    if found.status == "waiting_input":
        await console.answer(found, Answer(False, "no", by="ada"))
    await console.until(session_id, lambda _: over())


@pytest.mark.parametrize("workflow", ["research", "plan", "review_plan"])
async def test_rules_of_the_client_and_of_the_settings_allow_no_writing(
    console: BareConsole, model: ModelServer, workflow: str
) -> None:
    """A person is asked about each command that may write; what surely writes is refused without asking."""
    view = await console.launch("", workflow=workflow, allowed_tools=ALLOWED)
    for number, command in enumerate((*DENIED, *ASKED, "cat kept.txt | wc -l")):
        call = Call("Bash", {"command": command}, f"c{number}")
        prompt = model.play(f"deed-{number}", Step(blocks=[call]), Step(blocks=[Say("Done.")]))
        await console.say(view.id, f"{prompt} go")
        await refusing(console, view.id, number + 1)
    files = {path.name: path.read_text() for path in console.work.iterdir() if path.is_file()}
    assert files == {"kept.txt": "a\n"}
    asked = [event.call.input["command"] for event in console.events(view.id) if isinstance(event, InteractionOpened)]
    assert asked == list(ASKED)
