"""The hooks of a session: those of settings from the start, those of plugins, skills and agents later (H9-6)."""

import tempfile
from pathlib import Path

import pytest

from bobstay.assembly.session import AgentSession
from bobstay.assembly.session_hooks import SessionHooks, read_hook_entries
from bobstay.hooks.hook_event import HookCall
from bobstay.hooks.hook_settings import CommandHook
from tests.kit.user_folders import UserFolders

STOP = HookCall("Stop", {})


@pytest.fixture
def user(tmp_path: Path) -> UserFolders:
    return UserFolders(tmp_path)


def hooks_of(session: AgentSession) -> SessionHooks:
    hooks = session.driver.agent.toolbox.hooks
    assert isinstance(hooks, SessionHooks)
    return hooks


async def test_a_session_without_hooks_takes_some_later(user: UserFolders) -> None:
    session = await user.open()
    hooks = hooks_of(session)
    assert hooks.commands is None
    drop = hooks.add([CommandHook("Stop", "", "touch ran")])
    assert hooks.wants("Stop")
    await hooks.run(STOP)
    assert (user.work / "ran").exists()
    drop()
    assert not hooks.wants("Stop")
    await session.close()


async def test_hooks_of_an_agent_join_those_of_the_session_only_for_that_agent(user: UserFolders) -> None:
    user.write("home/.claude/settings.json", {"hooks": {"SubagentStop": [{"hooks": [{"command": "touch session"}]}]}})
    session = await user.open()
    hooks = hooks_of(session)
    agent = hooks.for_agent([CommandHook("Stop", "", "touch agent")])
    await agent.run(HookCall("SubagentStop", {}, "worker"))
    assert sorted(path.name for path in user.work.iterdir()) == ["agent", "session"]
    assert not hooks.wants("Stop")
    (user.work / "agent").unlink()
    await hooks.run(HookCall("SubagentStop", {}, "worker"))
    assert not (user.work / "agent").exists()
    await session.close()


async def test_hooks_that_come_later_are_off_where_all_hooks_are_off(user: UserFolders) -> None:
    user.write("home/.claude/settings.json", {"disableAllHooks": True})
    session = await user.open()
    hooks = hooks_of(session)
    hooks.add([CommandHook("Stop", "", "touch ran")])
    agent = hooks.for_agent([CommandHook("Stop", "", "touch ran")])
    assert not hooks.wants("Stop")
    assert not agent.wants("SubagentStop")
    await session.close()


def test_entries_of_a_file_are_read_with_their_variables_and_bound_to_their_scripts(tmp_path: Path) -> None:
    (tmp_path / "check.sh").write_text("exit 0\n")
    entries = {"PreToolUse": [{"hooks": [{"command": "./check.sh", "once": True}, {"type": "nope"}]}], "Never": []}
    root = {"CLAUDE_PLUGIN_ROOT": "/p"}
    (hook,), notices = read_hook_entries(entries, "/p/hooks.json", variables=root, folder=str(tmp_path))
    assert isinstance(hook, CommandHook)
    assert (hook.variables, hook.folder, hook.once) == (root, str(tmp_path), True)
    assert list(hook.files) == [str(tmp_path / "check.sh")]
    assert len(notices) == 2
    assert all(notice.startswith("/p/hooks.json: ") for notice in notices)


def test_hooks_that_are_no_object_are_a_notice(tmp_path: Path) -> None:
    hooks, notices = read_hook_entries({"Stop": "rm -rf /", "PreToolUse": [[]]}, "skill.md")
    assert (hooks, len(notices)) == ([], 2)


async def test_a_hook_of_the_settings_runs_again_even_if_it_says_once(user: UserFolders) -> None:
    entry = {"command": "echo x >> ran", "once": True}
    user.write("home/.claude/settings.json", {"hooks": {"Stop": [{"hooks": [entry]}]}})
    session = await user.open()
    for _ in range(2):
        await hooks_of(session).run(STOP)
    assert (user.work / "ran").read_text() == "x\nx\n"
    await session.close()


async def test_a_full_disk_breaks_the_hook_and_nothing_else(user: UserFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write("home/.claude/settings.json", {"hooks": {"CwdChanged": [{"hooks": [{"command": "true"}]}]}})
    session = await user.open(trust=True)
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
    outcome = await hooks_of(session).run(HookCall("CwdChanged", {"new_cwd": "/"}))
    assert outcome.failed
    assert "CLAUDE_ENV_FILE of CwdChanged hooks: could not be used" in outcome.messages[-1].text
    monkeypatch.undo()
    await session.close()
