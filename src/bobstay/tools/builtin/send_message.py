"""SendMessage: give a sub-agent another message."""

from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.agent_tool import require_agents


class SendMessageArgs(Args, frozen=True):
    to: Annotated[str, Meta(description="The id or type of an agent you started; * for all that run")]
    message: Annotated[str, Meta(description="What the agent should know or do next")]
    summary: Annotated[str, Meta(description="The message in five to ten words, for people")] = ""


class SendMessage(Tool[SendMessageArgs]):
    name = "SendMessage"
    hint = "message to agent, continue agent, follow up, steer worker"
    description = """\
Send a message to an agent you started. One that is working reads it after its current tool calls. One that has ended \
goes on with it in the background, knowing everything it did before, and you get another report."""
    args = SendMessageArgs
    needs = "agents"

    def access(self, args: SendMessageArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: SendMessageArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"agent:{args.to}"),)

    async def check(self, args: SendMessageArgs, context: Context) -> None:
        if not args.message.strip():
            raise ToolError("The message is empty.")

    async def run(self, args: SendMessageArgs, context: Context) -> Outcome:
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
