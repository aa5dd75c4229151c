"""Leaving the sandbox needs a person: no rule, hook, advisor or mode except bypass answers for them (H5-3, H5-9)."""

from pathlib import Path
from typing import Any

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import InteractionOpened, ToolDone
from bobstay.permissions.access import Access, Effect
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks, ScriptedSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


@pytest.fixture
def make_session(make_session: MakeSession, tmp_path: Path) -> MakeSession:
    """With a sandbox."""

    def make(**options: Any) -> ScriptedSession:
        session = make_session(**options)
        (tmp_path / "home").mkdir(exist_ok=True)
        state = str(tmp_path / "home/.bobstay/sandbox")
        session.shells.sandbox = Sandbox(SandboxSpec(root=str(session.work), home=str(tmp_path / "home"), state=state))
        return session

    return make


def outside(session: ScriptedSession) -> Step:
    command = f"touch {session.folder}/escaped"
    return Step(blocks=[Call("Bash", {"command": command, "outside_sandbox": True}, "a")])


async def test_a_person_may_let_a_command_out(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(person=Person(lambda _: Answer(True)), allow=("Bash",))
    await session.run(model.play("yes", outside(session), END))
    (opened,) = session.of(InteractionOpened)
    assert "outside the sandbox" in opened.reason
    assert opened.suggestions == ()
    assert (session.folder / "escaped").exists()


async def test_a_person_may_keep_it_in(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(person=Person(lambda _: Answer(False)), allow=("Bash",))
    await session.run(model.play("no", outside(session), END))
    assert not (session.folder / "escaped").exists()


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "auto", "dontAsk"])
async def test_where_nobody_can_be_asked_no_rule_and_no_mode_lets_it_out(
    model: ModelServer, make_session: MakeSession, mode: str
) -> None:
    session = make_session(mode=mode, allow=("Bash", "Bash(touch *)"))
    await session.run(model.play(f"alone-{mode}", outside(session), END))
    assert session.of(ToolDone)[0].denied
    assert not (session.folder / "escaped").exists()


async def test_no_hook_lets_it_out(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(
        PreToolUse=lambda _: HookOutcome(decision="allow"),
        PermissionRequest=lambda _: HookOutcome(permission={"behavior": "allow"}),
    )
    session = make_session(hooks=hooks, person=Person(lambda _: Answer(False)))
    await session.run(model.play("hooks", outside(session), END))
    assert session.of(ToolDone)[0].denied
    assert not (session.folder / "escaped").exists()


async def test_bypassing_permissions_includes_the_sandbox(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(mode="bypassPermissions")
    await session.run(model.play("bypass", outside(session), END))
    assert (session.folder / "escaped").exists()


async def test_what_runs_in_the_sandbox_is_not_asked_about_if_so_set(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(deny=("Bash(curl *)",), ask=("Bash(make *)",))
    session.policy.sandboxed = lambda _: True
    made = Step(blocks=[Call("Bash", {"command": "touch inside; touch $PWD/../escaped"}, "a")])
    await session.run(model.play("auto", made, END))
    assert (session.work / "inside").exists()
    assert not (session.folder / "escaped").exists()
    for command, effect in (("curl x", Effect.DENY), ("make x", Effect.ASK), ("touch x", Effect.ALLOW)):
        found = session.policy.judge("Bash", (Access("exec", command),), {"command": command}, read_only=False)
        assert found.effect is effect, command


async def test_a_request_to_leave_is_asked_about_though_the_command_would_not_be(make_session: MakeSession) -> None:
    session = make_session()
    session.policy.sandboxed = lambda _: True
    accesses = (Access("exec", "touch x"), Access("outside", "touch x"))
    found = session.policy.judge("Bash", accesses, {"command": "touch x", "outside_sandbox": True}, read_only=False)
    assert (found.effect, found.reason_type) == (Effect.ASK, "safety")
