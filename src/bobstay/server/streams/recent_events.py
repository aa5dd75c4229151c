"""Ring buffer of the last durable events of all sessions, from which the stream of everything resumes.

There is no server-wide sequence on disk. A number from here is valid while the server runs and the ring reaches back
far enough; later clients start with a snapshot.
"""

import time
from collections import deque

from bobstay.server.streams.stream_frames import head_of

MOST_FRAMES = 4096
MOST_BYTES = 8 * 1024 * 1024
LINGER = 300.0
"""Seconds for which frames are still kept after the last subscriber left."""


class RecentEvents:
    def __init__(self, most_frames: int = MOST_FRAMES, most_bytes: int = MOST_BYTES, linger: float = LINGER) -> None:
        self.wanted = False
        """Whether there is, or recently was, a subscriber of everything."""
        self.last = 0
        """Number of the newest frame."""
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._linger = linger
        self._subscribed_at = 0.0

    def add(self, frame: bytes, *, subscribed: bool) -> bool:
        """Add the frame of a durable event; false for any other, which is not numbered."""
        now = time.monotonic()
        if subscribed:
            self._subscribed_at = now
        elif now - self._subscribed_at > self._linger:
            self.wanted = False
            self._frames.clear()
            self._bytes = 0
            return False
        if not head_of(frame).seq:
            return False
        self.last += 1
        self._frames.append(frame)
        self._bytes += len(frame)
        while len(self._frames) > self._most_frames or (self._bytes > self._most_bytes and len(self._frames) > 1):
            self._bytes -= len(self._frames.popleft())
        return True

    def after(self, number: int) -> list[bytes] | None:
        """The frames after `number`; None if the ring does not contain it."""
        first = self.last - len(self._frames)
        if not first <= number <= self.last:
            return None
        return [self._frames[index] for index in range(number - first, len(self._frames))]
