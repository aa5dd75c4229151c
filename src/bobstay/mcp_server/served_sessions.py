"""Sessions as tools: an MCP client starts sessions in the served folders, and sends, reads, lists and interrupts."""

import asyncio
import os
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bobstay.assembly.build_session import StartError, open_session
from bobstay.assembly.session import AgentSession
from bobstay.config.options import Options
from bobstay.config.trust import is_inside
from bobstay.engine.engine_ports import Approver
from bobstay.mcp_server.served_call import CallResult, ServedCall, current_call, text_result
from bobstay.mcp_server.transcript_text import render_transcript
from bobstay.model.event import BlockDone, Event, RunDone, ToolStarted
from bobstay.model.message import Text
from bobstay.sessions.log import LogError
from bobstay.sessions.log_store import LogStore, is_session_id
from bobstay.sessions.session_summary import SessionSummary

MAX_OPEN = 8
MAX_LISTED = 50
_ID = {"type": "string", "description": "The id of a session, as session_start or session_list returned it."}
_PROMPT = {"type": "string", "description": "What the agent is to do.", "minLength": 1}


class SessionTool(Struct, frozen=True):
    name: str
    description: str
    properties: dict[str, Any] = {}
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


SESSION_TOOLS = (
    SessionTool(
        "session_start",
        "Start a session of the coding agent bobstay with a prompt, and wait for its result. Returns the id of the "
        "session, with which it can be continued. Actions without permission are denied, or asked by elicitation.",
        {
            "prompt": _PROMPT,
            "cwd": {"type": "string", "description": "The folder to work in; default: the served folder."},
            "model": {"type": "string", "description": "A model's name; default: that of the settings."},
        },
        ("prompt",),
    ),
    SessionTool(
        "session_send",
        "Send another prompt to a session, and wait for its result.",
        {"id": _ID, "prompt": _PROMPT},
        ("id", "prompt"),
    ),
    SessionTool("session_list", "List the sessions of the served folder, newest first, and whether one is busy."),
    SessionTool("session_read", "Read the transcript of a session.", {"id": _ID}, ("id",)),
    SessionTool("session_interrupt", "Interrupt the running turn of a session.", {"id": _ID}, ("id",)),
)


class _BadRequestError(Exception):
    """The client gets the text as an error."""


class ServedSessions:
    """The open sessions of this process. Those that were closed continue from their logs."""

    def __init__(self, options: Options, approver: Approver, sessions_folder: str, roots: tuple[str, ...]) -> None:
        """`roots` are the folders in which clients may work; the first is the default."""
        self._options = options
        self._approver = approver
        self._store = LogStore(sessions_folder)
        self._roots = tuple(map(os.path.realpath, roots))
        self._open: dict[str, AgentSession] = {}
        """The most recently used last."""
        self._busy: set[str] = set()

    async def call(self, name: str, given: dict[str, Any], served: ServedCall) -> CallResult:
        try:
            tool = next(tool for tool in SESSION_TOOLS if tool.name == name)
            values = _read_arguments(tool, given)
            match name:
                case "session_start":
                    return await self._start(values, served)
                case "session_send":
                    return await self._send(values["id"], values["prompt"], served)
                case "session_read":
                    return text_result(await asyncio.to_thread(self._read, values["id"]))
                case "session_interrupt":
                    return await self._interrupt(values["id"])
                case _:
                    return await asyncio.to_thread(self._list)
        except (_BadRequestError, StartError, LogError) as error:
            return text_result(str(error), is_error=True)

    async def close(self) -> None:
        for session in self._open.values():
            await session.close()
        self._open.clear()

    # ------------------------------------------------------------ start and send

    async def _start(self, values: dict[str, str], served: ServedCall) -> CallResult:
        cwd = self._resolve(values.get("cwd") or self._roots[0])
        model = values.get("model") or self._options.model
        session = await self._open_session(replace(self._options, cwd=cwd, model=model))
        self._busy.add(session.id)
        try:
            return await self._run(session, values["prompt"], served)
        finally:
            self._busy.discard(session.id)

    async def _send(self, id: str, prompt: str, served: ServedCall) -> CallResult:
        if id in self._busy:
            raise _BadRequestError(f"The session {id} is busy. Wait for its result, or interrupt it.")
        self._busy.add(id)  # from now on: opening takes a while
        try:
            session = self._open.pop(id, None)
            if session is None:
                summary = await asyncio.to_thread(self._find, id)
                session = await self._open_session(replace(self._options, cwd=self._resolve(summary.cwd), resume=id))
            self._open[id] = session
            return await self._run(session, prompt, served)
        finally:
            self._busy.discard(id)

    async def _open_session(self, options: Options) -> AgentSession:
        idle = [id for id in self._open if id not in self._busy]
        while len(self._open) >= MAX_OPEN:
            if not idle:
                raise _BadRequestError(f"{MAX_OPEN} sessions are busy, which is the most. Wait, or interrupt one.")
            await self._open.pop(idle.pop(0)).close()
        # Questions and plans are for people at a terminal; without a current call these tools are not offered.
        token = current_call.set(None)
        try:
            session = await open_session(options, self._approver)
        finally:
            current_call.reset(token)
        self._open[session.id] = session
        return session

    async def _run(self, session: AgentSession, prompt: str, served: ServedCall) -> CallResult:
        served.stop = session.interrupt
        served.report(f"session {session.id} started")
        done: RunDone | None = None
        async with aclosing(session.run(prompt, take_at_end=True)) as events:
            async for event in events:
                if isinstance(event, RunDone):
                    done = event
                elif text := _describe_progress(event):
                    served.report(text)
        assert done is not None, "a turn ends with RunDone"
        result = {
            "id": session.id,
            "result": done.text,
            "ending": done.ending,
            "cwd": str(session.cwd),
            "cost_usd": round(session.totals().cost_usd, 6),
        }
        return _structured(result, is_error=done.ending != "completed")

    # ------------------------------------------------------------ list, read and interrupt

    def _list(self) -> CallResult:
        found = [summary for summary in self._store.list() if self._is_served(summary.cwd)][:MAX_LISTED]
        rows = [
            {
                "id": summary.id,
                "cwd": summary.cwd,
                "first_prompt": summary.first_prompt,
                "model": summary.model,
                "last_activity": summary.last_activity,
                "busy": summary.id in self._busy,
            }
            for summary in found
        ]
        return _structured({"sessions": rows})

    def _read(self, id: str) -> str:
        branch, _ = self._store.read_branch(self._find(id).id)
        return render_transcript(branch) or "Nothing was said in this session yet."

    async def _interrupt(self, id: str) -> CallResult:
        session = self._open.get(id)
        if session is None or id not in self._busy:
            raise _BadRequestError(f"No turn of the session {id[:100]} runs here.")
        await session.interrupt()
        return _structured({"id": id, "interrupted": True})

    def _find(self, id: str) -> SessionSummary:
        if is_session_id(id):
            for summary in self._store.list():
                if summary.id == id and self._is_served(summary.cwd):
                    return summary
        raise _BadRequestError(
            f"There is no session {id[:100]!r} in the served folders. session_list shows those there are."
        )

    # ------------------------------------------------------------ folders

    def _resolve(self, folder: str) -> str:
        path = os.path.realpath(os.path.join(self._roots[0], folder))
        if not self._is_served(path):
            raise _BadRequestError(
                f"{path[:300]} is outside the served folders ({', '.join(self._roots)}). "
                "The person who starts `bobstay mcp serve` can add it with --add-dir."
            )
        return path

    def _is_served(self, folder: str) -> bool:
        return bool(folder) and any(is_inside(os.path.realpath(folder), root) for root in self._roots)


def _read_arguments(tool: SessionTool, given: dict[str, Any]) -> dict[str, str]:
    unknown = [name for name in given if name not in tool.properties]
    wrong = [name for name, value in given.items() if not isinstance(value, str) or "\0" in value]
    missing = [name for name in tool.required if not given.get(name)]
    if unknown or wrong or missing:
        expected = ", ".join(tool.properties) or "no arguments"
        raise _BadRequestError(
            f"{tool.name} takes texts: {expected}; {', '.join(tool.required) or 'nothing'} is required."
        )
    return {name: value.encode(errors="replace").decode() for name, value in given.items()}


def _describe_progress(event: Event) -> str:
    if isinstance(event, ToolStarted):
        return f"uses {event.name}"
    return event.block.text if isinstance(event, BlockDone) and isinstance(event.block, Text) else ""


def _structured(value: dict[str, Any], *, is_error: bool = False) -> CallResult:
    return CallResult((Text(msgspec.json.encode(value).decode()),), is_error, value)
