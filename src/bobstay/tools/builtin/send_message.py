"""SendMessage: give another agent a message: one of this session, or of a session elsewhere."""

from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.agent_tool import require_agents
from bobstay.tools.peer_sessions import PeerSession, describe_peer, parse_peer, send_to_peer


class SendMessageArgs(Args, frozen=True):
    to: Annotated[
        str,
        Meta(
            description="The id or type of an agent you started; * for all that run; bridge:<session id> for a session "
            "of the console on this machine; uds:/path/to/socket#<session id> for one of another console"
        ),
    ]
    message: Annotated[str, Meta(description="What the agent should know or do next")]
    summary: Annotated[str, Meta(description="The message in five to ten words, for people")] = ""


class SendMessage(Tool[SendMessageArgs]):
    name = "SendMessage"
    hint = "message to agent, continue agent, follow up, steer worker, other session, peer"
    description = """\
Send a message to an agent you started. One that is working reads it after its current tool calls. One that has ended \
goes on with it in the background, knowing everything it did before, and you get another report.

A message to a session elsewhere (bridge:, uds:) is told to its agent as a message from another agent. No report comes \
back by itself: say in the message how to answer, if you need one."""
    args = SendMessageArgs
    needs = "agents"

    def access(self, args: SendMessageArgs, context: Context) -> tuple[Access, ...]:
        try:
            peer = _peer(args, context)
        except ToolError:  # `check` says what is wrong with it
            return (Access("peer", args.to),)
        if peer is None:
            return (Access("none"),)
        return tuple(Access("peer", name) for name in describe_peer(peer, context.services.console_socket))

    def claims(self, args: SendMessageArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"agent:{args.to}"),)

    async def check(self, args: SendMessageArgs, context: Context) -> None:
        if not args.message.strip():
            raise ToolError("The message is empty.")
        _peer(args, context)

    async def run(self, args: SendMessageArgs, context: Context) -> Outcome:
        peer = _peer(args, context)
        if peer is not None:
            session = await send_to_peer(
                peer,
                args.message,
                sender=f"session {context.session_id}",
                message_id=f"{context.session_id}:{context.call_id}",
            )
            text = f"The session {session} has the message, and its agent works on it when it is free."
            return Outcome(text, display={"success": True, "message": text})
        sent = await require_agents(context).send(args.to, args.message, call_id=context.call_id)
        if not sent:
            raise ToolError("No agent is running. Name one that has ended to continue with it.")
        lines = [
            f"{agent.id} ({agent.description}) reads it after its current tool calls."
            if running
            else f"{agent.id} ({agent.description}) had ended and goes on with it in the background."
            for agent, running in sent
        ]
        text = "\n".join(lines)
        return Outcome(text, display={"success": True, "message": text})


def _peer(args: SendMessageArgs, context: Context) -> PeerSession | None:
    return parse_peer(args.to, context.services.console_socket)
