"""Reads the complete output of a tool call, from the file it was saved in or from the session's log.

An entry of the log holds what the model was shown. If that was cut, the complete output was saved in the session's
output folder and the entry names the file; only files in that folder are accepted.
"""

import os
import re
from collections import OrderedDict
from hashlib import sha256

from msgspec import Struct

from bobstay.model.event import ToolDone
from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import open_confined, open_directory
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.session_logs import EntryReader

HEAD = TAIL = 32 * 1024
LONGEST_ID = 200
_REMEMBERED = 256
_PIECE = 1 << 20
_NAME = r"[A-Za-z0-9_-]{1,90}\.[a-z0-9]{1,8}"

_digests: "OrderedDict[tuple[str, int, int], str]" = OrderedDict()
"""Digests of recently requested files, by path, size and modification time."""


class BlobEnds(Struct, frozen=True):
    """The beginning and the end of an output, with its size and digest."""

    call_id: str
    size: int
    sha256: str
    head: str
    tail: str
    """Empty if `head` is the complete output."""
    whole: bool
    """False if the tool itself kept only a part."""


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
        """The SHA-256 digest, computed by reading the output once."""
        if self.file is None:
            return sha256(self._data).hexdigest()
        key = (self._path, self.size, os.fstat(self.file.fileno()).st_mtime_ns)
        if key not in _digests:
            digest, offset = sha256(), 0
            while piece := self.read(offset, min(_PIECE, self.size - offset)):
                digest.update(piece)
                offset += len(piece)
            _digests[key] = digest.hexdigest()
            while len(_digests) > _REMEMBERED:
                _digests.popitem(last=False)
        return _digests[key]

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def open_blob(reader: EntryReader, session_id: str, call_id: str, output: str) -> Blob:
    """The output of a call. `output` is the output folder of all sessions.

    Raises:
        ApiError: not_found.
    """
    done = _done(reader, call_id)
    if done is None:
        raise ApiError("not_found", "No call with this id has ended in this session.")
    text = done.reply.text
    folder = os.path.join(os.path.realpath(output), session_id)
    mentioned = f"/{os.path.basename(output)}/{session_id}/"
    for name in _names(text, mentioned, call_id):
        handle = _open(folder, name)
        if handle >= 0:
            return Blob(handle=handle, path=os.path.join(folder, name))
    return Blob(data=text.encode("utf-8", "replace"), whole=mentioned not in text)


def read_ends(blob: Blob, call_id: str) -> BlobEnds:
    """The beginning and the end of an output. Reads all of it once for the digest."""
    head = blob.read(0, HEAD)
    tail = b"" if blob.size <= HEAD else blob.read(max(HEAD, blob.size - TAIL), TAIL)
    return BlobEnds(
        call_id, blob.size, blob.digest(), head.decode(errors="replace"), tail.decode(errors="replace"), blob.whole
    )


def _done(reader: EntryReader, call_id: str) -> ToolDone | None:
    """The last result of the call: a later one replaces an earlier one."""
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
    """Files that may hold the complete output: those in the session's own folder that the result names."""
    named = re.findall(re.escape(mentioned) + "(" + _NAME + ")", text)
    own = "".join(letter for letter in call_id[:80] if letter.isascii() and (letter.isalnum() or letter in "-_"))
    return sorted(dict.fromkeys(named), key=lambda name: not name.startswith(own))[:4]


def _open(folder: str, name: str) -> int:
    try:
        descriptor = open_directory(folder)
    except (ApiError, OSError):
        return -1
    try:
        with open_confined(descriptor, [name.encode()]) as handle:
            return os.dup(handle)
    except ApiError:
        return -1
    finally:
        os.close(descriptor)
