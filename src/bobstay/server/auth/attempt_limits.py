"""Rate limit of failed sign-ins: counts failures by key and says how long to wait."""

from collections import deque
from collections.abc import Callable

MOST_KEYS = 10_000


class Attempts:
    """Counts failures by a key, such as an address, over the last `window` seconds; `most` of them are allowed."""

    def __init__(self, most: int, window: float, clock: Callable[[], float]) -> None:
        self._most = most
        self._window = window
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}

    def wait(self, key: str) -> float:
        """Seconds until the next attempt is allowed; 0 if one is allowed now."""
        failures = self._failures.get(key)
        if failures is None or len(failures) < self._most:
            return 0.0
        return max(failures[0] + self._window - self._clock(), 0.0)

    def record_failure(self, key: str) -> None:
        failures = self._failures.pop(key, None)
        if failures is None:
            failures = deque(maxlen=self._most)
            if len(self._failures) >= MOST_KEYS:
                del self._failures[next(iter(self._failures))]
        # Inserted again at the end, so that the keys that stopped failing are evicted first.
        self._failures[key] = failures
        failures.append(self._clock())

    def remove_last_failure(self, key: str) -> None:
        """Undo the last `record_failure`, after an attempt that turned out right."""
        failures = self._failures.get(key)
        if failures:
            failures.pop()

    def forget(self, key: str) -> None:
        self._failures.pop(key, None)
