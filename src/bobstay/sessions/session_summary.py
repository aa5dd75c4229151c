"""Session summaries for lists, read from the first and last part of the log file only."""

import os
import re
from typing import BinaryIO

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, MessageDone, ModelChanged, Prompted, SessionStarted, TurnStarted
from bobstay.model.message import text_of
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.log_scan import BUFFER_SIZE

END_SIZE = 64 * 1024
HEAD_SIZE = 2 << 20
"""How far the first prompt is looked for: instruction files precede it."""
PROMPT_LENGTH = 200


class SessionSummary(Struct, frozen=True):
    """Summary of a session. Fields are empty if the file does not contain them."""

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
        """Count prompts and answers. This reads the whole file: use it only for visible sessions."""
        count = 0
        try:
            with open(self.path, "rb", buffering=BUFFER_SIZE) as file:
                for line in file:
                    prompted = b'"event":{"type":"prompted"' in line and b'"origin":"harness"' not in line
                    count += prompted or b'"event":{"type":"message_done"' in line
        except OSError:
            return count
        return count


def summarise(session_id: str, path: str, status: os.stat_result) -> SessionSummary:
    """Return the summary of the log at `path`. An unreadable file still has an id and a time."""
    try:
        with open(path, "rb") as file:
            head, cut = _read_head(file)
            tail = _read_tail(file, status.st_size)
    except OSError:
        head, cut, tail = [], b"", []
    first_prompt = _find_first_prompt(head) or _find_prompt_in_partial_line(cut)
    known = [*head, *tail]
    cwds = [entry.event.cwd for entry in known if isinstance(entry.event, SessionStarted)]
    return SessionSummary(
        session_id,
        path,
        cwds[-1] if cwds else "",
        first_prompt,
        _find_model(known),
        (tail or head)[-1].at if tail or head else status.st_mtime,
        status.st_size,
        tuple(dict.fromkeys(cwds)),
    )


def _read_head(file: BinaryIO) -> tuple[list[Envelope], bytes]:
    """Return the entries at the start of the file, and the start of the entry that did not fit."""
    entries: list[Envelope] = []
    cut = b""
    for size in (END_SIZE, HEAD_SIZE - END_SIZE):
        data = file.read(size)
        lines = (cut + data).split(b"\n")
        cut = lines.pop() if len(data) == size else b""
        entries += _decode_entries(lines)
        if not cut or _find_first_prompt(entries) or _find_prompt_in_partial_line(cut):
            break
    return entries, cut


def _read_tail(file: BinaryIO, size: int) -> list[Envelope]:
    if size <= END_SIZE:
        return []
    file.seek(max(END_SIZE, size - END_SIZE))
    return _decode_entries(file.read(END_SIZE).split(b"\n")[1:])


def _decode_entries(lines: list[bytes]) -> list[Envelope]:
    entries = []
    for line in lines:
        try:
            entries.append(decode(line))
        except BadLine:
            continue
    return entries


def _find_first_prompt(entries: list[Envelope]) -> str:
    for entry in entries:
        event = entry.event
        if isinstance(event, Prompted) and event.origin == "human" and (text := _shorten(text_of(event.blocks))):
            return text
    return ""


_PARTIAL_PROMPT = rb'(?s)"type":"prompted".*?"type":"text","text":("(?:[^"\\]|\\.)*)'


def _find_prompt_in_partial_line(piece: bytes) -> str:
    """Find the text of a prompt in the start of its line: a line with an image is longer than what is read."""
    found = re.search(_PARTIAL_PROMPT, piece)
    if found is None or found[1].startswith(b'"<system-reminder>'):
        return ""
    try:
        return _shorten(msgspec.json.decode(found[1].decode("utf-8", "ignore") + '"', type=str))
    except (msgspec.DecodeError, ValueError):
        return ""


def _shorten(text: str) -> str:
    text = " ".join(text[: 4 * PROMPT_LENGTH].split())
    return text if len(text) <= PROMPT_LENGTH else text[: PROMPT_LENGTH - 1].rstrip() + "…"


def _find_model(entries: list[Envelope]) -> str:
    for entry in reversed(entries):
        event = entry.event
        if isinstance(event, TurnStarted | ModelChanged | MessageDone | SessionStarted) and event.model:
            return event.model
    return ""
