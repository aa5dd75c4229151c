"""Runs a program that speaks the wire protocol as a host does: over pipes, in a clean environment."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import claude_agent_sdk

from tests.kit.environments import engine_variables
from tests.kit.waiting import DEADLINE
from tests.modelserver import ModelServer

BOBSTAY = os.path.join(os.path.dirname(sys.executable), "bobstay")
ORACLE = os.path.join(os.path.dirname(claude_agent_sdk.__file__), "_bundled", "claude")
"""The reference implementation of the protocol, which comes with the SDK."""

ARGUMENTS = (
    *("--output-format", "stream-json", "--verbose", "--system-prompt", ""),
    *("--input-format", "stream-json"),
)
Frame = dict[str, Any]


def environment(model: ModelServer, home: Path) -> dict[str, str]:
    """Those of a program that a host runs, with `home` as its home."""
    return {
        **engine_variables(home, model, "dummy"),
        "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    }


def initialize(**more: Any) -> Frame:
    return {
        "type": "control_request",
        "request_id": "req_1",
        "request": {"subtype": "initialize", "hooks": None, **more},
    }


def request(number: int, subtype: str, **more: Any) -> Frame:
    return {"type": "control_request", "request_id": f"req_{number}", "request": {"subtype": subtype, **more}}


def prompt(text: str | list[Frame], **more: Any) -> Frame:
    message = {"role": "user", "content": text}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "default", **more}


class Program:
    """A running program. `frames` holds its output so far; `answer` answers its requests, or returns None not to."""

    def __init__(self, process: asyncio.subprocess.Process, answer: Callable[[Frame], Frame | None]) -> None:
        self.process = process
        self.frames: list[Frame] = []
        self._answer = answer
        self._changed = asyncio.Condition()
        self._reader = asyncio.ensure_future(self._read())
        assert process.stderr is not None
        self._errors = asyncio.ensure_future(process.stderr.read())

    @classmethod
    async def start(
        cls,
        path: str,
        *arguments: str,
        cwd: Path,
        env: dict[str, str],
        answer: Callable[[Frame], Frame | None] = lambda _: None,
    ) -> Self:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            path, *ARGUMENTS, *arguments, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 25
        )
        return cls(process, answer)

    def send(self, *frames: Frame) -> None:
        for frame in frames:
            self.write(json.dumps(frame).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def until(self, kind: str, count: int = 1) -> Frame:
        """Wait for the `count`th frame of a kind (see `kind_of`) and return it."""

        def found() -> list[Frame]:
            return [frame for frame in self.frames if kind_of(frame) == kind]

        async with self._changed, asyncio.timeout(DEADLINE):
            await self._changed.wait_for(lambda: len(found()) >= count or self._reader.done())
        assert len(found()) >= count, (
            f"no {kind} but {[kind_of(frame) for frame in self.frames]}; {await self.errors()}"
        )
        return found()[count - 1]

    async def end(self) -> int:
        """Close its input, read the remaining output, and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(DEADLINE):
            await self._reader
            return await self.process.wait()

    async def errors(self) -> str:
        async with asyncio.timeout(DEADLINE):
            return (await self._errors).decode()

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(self._reader, self._errors, return_exceptions=True)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            frame = json.loads(line)
            if frame["type"] == "control_request" and (answer := self._answer(frame["request"])) is not None:
                response = {"subtype": "success", "request_id": frame["request_id"], "response": answer}
                self.send({"type": "control_response", "response": response})
            async with self._changed:
                self.frames.append(frame)
                self._changed.notify_all()
        async with self._changed:
            self._changed.notify_all()


def kind_of(frame: Frame) -> str:
    """The kind of a frame."""
    match frame["type"]:
        case "system" if frame["subtype"] == "session_state_changed":
            return str(frame["state"])
        case "system":
            return str(frame["subtype"])
        case "assistant":
            return f"assistant:{frame['message']['content'][0]['type']}"
        case "user":
            return _user_kind(frame)
        case "stream_event":
            return str(frame["event"]["type"])
        case "control_request":
            return str(frame["request"]["subtype"])
        case "control_response":
            return f"answer:{frame['response']['subtype']}"
        case "command_lifecycle":
            return f"lifecycle:{frame['state']}"
        case other:
            return str(other)


def _user_kind(frame: Frame) -> str:
    if frame.get("isReplay"):
        return "replay"
    content = frame["message"]["content"]
    first = content[0]["type"] if isinstance(content, list) else "text"
    return f"synthetic:{first}" if frame.get("isSynthetic") else f"user:{first}"
