"""Asynchronous locks by name, each of which exists only while it is held or waited for."""

import asyncio
from weakref import WeakValueDictionary


class NamedLocks:
    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock
