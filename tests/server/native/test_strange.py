"""Things in the state directory that no server of ours would have put there, and settings that changed meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bobstay.model.event import SessionStarted
from bobstay.server import commands
from bobstay.server.errors import ApiError
from bobstay.sessions.store import Store
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.stage import Stage

Make = Callable[..., Awaitable[Stage]]


async def test_files_that_are_no_sessions_do_not_stop_the_start(model: ModelServer, stage: Make) -> None:
    first = await stage()
    view = await first.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await first.until_status(view.id, "completed")
    await first.close()
    folder = first.registry.store.directory
    (Path(folder) / "no name!.jsonl").write_text("{}\n")
    (Path(folder) / "folder.jsonl").mkdir()
    second = await stage()
    assert set(second.registry.views) >= {view.id}
    await second.say(view.id, model.play("again", Step(blocks=[Say("Again.")])))
    await second.until(view.id, lambda view: view.turns == 2 and view.status == "completed")


async def test_a_file_that_is_no_session_does_not_end_the_watching(stage: Make) -> None:
    here = await stage()
    folder = here.registry.store.directory
    for name in ("first", "second", "third"):
        (Path(folder) / f"{name}!.jsonl").write_text("{}\n")
        Store(folder).create(name, SessionStarted(str(here.work), "1", "")).close()
        async with asyncio.timeout(10):
            while name not in here.registry.views:
                await asyncio.sleep(0.01)
                (Path(folder) / f"{name}.jsonl").touch()  # the watching may not have begun before


async def test_a_workflow_chosen_while_the_agent_is_up_holds_for_the_next_turn(model: ModelServer, stage: Make) -> None:
    """S000-43: the policy of a mode is enforced from the moment it is shown."""
    here = await stage()
    view = await here.launch(model.play("hello", Step(blocks=[Say("Hello.")])), allowed_tools=("Write",))
    done = await here.until_status(view.id, "completed")
    await commands.configure(here.console, view.id, replace(done.config, workflow="research"))
    path = str(here.work / "made")
    steps = (Step(blocks=[Call("Write", {"file_path": path, "content": "x"}, "c")]), Step(blocks=[Say("ok")]))
    await here.say(view.id, model.play("write", *steps))
    await here.until(view.id, lambda view: view.turns == 2 and view.status in ("completed", "waiting_input"))
    assert not (here.work / "made").exists()


async def test_a_mode_that_does_not_exist_is_not_stored(model: ModelServer, stage: Make) -> None:
    here = await stage()
    view = await here.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    done = await here.until_status(view.id, "completed")
    for _ in range(2):
        with pytest.raises(ApiError) as caught:
            await commands.configure(here.console, view.id, replace(done.config, permission_mode="anything"))
        assert caught.value.problem.code == "invalid"
        assert here.registry.view(view.id).config.permission_mode == ""
        await here.runner.rest(view.id)


async def test_bypassing_that_is_over_can_be_asked_for_again(model: ModelServer, stage: Make) -> None:
    """FM-39, the other way round: a new time counts for an agent that is up."""
    here = await stage()
    prompt = model.play("hello", Step(blocks=[Say("Hello.")]))
    view = await here.launch(prompt, permission_mode="bypassPermissions", bypass_until=time.time() + 0.5)
    await here.until(view.id, lambda view: view.permission_mode == "default" and view.status == "completed")
    config = replace(here.registry.view(view.id).config, bypass_until=time.time() + 600)
    await commands.configure(here.console, view.id, config)
    assert here.registry.view(view.id).permission_mode == "bypassPermissions"
