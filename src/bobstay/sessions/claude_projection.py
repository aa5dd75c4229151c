"""Projects a session's events to a Claude Code transcript, for hosts that read that format.

The log remains authoritative: the transcript is written after it, may lack the last lines after a crash (they are
added when the session is resumed), and a failure to write it does not stop the session.
"""

import os
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.api_shape import block_json, message_json
from bobstay.model.event import (
    BlockDone,
    Envelope,
    MessageDone,
    ModeChanged,
    Prompted,
    RunDone,
    ToolDone,
    TurnStarted,
)
from bobstay.model.ids import is_uuid, timestamp
from bobstay.model.message import Block, Text, ToolCall, text_of
from bobstay.sessions.claude_paths import project_directory
from bobstay.sessions.log_codec import Unstorable, to_json

TAIL_SIZE = 256 * 1024


class TranscriptOrigin(Struct, frozen=True):
    """The fields that every line repeats."""

    session_id: str
    cwd: str
    version: str
    entrypoint: str = "sdk-py"
    branch: str = ""
    agent: str = ""
    """The sub-agent whose transcript it is; "" for the session's own."""


class _PendingBlock(Struct):
    """A finished block of an unfinished message: its line also contains the message's stop reason and usage."""

    at: float
    uuid: str
    parent: str
    event: BlockDone


class ClaudeProjection:
    """Call `write` with every envelope, in order. With `mirror`, the written lines are kept for `drain`."""

    def __init__(self, config_directory: str, origin: TranscriptOrigin, *, mirror: bool = False) -> None:
        self.path = transcript_path(config_directory, origin)
        self.failure = ""
        """Why nothing more is written; empty while it works."""
        self._origin = origin
        self._mirror = mirror
        self._fd = -1
        self._written: list[dict[str, Any]] = []
        self._line_of: dict[str, str] = {}
        """By envelope id: its line, or the nearest line before it on its branch."""
        self._line_of_call: dict[str, str] = {}
        self._last = ""
        """Id of the last envelope."""
        self._prompts: set[str] = set()
        self._drafts: list[_PendingBlock] = []
        self._replies: list[dict[str, Any]] = []
        self._existing: set[str] = set()
        """Lines that the file already has, while a session is being resumed."""
        self._mode = "default"
        self._prompt = self._prompt_id = ""

    def resume(self, history: Iterable[Envelope]) -> None:
        """Resume a session: write the part of `history` that the file lacks."""
        envelopes = list(history)
        known = _find_uuids(self.path, {_line_uuid(envelope) for envelope in envelopes})
        done = max((index for index, envelope in enumerate(envelopes) if _line_uuid(envelope) in known), default=-1)
        self._existing = {_line_uuid(envelope) for envelope in envelopes[: done + 1]}
        for envelope in envelopes:
            self.write(envelope)
        self._flush()
        self._existing = set()

    def write(self, envelope: Envelope) -> None:
        """Project one envelope of this agent; those of others are skipped."""
        if envelope.agent != self._origin.agent:
            return
        # Agents share the log: the entry before this one may be that of another.
        parent = self._line_of.get(envelope.parent if envelope.parent in self._line_of else self._last, "")
        self._line_of[envelope.id] = parent
        self._last = envelope.id
        event = envelope.event
        if isinstance(event, BlockDone):
            self._add_block(envelope, event, parent)
        elif isinstance(event, MessageDone):
            self._flush(event)
        elif isinstance(event, ToolDone):
            self._add_reply(envelope, event, parent)
        elif isinstance(event, Prompted):
            self._flush()
            if event.blocked:  # a program that resumes from the transcript must not send it either
                return
            self._write_prompt(envelope, event, parent)
        elif isinstance(event, RunDone):
            self._flush()
            self._write_last_prompt(parent)
        elif isinstance(event, TurnStarted | ModeChanged):
            self._mode = event.mode

    def drain(self) -> list[dict[str, Any]]:
        """Return the lines written since the last call."""
        lines, self._written = self._written, []
        return lines

    def close(self) -> None:
        self._flush()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _add_block(self, envelope: Envelope, event: BlockDone, parent: str) -> None:
        if self._drafts:
            if self._drafts[0].event.message_id == event.message_id:
                parent = self._drafts[-1].uuid
            else:
                self._flush()
        if isinstance(event.block, ToolCall):
            self._line_of_call[event.block.id] = envelope.id
        self._drafts.append(_PendingBlock(envelope.at, envelope.id, parent, event))
        self._line_of[envelope.id] = envelope.id

    def _add_reply(self, envelope: Envelope, event: ToolDone, parent: str) -> None:
        call = self._line_of_call.get(event.reply.call_id, "")
        line = self._user_line(envelope.id, call or parent, envelope.at, [block_json(event.reply)])
        text = event.reply.text
        line["toolUseResult"] = event.display or (f"Error: {text}" if event.reply.is_error else text)
        if call:
            line["sourceToolAssistantUUID"] = call
        if event.decided is not None:
            line["permissionDecision"] = {
                "decision": event.decided.verdict,
                "source": event.decided.source,
                "reasonType": event.decided.reason_type,
            }
        self._replies.append(line)
        self._line_of[envelope.id] = envelope.id
        if not self._drafts:
            self._flush()

    def _write_prompt(self, envelope: Envelope, event: Prompted, parent: str) -> None:
        uuid = _line_uuid(envelope)
        if uuid in self._prompts:
            uuid = envelope.id
        self._prompts.add(uuid)
        self._prompt_id = event.id
        line = self._user_line(uuid, parent, envelope.at, _encode_content(event.blocks))
        if event.origin == "human":
            self._prompt = text_of(event.blocks)
            line["permissionMode"] = self._mode
            line["promptSource"] = "sdk"
        elif event.why == "compact_summary":
            line["isCompactSummary"] = True
        elif event.why not in ("interrupt", "agent"):
            line["isMeta"] = True
        self._line_of[envelope.id] = uuid
        self._emit([line])

    def _write_last_prompt(self, leaf: str) -> None:
        """Write the last prompt, which readers show in session lists."""
        if leaf and leaf not in self._existing:
            session_id = self._origin.session_id
            last = {"type": "last-prompt", "lastPrompt": self._prompt, "leafUuid": leaf, "sessionId": session_id}
            self._emit([last])

    def _flush(self, done: MessageDone | None = None) -> None:
        """Write the blocks that waited for the end of their message, then the replies that waited for them."""
        lines = [self._assistant_line(draft, done) for draft in self._drafts] + self._replies
        self._drafts, self._replies = [], []
        if lines:
            self._emit(lines)

    def _assistant_line(self, draft: _PendingBlock, done: MessageDone | None) -> dict[str, Any]:
        event = draft.event
        own = done if done is not None and done.message_id == event.message_id else None
        message = message_json(
            "assistant",
            (event.block,),
            id=event.message_id,
            model=own.model if own else event.model,
            stop=own.stop if own else None,
            usage=own.usage if own else event.usage,
        )
        line = self._line("assistant", draft.uuid, draft.parent, draft.at, message)
        if own is not None and own.request_id:
            line["requestId"] = own.request_id
        return line

    def _user_line(self, uuid: str, parent: str, at: float, content: Any) -> dict[str, Any]:
        line = self._line("user", uuid, parent, at, {"role": "user", "content": content})
        line["promptId"] = self._prompt_id
        return line

    def _line(self, kind: str, uuid: str, parent: str, at: float, message: dict[str, Any]) -> dict[str, Any]:
        agent = self._origin.agent
        return {
            "parentUuid": parent or None,
            "isSidechain": bool(agent),
            **({"agentId": agent} if agent else {}),
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": timestamp(at),
            "userType": "external",
            "entrypoint": self._origin.entrypoint,
            "cwd": self._origin.cwd,
            "sessionId": self._origin.session_id,
            "version": self._origin.version,
            "gitBranch": self._origin.branch,
        }

    def _emit(self, lines: list[dict[str, Any]]) -> None:
        lines = [line for line in lines if line.get("uuid") not in self._existing]
        if not lines or self.failure:
            return
        try:
            if self._fd < 0:
                self._fd = _open_transcript(self.path)
            _write_all(self._fd, b"".join(to_json(line) + b"\n" for line in lines))
        except (OSError, Unstorable) as error:
            self.failure = f"the transcript {self.path} is no longer written: {error}"
            return
        if self._mirror:
            self._written += lines


def transcript_path(config_directory: str, origin: TranscriptOrigin) -> str:
    folder = project_directory(config_directory, origin.cwd)
    if not origin.agent:
        return os.path.join(folder, f"{origin.session_id}.jsonl")
    return os.path.join(folder, origin.session_id, "subagents", f"agent-{origin.agent}.jsonl")


def _line_uuid(envelope: Envelope) -> str:
    """Return the uuid of an envelope's line. A prompt's line has the id that the host gave the prompt, if any."""
    event = envelope.event
    if isinstance(event, Prompted):
        return next((name for name in (event.client_id, event.id) if is_uuid(name)), envelope.id)
    return envelope.id


def _encode_content(blocks: tuple[Block, ...]) -> str | list[dict[str, Any]]:
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return [block_json(block) for block in blocks]


def _open_transcript(path: str) -> int:
    """Open a transcript for appending. A line that a crash left unfinished is terminated, so that readers skip it."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        os.write(fd, b"\n")
    return fd


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class _UuidOnly(Struct):
    uuid: str = ""


_uuid_decoder = msgspec.json.Decoder(_UuidOnly)


def _find_uuids(path: str, wanted: set[str]) -> set[str]:
    """Return which of `wanted` the transcript has; only its end is read if that contains any."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > TAIL_SIZE:
                file.seek(size - TAIL_SIZE)
                if found := _read_uuids(file) & wanted:
                    return found
                file.seek(0)
            return _read_uuids(file) & wanted
    except OSError:
        return set()


def _read_uuids(file: Iterable[bytes]) -> set[str]:
    names = set()
    for line in file:
        try:
            names.add(_uuid_decoder.decode(line).uuid)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
    return names
