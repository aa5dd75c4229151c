"""Leaving the sandbox needs a person: no rule, hook, advisor or mode except bypass answers for them (H5-3, H5-9)."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import InteractionOpened, ToolDone
from bobstay.permissions.access import Access, Effect
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from tests.flow.world import Listeners, Person, World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]
END = Step(blocks=[Say("End.")])


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def world(server: ModelServer, tmp_path: Path) -> AsyncIterator[Make]:
    made: list[World] = []

    def make(**options: Any) -> World:
        here = World(server, tmp_path, **options)
        (tmp_path / "home").mkdir(exist_ok=True)
        state = str(tmp_path / "home/.bobstay/sandbox")
        here.shells.sandbox = Sandbox(SandboxSpec(root=str(here.work), home=str(tmp_path / "home"), state=state))
        made.append(here)
        return here

    yield make
    for each in made:
        await each.close()


def outside(here: World) -> Step:
    command = f"touch {here.folder}/escaped"
    return Step(blocks=[Call("Bash", {"command": command, "outside_sandbox": True}, "a")])


async def test_a_person_may_let_a_command_out(server: ModelServer, world: Make) -> None:
    here = world(person=Person(lambda _: Answer(True)), allow=("Bash",))
    await here.run(server.play("yes", outside(here), END))
    (opened,) = here.of(InteractionOpened)
    assert "outside the sandbox" in opened.reason
    assert opened.suggestions == ()
    assert (here.folder / "escaped").exists()


async def test_a_person_may_keep_it_in(server: ModelServer, world: Make) -> None:
    here = world(person=Person(lambda _: Answer(False)), allow=("Bash",))
    await here.run(server.play("no", outside(here), END))
    assert not (here.folder / "escaped").exists()


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "auto", "dontAsk"])
async def test_where_nobody_can_be_asked_no_rule_and_no_mode_lets_it_out(
    server: ModelServer, world: Make, mode: str
) -> None:
    here = world(mode=mode, allow=("Bash", "Bash(touch *)"))
    await here.run(server.play(f"alone-{mode}", outside(here), END))
    assert here.of(ToolDone)[0].denied
    assert not (here.folder / "escaped").exists()


async def test_no_hook_lets_it_out(server: ModelServer, world: Make) -> None:
    hooks = Listeners(
        PreToolUse=lambda _: HookOutcome(decision="allow"),
        PermissionRequest=lambda _: HookOutcome(permission={"behavior": "allow"}),
    )
    here = world(hooks=hooks, person=Person(lambda _: Answer(False)))
    await here.run(server.play("hooks", outside(here), END))
    assert here.of(ToolDone)[0].denied
    assert not (here.folder / "escaped").exists()


async def test_bypassing_permissions_includes_the_sandbox(server: ModelServer, world: Make) -> None:
    here = world(mode="bypassPermissions")
    await here.run(server.play("bypass", outside(here), END))
    assert (here.folder / "escaped").exists()


async def test_what_runs_in_the_sandbox_is_not_asked_about_if_so_set(server: ModelServer, world: Make) -> None:
    here = world(deny=("Bash(curl *)",), ask=("Bash(make *)",))
    here.policy.sandboxed = lambda _: True
    made = Step(blocks=[Call("Bash", {"command": "touch inside; touch $PWD/../escaped"}, "a")])
    await here.run(server.play("auto", made, END))
    assert (here.work / "inside").exists()
    assert not (here.folder / "escaped").exists()
    for command, effect in (("curl x", Effect.DENY), ("make x", Effect.ASK), ("touch x", Effect.ALLOW)):
        found = here.policy.judge("Bash", (Access("exec", command),), {"command": command}, read_only=False)
        assert found.effect is effect, command


async def test_a_request_to_leave_is_asked_about_though_the_command_would_not_be(world: Make) -> None:
    here = world()
    here.policy.sandboxed = lambda _: True
    accesses = (Access("exec", "touch x"), Access("outside", "touch x"))
    found = here.policy.judge("Bash", accesses, {"command": "touch x", "outside_sandbox": True}, read_only=False)
    assert (found.effect, found.reason_type) == (Effect.ASK, "safety")
