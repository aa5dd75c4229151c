"""Trust is bound to content: a change ends it, and headless runs need a flag (H4-3)."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.modelserver import Call, ModelServer, Say, Step
from tests.security.repos import TRAPS, Bait, Trap
from tests.security.repos.bait import commit_all, git, put, script
from tests.security.repos.settings import PROJECT, hook
from tests.security.running import Listener, Scene
from tests.wire.program import BOBSTAY, environment


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with Listener() as running:
        yield running


def scripted(repo: Path, bait: Bait) -> None:
    script(repo, "tools/hook.sh", bait)
    put(repo, PROJECT, hook("SessionStart", "tools/hook.sh"))
    commit_all(repo)


def test_trust_is_kept_until_something_executable_changes(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    scene = Scene(Trap("scripted", scripted), tmp_path, server, listener)
    assert scene.trust("status").returncode == 1
    added = scene.trust("add")
    assert added.returncode == 0, added.stderr
    assert "tools/hook.sh" in added.stdout
    assert scene.run().marked
    scene.bait.marker.unlink()
    script(scene.repo, "tools/hook.sh", scene.bait, "# and one line more")
    again = scene.run()
    assert not again.marked
    assert "tools/hook.sh (changed)" in again.errors
    told = scene.trust()
    assert told.returncode == 1
    assert "tools/hook.sh (changed)" in told.stdout
    assert scene.run("--trust").marked, "for one run, a flag is enough"
    scene.bait.marker.unlink()
    assert not scene.run().marked, "and it is for that run only"
    assert "tools/hook.sh (changed)" in scene.trust("add").stdout
    assert scene.run().marked
    scene.bait.marker.unlink()
    assert scene.trust("remove").returncode == 0
    assert not scene.run().marked


@pytest.mark.parametrize(
    "trap",
    [trap for trap in TRAPS if trap.name in ("git_fsmonitor", "git_hooks_path_in_the_tree", "direnv", "mcp_server")],
    ids=lambda trap: trap.name,
)
def test_a_payload_that_comes_after_trust_is_asked_about(
    trap: Trap, tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    """A folder that was harmless when it was trusted, and changed later."""
    scene = Scene(Trap("harmless", lambda _, __: None), tmp_path, server, listener)
    assert scene.trust("add").returncode == 0
    assert "not trusted" not in scene.run().errors
    trap.build(scene.repo, scene.bait)
    evidence = scene.run()
    assert not evidence.marked
    assert "This folder was trusted, but it has changed since" in evidence.errors


def test_the_trust_of_another_repository_is_not_shared_through_commondir(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    """CVE-2026-40068"""
    trap = next(trap for trap in TRAPS if trap.name == "git_commondir_of_a_trusted_repository")
    scene = Scene(trap, tmp_path, server, listener)
    assert scene.trust("add", str(scene.bait.outside / "friend")).returncode == 0
    put(scene.repo, PROJECT, hook("SessionStart", scene.bait.command))
    assert not scene.run().marked


def test_our_own_look_at_a_trusted_repository_obeys_it_no_more_than_needed(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    """The status for the system prompt is told, without the monitor, hooks or submodules that the repository names."""

    def build(repo: Path, bait: Bait) -> None:
        commit_all(repo)
        put(repo, "new.txt", "x")
        script(repo, ".husky/post-index-change", bait)
        git(repo, "config", "core.hooksPath", ".husky")
        git(repo, "config", "core.fsmonitor", f"{bait.command}; false")
        put(repo, "README.md", (repo / "README.md").read_text())

    scene = Scene(Trap("monitored", build), tmp_path, server, listener)
    token = server.play("quiet", Step(blocks=[Say("done")]))
    given = environment(server, scene.home)
    given["PATH"] = f"{script(scene.repo, 'bin/git', scene.bait).parent}:.:{given['PATH']}"
    asked = len(server.requests)
    command = [BOBSTAY, "-p", token, "--trust"]
    subprocess.run(command, cwd=scene.repo, env=given, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert "?? new.txt" in json.dumps(server.requests[asked].body)
    assert not scene.bait.marker.exists()


def test_the_users_own_hooks_need_no_trust_of_the_folder(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    scene = Scene(Trap("harmless", lambda _, __: None), tmp_path, server, listener)
    put(scene.home, ".bobstay/settings.json", hook("SessionStart", scene.bait.command))
    assert scene.run().marked
    scene.bait.marker.unlink()
    os.unlink(scene.home / ".bobstay/settings.json")
    assert scene.run("--settings", json.dumps(hook("Stop", scene.bait.command))).marked


def test_words_of_a_hook_at_the_start_reach_the_model_with_the_first_prompt(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    scene = Scene(Trap("harmless", lambda _, __: None), tmp_path, server, listener)
    evidence = scene.run("--settings", json.dumps(hook("SessionStart", "echo remember the milk")))
    assert "remember the milk" in evidence.requests


ALLOWED_GIT = (
    "git_fsmonitor",
    "git_filter",
    "git_filter_process",
    "git_textconv",
    "git_diff_driver",
    "git_external_diff",
    "git_signature_program",
    "git_hooks_path_in_the_tree",
    "git_bare_repository_in_the_folder",
)


@pytest.mark.parametrize("trap", [trap for trap in TRAPS if trap.name in ALLOWED_GIT], ids=lambda trap: trap.name)
def test_a_rule_of_the_user_permits_git_and_still_no_program_of_the_repository_runs(
    trap: Trap, tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    """A rule that allows git everywhere does not trust every repository's configuration."""
    scene = Scene(trap, tmp_path, server, listener)
    evidence = scene.run("--allowedTools", "Bash(git:*)")
    assert not evidence.marked
    assert evidence.requests.count("git runs programs") <= 1, "but for the one that hides its name"


def test_rules_a_person_keeps_in_the_project_do_not_end_trust(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    from tests.wire.program import Program, initialize, prompt

    scene = Scene(Trap("harmless", lambda repo, _: put(repo, PROJECT, {"maxTurns": 9})), tmp_path, server, listener)
    assert scene.trust("add").returncode == 0
    token = server.play("keep", Step(blocks=[Call("Bash", {"command": "touch made"}, "t")]), Step(blocks=[Say("ok")]))

    def answer(request: dict[str, object]) -> dict[str, object] | None:
        if request["subtype"] != "can_use_tool":
            return None
        rule = {"toolName": "Bash", "ruleContent": "touch made"}
        update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "projectSettings"}
        return {"behavior": "allow", "updatedInput": request["input"], "updatedPermissions": [update]}

    async def run_session() -> None:
        given = environment(server, scene.home)
        host = await Program.start(
            BOBSTAY, "--permission-prompt-tool", "stdio", cwd=scene.repo, env=given, answer=answer
        )
        try:
            host.send(initialize(), prompt(token))
            await host.until("result")
            await host.end()
        finally:
            await host.kill()

    import asyncio

    asyncio.run(run_session())
    assert "touch made" in (scene.repo / PROJECT).read_text()
    assert scene.trust().returncode == 0, "bobstay wrote that itself, because a person said so"


def test_hook_events_are_told_to_programs_that_follow_along(
    tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    scene = Scene(Trap("harmless", lambda _, __: None), tmp_path, server, listener)
    token = server.play("frames", Step(blocks=[Call("Bash", {"command": "ls"}, "t")]), Step(blocks=[Say("ok")]))
    hooks = hook("SessionStart", "echo started")["hooks"] | hook("PreToolUse", "echo '{}'; echo e >&2")["hooks"]
    stream = ["--output-format", "stream-json", "--verbose"]
    told: dict[bool, list[dict[str, object]]] = {}
    for asked in (True, False):
        more = ["--include-hook-events"] if asked else []
        command = [BOBSTAY, "-p", token, *stream, "--settings", json.dumps({"hooks": hooks}), *more]
        given = environment(server, scene.home)
        done = subprocess.run(
            command, cwd=scene.repo, env=given, capture_output=True, check=True, stdin=subprocess.DEVNULL
        )
        frames = [json.loads(line) for line in done.stdout.splitlines()]
        told[asked] = [frame for frame in frames if str(frame.get("subtype")).startswith("hook_")]
    assert [(frame["subtype"], frame["hook_name"]) for frame in told[True]] == [
        ("hook_started", "SessionStart:startup"),
        ("hook_response", "SessionStart:startup"),
        ("hook_started", "PreToolUse:Bash"),
        ("hook_response", "PreToolUse:Bash"),
    ]
    assert [frame["hook_event"] for frame in told[False]] == ["SessionStart", "SessionStart"]
    last = told[True][3]
    assert (last["stdout"], last["stderr"], last["exit_code"], last["outcome"]) == ("{}\n", "e\n", 0, "success")
    assert last["hook_id"] == told[True][2]["hook_id"]


@pytest.mark.parametrize("words", [("add", "a", "b"), ("--wrong",), ("list", "x"), ("add", "/no/such/folder")])
def test_a_wrong_word_is_explained(
    words: tuple[str, ...], tmp_path: Path, server: ModelServer, listener: Listener
) -> None:
    scene = Scene(Trap("harmless", lambda _, __: None), tmp_path, server, listener)
    done = scene.trust(*words)
    assert done.returncode == 2
    assert done.stderr


def test_the_list_can_be_shown(tmp_path: Path, server: ModelServer, listener: Listener) -> None:
    scene = Scene(Trap("harmless", lambda _, __: None), tmp_path, server, listener)
    assert "No folder is trusted" in scene.trust("list").stdout
    scene.trust("add")
    assert str(scene.repo) in scene.trust("list").stdout
    assert "Usage" in scene.trust("--help").stdout
