"""Settings configure the sandbox of a session, and a session that should have one never runs without it (H5-8)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import RunDone, ToolDone
from bobstay.model.message import Text
from tests.kit.environments import model_variables
from tests.kit.user_folders import UserFolders
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


class Workspace(UserFolders):
    """Sessions with the scripted model, in the sandbox that the settings ask for."""

    def __init__(self, tmp_path: Path, model: ModelServer) -> None:
        super().__init__(tmp_path)
        self.model = model
        self.variables |= {**model_variables(model), "NOT_LISTED": "leaked"}
        self.warnings: list[str] = []

    def settings(self, sandbox: dict[str, Any], folder: str = "home") -> None:
        self.write(f"{folder}/.bobstay/settings.json", {"sandbox": sandbox, "env": {"MY_OWN": "seen"}})

    async def play(self, name: str, command: str, secrets: dict[str, str] | None = None, **options: Any) -> ToolDone:
        """The result when the model of a session runs `command` and nobody can be asked."""
        self.variables |= secrets or {}
        session = await self.open(model="claude-sonnet-4-5", trust=True, **options)
        self.warnings = list(session.warnings)
        step = Step(blocks=[Call("Bash", {"command": command}, "a")])
        done: list[ToolDone] = []
        async for event in session.run(self.model.play(name, step, END)):
            if isinstance(event, ToolDone):
                done.append(event)
            assert not isinstance(event, RunDone) or event.ending == "completed"
        await session.close()
        return done[0]


@pytest.fixture
def workspace(tmp_path: Path, model: ModelServer) -> Workspace:
    return Workspace(tmp_path, model)


def result_text(done: ToolDone) -> str:
    return "".join(part.text for part in done.reply.content if isinstance(part, Text))


async def test_a_command_in_the_sandbox_runs_without_a_question_if_so_set(workspace: Workspace, tmp_path: Path) -> None:
    workspace.settings({"enabled": True, "autoAllow": True})
    out = "touch made $PWD/../escaped; ls -A $HOME/.bobstay"  # a path outside would be asked about
    command = f"{out}; echo $MY_OWN; printenv NOT_LISTED ANTHROPIC_API_KEY"
    done = await workspace.play("auto-allow", command)
    assert not done.denied
    seen, withheld = result_text(done).splitlines()[1:]  # neither of the two that `printenv` is asked for
    assert seen == "seen"
    assert withheld.startswith("(Not given to commands, because it may hold a secret: ANTHROPIC_API_KEY.")
    assert (workspace.work / "made").exists()
    assert not (tmp_path / "escaped").exists()
    assert [path.name for path in workspace.work.iterdir()] == ["made"]


async def test_without_that_setting_it_is_asked_about(workspace: Workspace) -> None:
    workspace.settings({"enabled": True})
    assert (await workspace.play("asked", "touch made")).denied
    assert (await workspace.play("allowed", "touch made", allowed_tools=("Bash(touch *)",))).denied is False


async def test_the_settings_of_a_folder_do_not_turn_it_off(workspace: Workspace, tmp_path: Path) -> None:
    workspace.settings({"enabled": True, "autoAllow": True})
    workspace.settings({"enabled": False}, "work")
    await workspace.play("not-off", "touch ../escaped")
    assert not (tmp_path / "escaped").exists()


async def test_where_none_works_commands_are_refused_with_what_to_install(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "sunos5")  # where we know of no sandbox
    workspace.settings({"enabled": True})
    done = await workspace.play("none", "touch ../escaped", allowed_tools=("Bash",))
    assert done.reply.is_error
    assert "apt-get install bubblewrap" in result_text(done)
    assert not (tmp_path / "escaped").exists()
    workspace.settings({"enabled": True, "autoAllow": True, "failIfUnavailable": False})
    assert (await workspace.play("asks-all-the-same", "touch ../escaped")).denied
    assert any("without a sandbox" in warning for warning in workspace.warnings)


async def test_a_variable_that_is_passed_by_name_reaches_a_command_in_the_sandbox(workspace: Workspace) -> None:
    """H5-9: and one that is not named does not."""
    settings = json.dumps({"sandbox": {"enabled": True, "autoAllow": True}, "passVariables": ["GH_TOKEN"]})
    look = "echo token ${#GH_TOKEN} other ${#OTHER_TOKEN}"
    secrets = {"GH_TOKEN": "t0ken-of-gh-99", "OTHER_TOKEN": "t0ken-of-others"}
    without = await workspace.play(
        "withheld", look, secrets, settings=json.dumps({"sandbox": {"enabled": True, "autoAllow": True}})
    )
    assert "token 0 other 0" in result_text(without)
    passed = await workspace.play("passed", look, secrets, settings=settings)
    assert "token 14 other 0" in result_text(passed)
