"""Renders a session as Markdown: messages, tool calls, decisions and results."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    Advised,
    BlockDone,
    Durable,
    Envelope,
    HookRan,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    PermissionsChanged,
    Prompted,
    Pruned,
    Raw,
    RunDone,
    SessionStarted,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.ids import timestamp
from bobstay.model.message import Block, Image, Text, Thinking, ToolCall
from bobstay.model.session_events import ArtifactMade, Configured, InterruptAsked, SessionChanged, WorkerEvent
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log_codec import to_json

_TICKS = re.compile("`{3,}")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_MARKS = {"completed": "x", "in_progress": "-", "pending": " "}


def head(view: SessionView) -> Iterator[str]:
    """The title and the facts of the session."""
    yield f"# {_plain(view.title) or 'A session'}\n\n"
    facts = {
        "Session": view.id,
        "Directory": view.cwd,
        "Model": view.model,
        "Workflow": view.config.workflow,
        "Began": _moment(view.created_at),
        "Status": view.status,
        "Cost": f"${view.cost:.4f}" if view.cost else "",
    }
    for name, value in facts.items():
        if value:
            yield f"- {name}: {_plain(value)}\n"
    yield "\n"


def paragraphs(envelope: Envelope) -> Iterator[str]:
    """The Markdown of an entry; most have none."""
    whose = f" (agent {_plain(envelope.agent)})" if envelope.agent else ""
    event: Durable = envelope.event
    match event:
        case Prompted(origin="human", blocks=blocks, typed=typed):
            yield f"## User · {_moment(envelope.at)}\n\n{_blocks((Text(typed),) if typed else blocks)}\n\n"
        case AgentStarted(agent_type=kind, description=description):
            yield f"> Agent {_plain(kind)} started: {_plain(description)}\n\n"
        case AgentEnded():
            yield f"> {_plain(event.summary)}\n\n"
        case BlockDone(block=ToolCall() as call):
            yield f"### {_plain(call.name)}{whose}\n\n{fenced(_json(call.input), 'json')}\n\n"
        case BlockDone(block=block, partial=partial):
            yield f"## Assistant{whose}{' (cut short)' if partial else ''}\n\n{_blocks((block,))}\n\n"
        case ToolDone(reply=reply, denied=denied):
            word = "Not allowed" if denied else "Failed" if reply.is_error else "Result"
            yield f"{word}:\n\n{fenced(_output(reply.content))}\n\n"
        case InteractionClosed(outcome=outcome, by=by, message=message):
            who, why = f" by {_plain(by)}" if by else "", f": {_plain(message)}" if message else ""
            yield f"> {outcome.capitalize()}{who}{why}\n\n"
        case TasksReplaced(tasks=tasks):
            yield "".join(f"- [{_MARKS[task.status]}] {_plain(task.content)}\n" for task in tasks) + "\n"
        case ArtifactMade(kind=kind, title=title, text=text):
            yield f"## {kind.capitalize()}: {_plain(title)}\n\n{close_fences(text)}\n\n"
        case Noted(text=text, level=level):
            yield f"> {level}: {_plain(text)}\n\n"
        case ModeChanged(mode=mode):
            yield f"> Permission mode: {_plain(mode)}\n\n"
        case ModelChanged(model=model):
            yield f"> Model: {_plain(model)}\n\n"
        case RunDone(ending=ending, text=text) if ending != "completed":
            yield f"> The turn ended: {ending}.{f' {_plain(text)}' if text else ''}\n\n"
        case (
            WorkerEvent()
            | BackgroundEvent()
            | Prompted()
            | InputQueued()
            | InputDropped()
            | TurnStarted()
            | MessageDone()
            | Pruned()
            | RunDone()
            | InteractionOpened()
            | Advised()
            | ToolStarted()
            | PermissionsChanged()
            | HookRan()
            | Raw()
            | SessionStarted()
            | Configured()
            | SessionChanged()
            | InterruptAsked()
        ):
            return


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def close_fences(text: str) -> str:
    """Foreign Markdown with its last open code block closed, so that it does not swallow what follows."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _blocks(blocks: tuple[Block, ...]) -> str:
    return "\n\n".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    match block:
        case Text(text=text):
            return close_fences(text)
        case Thinking(text=text, redacted=redacted):
            value = "(hidden by the vendor)" if redacted else text
            return "\n".join(f"> {line}" for line in f"*Thinking:* {value}".splitlines())
        case Image():
            return _image(block)
        case _:
            return fenced(_json(block), "json")


def _output(parts: tuple[Text | Image, ...]) -> str:
    return "\n".join(part.text if isinstance(part, Text) else _image(part) for part in parts)


def _image(image: Image) -> str:
    return f"[{_plain(image.media_type)}, about {len(image.data) * 3 // 4} bytes]"


def _json(value: Any) -> str:
    return msgspec.json.format(to_json(value), indent=2).decode("utf-8", "replace")


def _plain(text: str) -> str:
    """On one line, with Markdown characters escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text[:2_000].split()))


def _moment(at: float) -> str:
    try:
        return timestamp(at)[:19].replace("T", " ") + " UTC" if at else ""
    except (OverflowError, ValueError, OSError):
        return ""
