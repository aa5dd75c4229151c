"""The whole output of one call of a tool: from the file it was kept in, or from the session's log.

A log's entry holds what the model was shown. Where that was cut, the toolbox kept the whole in the session's output
folder and said where; only a file in that folder is believed to be it.
"""

import os
import re
from collections import OrderedDict
from hashlib import sha256

from msgspec import Struct

from bobstay.model.event import ToolDone
from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import open_directory, opened
from bobstay.server.sessions.log_reader import LogReader
from bobstay.sessions.log_codec import BadLine, decode

HEAD = TAIL = 32 * 1024
LONGEST_ID = 200
_REMEMBERED = 256
_PIECE = 1 << 20
_NAME = r"[A-Za-z0-9_-]{1,90}\.[a-z0-9]{1,8}"

_digests: "OrderedDict[tuple[str, int, int], str]" = OrderedDict()
"""Digests of files that were asked for lately, by path, size and time of change."""


class BlobEnds(Struct, frozen=True):
    """What an output begins and ends with, and what it is as a whole."""

    call_id: str
    size: int
    sha256: str
    head: str
    tail: str
    """Empty where `head` is all there is."""
    whole: bool
    """False where the tool itself kept only a part."""


class Blob:
    """An output, open for reading."""

    def __init__(self, *, handle: int = -1, data: bytes = b"", path: str = "", whole: bool = True) -> None:
        self.file = open(handle, "rb", buffering=0) if handle >= 0 else None  # noqa: SIM115 - closed by `close`
        self.size = os.fstat(handle).st_size if handle >= 0 else len(data)
        self.whole = whole
        self._data = data
        self._path = path

    def read(self, start: int, most: int) -> bytes:
        if self.file is None:
            return self._data[start : start + most]
        return os.pread(self.file.fileno(), most, start)

    def digest(self) -> str:
        """Read all of it once, piece by piece."""
        if self.file is None:
            return sha256(self._data).hexdigest()
        key = (self._path, self.size, os.fstat(self.file.fileno()).st_mtime_ns)
        if key not in _digests:
            digest, place = sha256(), 0
            while piece := self.read(place, min(_PIECE, self.size - place)):
                digest.update(piece)
                place += len(piece)
            _digests[key] = digest.hexdigest()
            while len(_digests) > _REMEMBERED:
                _digests.popitem(last=False)
        return _digests[key]

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def open_blob(reader: LogReader, session_id: str, call_id: str, output: str) -> Blob:
    """The output of a call. `output` is the folder that holds those of all sessions.

    Raises:
        ApiError: not_found.
    """
    done = _done(reader, call_id)
    if done is None:
        raise ApiError("not_found", "No call of this id has ended in this session.")
    text = done.reply.text
    folder = os.path.join(os.path.realpath(output), session_id)
    mentioned = f"/{os.path.basename(output)}/{session_id}/"
    for name in _names(text, mentioned, call_id):
        handle = _open(folder, name)
        if handle >= 0:
            return Blob(handle=handle, path=os.path.join(folder, name))
    return Blob(data=text.encode("utf-8", "replace"), whole=mentioned not in text)


def ends(blob: Blob, call_id: str) -> BlobEnds:
    """How it begins and ends. Reads all of it once for the digest."""
    head = blob.read(0, HEAD)
    tail = b"" if blob.size <= HEAD else blob.read(max(HEAD, blob.size - TAIL), TAIL)
    return BlobEnds(
        call_id, blob.size, blob.digest(), head.decode(errors="replace"), tail.decode(errors="replace"), blob.whole
    )


def _done(reader: LogReader, call_id: str) -> ToolDone | None:
    """The last answer to the call: a later one replaces an earlier."""
    if not call_id or len(call_id) > LONGEST_ID:
        return None
    found: ToolDone | None = None
    sought = call_id.encode("utf-8", "replace")
    for line in reader.lines():
        if sought in line and b'"tool_done"' in line:  # decoding every line of a long log would take seconds
            try:
                event = decode(line).event
            except BadLine:
                continue
            if isinstance(event, ToolDone) and event.reply.call_id == call_id:
                found = event
    return found


def _names(text: str, mentioned: str, call_id: str) -> list[str]:
    """Names of files that may hold the whole: those the answer names in the session's own folder."""
    named = re.findall(re.escape(mentioned) + "(" + _NAME + ")", text)
    own = "".join(letter for letter in call_id[:80] if letter.isascii() and (letter.isalnum() or letter in "-_"))
    return sorted(dict.fromkeys(named), key=lambda name: not name.startswith(own))[:4]


def _open(folder: str, name: str) -> int:
    try:
        place = open_directory(folder)
    except (ApiError, OSError):
        return -1
    try:
        with opened(place, [name.encode()]) as handle:
            return os.dup(handle)
    except ApiError:
        return -1
    finally:
        os.close(place)
