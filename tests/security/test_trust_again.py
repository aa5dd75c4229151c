"""Trust is bound to content: a change ends it, and headless runs need a flag (H4-3)."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.kit.program import BOBSTAY, Program, environment, initialize, prompt
from tests.kit.repositories import git
from tests.modelserver import Call, ModelServer, Say, Step
from tests.security.hostile_repository import LayTrap
from tests.security.repos import TRAPS, Bait, Trap
from tests.security.repos.bait import commit_all, put, script
from tests.security.repos.settings import PROJECT, hook


def scripted(repo: Path, bait: Bait) -> None:
    script(repo, "tools/hook.sh", bait)
    put(repo, PROJECT, hook("SessionStart", "tools/hook.sh"))
    commit_all(repo)


def test_trust_is_kept_until_something_executable_changes(lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("scripted", scripted))
    assert hostile.trust("status").returncode == 1
    added = hostile.trust("add")
    assert added.returncode == 0, added.stderr
    assert "tools/hook.sh" in added.stdout
    assert hostile.run().marked
    hostile.bait.marker.unlink()
    script(hostile.repo, "tools/hook.sh", hostile.bait, "# and one line more")
    again = hostile.run()
    assert not again.marked
    assert "tools/hook.sh (changed)" in again.errors
    told = hostile.trust()
    assert told.returncode == 1
    assert "tools/hook.sh (changed)" in told.stdout
    assert hostile.run("--trust").marked, "for one run, a flag is enough"
    hostile.bait.marker.unlink()
    assert not hostile.run().marked, "and it is for that run only"
    assert "tools/hook.sh (changed)" in hostile.trust("add").stdout
    assert hostile.run().marked
    hostile.bait.marker.unlink()
    assert hostile.trust("remove").returncode == 0
    assert not hostile.run().marked


@pytest.mark.parametrize(
    "trap",
    [trap for trap in TRAPS if trap.name in ("git_fsmonitor", "git_hooks_path_in_the_tree", "direnv", "mcp_server")],
    ids=lambda trap: trap.name,
)
def test_a_payload_that_comes_after_trust_is_asked_about(trap: Trap, lay_trap: LayTrap) -> None:
    """A folder that was harmless when it was trusted, and changed later."""
    hostile = lay_trap(Trap("harmless", lambda _, __: None))
    assert hostile.trust("add").returncode == 0
    assert "not trusted" not in hostile.run().errors
    trap.build(hostile.repo, hostile.bait)
    evidence = hostile.run()
    assert not evidence.marked
    assert "This folder was trusted, but it has changed since" in evidence.errors


def test_the_trust_of_another_repository_is_not_shared_through_commondir(lay_trap: LayTrap) -> None:
    """CVE-2026-40068"""
    trap = next(trap for trap in TRAPS if trap.name == "git_commondir_of_a_trusted_repository")
    hostile = lay_trap(trap)
    assert hostile.trust("add", str(hostile.bait.outside / "friend")).returncode == 0
    put(hostile.repo, PROJECT, hook("SessionStart", hostile.bait.command))
    assert not hostile.run().marked


def test_our_own_look_at_a_trusted_repository_obeys_it_no_more_than_needed(
    model: ModelServer, lay_trap: LayTrap
) -> None:
    """The status for the system prompt is told, without the monitor, hooks or submodules that the repository names."""

    def build(repo: Path, bait: Bait) -> None:
        commit_all(repo)
        put(repo, "new.txt", "x")
        script(repo, ".husky/post-index-change", bait)
        git(repo, "config", "core.hooksPath", ".husky")
        git(repo, "config", "core.fsmonitor", f"{bait.command}; false")
        put(repo, "README.md", (repo / "README.md").read_text())

    hostile = lay_trap(Trap("monitored", build))
    token = model.play("quiet", Step(blocks=[Say("done")]))
    given = environment(model, hostile.home)
    given["PATH"] = f"{script(hostile.repo, 'bin/git', hostile.bait).parent}:.:{given['PATH']}"
    asked = len(model.requests)
    command = [BOBSTAY, "-p", token, "--trust"]
    subprocess.run(command, cwd=hostile.repo, env=given, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert "?? new.txt" in json.dumps(model.requests[asked].body)
    assert not hostile.bait.marker.exists()


def test_the_users_own_hooks_need_no_trust_of_the_folder(lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("harmless", lambda _, __: None))
    put(hostile.home, ".bobstay/settings.json", hook("SessionStart", hostile.bait.command))
    assert hostile.run().marked
    hostile.bait.marker.unlink()
    os.unlink(hostile.home / ".bobstay/settings.json")
    assert hostile.run("--settings", json.dumps(hook("Stop", hostile.bait.command))).marked


def test_words_of_a_hook_at_the_start_reach_the_model_with_the_first_prompt(lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("harmless", lambda _, __: None))
    evidence = hostile.run("--settings", json.dumps(hook("SessionStart", "echo remember the milk")))
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
    trap: Trap, lay_trap: LayTrap
) -> None:
    """A rule that allows git everywhere does not trust every repository's configuration."""
    hostile = lay_trap(trap)
    evidence = hostile.run("--allowedTools", "Bash(git:*)")
    assert not evidence.marked
    assert evidence.requests.count("git runs programs") <= 1, "but for the one that hides its name"


async def test_rules_a_person_keeps_in_the_project_do_not_end_trust(model: ModelServer, lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("harmless", lambda repo, _: put(repo, PROJECT, {"maxTurns": 9})))
    assert hostile.trust("add").returncode == 0
    token = model.play("keep", Step(blocks=[Call("Bash", {"command": "touch made"}, "t")]), Step(blocks=[Say("ok")]))

    def answer(request: dict[str, object]) -> dict[str, object] | None:
        if request["subtype"] != "can_use_tool":
            return None
        rule = {"toolName": "Bash", "ruleContent": "touch made"}
        update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "projectSettings"}
        return {"behavior": "allow", "updatedInput": request["input"], "updatedPermissions": [update]}

    given = environment(model, hostile.home)
    host = await Program.start(BOBSTAY, "--permission-prompt-tool", "stdio", cwd=hostile.repo, env=given, answer=answer)
    try:
        host.send(initialize(), prompt(token))
        await host.until("result")
        await host.end()
    finally:
        await host.kill()
    assert "touch made" in (hostile.repo / PROJECT).read_text()
    assert hostile.trust().returncode == 0, "bobstay wrote that itself, because a person said so"


def test_hook_events_are_told_to_programs_that_follow_along(model: ModelServer, lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("harmless", lambda _, __: None))
    token = model.play("frames", Step(blocks=[Call("Bash", {"command": "ls"}, "t")]), Step(blocks=[Say("ok")]))
    hooks = hook("SessionStart", "echo started")["hooks"] | hook("PreToolUse", "echo '{}'; echo e >&2")["hooks"]
    stream = ["--output-format", "stream-json", "--verbose"]
    told: dict[bool, list[dict[str, object]]] = {}
    for asked in (True, False):
        more = ["--include-hook-events"] if asked else []
        command = [BOBSTAY, "-p", token, *stream, "--settings", json.dumps({"hooks": hooks}), *more]
        given = environment(model, hostile.home)
        done = subprocess.run(
            command, cwd=hostile.repo, env=given, capture_output=True, check=True, stdin=subprocess.DEVNULL
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
def test_a_wrong_word_is_explained(words: tuple[str, ...], lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("harmless", lambda _, __: None))
    done = hostile.trust(*words)
    assert done.returncode == 2
    assert done.stderr


def test_the_list_can_be_shown(lay_trap: LayTrap) -> None:
    hostile = lay_trap(Trap("harmless", lambda _, __: None))
    assert "No folder is trusted" in hostile.trust("list").stdout
    hostile.trust("add")
    assert str(hostile.repo) in hostile.trust("list").stdout
    assert "Usage" in hostile.trust("--help").stdout
