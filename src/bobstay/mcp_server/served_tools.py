"""Built-in tools for MCP clients: each call goes through the pipeline of a session, and stands in its log."""

import os
from contextlib import aclosing, suppress
from typing import Any

from msgspec.structs import replace

from bobstay.assembly.build_session import StartError, open_session
from bobstay.assembly.session import AgentSession
from bobstay.config.options import Options
from bobstay.engine.engine_ports import Approver
from bobstay.engine.event_redaction import redact_event
from bobstay.engine.pipeline import CallPipeline
from bobstay.mcp_server.served_call import CallResult, ServedCall, text_result
from bobstay.model.event import BlockDone, Event, Prompted
from bobstay.model.ids import new_id
from bobstay.model.live_events import LIVE, ToolProgress
from bobstay.model.message import Text, ToolCall
from bobstay.sessions.log import LogError
from bobstay.tools.tool_registry import ToolSpecification

MCP_PREFIX = "mcp__"
TITLE = "Tool calls of an MCP client"


class ServedTools:
    """The tools of one session, which has no model of its own: the client is the model."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._toolbox = session.driver.agent.toolbox
        self._running = 0
        self._message = ""
        self._is_new = True

    @classmethod
    async def open(cls, options: Options, approver: Approver) -> "ServedTools":
        """Open the session. Raises `StartError`."""
        try:
            return cls(await open_session(options, approver))
        except StartError:
            # Without a key for a model the tools work all the same; only auto mode would ask one.
            mode = "default" if options.permission_mode == "auto" else options.permission_mode
            return cls(await open_session(replace(options, model="demo", permission_mode=mode), approver))

    @property
    def specs(self) -> tuple[ToolSpecification, ...]:
        """Tools of MCP servers that the session itself uses are not passed on: clients can connect to those."""
        return tuple(spec for spec in self._toolbox.registry.specs if not spec.name.startswith(MCP_PREFIX))

    @property
    def warnings(self) -> list[str]:
        return self._session.warnings

    async def call(self, name: str, input: dict[str, Any], served: ServedCall) -> CallResult:
        """Run one call to its end. Cancelling ends it and what it started."""
        if name.startswith(MCP_PREFIX):
            return text_result(f"{name} is not offered here.", is_error=True)
        call = ToolCall(new_id(), name, input)
        if not self._running:
            self._message = new_id()  # calls at the same time are those of one answer
        self._running += 1
        try:
            if self._is_new:
                self._is_new = False
                await self._store(Prompted(new_id(), (Text(TITLE),)))
            await self._store(BlockDone(self._message, self._running - 1, call))
            return await self._run(CallPipeline(self._toolbox, call), served)
        except LogError as error:
            return text_result(str(error), is_error=True)  # what cannot be stored does not run
        finally:
            self._running -= 1

    async def close(self) -> None:
        """Close the session. A log without a single call is of no use to anybody."""
        path = self._session.driver.journal.log.path
        await self._session.close()
        if self._is_new:
            with suppress(OSError):
                os.unlink(path)

    async def _run(self, pipeline: CallPipeline, served: ServedCall) -> CallResult:
        try:
            async with aclosing(pipeline.events()) as events:
                async for event in events:
                    if isinstance(event, ToolProgress):
                        served.report(event.text)
                    await self._store(event)
        finally:
            pipeline.ticket.finish()
            if pipeline.done is None:
                for event in pipeline.interrupted("by the client"):
                    self._record(event)
        done = pipeline.done
        if done is None:
            return text_result(f"{pipeline.call.name} was deferred by a hook and did not run.", is_error=True)
        return CallResult(tuple(done.reply.content), done.reply.is_error)

    async def _store(self, event: Event) -> None:
        """Store an event as the driver of a turn does: before anything follows from it."""
        if not isinstance(event, LIVE):
            await self._session.driver.journal.commit(redact_event(event, self._toolbox.redactor))

    def _record(self, event: Event) -> None:
        if not isinstance(event, LIVE):
            self._session.driver.journal.record(redact_event(event, self._toolbox.redactor))
