"""Calls every endpoint with what its description allows and forbids. By hand: `python -m tests.server.api.campaign`.

Nothing may answer with a status or a body the description does not know, and nothing may break.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import hypothesis
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from msgspec import Struct
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.kit.consoles import RunningConsole, console_in_a_thread
from tests.kit.environments import KEY
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

AnyCase: TypeAlias = "Case[Any]"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ENOUGH = 6
"""Sessions there are at any time."""
ENDLESS = "text/event-stream"


class Tally(Struct):
    calls: int = 0
    statuses: Counter[int] = Counter()
    failures: dict[str, str] = {}
    """By operation and kind, with an example each."""


def campaign(model: ModelServer, folder: Path, calls: int, seed: int = 0) -> Tally:
    """Make about so many calls to a console with some sessions in it."""
    with console_in_a_thread(model, folder) as server:
        visitor = _Visitor(server, model, seed)
        operations = list(_operations(server))
        # Of a path any text is good: only where there is more can anything be wrong.
        wrong = [operation for operation in operations if operation.body or operation.query]
        each = max(1, calls // (len(operations) + len(wrong)))
        for mode, some in ((GenerationMode.POSITIVE, operations), (GenerationMode.NEGATIVE, wrong)):
            for operation in some:
                _explore(operation, mode, each, seed, visitor.visit)
        return visitor.tally


class _Visitor:
    """Sends cases; some of them to sessions that really are there, for otherwise all would end with 404."""

    def __init__(self, server: RunningConsole, model: ModelServer, seed: int) -> None:
        self.tally = Tally()
        self._server = server
        self._random = Random(seed)
        model.play("hello", Step(blocks=[Say("hello")]))
        model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"})]), Step(blocks=[Say("ok")]))
        model.play("todo", Step(blocks=[Call("TodoWrite", {"todos": []})]), Step(blocks=[Say("ok")]))

    def visit(self, case: AnyCase) -> None:
        while len(self._server.registry.views) < ENOUGH:
            self._launch()
        self._make_real(case)
        response = case.call(base_url=f"{self._server.url}/api/v1", headers=self._server.headers, timeout=200)
        self.tally.calls += 1
        self.tally.statuses[response.status_code] += 1
        try:
            case.validate_response(response, checks=CHECKS)
        except BaseExceptionGroup as failed:
            for error in failed.exceptions:
                self._note(case, response.status_code, error)

    def _launch(self) -> None:
        prompt = self._random.choice(["", "SCN:hello", "SCN:ask", "SCN:todo"])
        body = {"cwd": str(self._server.work), "prompt": prompt}
        url = f"{self._server.url}/api/v1/sessions"
        requests.post(url, json=body, headers=self._server.headers, timeout=200).raise_for_status()

    def _note(self, case: AnyCase, status: int, error: BaseException) -> None:
        key = f"{case.operation.label} {type(error).__name__} {status}"
        self.tally.failures.setdefault(key, f"{error}\n{case.as_curl_command()}"[:4_000])

    def _make_real(self, case: AnyCase) -> None:
        views = list(self._server.registry.views.values())
        random = self._random
        if views and case.path_parameters and random.random() < 0.8:
            view = random.choice(views)
            waiting = [entry for each in views for entry in each.interactions]
            real = {
                "id": view.id,
                "call_id": random.choice([*view.open_calls, "c"]),
                "worker_id": random.choice([*(worker.id for worker in view.workers), "w"]),
                "input_id": random.choice([*(entry.id for entry in view.queued), "i"]),
            }
            if case.operation.path.startswith("/interactions") and waiting:
                real["id"] = random.choice(waiting).id
            if case.operation.path.startswith("/auth"):
                del real["id"]
            for name in case.path_parameters:
                case.path_parameters[name] = real.get(name, case.path_parameters[name])
        body: Any = case.body
        if isinstance(body, dict) and random.random() < 0.7:
            if isinstance(body.get("cwd"), str):
                body["cwd"] = str(self._server.work)
            for name in ("prompt", "content"):
                if isinstance(body.get(name), str):
                    body[name] = random.choice(["SCN:hello", "SCN:ask", "SCN:todo", body[name]])
            if "engine" in body:
                body["engine"] = random.choice(["native", "none"])
            for name in ("model", "permission_mode"):
                if isinstance(body.get(name), str):
                    body[name] = random.choice(["", body[name]])


def _operations(server: RunningConsole) -> Iterator[Any]:
    document = requests.get(f"{server.url}/openapi.json", headers=server.headers, timeout=200).json()
    schema = schemathesis.openapi.from_dict(document)
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        contents = [
            kind for answer in operation.definition.raw["responses"].values() for kind in answer.get("content", ())
        ]
        # A stream has no end, and whoever signs out is out.
        if ENDLESS not in contents and operation.path != "/auth/logout":
            yield operation


def _explore(operation: Any, mode: GenerationMode, calls: int, seed: int, visit: Callable[[AnyCase], None]) -> None:
    @settings(
        max_examples=calls,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.seed(seed)
    @given(case=operation.as_strategy(generation_mode=mode))
    def explore(case: AnyCase) -> None:
        visit(case)

    try:
        explore()
    except hypothesis.errors.Unsatisfiable:
        return  # nothing can be wrong about a call without parameters


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with ModelServer() as model, tempfile.TemporaryDirectory() as folder:
        tally = campaign(model, Path(folder), given.calls, given.seed)
    for key, example in tally.failures.items():
        print(f"--- {key}\n{example}\n")
    print(f"{tally.calls} calls; {dict(sorted(tally.statuses.items()))}; {len(tally.failures)} kinds of failures")
    assert KEY not in str(tally.failures)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
