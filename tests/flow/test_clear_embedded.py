"""`/clear` for programs that embed a session, and for the console (H9-2)."""

from pathlib import Path
from typing import Any

import pytest

from bobstay import RunDone, Session
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

pytestmark = pytest.mark.usefixtures("embedded")


async def ask(session: Session, prompt: str) -> RunDone:
    done = [event async for event in session.run(prompt)][-1]
    assert isinstance(done, RunDone)
    return done


@pytest.mark.parametrize("by_prompt", [True, False])
async def test_a_program_clears_the_conversation(model: ModelServer, tmp_path: Path, by_prompt: bool) -> None:
    options: dict[str, Any] = {"cwd": tmp_path / "work", "model": "claude-sonnet-4-5"}
    async with Session(**options) as session:
        await ask(session, model.play("a", Step(blocks=[Say("FIRST-ANSWER")])))
        first = session.id
        if by_prompt:
            assert (await ask(session, "/clear")).local_command == "clear"
        else:
            await session.clear()
        assert session.id != first
        assert session.state.messages == []
        await ask(session, model.play("b", Step(blocks=[Say("Two.")])))
    assert "FIRST-ANSWER" not in str(model.requests[-1].body["messages"])
    async with Session(**options, resume=first) as session:
        await ask(session, model.play("c", Step(blocks=[Say("Three.")])))
    assert "FIRST-ANSWER" in str(model.requests[-1].body["messages"])
