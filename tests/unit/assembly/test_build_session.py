"""A session is built from options, settings and environment, and a failure to start is explained."""

from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly.auto_mode_judge import SmallModel
from bobstay.assembly.build_session import StartError, open_session
from bobstay.assembly.session_modes import BypassNotLaunched, UnknownMode
from bobstay.config.options import Options
from bobstay.engine.agent import StreamTimeouts
from bobstay.engine.limits import Limits
from bobstay.model.event import InputQueued, MessageDone, TurnStarted
from bobstay.model.message import Text
from bobstay.tools.shell_session import ShellLimits
from tests.kit.proxy_server import proxying
from tests.kit.user_folders import UserFolders
from tests.kit.waiting import until
from tests.kit.web_server import serving
from tests.unit.engine.test_call_scheduler import ready


@pytest.fixture
def user(tmp_path: Path) -> UserFolders:
    return UserFolders(tmp_path)


async def test_the_mode_comes_from_the_settings_and_bypassing_needs_a_launch_flag(user: UserFolders) -> None:
    """H5-1"""
    user.write("home/.bobstay/settings.json", {"permissions": {"defaultMode": "acceptEdits"}})
    session = await user.open()
    assert session.mode == "acceptEdits"
    with pytest.raises(UnknownMode):
        await session.set_mode("bogus")
    with pytest.raises(BypassNotLaunched):
        await session.set_mode("bypassPermissions")
    await session.close()
    user.write("home/.bobstay/settings.json", {"permissions": {"defaultMode": "bypassPermissions"}})
    session = await user.open()
    assert session.mode == "default"
    assert any("bypassPermissions" in warning for warning in session.warnings)
    await session.close()


async def test_an_untrusted_folder_contributes_only_restrictions(user: UserFolders) -> None:
    settings = {"permissions": {"allow": ["Bash"], "deny": ["WebFetch"]}, "model": "gpt-9"}
    user.write("work/.bobstay/settings.json", settings)
    session = await user.open()
    assert "WebFetch" not in session.tools
    assert any("not trusted" in warning for warning in session.warnings)
    await session.close()
    trusted = await user.open(trust=True)
    assert trusted.warnings == []
    await trusted.close()


async def test_limits_are_those_of_the_command_line_and_then_of_the_settings(user: UserFolders) -> None:
    """H3-2"""
    user.write("home/.bobstay/settings.json", {"maxTurns": 8, "maxBudgetUsd": 2.5})
    session = await user.open()
    assert session.driver.agent.limits == Limits(turns=8, cost=2.5)
    await session.close()
    session = await user.open(max_turns=3, max_budget_usd=0.5, max_tokens_total=7_000, max_seconds=9.5)
    assert session.driver.agent.limits == Limits(turns=3, cost=0.5, tokens=7_000, seconds=9.5)
    await session.close()


@pytest.mark.parametrize(
    ("variables", "bash", "expected"),
    [
        ({}, {}, ShellLimits(120.0, 600.0, None, 30_000)),
        (
            {"BASH_DEFAULT_TIMEOUT_MS": "5000", "BASH_MAX_TIMEOUT_MS": "9000", "BASH_MAX_OUTPUT_LENGTH": "4000"},
            {},
            ShellLimits(5.0, 9.0, None, 4_000),
        ),
        (
            {"BASH_DEFAULT_TIMEOUT_MS": "5000", "BASH_MAX_TIMEOUT_MS": "9000", "BASH_MAX_OUTPUT_LENGTH": "4000"},
            {"timeout": 6, "longestTimeout": 7, "backgroundAfter": 8, "outputLength": 5_000},
            ShellLimits(6.0, 7.0, 8.0, 5_000),
        ),
    ],
)
async def test_the_limits_of_commands_are_those_of_the_settings_then_of_the_environment(
    user: UserFolders, variables: dict[str, str], bash: dict[str, int], expected: ShellLimits
) -> None:
    """H1-12"""
    user.variables |= variables
    user.write("home/.bobstay/settings.json", {"bash": bash} if bash else {})
    session = await user.open()
    shells = session.driver.agent.toolbox.tool_environment.services.shells
    assert shells is not None
    assert shells.limits == expected
    await session.close()


async def test_a_hook_by_http_is_sent_through_the_proxy_of_the_environment(user: UserFolders) -> None:
    hook = {"type": "http", "url": "http://hooks.example.com/began"}
    user.write("home/.bobstay/settings.json", {"hooks": {"SessionStart": [{"hooks": [hook]}]}})
    async with serving() as site:
        site.page("/began", "{}", "application/json")
        async with proxying({"hooks.example.com:80": f"127.0.0.1:{site.port}"}) as proxy:
            user.variables["HTTP_PROXY"] = f"http://{proxy.address}"
            await (await user.open()).close()
            assert proxy.asked == ["POST http://hooks.example.com/began HTTP/1.1"]


async def test_a_hook_in_the_background_gets_no_file_for_variables(user: UserFolders, tmp_path: Path) -> None:
    """Nobody waits for it: when it writes, the variables have been read and the file's folder is gone."""
    told = tmp_path / "told"
    command = f'echo "[$CLAUDE_ENV_FILE]" > {told}.new; mv {told}.new {told}'
    hook = {"type": "command", "command": command, "async": True}
    user.write("home/.bobstay/settings.json", {"hooks": {"SessionStart": [{"hooks": [hook]}]}})
    session = await user.open(trust=True)
    await until(told.exists)
    await session.close()
    assert told.read_text() == "[]\n"


async def test_hooks_in_settings_that_are_not_run_are_told(user: UserFolders) -> None:
    user.write("home/.claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [{"type": "oracle"}]}]}})
    session = await user.open()
    assert any("no type of hook called 'oracle'" in warning for warning in session.warnings)
    await session.close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "claude-sonnet-4-5"}, "ANTHROPIC_API_KEY"),
        ({"model": None}, "--model demo"),
        ({"model": "openai/gpt-5"}, "OPENAI_API_KEY"),
        ({"model": "gemini-3-pro"}, "GEMINI_API_KEY"),
        ({"model": "who-knows"}, "provider/model"),
        ({"resume": "6f0d0ae2-1111-4222-8333-444455556666"}, "No conversation found"),
        ({"resume": "../../etc/passwd"}, "cannot name a session"),
        ({"settings": "{broken"}, "not valid JSON"),
        ({"settings": "/no/such/file.json"}, "there is no such file"),
        ({"allowed_tools": ("Bash(",)}, "closing bracket"),
        ({"system_prompt_file": "/no/such/prompt"}, "cannot be read"),
    ],
)
async def test_what_stands_in_the_way_is_said(user: UserFolders, options: dict[str, Any], says: str) -> None:
    with pytest.raises(StartError, match=says):
        await user.open(**options)


async def test_a_folder_that_cannot_be_worked_in_is_said(user: UserFolders) -> None:
    with pytest.raises(StartError, match="Cannot work in"):
        await open_session(Options(cwd=str(user.work / "missing"), model="demo"))


async def test_the_first_key_that_is_there_decides_the_model(user: UserFolders) -> None:
    user.variables["OPENAI_API_KEY"] = "dummy"
    session = await user.open(model=None)
    assert session.model.startswith("openai/")
    assert session.api_key_source == "OPENAI_API_KEY"
    await session.close()


async def test_a_search_endpoint_brings_the_search_tool(user: UserFolders) -> None:
    """H1-13"""
    session = await user.open()
    assert "WebSearch" not in session.tools
    await session.close()
    user.variables["SEARXNG_URL"] = "http://127.0.0.1:9/"
    session = await user.open()
    assert "WebSearch" in session.tools
    await session.close()


@pytest.mark.parametrize(
    ("model", "offered"),
    [("openai/gpt-5.1-codex", True), ("openai/gpt-5-nano-2026-01-01", True), ("openai/gpt-4o", False), ("demo", False)],
)
async def test_the_patch_tool_is_offered_to_models_trained_on_it(user: UserFolders, model: str, offered: bool) -> None:
    """H1-4"""
    user.variables["OPENAI_API_KEY"] = "dummy"
    session = await user.open(model=model)
    assert ("ApplyPatch" in session.tools) is offered
    await session.close()


async def test_language_servers_are_used_in_trusted_folders_only(user: UserFolders) -> None:
    """H1-4"""
    server = user.write("bin/clangd", "#!/bin/sh\n")
    server.chmod(0o755)
    user.variables["PATH"] = f"{server.parent}:/usr/bin:/bin"
    for options, offered in (({}, False), ({"trust": True}, True)):
        session = await user.open(**options)
        assert ("Lsp" in session.tools) is offered
        await session.close()
    for setting in ({"lsp": {"enabled": False}}, {"sandbox": {"enabled": True}}):
        user.write("home/.claude/settings.json", setting)
        session = await user.open(trust=True)
        assert "Lsp" not in session.tools
        await session.close()


async def test_the_tools_are_those_asked_for(user: UserFolders) -> None:
    """H1-5"""
    session = await user.open(tools=("Read", "Bash"))
    assert session.tools == ("Bash", "Read")
    await session.close()
    session = await user.open(disallowed_tools=("Bash", "WebFetch"))
    assert "Bash" not in session.tools
    assert list(session.tools) == sorted(session.tools)
    await session.close()


async def test_a_session_without_persistence_leaves_nothing(user: UserFolders) -> None:
    session = await user.open(no_session_persistence=True)
    async for _ in session.run("hello"):
        pass
    await session.close()
    assert not (user.home / ".bobstay" / "sessions").exists()


async def test_a_session_is_continued_forked_and_not_opened_twice(user: UserFolders) -> None:
    first = await user.open()
    async for _ in first.run("hello"):
        pass
    count = len(first.state.messages)
    with pytest.raises(StartError, match=r"in use|busy|another"):
        await user.open(resume=first.id)
    await first.close()
    again = await user.open(continue_=True)
    assert (again.id, len(again.state.messages)) == (first.id, count)
    await again.close()
    forked = await user.open(resume=first.id, fork_session=True)
    assert forked.id != first.id
    assert len(forked.state.messages) == count
    await forked.close()
    fresh = await user.open()
    assert fresh.state.messages == []
    await fresh.close()


async def test_a_resumed_session_starts_in_the_mode_asked_for_now(user: UserFolders) -> None:
    first = await user.open(permission_mode="acceptEdits")
    async for _ in first.run("hello"):
        pass
    await first.close()
    again = await user.open(resume=first.id)
    assert again.mode == "default"
    await again.close()


async def test_an_interrupt_tells_what_is_still_queued_by_the_hosts_own_id(user: UserFolders) -> None:
    session = await user.open()
    session.steer("later", client_id="host-1", how="queue")
    assert isinstance(session.next_queued(), InputQueued)
    assert await session.interrupt() == ("host-1",)
    await session.close()


async def test_context_usage_adds_up(user: UserFolders) -> None:
    session = await user.open()
    async for _ in session.run((Text("hello"),)):
        pass
    usage = session.context_usage()
    used = sum(each["tokens"] for each in usage["categories"] if each["kind"] != "free")
    assert used == usage["totalTokens"]
    assert usage["totalTokens"] < usage["maxTokens"]
    await session.close()


async def test_window_and_price_are_those_of_the_settings_everywhere(user: UserFolders) -> None:
    """S000-33"""
    price = {"input": 1_000_000.0, "output": 0.0}
    user.write("home/.bobstay/settings.json", {"models": {"demo": {"context": 54_321, "output": 987, "price": price}}})
    session = await user.open()
    events = [event async for event in session.run((Text("hello"),))]
    (started,) = [event for event in events if isinstance(event, TurnStarted)]
    (done,) = [event for event in events if isinstance(event, MessageDone)]
    totals = session.totals()
    (model,) = totals.models.values()
    assert started.window == session.context_usage()["maxTokens"] == model.window == 54_321
    assert model.max_output == 987
    assert done.cost == model.cost == totals.cost_usd == done.usage.input > 0
    await session.close()


async def test_thinking_is_left_to_the_model_or_bounded(user: UserFolders) -> None:
    session = await user.open()
    chosen: list[Any] = []
    for tokens in (2000, 0, None):
        session.set_thinking(tokens)
        chosen.append(session.driver.agent.settings.thinking)
    assert chosen[:2] == [2000, "off"]
    assert chosen[2] in ("off", "adaptive")
    await session.close()


async def test_the_limits_of_silence_are_those_of_the_engine_until_somebody_sets_them(user: UserFolders) -> None:
    """H3-5"""
    session = await user.open()
    assert session.driver.agent.timeouts == StreamTimeouts(first=300.0, between=300.0, first_local=600.0)
    await session.close()
    user.write("home/.bobstay/settings.json", {"timeouts": {"firstEvent": 7, "betweenEvents": 8}})
    session = await user.open()
    assert session.driver.agent.timeouts == StreamTimeouts(first=7.0, between=8.0, first_local=7.0)
    await session.close()


async def test_a_model_on_ones_own_machine_is_known_as_local(user: UserFolders) -> None:
    user.variables["ANTHROPIC_API_KEY"] = "dummy"
    session = await user.open()
    routes = session.driver.agent.models
    assert [routes.route(name).local for name in ("ollama/qwen3", "claude-sonnet-4-5")] == [True, False]
    await session.close()


@pytest.mark.parametrize(
    ("model", "budget", "warned"),
    [
        ("openai-chat/some-model", 0.5, True),
        ("openai-chat/some-model", None, False),
        ("openrouter/moonshotai/kimi-k2.5", 0.5, False),  # it says what each answer cost
        ("ollama/qwen3", 0.5, False),
        ("demo", 0.5, False),
    ],
)
async def test_a_budget_on_a_model_without_a_price_is_warned_about(
    user: UserFolders, model: str, budget: float | None, warned: bool
) -> None:
    user.variables |= {"OPENAI_API_KEY": "dummy", "OPENROUTER_API_KEY": "dummy"}
    session = await user.open(model=model, max_budget_usd=budget)
    assert any("cannot be enforced" in warning for warning in session.warnings) is warned
    await session.close()


async def test_a_fallback_without_a_price_is_warned_about_too(user: UserFolders) -> None:
    user.variables |= {"OPENAI_API_KEY": "dummy"}
    session = await user.open(fallback_models=("openai-chat/some-model",), max_budget_usd=1.0)
    assert any("openai-chat/some-model" in warning for warning in session.warnings)
    await session.close()


@pytest.mark.parametrize(("tokens", "warned"), [(8_192, True), (16_383, True), (16_384, False)])
async def test_a_window_under_16_k_is_warned_about(user: UserFolders, tokens: int, warned: bool) -> None:
    """H3-12"""
    user.write("home/.bobstay/settings.json", {"models": {"llamacpp/tiny": {"context": tokens}}})
    session = await user.open(model="llamacpp/tiny")
    assert any("soon forgets" in warning for warning in session.warnings) is warned
    await session.close()


async def test_as_many_calls_run_at_once_as_the_settings_say_or_ten(user: UserFolders) -> None:
    """H2-6"""
    session = await user.open()
    assert sum(await ready(session.driver.agent.toolbox.scheduler, *[()] * 12)) == 10
    await session.close()
    user.write("home/.bobstay/settings.json", {"maxConcurrentTools": 2})
    session = await user.open()
    assert sum(await ready(session.driver.agent.toolbox.scheduler, *[()] * 12)) == 2
    await session.close()


@pytest.mark.parametrize(
    ("setting", "variable", "offered"),
    [({}, "", False), ({"taskTools": True}, "", True), ({"taskTools": True}, "0", False), ({}, "1", True)],
)
async def test_tasks_are_kept_one_by_one_if_settings_or_environment_say_so(
    user: UserFolders, setting: dict[str, Any], variable: str, offered: bool
) -> None:
    """H1-4"""
    user.write("home/.bobstay/settings.json", setting)
    if variable:
        user.variables["CLAUDE_CODE_ENABLE_TASKS"] = variable
    session = await user.open()
    assert ("TaskCreate" in session.tools, "TodoWrite" in session.tools) == (offered, not offered)
    await session.close()


async def test_the_judge_of_auto_mode_has_ninety_seconds(user: UserFolders) -> None:
    """H5-5"""
    session = await user.open(permission_mode="auto")
    auto = session.driver.agent.toolbox.auto
    assert auto is not None
    assert isinstance(auto.advisor, SmallModel)
    assert auto.advisor.limit == 90.0
    await session.close()
