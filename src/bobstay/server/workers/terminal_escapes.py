"""Filters escape sequences in terminal output that could harm the person who watches.

Operating system commands (OSC) can write the clipboard, make any text a link, set the window title so that it is
typed back, or request notifications. Only those that set colours, report the shell's directory and mark its prompts
are passed through, and links only to web addresses. Output arrives in arbitrary pieces, so a command may begin in one
and end in another; little of it is ever buffered.
"""

import re

KEPT = frozenset({4, 5, 7, 10, 11, 12, 17, 19, 104, 105, 110, 111, 112, 117, 119, 133, 633})
LINK = 8
LONGEST_LINK = 4_096
LONGEST_NUMBER = 64
_CONTROLS = rb"[\x00-\x17\x19\x1c-\x1f\x7f]"
"""Control characters that a terminal executes or ignores inside a command without ending it."""
_BEGIN = re.compile(rb"\x1b" + _CONTROLS + rb"*\]|\xc2\x9d")
_MAYBE = re.compile(rb"(?:\x1b" + _CONTROLS + rb"*|\xc2)\Z")
_END = re.compile(rb"\x07|\x1b|\x18|\x1a|\xc2\x9c")
_WEB = re.compile(rb"8;[^;\x00-\x1f]*;(?:https?://[^\x00-\x20\x7f]+)?", re.IGNORECASE)


class EscapeFilter:
    """Feed it output; it returns what may be shown."""

    def __init__(self) -> None:
        self._rest = b""
        """The end of the last piece, if it may begin a command or its terminator."""
        self._command: bytearray | None = None
        """The command so far, while it is undecided whether it is kept."""
        self._passing = False
        """Inside a command that is passed through."""
        self._dropping = False
        self._ended = False
        """The last piece ended with the ESC that ended a command: a backslash that follows belongs to it."""

    def feed(self, data: bytes) -> bytes:
        data, self._rest = self._rest + data, b""
        out: list[bytes] = []
        position = 2 if self._ended and data.startswith(b"\x1b\\") else 0
        self._ended = self._ended and data == b"\x1b"
        while position < len(data):
            if self._passing or self._dropping or self._command is not None:
                position = self._inside(data, position, out)
            else:
                position = self._outside(data, position, out)
        return b"".join(out)

    def _outside(self, data: bytes, position: int, out: list[bytes]) -> int:
        begin = _BEGIN.search(data, position)
        if begin is None:
            maybe = _MAYBE.search(data, position)
            end = maybe.start() if maybe else len(data)
            out.append(data[position:end])
            # Controls after an ESC are executed at once and need not be buffered with it.
            self._rest = data[end : end + 1]
            out.append(data[end + 1 :])
            return len(data)
        out.append(data[position : begin.start()])
        out.append(begin[0][1:-1] if begin[0].startswith(b"\x1b") else b"")
        self._command = bytearray()
        return begin.end()

    def _inside(self, data: bytes, position: int, out: list[bytes]) -> int:
        end = _END.search(data, position)
        stop = end.start() if end else len(data)
        if end is None and data.endswith(b"\xc2"):
            stop -= 1
            self._rest = b"\xc2"
        self._consume(data[position:stop], out)
        if end is None:
            return len(data)
        if self._command is not None:
            self._decide(out, ended=True)
        if self._passing:
            out.append(b"\x1b\\" if end[0] != b"\x07" else b"\x07")
        self._passing = self._dropping = False
        # An ESC ends the command: a following backslash belongs to it, anything else is new.
        if end[0] == b"\x1b":
            return self._after_escape(data, end.end(), out)
        return end.end()

    def _after_escape(self, data: bytes, position: int, out: list[bytes]) -> int:
        if position == len(data):
            self._rest = b"\x1b"
            self._ended = True
            return position
        if data[position : position + 1] == b"\\":
            return position + 1
        return position - 1

    def _consume(self, piece: bytes, out: list[bytes]) -> None:
        if self._passing:
            out.append(piece)
        elif self._command is not None:
            self._command += re.sub(_CONTROLS, b"", piece)
            self._decide(out, ended=False)

    def _decide(self, out: list[bytes], *, ended: bool) -> None:
        """Pass the command through or drop it, as soon as that can be decided."""
        assert self._command is not None
        number, separator, _ = bytes(self._command[:LONGEST_NUMBER]).partition(b";")
        if not separator and not ended and len(self._command) <= LONGEST_NUMBER:
            return
        code = int(number) if number.isdigit() else -1
        if code == LINK:
            if not ended and len(self._command) <= LONGEST_LINK:
                return
            keep = ended and len(self._command) <= LONGEST_LINK and bool(_WEB.fullmatch(bytes(self._command)))
            if not keep:
                # An open link must be closed, or it would extend over the text of this one.
                self._command[:], keep = b"8;;", ended
        else:
            keep = code in KEPT
        if keep:
            out.append(b"\x1b]" + bytes(self._command))
        self._passing, self._dropping, self._command = keep, not keep, None
