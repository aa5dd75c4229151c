"""The benchmark of the server's streams: what is measured are all watchers."""

import pytest

from benchmarks.server_fanout import reached
from benchmarks.server_watcher import Watcher


async def test_watchers_that_were_closed_are_no_measurement() -> None:
    """A server that lets most of them go would be the fastest."""
    there, gone = (Watcher("session:x", "127.0.0.1", "token") for _ in range(2))
    there.seq = gone.seq = 5
    await reached([there, gone], 5)
    gone.connection_lost(None)
    with pytest.raises(RuntimeError, match="1 of 2 watchers were closed"):
        await reached([there, gone], 5)
    with pytest.raises(ConnectionError):
        await gone.synchronized
