"""Logs written to disk before a server starts: long sessions in no time, with what no engine here would say."""

import itertools
import json
import uuid
from pathlib import Path
from typing import Any, Self

BEGAN = 1_767_323_045.0


class WrittenLog:
    """A session's log. Each method adds what an engine would have stored; `save` puts it where the server looks."""

    def __init__(self, cwd: Path | str, title: str = "") -> None:
        self.id = str(uuid.uuid4())
        self.lines: list[str] = []
        self._parent = ""
        self._numbers = itertools.count(1)
        self._turn = 0
        self.add({"type": "session_started", "cwd": str(cwd), "version": "0.1.0"})
        if title:
            self.add({"type": "session_changed", "title": title})

    def add(self, event: dict[str, Any], *, agent: str = "", parent_call: str = "", parent: str = "") -> str:
        """Any entry; its id."""
        seq = len(self.lines) + 1
        entry: dict[str, Any] = {
            "seq": seq,
            "id": f"entry-{self.id[:8]}-{seq}",
            "parent": parent or self._parent,
            "at": BEGAN + seq,
            "event": event,
        }
        if parent_call:
            entry |= {"agent": agent or "helper", "parent_call": parent_call}
        self.lines.append(json.dumps(entry))
        self._parent = entry["id"]
        return str(entry["id"])

    def prompt(self, text: str) -> Self:
        self._turn += 1
        self.add({"type": "prompted", "id": f"prompt-{self.id[:8]}-{self._turn}", "blocks": [_text(text)]})
        self.add({"type": "turn_started", "turn": self._turn, "model": "sonnet", "mode": "default"})
        return self

    def say(self, *texts: str, parent_call: str = "") -> Self:
        for text in texts:
            self._block(_text(text), parent_call)
        return self

    def think(self, text: str) -> Self:
        self._block({"type": "thinking", "text": text}, "")
        return self

    def call(
        self,
        name: str,
        given: dict[str, Any],
        output: str = "done",
        *,
        id: str = "",
        error: bool = False,
        parent_call: str = "",
        done: bool = True,
        took: int = 1200,
    ) -> str:
        """A call, begun and, unless told otherwise, answered; its id."""
        call = id or f"toolu_{self.id[:8]}_{next(self._numbers)}"
        self._block({"type": "tool_call", "id": call, "name": name, "input": given}, parent_call)
        self.add({"type": "tool_started", "call_id": call, "name": name, "input": given}, parent_call=parent_call)
        if done:
            self.result(call, name, output, error=error, parent_call=parent_call, took=took)
        return call

    def result(
        self, call: str, name: str, output: str, *, error: bool = False, parent_call: str = "", took: int = 1200
    ) -> None:
        reply = {"type": "tool_reply", "call_id": call, "content": [_text(output)], "is_error": error}
        event = {"type": "tool_done", "reply": reply, "name": name, "duration_ms": took}
        self.add(event, parent_call=parent_call)

    def end(self, ending: str = "completed", text: str = "", cost: float = 0.0123) -> Self:
        usage = {"input": 1200, "output": 345}
        message = f"msg_{next(self._numbers)}"
        done = {"type": "message_done", "message_id": message, "model": "m", "stop": "end_turn"}
        self.add({**done, "usage": usage, "cost": cost})
        self.add({"type": "run_done", "ending": ending, "text": text, "turns": 1, "duration_ms": 8400})
        return self

    def save(self, home: Path) -> str:
        """Write it under the folder of a console; the session's id."""
        folder = home / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.id}.jsonl").write_text("\n".join(self.lines) + "\n")
        return self.id

    def _block(self, block: dict[str, Any], parent_call: str) -> None:
        message = f"msg_{self.id[:8]}_{next(self._numbers)}"
        event = {"type": "block_done", "message_id": message, "index": 0, "block": block, "model": "m"}
        self.add(event, parent_call=parent_call)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
