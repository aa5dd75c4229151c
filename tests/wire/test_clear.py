"""`/clear`: a new conversation in a session of its own; the old one is kept (H9-2)."""

import json
from typing import Any

from bobstay.model.event import Prompted
from bobstay.model.message import text_of
from bobstay.sessions.log_store import LogStore
from tests.kit.installed_command import InstalledCommand
from tests.kit.program import Frame, Program, initialize, kind_of, prompt
from tests.modelserver import ModelServer
from tests.wire.flows import say


def results(program: Program) -> list[Frame]:
    return [frame for frame in program.frames if frame["type"] == "result"]


def reset_of(program: Program) -> Frame:
    (reset,) = [frame for frame in program.frames if frame["type"] == "conversation_reset"]
    return reset


def hooks(command: InstalledCommand, **commands: str) -> None:
    entries: dict[str, Any] = {
        name: [{"hooks": [{"type": "command", "command": text}]}] for name, text in commands.items()
    }
    command.write("work/.claude/settings.json", {"hooks": entries})


async def test_a_new_session_takes_the_place_of_the_old_one(model: ModelServer, command: InstalledCommand) -> None:
    first, second = model.play("a", say("FIRST-ANSWER")), model.play("b", say("SECOND-ANSWER"))
    program = await command.host()
    try:
        program.send(initialize(), prompt(first))
        await program.until("result")
        program.send(prompt("/clear", uuid="00000000-0000-4000-8000-0000000000c1"))
        await program.until("result", 2)
        program.send(prompt(second))
        await program.until("result", 3)
        assert await program.end() == 0
    finally:
        await program.kill()
    before, cleared, after = results(program)
    reset = reset_of(program)
    assert (reset["trigger"], reset["session_id"]) == ("clear", before["session_id"])
    assert reset["user_message_uuid"] == "00000000-0000-4000-8000-0000000000c1"
    assert cleared["session_id"] == after["session_id"] != before["session_id"]
    assert reset["new_conversation_id"] not in (before["session_id"], after["session_id"])
    assert (cleared["local_command"], cleared["result"], cleared["num_turns"]) == ("clear", "", 0)
    assert cleared["total_cost_usd"] == 0
    assert after["result"] == "SECOND-ANSWER"
    assert "FIRST-ANSWER" not in str(model.requests[-1].body["messages"])
    later = program.frames[program.frames.index(reset) + 1 :]
    assert "init" in [kind_of(frame) for frame in later]
    ids = {
        frame["session_id"]
        for frame in later
        if frame.get("session_id") and kind_of(frame) != "background_tasks_changed"
    }
    assert ids == {after["session_id"]}, "all that follows is of the new session"


async def test_the_old_conversation_stays_a_session_that_can_be_resumed(
    model: ModelServer, command: InstalledCommand
) -> None:
    program = await command.host()
    try:
        program.send(prompt(model.play("a", say("FIRST-ANSWER"))), prompt("/clear"))
        await program.until("conversation_reset")
        program.send(prompt(model.play("b", say("SECOND-ANSWER"))))
        await program.until("result", 3)
        await program.end()
    finally:
        await program.kill()
    first, _, second = (frame["session_id"] for frame in results(program))
    store = LogStore(str(command.home / ".bobstay/sessions"))
    assert store.exists(first)
    assert store.exists(second)
    command.run("-p", model.play("c", say("Again.")), "--resume", first)
    sent = str(model.requests[-1].body["messages"])
    assert "FIRST-ANSWER" in sent
    assert "SECOND-ANSWER" not in sent
    assert "began a new conversation" in sent, "the model is not told that its history is gone"


async def test_prompts_that_wait_go_to_the_new_session(model: ModelServer, command: InstalledCommand) -> None:
    first, second = model.play("a", say("FIRST-ANSWER")), model.play("b", say("SECOND-ANSWER"))
    program = await command.host()
    try:
        program.send(prompt(first), prompt("/clear"), prompt(second))
        await program.until("result", 3)
        assert await program.end() == 0
    finally:
        await program.kill()
    assert results(program)[-1]["result"] == "SECOND-ANSWER"
    assert results(program)[-1]["session_id"] != results(program)[0]["session_id"]
    assert "FIRST-ANSWER" not in str(model.requests[-1].body["messages"])
    store = LogStore(str(command.home / ".bobstay/sessions"))
    log, branch, _ = store.open(results(program)[0]["session_id"])
    log.close()
    prompts = [text_of(entry.event.blocks) for entry in branch if isinstance(entry.event, Prompted)]
    assert not any(second in text for text in prompts), "the old log has no prompt of the new conversation"


async def test_hooks_hear_of_the_end_and_of_the_start(model: ModelServer, command: InstalledCommand) -> None:
    log = command.work / "hooks.jsonl"
    record = f"cat >> {log}; echo >> {log}"
    hooks(command, SessionStart=record, SessionEnd=record)
    program = await command.host("--trust")
    try:
        program.send(prompt(model.play("a", say("One."))))
        await program.until("result")
        program.send(prompt("/clear"))
        await program.until("result", 2)
        await program.end()
    finally:
        await program.kill()
    calls = [json.loads(line) for line in log.read_text().splitlines() if line]
    told = [(call["hook_event_name"], call.get("source") or call.get("reason"), call["session_id"]) for call in calls]
    old, new = (frame["session_id"] for frame in results(program))
    assert told == [
        ("SessionStart", "startup", old),
        ("SessionEnd", "clear", old),
        ("SessionStart", "clear", new),
        ("SessionEnd", "other", new),
    ]


async def test_a_hook_that_refuses_the_prompt_keeps_the_conversation(
    model: ModelServer, command: InstalledCommand
) -> None:
    hooks(command, UserPromptSubmit="grep -q '/clear' && { echo NOT-NOW >&2; exit 2; }; exit 0")
    program = await command.host("--trust")
    try:
        program.send(prompt(model.play("a", say("FIRST-ANSWER"))))
        await program.until("result")
        program.send(prompt("/clear"))
        await program.until("result", 2)
        program.send(prompt(model.play("b", say("Two."))))
        await program.until("result", 3)
        await program.end()
    finally:
        await program.kill()
    assert not [frame for frame in program.frames if frame["type"] == "conversation_reset"]
    assert len({frame["session_id"] for frame in results(program)}) == 1
    assert "NOT-NOW" in results(program)[1]["result"]
    assert "FIRST-ANSWER" in str(model.requests[-1].body["messages"])


async def test_mode_and_model_that_were_chosen_stay(model: ModelServer, command: InstalledCommand) -> None:
    program = await command.host("--model", "claude-sonnet-4-5")
    try:
        program.send(prompt("/model claude-haiku-4-5"))
        await program.until("result")
        program.send(
            {
                "type": "control_request",
                "request_id": "m",
                "request": {"subtype": "set_permission_mode", "mode": "plan"},
            }
        )
        await program.until("answer:success")
        program.send(prompt("/clear"))
        await program.until("result", 2)
        program.send(prompt(model.play("a", say("One."))))
        await program.until("result", 3)
        await program.end()
    finally:
        await program.kill()
    init = [frame for frame in program.frames if kind_of(frame) == "init"][-1]
    assert init["permissionMode"] == "plan"
    assert "haiku" in model.requests[-1].body["model"]


async def test_agents_of_the_host_are_there_after_it(model: ModelServer, command: InstalledCommand) -> None:
    program = await command.host()
    try:
        program.send(initialize(agents={"mine": {"description": "MINE-DESCRIBED", "prompt": "p"}}), prompt("/clear"))
        await program.until("result")
        program.send(prompt(model.play("a", say("One."))))
        await program.until("result", 2)
        await program.end()
    finally:
        await program.kill()
    assert "MINE-DESCRIBED" in str(model.requests[-1].body["messages"])


def test_a_budget_holds_for_all_conversations_of_a_run(model: ModelServer, command: InstalledCommand) -> None:
    lines = "".join(
        json.dumps(prompt(text)) + "\n"
        for text in (model.play("a", say("One.")), "/clear", model.play("b", say("Two.")))
    )
    ended = command.run(
        *("--output-format", "stream-json", "--verbose", "--input-format", "stream-json"),
        *("--model", "claude-sonnet-4-5", "--max-budget-usd", "0.0000001"),
        stdin=lines,
    )
    frames = [json.loads(line) for line in ended.stdout.splitlines()]
    last = [frame for frame in frames if frame["type"] == "result"][-1]
    assert last["subtype"] == "error_max_budget_usd"
    assert len(model.requests) == 1, "the second conversation may spend nothing"


def test_in_a_single_run_it_says_nothing_and_succeeds(model: ModelServer, command: InstalledCommand) -> None:
    ended = command.run("-p", "/clear")
    assert (ended.returncode, ended.stdout, model.requests) == (0, "", [])
