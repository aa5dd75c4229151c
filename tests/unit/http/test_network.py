"""Opening a connection, and giving up while it is opened."""

import asyncio
import contextlib
import gc
import warnings

from bobstay.http.network import ConnectionTarget, dial
from tests.kit.sockets import listening


async def _until_closed(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def test_an_attempt_cancelled_at_any_moment_leaves_no_socket_open() -> None:
    async with listening(_until_closed) as address:
        host, _, port = address.rpartition(":")
        target = ConnectionTarget(tls=False, host=host, port=int(port))
        with warnings.catch_warnings(record=True) as leaks:
            warnings.simplefilter("always", ResourceWarning)
            for steps in range(12):
                attempt = asyncio.create_task(dial(asyncio.Protocol(), target, None, host))
                for _ in range(steps):
                    await asyncio.sleep(0)
                attempt.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    (await attempt).abort()
                del attempt
                gc.collect()
        assert [str(leak.message) for leak in leaks] == []
