"""Approver that asks a tool of an MCP server: `--permission-prompt-tool mcp__SERVER__TOOL`."""

from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened
from bobstay.print_mode.host_approver import parse_answer

if TYPE_CHECKING:
    from bobstay.assembly.session import AgentSession


class PromptToolApprover:
    """The tool gets the call as its input, and answers with the JSON of an approval or a denial."""

    can_ask = True

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._session: AgentSession | None = None

    def attach(self, session: "AgentSession") -> None:
        """Use the servers of this session, whose calls it answers."""
        self._session = session

    async def ask(self, opened: InteractionOpened) -> Answer:
        from bobstay.mcp.mcp_servers import McpRequestError

        assert self._session is not None, "no call is made before the session is open"
        call = opened.call
        question = {"tool_name": call.name, "input": call.input, "tool_use_id": call.id}
        try:
            text, failed = await self._session.require_servers().call(self._tool, question, call.id)
            answer = msgspec.json.decode(text, type=dict[str, Any]) if not failed else {}
        except (McpRequestError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return Answer(allow=False, message=f"{self._tool} gave no valid answer to the permission request: {error}")
        if failed:
            return Answer(allow=False, message=f"{self._tool} failed: {text[:500]}")
        return parse_answer(answer, original=call.input, shown=call.input)
