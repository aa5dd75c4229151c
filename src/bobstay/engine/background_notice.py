"""The prompt that tells the model that a background command or a sub-agent ended."""

from bobstay.model.agent_events import AgentEnded
from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import Prompted
from bobstay.model.message import Text

WHY = "background"


def notice(ended: BackgroundEnded | AgentEnded) -> Prompted:
    """Build the prompt. It does not quote a command's output, which must not be mistaken for a prompt."""
    if isinstance(ended, BackgroundEnded) and ended.note:
        text = f"<system-reminder>\n{ended.title} hook feedback:\n{ended.note}\n</system-reminder>"
        return Prompted(ended.id, (Text(text),), "hook", why=WHY)
    output = ended.output_file if isinstance(ended, BackgroundEnded) else ""
    fields = {
        "task-id": ended.id,
        "tool-use-id": ended.call_id,
        "output-file": output,
        "status": ended.status,
        "summary": ended.summary,
    }
    if isinstance(ended, AgentEnded):
        fields |= {"result": ended.text, "worktree": ended.worktree, "usage": _usage(ended)}
    lines = [f"<{name}>{_plain(value)}</{name}>" for name, value in fields.items() if value]
    text = "\n".join(("<task-notification>", *lines, "</task-notification>"))
    return Prompted(ended.notice, (Text(text),), "harness", why=WHY)


def _usage(ended: AgentEnded) -> str:
    tokens = ended.usage.context
    return f"total_tokens: {tokens}, tool_uses: {ended.tool_uses}, duration_ms: {ended.duration_ms}"


def _plain(text: str) -> str:
    return text.replace("<", "&lt;")
