"""Moments at which the real program calls hooks: a model that judges, files, directories, the background (H9-6)."""

import json
from typing import Any

import pytest

from bobstay.model.event import HookRan, Noted
from bobstay.sessions.log_store import LogStore
from tests.kit.installed_command import InstalledCommand
from tests.modelserver import Call, ModelServer, Say, Step

END = Step(blocks=[Say("End.")])
FREE = ("--trust", "--dangerously-skip-permissions")


def bash(command: str, id_: str = "a") -> Step:
    return Step(blocks=[Call("Bash", {"command": command}, id_)])


def on(event: str, *entries: str | dict[str, Any], **group: Any) -> dict[str, Any]:
    listed = [{"type": "command", "command": entry} if isinstance(entry, str) else entry for entry in entries]
    return {event: [{"hooks": listed, **group}]}


def settings(**hooks: Any) -> tuple[str, str]:
    return "--settings", json.dumps({"hooks": hooks})


def sent(model: ModelServer) -> str:
    return str(model.requests[-1].body["messages"])


def stored(command: InstalledCommand, *kinds: type[Any]) -> list[Any]:
    """Events of these kinds in the log of the only session."""
    store = LogStore(str(command.home / ".bobstay/sessions"))
    (file,) = (command.home / ".bobstay/sessions").glob("*.jsonl")
    log, branch, _ = store.open(file.stem)
    log.close()
    return [envelope.event for envelope in branch if isinstance(envelope.event, kinds)]


@pytest.fixture
def command(command: InstalledCommand) -> InstalledCommand:
    command.variables["IS_SANDBOX"] = "1"
    return command


# ---------------------------------------------------------------- a model judges


def test_a_model_that_says_no_refuses_the_call_and_ends_the_run(model: ModelServer, command: InstalledCommand) -> None:
    refuses = model.play("judge", Step(blocks=[Say('{"ok": false, "reason": "NOT TODAY"}')]))
    hooks = on("PreToolUse", {"type": "prompt", "prompt": f"{refuses} Is this fine? $ARGUMENTS"}, matcher="Bash")
    frames = command.frames(model.play("refused", bash("touch made"), END), *settings(**hooks), *FREE)
    assert not (command.work / "made").exists()
    assert (frames[-1]["terminal_reason"], frames[-1]["is_error"]) == ("hook_stopped", False)
    (asked,) = [request for request in model.requests if "Is this fine?" in str(request.body["messages"])]
    assert "touch made" in str(asked.body["messages"])
    assert not asked.body.get("tools")
    (ran,) = stored(command, HookRan)
    assert (ran.hook, ran.outcome, ran.text) == ("PreToolUse:Bash", "deny", "NOT TODAY")
    assert [spend.usage.input > 0 for spend in ran.spent] == [True]


def test_a_model_that_objects_to_the_end_sends_the_other_back_to_work(
    model: ModelServer, command: InstalledCommand
) -> None:
    answers = ['{"ok": false, "reason": "ONE THING MORE"}', 'Fine:\n```json\n{"ok": true}\n```']

    def reply(_: dict[str, Any]) -> Step:
        return Step(blocks=[Say(answers.pop(0))])

    judge = model.play("judge", reply)
    hooks = on("Stop", {"type": "prompt", "prompt": f"{judge} Is it done?"})
    ended = command.run("-p", model.play("more", Step(blocks=[Say("first")]), END), *settings(**hooks))
    assert ended.stdout == "End.\n"
    assert [request for request in model.requests if "Stop hook feedback:\\nONE THING MORE" in str(request.body)]
    assert answers == []


@pytest.mark.parametrize("strict", [False, True])
def test_a_model_that_answers_something_else_has_no_say(
    model: ModelServer, command: InstalledCommand, strict: bool
) -> None:
    odd = model.play("judge", Step(blocks=[Say("I would rather not.")]))
    entry = {"type": "prompt", "prompt": f"{odd} Fine?", **({"onFailure": "block"} if strict else {})}
    ended = command.run("-p", model.play("odd", bash("touch made"), END), *settings(**on("PreToolUse", entry)), *FREE)
    assert (command.work / "made").exists() is not strict
    assert "its answer is not {ok, reason}" in ended.stderr


# ---------------------------------------------------------------- files and directories


def test_a_file_that_a_hook_names_is_watched(model: ModelServer, command: InstalledCommand) -> None:
    waits = "echo A=1 > .env; until [ -s told ]; do sleep 0.05; done"
    tell = 'cat > told.part; echo "export FROM_FILE=yes" >> "$CLAUDE_ENV_FILE"; mv told.part told'
    hooks = on("FileChanged", tell, matcher=".env|.envrc")
    command.run("-p", model.play("files", bash(waits), END), *settings(**hooks), *FREE)
    told = json.loads((command.work / "told").read_text())
    assert (told["hook_event_name"], told["event"]) == ("FileChanged", "add")
    assert told["file_path"] == str(command.work / ".env")


def test_a_changed_settings_file_is_told(model: ModelServer, command: InstalledCommand) -> None:
    command.write("home/.claude/settings.json", {})
    waits = 'echo >> "$HOME/.claude/settings.json"; until [ -s told ]; do sleep 0.05; done'
    hooks = on("ConfigChange", "cat > told.part; mv told.part told", matcher="user_settings")
    command.run("-p", model.play("config", bash(waits), END), *settings(**hooks), *FREE)
    told = json.loads((command.work / "told").read_text())
    assert (told["source"], told["file_path"]) == ("user_settings", str(command.home / ".claude/settings.json"))


def test_variables_exported_when_the_directory_changes_hold_for_the_next_command(
    model: ModelServer, command: InstalledCommand
) -> None:
    (command.work / "sub").mkdir()
    export = 'echo "export WHERE=$(basename "$PWD")" >> "$CLAUDE_ENV_FILE"'
    steps = (bash("cd sub"), bash('echo "[$WHERE]"', "b"), END)
    command.run("-p", model.play("moved", *steps), *settings(**on("CwdChanged", export)), *FREE)
    assert "[sub]" in sent(model)


# ---------------------------------------------------------------- the background, and the end


def test_a_hook_in_the_background_wakes_the_model_after_its_answer(
    model: ModelServer, command: InstalledCommand
) -> None:
    entry = {
        "type": "command",
        "command": "until [ -e ended ]; do sleep 0.05; done; echo THE-TESTS-FAIL >&2; exit 2",
        "asyncRewake": True,
    }
    hooks = {**on("PostToolUse", entry), **on("Stop", "touch ended")}
    ended = command.run("-p", model.play("woken", bash("echo 1"), END, Step(blocks=[Say("Seen.")])), *settings(**hooks))
    assert "PostToolUse:Bash hook feedback" in sent(model)
    assert "THE-TESTS-FAIL" in sent(model)
    assert ended.stdout.endswith("Seen.\n")


def test_what_failed_at_the_very_end_is_told_and_in_the_log(model: ModelServer, command: InstalledCommand) -> None:
    hooks = {**on("SessionStart", "true"), **on("SessionEnd", "printf 'broken\\033[2J' >&2; exit 1")}
    ended = command.run("-p", model.play("end", END), *settings(**hooks))
    assert "Warning: SessionEnd:other hook failed: exit code 1: broken?[2J\n" in ended.stderr
    assert [(ran.hook, ran.outcome) for ran in stored(command, HookRan)] == [
        ("SessionStart:startup", "none"),
        ("SessionEnd:other", "error"),
    ]
    assert [note.text for note in stored(command, Noted)] == [
        "SessionEnd:other hook failed: exit code 1: broken\x1b[2J"
    ]


def test_an_agent_or_a_server_that_is_not_there_is_told_of(model: ModelServer, command: InstalledCommand) -> None:
    entries = [{"type": "agent", "prompt": "look"}, {"type": "mcp_tool", "server": "nowhere", "tool": "t"}]
    ended = command.run("-p", model.play("ports", END), *settings(**on("Stop", *entries)))
    assert (ended.stdout, ended.returncode) == ("End.\n", 0)
    assert "'nowhere'" in ended.stderr
    assert "type agent" in ended.stderr


def test_hooks_that_say_what_they_do_are_shown_with_it(model: ModelServer, command: InstalledCommand) -> None:
    entry = {"type": "command", "command": "true", "statusMessage": "Checking"}
    frames = command.frames(model.play("status", END), *settings(**on("Stop", entry)), "--include-hook-events")
    (started,) = [frame for frame in frames if frame.get("subtype") == "hook_started"]
    assert started["status_message"] == "Checking"


def test_hooks_that_nobody_waits_for_finish_although_the_program_is_done(
    model: ModelServer, command: InstalledCommand
) -> None:
    """They have a moment: a message that is sent when the answer is there would never arrive otherwise."""
    sends = {"type": "command", "command": "sleep 0.3; touch sent", "async": True}
    hooks = {**on("Stop", sends), **on("MessageDisplay", "sleep 0.3; cat > shown")}
    command.run("-p", model.play("last", END), *settings(**hooks))
    assert (command.work / "sent").exists()
    assert json.loads((command.work / "shown").read_text())["delta"] == "End."
    assert {ran.hook for ran in stored(command, HookRan)} == {"Stop", "MessageDisplay"}
