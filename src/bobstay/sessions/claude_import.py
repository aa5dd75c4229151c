"""Imports a Claude Code transcript as events, so that a session started there can be resumed here."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from bobstay.model.api_shape import blocks_from_json, stop_from_json, usage_from_json
from bobstay.model.event import (
    BlockDone,
    Decided,
    Durable,
    MessageDone,
    Prompted,
    RunDone,
    SessionStarted,
    ToolDone,
    TurnStarted,
)
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Stop, Text, ToolCall, ToolReply
from bobstay.sessions.claude_lines import TranscriptLine, derive_id, read_lines, select_branch
from bobstay.sessions.claude_paths import NAME_LENGTH, directory_name
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log_store import LogStore
from bobstay.version import __version__

COMMAND_PREFIXES = ("<command-name>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>")
"""Prefixes of the lines that a command such as `/model` or `!ls` writes and the model is not sent.

The lines of a command that is a prompt begin with `<command-message>`.
"""


class ImportedEvent(Struct, frozen=True):
    """An event with its id and time. Reading a transcript again gives the same ids, except for the first event."""

    id: str
    at: float
    event: Durable


def find_transcript(config_directory: str, cwd: str, session_id: str) -> Path | None:
    """Find the transcript of a session: first among those of `cwd`, then among all."""
    if os.path.basename(session_id) != session_id or session_id.startswith("."):
        return None
    projects = os.path.join(config_directory, "projects")
    own = directory_name(cwd)
    try:
        names = sorted(os.listdir(projects), key=lambda name: (name != own, name[:NAME_LENGTH] != own[:NAME_LENGTH]))
    except OSError:
        return None
    for name in names:
        path = Path(projects, name, f"{session_id}.jsonl")
        if path.is_file():
            return path
    return None


def import_transcript(store: LogStore, session_id: str, path: str | Path) -> JsonlLog:
    """Create a session from the transcript at `path`. The ids of its lines become the ids of the entries."""
    imported = read_entries(path)
    first = next(imported, None)
    started = first.event if first is not None and isinstance(first.event, SessionStarted) else None
    log = store.create(session_id, started or SessionStarted("", __version__, imported_from=str(path)))
    used = set()
    for entry in imported:
        entry_id = new_id() if entry.id in used else entry.id
        used.add(entry_id)
        log.append(entry.event, id=entry_id, at=entry.at)
    log.sync()
    return log


def read_entries(path: str | Path) -> Iterator[ImportedEvent]:
    """Yield the session in the transcript at `path` as events, beginning with `SessionStarted`.

    Bad and unknown lines and messages of sub-agents are skipped; an unreadable file yields no events.
    """
    lines = select_branch(read_lines(path))
    if not lines:
        return
    reader = _TranscriptReader(lines)
    yield ImportedEvent(new_id(), lines[0].at, reader.session_started(str(path)))
    for index, line in enumerate(lines):
        yield from reader.events(index, line)
    yield from reader.end()


class _TranscriptReader:
    """Converts the lines of one branch, tracking the current turn and its calls."""

    def __init__(self, lines: list[TranscriptLine]) -> None:
        self._lines = lines
        self._last_of_message = {line.message_id: index for index, line in enumerate(lines) if line.message_id}
        self._blocks_of_message: dict[str, int] = {}
        self._calls: dict[str, ToolCall] = {}
        self._turn = 0
        self._in_turn = False
        self._begun_by = ""
        """The line of the prompt that began the turn."""
        self._stop: Stop | None = None
        self._answer = ""
        self._steps = 0
        self._at = 0.0
        self._model = next((model for line in lines if (model := line.model)), "")

    def session_started(self, path: str) -> SessionStarted:
        cwd = next((line.cwd for line in self._lines if line.cwd), "")
        return SessionStarted(cwd, __version__, self._model, imported_from=path)

    def events(self, index: int, line: TranscriptLine) -> Iterator[ImportedEvent]:
        if line.kind == "assistant":
            yield from self._assistant(index, line)
        elif line.kind == "user":
            yield from self._user(line)
        elif line.kind == "attachment" and (queued := _queued_blocks(line)):
            yield from self._prompt(line, queued)
        self._at = line.at or self._at

    def end(self) -> Iterator[ImportedEvent]:
        """Close the open turn; the model's last stop reason decides whether it was finished."""
        if self._in_turn:
            self._in_turn = False
            finished = self._stop is not None and self._stop != "tool_use"
            ending = RunDone(
                "completed" if finished else "interrupted_streaming",
                self._answer if finished else "",
                self._stop or "",
                turns=self._steps,
            )
            yield ImportedEvent(derive_id(self._begun_by, "end"), self._at, ending)

    def _assistant(self, position: int, line: TranscriptLine) -> Iterator[ImportedEvent]:
        message_id = line.message_id or line.uuid
        index = self._blocks_of_message.get(message_id, 0)
        ids = line.ids()
        for block in blocks_from_json(line.message.get("content")):
            if isinstance(block, ToolReply):
                continue
            if isinstance(block, ToolCall):
                self._calls[block.id] = block
            if isinstance(block, Text):
                self._answer = block.text
            yield ImportedEvent(next(ids), line.at, BlockDone(message_id, index, block, line.model))
            index += 1
        self._blocks_of_message[message_id] = index
        if self._last_of_message.get(message_id, position) == position and index:
            self._stop = stop_from_json(line.message.get("stop_reason"))
            if self._stop is not None:
                self._steps += 1
                usage, request = usage_from_json(line.message.get("usage")), line.data.get("requestId")
                request_id = request if isinstance(request, str) else ""
                done = MessageDone(message_id, line.model, self._stop, usage, request_id=request_id)
                yield ImportedEvent(derive_id(line.uuid, "message"), line.at, done)

    def _user(self, line: TranscriptLine) -> Iterator[ImportedEvent]:
        content = line.message.get("content")
        blocks = blocks_from_json(content)
        replies = [block for block in blocks if isinstance(block, ToolReply)]
        ids = line.ids()
        for reply in replies:
            yield ImportedEvent(next(ids), line.at, self._tool_done(line, reply, alone=len(replies) == 1))
        prompt = tuple(block for block in blocks if not isinstance(block, ToolReply | ToolCall))
        if prompt:
            yield from self._prompt(line, prompt, next(ids))

    def _prompt(self, line: TranscriptLine, blocks: tuple[Block, ...], entry_id: str = "") -> Iterator[ImportedEvent]:
        why = _harness_reason(line, blocks)
        entry_id = entry_id or line.uuid
        if why:
            yield ImportedEvent(entry_id, line.at, Prompted(line.uuid, blocks, "harness", why=why))
            return
        if line.kind == "user":
            yield from self.end()
        yield ImportedEvent(entry_id, line.at, Prompted(line.uuid, blocks))
        if not self._in_turn:
            self._turn += 1
            self._in_turn, self._stop, self._answer, self._begun_by = True, None, "", line.uuid
            self._steps = 0
            mode = line.data.get("permissionMode")
            started = TurnStarted(self._turn, self._model, mode if isinstance(mode, str) else "default")
            yield ImportedEvent(derive_id(line.uuid, "turn"), line.at, started)

    def _tool_done(self, line: TranscriptLine, reply: ToolReply, *, alone: bool) -> ToolDone:
        call = self._calls.get(reply.call_id)
        display = line.data.get("toolUseResult") if alone else None
        decided = _parse_decision(line.data.get("permissionDecision"))
        return ToolDone(
            reply,
            call.name if call else "",
            display,
            decided=decided,
            denied=decided is not None and decided.verdict == "reject",
            interrupted=isinstance(display, dict) and display.get("interrupted") is True,
        )


def _queued_blocks(line: TranscriptLine) -> tuple[Block, ...]:
    """Return the message that a person sent while the model was busy, which is stored as an attachment."""
    attachment = line.data.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return ()
    blocks = blocks_from_json(attachment.get("prompt"))
    return tuple(block for block in blocks if not isinstance(block, ToolReply | ToolCall))


def _harness_reason(line: TranscriptLine, blocks: tuple[Block, ...]) -> str:
    """Return why the harness wrote a user line; empty if the user wrote it."""
    if line.data.get("isCompactSummary") is True:
        return "compact_summary"
    if line.data.get("isMeta") is True:
        return "imported"
    first = blocks[0]
    if not isinstance(first, Text):
        return ""
    if first.text.startswith("[Request interrupted by user"):
        return "interrupt"
    return "imported" if first.text.startswith(COMMAND_PREFIXES) else ""


def _parse_decision(data: Any) -> Decided | None:
    if not isinstance(data, dict) or data.get("decision") not in ("accept", "reject"):
        return None
    source, reason = data.get("source"), data.get("reasonType")
    return Decided(
        data["decision"],
        source if isinstance(source, str) else "",
        reason if isinstance(reason, str) else "",
    )
