"""Agent: let a sub-agent do a task."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.permissions.access import Access
from bobstay.tools.agent_service import AgentRequest, AgentService
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError


class AgentArgs(Args, frozen=True):
    description: Annotated[str, Meta(description="The task in three to five words")]
    prompt: Annotated[
        str,
        Meta(
            description="Everything the agent needs to know: it sees nothing of this conversation. Say what to find "
            "out or change, and what its answer should contain"
        ),
    ]
    subagent_type: Annotated[str, Meta(description="The type of agent; general-purpose unless given")] = (
        "general-purpose"
    )
    model: Annotated[str, Meta(description="Another model than the type's own, such as haiku, sonnet or opus")] = ""
    effort: Annotated[str, Meta(description="Another effort: low, medium, high, xhigh or max")] = ""
    run_in_background: Annotated[
        bool, Meta(description="Whether to go on at once and be told of the result later; true unless given")
    ] = True
    isolation: Annotated[
        Literal["", "worktree"],
        Meta(description="worktree: the agent works on a branch of its own in a separate working directory"),
    ] = ""


class AgentTool(Tool[AgentArgs]):
    name = "Agent"
    aliases = ("Task",)
    hint = "sub-agent, delegate, parallel work, explore, plan, worker, fork"
    description = """\
Start a sub-agent: an agent of its own that works on one task with its own context, and reports back. Use it for \
searches over many files, for independent parts of larger work (several calls in one message run side by side), and to \
keep long output out of this conversation. Not for a single read or search you can do yourself.

It runs in the background: you get its id at once, and its report as a message when it ends. Do not wait or poll: go \
on with something else, or end your turn. With run_in_background false you wait and get the report as the result. The \
report is for you: tell the person what matters in it. SendMessage gives an agent more work, TaskStop stops it."""
    args = AgentArgs
    cap = 100_000
    needs = "agents"

    def stable_result(self, text: str) -> str:
        return text.partition("agentId: ")[0]

    def access(self, args: AgentArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)  # each call of the sub-agent is judged itself

    def claims(self, args: AgentArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"agent:{context.call_id}"),)

    async def check(self, args: AgentArgs, context: Context) -> None:
        if not args.prompt.strip():
            raise ToolError("The prompt is empty. Say what the agent should do.")

    async def run(self, args: AgentArgs, context: Context) -> Outcome:
        agents = require_agents(context)
        request = AgentRequest(
            context.call_id,
            args.description,
            args.prompt,
            args.subagent_type or "general-purpose",
            args.model,
            args.effort,
            background=args.run_in_background,
            isolation=args.isolation,
        )
        if args.run_in_background:
            return _launched(await agents.start(request))
        return _finished(*await agents.run(request))


def require_agents(context: Context) -> AgentService:
    """The agent service of a session that offers sub-agents."""
    if context.services.agents is None:
        raise ToolError("Sub-agents are not available here.")
    return context.services.agents


def _launched(started: AgentStarted) -> Outcome:
    text = (
        f"The agent works in the background. You will get its report as a message when it ends.\n"
        f"agentId: {started.id} (for SendMessage and TaskStop)"
    )
    display = {
        "isAsync": True,
        "status": "async_launched",
        "agentId": started.id,
        "description": started.description,
        "prompt": started.prompt,
        "resolvedModel": started.model,
    }
    return Outcome(text, display=display)


def _finished(started: AgentStarted, ended: AgentEnded) -> Outcome:
    usage = ended.usage
    body = "\n".join(f"  {line}" for line in ended.text.splitlines()) or "  (It said nothing.)"
    worktree = f"\nIts changes are in the worktree {ended.worktree}, branch {started.branch}." if ended.worktree else ""
    text = (
        f"{ended.summary}. Its report:\n{body}\n\n"
        f"agentId: {ended.id} (for SendMessage, to continue with it){worktree}\n"
        f"<usage>total_tokens: {usage.context}\ntool_uses: {ended.tool_uses}\nduration_ms: {ended.duration_ms}</usage>"
    )
    display: dict[str, Any] = {
        "status": "completed" if ended.status == "completed" else ended.status,
        "prompt": started.prompt,
        "agentId": ended.id,
        "agentType": ended.agent_type,
        "content": [{"type": "text", "text": ended.text}],
        "resolvedModel": started.model,
        "totalDurationMs": ended.duration_ms,
        "totalTokens": usage.context,
        "totalToolUseCount": ended.tool_uses,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
        },
    }
    return Outcome(text, display=display, is_error=ended.status != "completed")
