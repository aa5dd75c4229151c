"""Open interactions in the view of a session: what a list needs of each, and which of them outlast the turn."""

from typing import Literal

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, InteractionOpened
from bobstay.model.message import ToolCall
from bobstay.server.sessions.background_view import BackgroundView, requester_name

ELICITATION = "Elicitation"
"""The tool that an interaction names in which an MCP server asks a person; hooks call it so too."""
REASON_LENGTH = 200


class InteractionView(Struct, frozen=True, omit_defaults=True):
    """An open interaction, with all that is needed to decide."""

    id: str
    kind: Literal["permission", "question", "plan"]
    call_id: str
    tool: str
    input_sha256: str
    opened_at: float
    agent: str = ""
    """Id of the sub-agent that asks."""
    reason: str = ""
    agent_name: str = ""
    """Type and task of that sub-agent."""


def interaction_view(
    envelope: Envelope, event: InteractionOpened, background: tuple[BackgroundView, ...] = ()
) -> InteractionView:
    """The interaction that an entry opens; `background` names the sub-agent that asks."""
    return InteractionView(
        event.id,
        event.kind,
        event.call.id,
        event.call.name,
        input_hash(event.call),
        envelope.at,
        envelope.agent,
        event.reason[:REASON_LENGTH],
        requester_name(background, envelope.agent),
    )


def input_hash(call: ToolCall) -> str:
    """The hash that a decision must quote, so that it applies to this input only."""
    from hashlib import sha256

    return sha256(msgspec.json.encode([call.id, call.name, call.input], order="sorted")).hexdigest()


def lasting_interactions(
    interactions: tuple[InteractionView, ...], background: tuple[BackgroundView, ...]
) -> tuple[InteractionView, ...]:
    """The interactions that stay open when the turn ends: those of agents in the background, and of MCP servers."""
    at_work = {each.id for each in background if each.state == "running" and not each.is_awaited}
    return tuple(entry for entry in interactions if entry.tool == ELICITATION or entry.agent in at_work)
