"""The flows of `golden.py`, driven through a real program against the scripted model."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.kit.program import Frame, Program, environment, initialize, kind_of, prompt, request
from tests.kit.waiting import until
from tests.modelserver import Call, ModelServer, Say, Step
from tests.wire import golden

UUID = "00000000-0000-4000-8000-00000000abcd"


def touch() -> Step:
    return Step(blocks=[Call("Bash", {"command": "touch made.txt", "description": "Create a file"}, "toolu_1")])


def say(text: str, **more: Any) -> Step:
    return Step(blocks=[Say(text)], **more)


def allow(body: Frame) -> Frame:
    return {"behavior": "allow", "updatedInput": body.get("input")}


def deny(_: Frame) -> Frame:
    return {"behavior": "deny", "message": "HOST-SAYS-NO"}


def deny_and_stop(_: Frame) -> Frame:
    return {"behavior": "deny", "message": "stop", "interrupt": True}


def hook_deny(_: Frame) -> Frame:
    output = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "HOOK-SAYS-NO"}
    return {"hookSpecificOutput": output}


def hook_block_once(body: Frame) -> Frame:
    return {} if body["input"]["stop_hook_active"] else {"decision": "block", "reason": "KEEP-GOING"}


def nothing(_: Frame) -> Frame:
    return {}


def silence(_: Frame) -> None:
    return None


async def interrupt_at(program: Program, kind: str) -> None:
    await program.until(kind)
    program.send(request(2, "interrupt"))


async def when_the_tool_runs(program: Program, cwd: Path) -> None:
    await program.until("assistant:tool_use")
    await wait_for(cwd / "started")
    program.send(request(2, "interrupt"))


async def when_asked(program: Program, _: Path) -> None:
    await interrupt_at(program, "can_use_tool")


async def when_idle(program: Program, cwd: Path) -> None:
    await program.until("idle")
    (cwd / "go").touch()
    await program.until("idle", 2)


async def wait_for(path: Path) -> None:
    await until(path.exists)


class Flow(Struct, kw_only=True):
    steps: list[Step]
    arguments: tuple[str, ...] = ()
    hooks: Any = None
    answer: Callable[[Frame], Frame | None] = silence
    uuid: str = ""
    meanwhile: Callable[[Program, Path], Awaitable[None]] | None = None
    code: int = 0


AWAIT_FILE = "until [ -e go ]; do sleep 0.05; done; echo late"
ASKED = ("--permission-prompt-tool", "stdio")
SLEEP = {"command": "touch started; python3 -c 'import time; time.sleep(25)'"}

FLOWS: dict[str, Callable[[], Flow]] = {
    "plain": lambda: Flow(steps=[say("Hello there.")]),
    "tool": lambda: Flow(
        steps=[Step(blocks=[Say("Looking."), Call("Bash", {"command": "echo hi"}, "toolu_1")]), say("Done.")]
    ),
    "allowed": lambda: Flow(steps=[touch(), say("Done.")], arguments=ASKED, answer=allow),
    "denied": lambda: Flow(steps=[touch(), say("Done.")], arguments=ASKED, answer=deny),
    "denied_and_stopped": lambda: Flow(steps=[touch(), say("No.")], arguments=ASKED, answer=deny_and_stop, code=1),
    "nobody_to_ask": lambda: Flow(steps=[touch(), say("Done.")]),
    "interrupted_tool": lambda: Flow(
        steps=[Step(blocks=[Call("Bash", SLEEP, "toolu_1")]), say("No.")],
        arguments=("--allowedTools", "Bash"),
        meanwhile=when_the_tool_runs,
        code=1,
    ),
    "interrupted_question": lambda: Flow(steps=[touch(), say("No.")], arguments=ASKED, meanwhile=when_asked, code=1),
    "partial": lambda: Flow(steps=[say("Hello there.")], arguments=("--include-partial-messages",)),
    "replayed": lambda: Flow(steps=[say("Hello there.")], arguments=("--replay-user-messages",), uuid=UUID),
    "hook_denies": lambda: Flow(
        steps=[touch(), say("Done.")],
        arguments=("--allowedTools", "Bash"),
        hooks={"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"]}]},
        answer=hook_deny,
    ),
    "prompt_hook": lambda: Flow(
        steps=[say("Hello there.")],
        hooks={"UserPromptSubmit": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]},
        answer=nothing,
    ),
    "stop_hook": lambda: Flow(
        steps=[say("First."), say("Second.")],
        hooks={"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]},
        answer=hook_block_once,
    ),
    "output_limit": lambda: Flow(steps=[say("Cut off", stop="max_tokens"), say("and continued.")]),
    "retried": lambda: Flow(steps=[Step(status=529, times=1, then=say("Recovered."))]),
    "api_error": lambda: Flow(steps=[Step(status=400, message="bad thing")], code=1),
    "background": lambda: Flow(
        steps=[
            Step(blocks=[Call("Bash", {"command": AWAIT_FILE, "run_in_background": True}, "toolu_1")]),
            say("Started it."),
            say("It finished."),
        ],
        arguments=("--allowedTools", "Bash"),
        meanwhile=when_idle,
    ),
    "max_turns": lambda: Flow(
        steps=[Step(blocks=[Call("Bash", {"command": "echo 1"}, "toolu_1")]), say("No.")],
        arguments=("--max-turns", "1"),
        code=1,
    ),
}


async def drive(path: str, name: str, model: ModelServer, directory: Path) -> list[Frame]:
    """Run a flow to its end; return its frames without unrelated ones."""
    flow = FLOWS[name]()
    token = model.play(f"{name}-{os.path.basename(path)}", *flow.steps)
    cwd = directory / "work"
    cwd.mkdir()
    env = environment(model, directory / "home")
    program = await Program.start(path, *flow.arguments, cwd=cwd, env=env, answer=flow.answer)
    try:
        program.send(initialize(hooks=flow.hooks))
        await program.until("answer:success")
        program.send(prompt(f"{token} go", **({"uuid": flow.uuid} if flow.uuid else {})))
        if flow.meanwhile is not None:
            await flow.meanwhile(program, cwd)
        await program.until("result")
        await program.until("idle")
        code = await program.end()
        assert code == flow.code, await program.errors()
    finally:
        await program.kill()
    return [frame for frame in program.frames if kind_of(frame) not in golden.IGNORED]


def check(name: str, frames: list[Frame]) -> None:
    """Hold frames to the golden table: their order, and the keys of each."""
    assert [kind_of(frame) for frame in frames] == golden.FLOWS[name]
    for frame in frames:
        missing = golden.KEYS.get(kind_of(frame), set()) - frame.keys()
        assert not missing, f"{kind_of(frame)} lacks {sorted(missing)}"
        _check_inside(frame)


def _check_inside(frame: Frame) -> None:
    match kind_of(frame):
        case "assistant:text" | "assistant:tool_use":
            assert frame["message"].keys() >= golden.MESSAGE_KEYS
            assert frame["message"]["usage"].keys() >= golden.USAGE_KEYS
            assert len(frame["message"]["content"]) == 1
        case "result":
            assert frame["usage"].keys() >= golden.USAGE_KEYS
            for usage in frame["modelUsage"].values():
                assert usage.keys() >= golden.MODEL_USAGE_KEYS
        case "can_use_tool":
            assert frame["request"].keys() >= golden.QUESTION_KEYS
        case "hook_callback" if "tool_name" in frame["request"]["input"]:
            assert frame["request"]["input"].keys() >= golden.HOOK_KEYS
        case _:
            return


RESULT_WORDS = ("subtype", "is_error", "terminal_reason", "num_turns", "stop_reason", "permission_denials")


def outcome_of(frames: list[Frame]) -> dict[str, Any]:
    """The parts of the result that hosts act upon, on which both programs must agree."""
    result = next(frame for frame in frames if frame["type"] == "result")
    phrase = {key: result.get(key) for key in RESULT_WORDS}
    phrase["has_result"] = "result" in result
    phrase["usage"] = {key: result["usage"][key] for key in sorted(golden.USAGE_KEYS)}
    return phrase
