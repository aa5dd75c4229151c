"""Records what a tab hears over its socket while real sessions run: the streams the page's fold is tested with."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.kit.program import ORACLE  # noqa: E402
from tests.kit.served_console import ServedConsole  # noqa: E402
from tests.modelserver.script import Call, Counts, Say, Step, Think  # noqa: E402 - the tests are no package of ours
from tests.modelserver.server import ModelServer  # noqa: E402

OUT = ROOT / "web" / "src" / "state" / "recordings"
LONG = "The cart keeps a list of items. " * 40
TODOS = [
    {"content": "Read the test", "status": "completed", "activeForm": "Reading"},
    {"content": "Fix the race", "status": "in_progress", "activeForm": "Fixing"},
]


def main() -> None:
    with ModelServer() as model, tempfile.TemporaryDirectory() as folder:
        served = ServedConsole(Path(folder), "--engine", f"claude={ORACLE}", model=model).start()
        try:
            subprocess.run(["git", "init", "-q", served.work], check=True)
            (served.work / "cart.py").write_text("def total(items):\n    return sum(items)\n")
            write("native", record(served, model, "native", work()), folder)
            write("claude", record(served, model, "claude", [*work(), *helped()]), folder)
        finally:
            served.stop()


def work() -> list[Step]:
    path = "cart.py"
    usage = Counts(input=9_000, output=300, cache_read=20_000)
    return [
        Step(
            blocks=[Think("Where is the race?"), Say(LONG), Call("Read", {"file_path": path}, "toolu_r1")],
            usage=usage,
            chunk=150,
            chunk_delay=0.04,
        ),
        Step(blocks=[Call("Glob", {"pattern": "*.py"}, "toolu_g1"), Call("Grep", {"pattern": "sum"}, "toolu_g2")]),
        Step(blocks=[Call("TodoWrite", {"todos": TODOS}, "toolu_t1")]),
        Step(
            blocks=[
                Say("Let me run it."),
                Call("Bash", {"command": "for n in 1 2 3; do echo line $n; sleep 0.2; done; touch x"}, "toolu_b1"),
            ]
        ),
        Step(blocks=[Call("Bash", {"command": "touch denied.txt"}, "toolu_b2")]),
        Step(blocks=[Say("**Done.** One file looked at.")], usage=Counts(input=100, output=50, cache_read=130_000)),
    ]


def helped() -> list[Step]:
    task = {"description": "Look around", "prompt": "Look around SCN:sub", "subagent_type": "general-purpose"}
    return [Step(blocks=[Call("Agent", task, "toolu_a1")]), Step(blocks=[Say("The helper is done.")])]


def record(served: ServedConsole, model: ModelServer, engine: str, steps: list[Step]) -> list[dict[str, Any]]:
    model.play("sub", Step(blocks=[Call("Read", {"file_path": "cart.py"}, "toolu_s1")]), Step(blocks=[Say("Seen.")]))
    first, rest = steps[:6], steps[6:]
    token = model.play(f"first-{engine}", *first)
    url = f"ws://127.0.0.1:{served.port}/api/v1/ws"
    origin: Any = f"http://127.0.0.1:{served.port}"
    headers = {"Cookie": served.cookie}
    with connect(url, additional_headers=headers, origin=origin, compression=None) as socket:
        id = served.post("/sessions", {"cwd": str(served.work), "engine": engine, "title": "Recorded"})["id"]
        socket.send(json.dumps({"type": "subscribe", "topic": f"session:{id}", "after": 0}))
        served.post(f"/sessions/{id}/messages", {"content": f"Fix the flaky cart test {token}"})
        frames = received_frames(served, socket)
        if rest:
            token = model.play(f"second-{engine}", *rest)
            served.post(f"/sessions/{id}/messages", {"content": f"Let somebody else look {token}"})
            frames += received_frames(served, socket)
    return frames


def received_frames(served: ServedConsole, socket: ClientConnection) -> list[dict[str, Any]]:
    """All frames to the end of the turn; the first request is allowed, others are denied with words."""
    frames: list[dict[str, Any]] = []
    while True:
        for frame in json.loads(socket.recv(30)):
            frames.append(frame)
            if frame["type"] == "interaction.opened":
                [item] = served.inbox()
                if item["summary"]["call_id"] == "toolu_b2":
                    served.decide(item, "deny", reason="Not this one.")
                else:
                    served.decide(item)
            if frame["type"] == "turn.completed":
                return frames


def write(name: str, frames: list[dict[str, Any]], folder: str) -> None:
    OUT.mkdir(exist_ok=True)
    for frame in frames if name == "claude" else ():
        shorten(frame)
    lines = ",\n".join(json.dumps(frame, ensure_ascii=False) for frame in frames)
    (OUT / f"{name}.json").write_text(
        f"[\n{lines}\n]\n".replace(folder, "/home/ada").replace(ORACLE, "/usr/bin/claude")
    )
    print(f"{name}: {len(frames)} frames")


def shorten(frame: dict[str, Any]) -> None:
    """What another program says in its own words is its own, and long."""
    if frame["type"] == "raw":
        frame["data"]["data"] = {name: frame["data"]["data"].get(name) for name in ("type", "subtype", "model")}
    if frame["type"] == "tool.result":
        frame["data"].pop("display", None)
        for part in frame["data"]["reply"]["content"]:
            part["text"] = part["text"][:40]


if __name__ == "__main__":
    main()
