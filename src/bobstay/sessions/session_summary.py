"""What a list of sessions shows of each, read from the two ends of its log file and nowhere else."""

import os
import re
from typing import BinaryIO

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, MessageDone, ModelChanged, Prompted, SessionStarted, TurnStarted
from bobstay.model.message import text_of
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.log_scan import BUFFER

END_SIZE = 64 * 1024
PROMPT_LENGTH = 200


class SessionSummary(Struct, frozen=True):
    """A session at a glance. Fields are empty where the file does not tell."""

    id: str
    path: str
    cwd: str
    first_prompt: str
    model: str
    last_activity: float
    """Seconds since the epoch."""
    size: int
    cwds: tuple[str, ...] = ()
    """Every directory the session is known to have been started in."""

    def messages(self) -> int:
        """Count prompts and answers. This reads the whole file: ask only for what is on the screen."""
        count = 0
        try:
            with open(self.path, "rb", buffering=BUFFER) as file:
                for line in file:
                    count += b'"event":{"type":"prompted"' in line or b'"event":{"type":"message_done"' in line
        except OSError:
            return count
        return count


def summarise(session_id: str, path: str, status: os.stat_result) -> SessionSummary:
    """Return the summary of the log at `path`. A file that cannot be read still has an id and a date."""
    try:
        with open(path, "rb") as file:
            head, cut = _head(file)
            tail = _tail(file, status.st_size)
    except OSError:
        head, cut, tail = [], b"", []
    first_prompt = _first_prompt(head) or _prompt_in_piece(cut)
    known = [*head, *tail]
    cwds = [entry.event.cwd for entry in known if isinstance(entry.event, SessionStarted)]
    return SessionSummary(
        session_id,
        path,
        cwds[-1] if cwds else "",
        first_prompt,
        _model(known),
        (tail or head)[-1].at if tail or head else status.st_mtime,
        status.st_size,
        tuple(dict.fromkeys(cwds)),
    )


def _head(file: BinaryIO) -> tuple[list[Envelope], bytes]:
    """Return the entries at the beginning, and the beginning of the one that did not fit."""
    data = file.read(END_SIZE)
    lines = data.split(b"\n")
    cut = lines.pop() if len(data) == END_SIZE else b""
    return _entries(lines), cut


def _tail(file: BinaryIO, size: int) -> list[Envelope]:
    if size <= END_SIZE:
        return []
    file.seek(max(END_SIZE, size - END_SIZE))
    return _entries(file.read(END_SIZE).split(b"\n")[1:])


def _entries(lines: list[bytes]) -> list[Envelope]:
    entries = []
    for line in lines:
        try:
            entries.append(decode(line))
        except BadLine:
            continue
    return entries


def _first_prompt(entries: list[Envelope]) -> str:
    for entry in entries:
        event = entry.event
        if isinstance(event, Prompted) and event.origin == "human" and (text := _shortened(text_of(event.blocks))):
            return text
    return ""


_PROMPT_PIECE = rb'(?s)"type":"prompted".*?"type":"text","text":("(?:[^"\\]|\\.)*)'


def _prompt_in_piece(piece: bytes) -> str:
    """Find the words of a prompt in the beginning of its line: one with a picture is longer than we read."""
    found = re.search(_PROMPT_PIECE, piece)
    if found is None:
        return ""
    try:
        return _shortened(msgspec.json.decode(found[1].decode("utf-8", "ignore") + '"', type=str))
    except (msgspec.DecodeError, ValueError):
        return ""


def _shortened(text: str) -> str:
    text = " ".join(text[: 4 * PROMPT_LENGTH].split())
    return text if len(text) <= PROMPT_LENGTH else text[: PROMPT_LENGTH - 1].rstrip() + "…"


def _model(entries: list[Envelope]) -> str:
    for entry in reversed(entries):
        event = entry.event
        if isinstance(event, TurnStarted | ModelChanged | MessageDone | SessionStarted) and event.model:
            return event.model
    return ""
