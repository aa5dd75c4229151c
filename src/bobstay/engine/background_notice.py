"""The prompt that tells the model that a background command ended."""

from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import Prompted
from bobstay.model.message import Text

WHY = "background"


def notice(ended: BackgroundEnded) -> Prompted:
    """Build the prompt. It does not quote the command's output, which must not be mistaken for a prompt."""
    if ended.note:
        text = f"<system-reminder>\n{ended.title} hook feedback:\n{ended.note}\n</system-reminder>"
        return Prompted(ended.id, (Text(text),), "hook", why=WHY)
    fields = {
        "task-id": ended.id,
        "tool-use-id": ended.call_id,
        "output-file": ended.output_file,
        "status": ended.status,
        "summary": ended.summary,
    }
    lines = [f"<{name}>{_plain(value)}</{name}>" for name, value in fields.items() if value]
    text = "\n".join(("<task-notification>", *lines, "</task-notification>"))
    return Prompted(ended.id, (Text(text),), "harness", why=WHY)


def _plain(text: str) -> str:
    return text.replace("<", "&lt;")
