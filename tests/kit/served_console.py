"""The real `bobstay serve` in a process of its own, and a client that came in by its one-time code."""

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.kit.environments import console_variables
from tests.kit.waiting import DEADLINE
from tests.modelserver.server import ModelServer


class ServedConsole:
    """One state directory; the server on it can be killed and started again."""

    def __init__(self, folder: Path, *arguments: str, model: ModelServer | None = None, **variables: str) -> None:
        """`arguments` are options of `bobstay serve`; without a `model` it has no key."""
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.variables = {**console_variables(folder, model), **variables}
        self.arguments = arguments
        self.process: subprocess.Popen[str] | None = None
        self.port = 0
        self.cookie = ""

    def start(self) -> Self:
        port = () if "PORT" in self.variables else ("--port", "0")
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bobstay", "serve", *port, "--no-browser", *self.arguments],
                cwd=self.folder,
                env=self.variables,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#code=(\S+)", line)
        assert found, f"{line!r} {(self.folder / 'server.log').read_text()[-2000:]}"
        self.port = int(found[1])
        answer = self.raw("POST", "/auth/exchange", {"code": found[2]})
        assert answer[0] == 200, answer
        self.cookie = answer[2]["set-cookie"].partition(";")[0]
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE)
        self._close()

    def stop(self) -> int:
        if self.process is None:
            return 0
        self.process.terminate()
        try:
            code = self.process.wait(DEADLINE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
        self._close()
        return code

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask("POST", path, {} if body is None else body)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        status, answer, _ = self.raw(method, path, body)
        assert status < 300, (method, path, status, answer)
        return answer

    def raw(
        self, method: str, path: str, body: Any = None, more: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Cookie": self.cookie, **(more or {})}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, f"/api/v1{path}", data, headers)
            answer = connection.getresponse()
            content = answer.read()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, json.loads(content) if content else None, given
        finally:
            connection.close()

    def launch(self, prompt: str, **more: Any) -> str:
        answer = self.post("/sessions", {"cwd": str(self.work), "prompt": prompt, **more})
        return str(answer["id"])

    def until(self, session_id: str, *statuses: str) -> Any:
        """The session once it is in one of these statuses."""
        return self._until(session_id, lambda view: view["status"] in statuses, f"not {statuses}")

    def until_turn(self, session_id: str, count: int) -> Any:
        """The session once its turn of this number is completed."""
        return self._until(
            session_id, lambda view: view["status"] == "completed" and view["turns"] >= count, f"not {count} turns"
        )

    def inbox(self) -> list[Any]:
        return list(self.get("/interactions")["interactions"])

    def decide(self, item: Any, decision: str = "allow", **more: Any) -> Any:
        body = {"decision": decision, "input_sha256": item["summary"]["input_sha256"], **more}
        return self.post(f"/interactions/{item['summary']['id']}/decision", body)

    def _until(self, session_id: str, condition: Callable[[Any], bool], why: str) -> Any:
        deadline = time.monotonic() + DEADLINE
        while not condition(view := self.get(f"/sessions/{session_id}")):
            assert time.monotonic() < deadline, f"{view['status']} ({view['error']}), {why}"
            time.sleep(0.02)
        return view

    def _close(self) -> None:
        assert self.process is not None
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None
