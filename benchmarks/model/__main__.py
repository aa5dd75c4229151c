"""Runs the model: `python -m benchmarks.model --folder DIR --log FILE [--port N]`; prints its port when it listens."""

import argparse
import asyncio
import gc
from pathlib import Path

from benchmarks.model.server import ModelServer


async def run(folder: str, log: Path, port: int) -> None:
    with log.open("ab") as lines:
        model = ModelServer(folder, lines)
        server = await asyncio.start_server(model.serve, "127.0.0.1", port, limit=1 << 22, backlog=256)
        gc.freeze()
        print(server.sockets[0].getsockname()[1], flush=True)
        async with server:
            await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True, help="where the working directories of the runs lie")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(run(options.folder, options.log, options.port))


if __name__ == "__main__":
    main()
