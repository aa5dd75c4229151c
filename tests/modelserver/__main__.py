"""Run the test model by hand: `python -m tests.modelserver --port 0 [--scenarios file.json]`; prints its port."""

import argparse
import threading
from pathlib import Path

import msgspec

from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

BUILT_IN: dict[str, list[Step]] = {
    "hello": [Step(blocks=[Say("Hello.")])],
    "shell": [Step(blocks=[Call("Bash", {"command": "echo hi"})]), Step(blocks=[Say("Done.")])],
    "busy": [Step(status=529, message="Overloaded", times=2, then=Step(blocks=[Say("Back again.")]))],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scenarios", type=Path, help='JSON: {"name": [{"blocks": [{"type": "say", "text": "hi"}]}]}')
    options = parser.parse_args()
    scenarios = BUILT_IN
    if options.scenarios:
        scenarios = msgspec.json.decode(options.scenarios.read_bytes(), type=dict[str, list[Step]], dec_hook=_refuse)
    with ModelServer({name: list(steps) for name, steps in scenarios.items()}, port=options.port) as server:
        print(server.port, flush=True)
        threading.Event().wait()


def _refuse(kind: type, _: object) -> object:
    raise NotImplementedError(f"a {kind.__name__} cannot come from a file")


if __name__ == "__main__":
    main()
