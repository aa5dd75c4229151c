"""A small stream-json engine whose behaviour is chosen by the prompt. A real process, for real faults."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"


def out(**frame: Any) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def raw(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def init() -> None:
    frame = {"type": "system", "subtype": "init", "session_id": SESSION, "model": "fake-1", "cwd": os.getcwd()}
    if version := os.environ.get("FAKE_VERSION"):
        frame["claude_code_version"] = version
    out(**frame, permissionMode="default")


def say(text: str, id: str = "msg_1") -> None:
    usage = {"input_tokens": 10, "output_tokens": 2}
    message = {
        "id": id,
        "role": "assistant",
        "model": "fake-1",
        "content": [{"type": "text", "text": text}],
        "usage": usage,
    }
    out(type="assistant", message=message, session_id=SESSION, parent_tool_use_id=None)


def call(id: str, name: str, input: dict[str, Any]) -> None:
    content = [{"type": "tool_use", "id": id, "name": name, "input": input}]
    message = {"id": f"msg_{id}", "role": "assistant", "model": "fake-1", "content": content}
    out(type="assistant", message=message, session_id=SESSION, parent_tool_use_id=None)


def reply(id: str, text: str) -> None:
    content = [{"type": "tool_result", "tool_use_id": id, "content": text}]
    out(type="user", message={"role": "user", "content": content}, session_id=SESSION, parent_tool_use_id=None)


def done(text: str = "done", **more: Any) -> None:
    fields = {"subtype": "success", "is_error": False, "result": text, "num_turns": 1, "session_id": SESSION, **more}
    out(type="result", total_cost_usd=0.5, usage={"input_tokens": 10, "output_tokens": 7}, **fields)


def nap(seconds: float = 100.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(min(1.0, max(deadline - time.monotonic(), 0)))


def act(prompt: str) -> None:
    word, _, rest = prompt.partition(" ")
    init()
    if word == "echo":
        say(rest)
        done(rest)
    elif word == "bad":
        raw('this is no JSON\n\n   \n[1, 2]\n{"type": \n')
        out(type="never_heard_of", payload=1)
        say("still here")
        done("still here")
    elif word == "big":
        say("x" * int(rest))
        done("big")
    elif word == "huge":
        raw("{" + "y" * int(rest) + "}\n")
        say("after")
        done("after")
    elif word in ENDS:
        ENDS[word]()
    elif word in STAYS:
        STAYS[word]()
    elif word == "early":
        reply("toolu_9", "the result came first")
        call("toolu_9", "Glob", {"pattern": "*"})
        reply("toolu_9", "and again")
        reply("toolu_none", "whose is this?")
        done("early")
    elif word == "environment":
        text = json.dumps({name: value for name, value in os.environ.items() if "SECRET" not in rest or name == rest})
        say(text)
        done(text)
    elif word == "argv":
        done(json.dumps(sys.argv[1:]))
    elif word == "secret":
        say(f"the key is {os.environ['ANTHROPIC_API_KEY']}")
        done("told")
    elif word == "turns":
        done("four", num_turns=4)
    elif word == "murmur":
        say("good")
        done("good")
        sys.stderr.write("afterwards\n")
        sys.stderr.flush()
        sys.exit(0)
    elif word == "secret_result":
        done(f"{'x' * 190} {os.environ['ANTHROPIC_API_KEY']}")
    elif word == "ask":
        ask(rest)
    else:
        done(prompt)


def crash() -> None:
    call("toolu_1", "Bash", {"command": "sleep 100"})
    sys.stderr.write("the roof fell in\n")
    sys.exit(3)


def crash_silently() -> None:
    sys.exit(4)


def signalled() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    say("that is all")
    sys.exit(0)


def fail() -> None:
    done("it went wrong", is_error=True)
    sys.exit(0)


def flood() -> None:
    for _ in range(2_000):
        sys.stderr.write("e" * 1_000 + "\n")
    sys.exit(5)


def late() -> None:
    say("good")
    done("good")
    sys.stderr.write("afterwards\n")
    sys.exit(6)


def unfinished() -> None:
    raw(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "no newline"}))
    sys.exit(0)


def family() -> None:
    call("toolu_1", "Bash", {"command": "sleep"})
    subprocess.Popen(["setsid", "sleep", "987"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.Popen(["env", "-i", "setsid", "sleep", "987"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.Popen(["sleep", "987"])
    say("children are up", "msg_2")
    nap()


def noise() -> None:
    delta = {"type": "text_delta", "text": "n" * 40}
    event = {"type": "content_block_delta", "index": 0, "delta": delta}
    line = json.dumps({"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None})
    raw((line + "\n") * 4_000)
    done("noise")


def unresponsive() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    say("never")
    nap()


def mutter() -> None:
    sys.stderr.write("careful\n")
    sys.stderr.flush()
    while not os.path.exists("heard"):
        time.sleep(0.01)
    say("good")
    done("good")


def hold() -> None:
    call("toolu_1", "Bash", {"command": "sleep 100"})
    nap()


ENDS = {name.__name__: name for name in (crash, crash_silently, signalled, leave, fail, flood, late, unfinished)}
STAYS = {name.__name__: name for name in (family, unresponsive, hold, noise, mutter)}


def ask(kind: str) -> None:
    if kind == "twice":
        for number in (1, 2):
            call(f"toolu_{number}", "Bash", {"command": "make"})
            request(f"req_{number}", f"toolu_{number}", "Bash", {"command": "make"})
        answers = [answer(), answer()]
    elif kind == "withdrawn":
        call("toolu_1", "Bash", {"command": "make"})
        request("req_1", "toolu_1", "Bash", {"command": "make"})
        out(type="control_cancel_request", request_id="req_1")
        answers = []
    elif kind == "agent":
        out(type="system", subtype="task_started", task_id="a77", tool_use_id="toolu_parent", subagent_type="reviewer")
        request("req_1", "toolu_1", "Bash", {"command": "make"}, agent_id="a77")
        answers = [answer()]
    elif kind == "hook":
        input = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}]}
        call("toolu_1", "AskUserQuestion", input)
        fields = {
            "hook_event_name": "PreToolUse",
            "tool_name": "AskUserQuestion",
            "tool_input": input,
            "tool_use_id": "toolu_1",
        }
        body = {"subtype": "hook_callback", "callback_id": HOOK[0], "tool_use_id": "toolu_1", "input": fields}
        out(type="control_request", request_id="req_1", request=body)
        answers = [answer()]
    elif kind == "nonsense":
        out(type="control_request", request_id="req_1", request={"subtype": "sing"})
        answers = [answer()]
    else:
        call("toolu_1", "Bash", {"command": "make"})
        request("req_1", "toolu_1", "Bash", {"command": "make"})
        answers = [answer()]
    done(json.dumps(answers))


def request(id: str, call_id: str, name: str, input: dict[str, Any], **more: Any) -> None:
    body = {"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": call_id, **more}
    out(type="control_request", request_id=id, request=body)


def answer() -> Any:
    while line := sys.stdin.readline():
        frame = json.loads(line)
        if frame["type"] == "control_response":
            return frame["response"]
        respond(frame)
    return None


HOOK = [""]


def respond(frame: dict[str, Any]) -> None:
    if frame["type"] == "control_request":
        body = frame["request"]
        if body["subtype"] == "initialize" and body["hooks"]:
            HOOK[0] = body["hooks"]["PreToolUse"][0]["hookCallbackIds"][0]
        if body["subtype"] == "interrupt":
            return
        error = body.get("mode") == "refused"
        kind = {"subtype": "error", "error": "no such mode"} if error else {"subtype": "success", "response": {}}
        out(type="control_response", response={**kind, "request_id": frame["request_id"]})
    elif frame["type"] == "user":
        act(frame["message"]["content"][0]["text"])


def at_once(form: str, prompt: str) -> None:
    """Everything in one piece at the end, as engines do that were not asked to stream."""
    word, _, rest = prompt.partition(" ")
    text = json.dumps(sys.argv[1:]) if word == "argv" else rest
    if form == "text" or word == "junk":
        raw(text + "\n")
    else:
        usage = {"input_tokens": 10, "output_tokens": 7}
        done = {"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": SESSION}
        whole = {**done, "total_cost_usd": 0.5, "usage": usage, "num_turns": 1}
        content = [{"type": "text", "text": text}]
        message = {"id": "msg_1", "role": "assistant", "model": "fake-1", "content": content, "usage": usage}
        output = {"type": "assistant", "message": message, "session_id": SESSION, "parent_tool_use_id": None}
        reported = {"type": "system", "subtype": "init", "session_id": SESSION, "model": "fake-1"}
        raw(json.dumps([reported, output, whole] if word == "verbose" else whole))
    sys.exit(3 if word == "crash" else 0)


def main() -> None:
    # A shell that starts the tests in the background has all they start ignore it; a real engine does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "--print" in sys.argv:
        assert sys.argv[-3:-1] == ["--print", "--"], sys.argv
        form = sys.argv[sys.argv.index("--output-format") + 1]
        if form != "stream-json":
            at_once(form, sys.argv[-1])
        act(sys.argv[-1])
        return
    while line := sys.stdin.readline():
        respond(json.loads(line))


if "--die-at-once" in sys.argv:
    sys.exit("unknown option")
main()
