"""Approval by elicitation: asks the person at the client's side whether a call may run."""

from typing import Any

import msgspec

from bobstay.engine.engine_ports import Answer
from bobstay.mcp_server.served_call import current_call
from bobstay.model.event import InteractionOpened

MAX_MESSAGE = 4_000
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "Whether this one call may run.",
            "enum": ["allow", "deny"],
        }
    },
    "required": ["decision"],
}
BY = "mcp client"


class ElicitingApprover:
    """Asks by the call on whose behalf something is to run. A client without elicitation has nobody to ask."""

    @property
    def can_ask(self) -> bool:
        call = current_call.get()
        return call is not None and call.can_ask

    async def ask(self, opened: InteractionOpened) -> Answer:
        call = current_call.get()
        if call is None or opened.kind != "permission":
            return Answer(False, "Nobody is here to ask.", by="nobody")
        content = await call.ask(_describe(opened), SCHEMA)
        if content is not None and content.get("decision") == "allow":
            return Answer(True, by=BY)
        return Answer(False, "The person at the client's side did not allow it.", by=BY)


def _describe(opened: InteractionOpened) -> str:
    given = msgspec.json.format(msgspec.json.encode(opened.call.input), indent=2).decode()
    text = f"bobstay wants to use {opened.call.name}:\n{given}\n{opened.reason}".rstrip()
    shown = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    if len(shown) > MAX_MESSAGE:
        half = MAX_MESSAGE // 2
        shown = f"{shown[:half]}\n[… {len(shown) - MAX_MESSAGE} characters left out …]\n{shown[-half:]}"
    return shown
