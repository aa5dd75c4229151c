"""A language server for tests that misbehaves as told: `python scripted_language_server.py BEHAVIOUR`.

It answers like a good one unless the behaviour says otherwise. A line with `BAD` in a file is an error.
"""

import json
import os
import subprocess
import sys
from typing import Any

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else ""


def send(**message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline():
        if line == b"\r\n":
            return json.loads(sys.stdin.buffer.read(length))  # type: ignore[no-any-return]  # whatever bobstay sends
        length = int(line.partition(b":")[2])
    return None


def publish(uri: str, version: int, text: str) -> None:
    if BEHAVIOUR == "silent":
        return
    found = [
        {
            "range": {"start": {"line": number, "character": len(line.partition("BAD")[0].encode("utf-16-le")) // 2}},
            "severity": 1,
            "message": f"bad: {line.strip()}",
            "source": "scripted",
        }
        for number, line in enumerate(text.split("\n"))
        if "BAD" in line
    ]
    if BEHAVIOUR == "stale":
        send(
            method="textDocument/publishDiagnostics", params={"uri": uri, "version": version - 1, "diagnostics": found}
        )
        found = []
    send(method="textDocument/publishDiagnostics", params={"uri": uri, "version": version, "diagnostics": found})


def serve() -> None:
    while (message := receive()) is not None:
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        if BEHAVIOUR == "hang":
            continue
        if method == "initialize":
            send(id=number, result={"capabilities": {}})
        elif method == "textDocument/didOpen":
            document = params["textDocument"]
            publish(document["uri"], document["version"], document["text"])
        elif method == "textDocument/didChange":
            document = params["textDocument"]
            publish(document["uri"], document["version"], params["contentChanges"][0]["text"])
        elif method == "textDocument/hover":
            misbehave()
            value = configuration() if BEHAVIOUR == "configured" else f"process {os.getpid()}"
            send(id=number, result={"contents": {"kind": "plaintext", "value": value}})
        elif method == "exit" and BEHAVIOUR != "stays":
            return
        elif number is not None and method != "shutdown":
            send(id=number, error={"code": -32601, "message": f"no {method} here"})
        elif number is not None and BEHAVIOUR != "stays":
            send(id=number, result=None)


def configuration() -> str:
    """What bobstay answers when it is asked for settings."""
    sections = [{"section": "python"}, {"section": "python.analysis"}, {"section": "other"}]
    send(id="settings", method="workspace/configuration", params={"items": sections})
    answer = receive()
    return json.dumps(answer and answer.get("result"))


def misbehave() -> None:
    match BEHAVIOUR:
        case "dies":
            sys.stderr.write("out of cheese\n")
            os._exit(3)
        case "garbage":
            sys.stdout.buffer.write(b"Traceback (most recent call last): " * 1000)
            sys.stdout.buffer.flush()
        case "huge":
            sys.stdout.buffer.write(b"Content-Length: 4000000000\r\n\r\n")
            sys.stdout.buffer.flush()
        case "flood":
            while True:
                send(method="window/logMessage", params={"message": "x" * 100_000})
        case "asks":
            for number in range(20):
                send(id=f"q{number}", method="workspace/unheardOf", params={})
        case _:
            pass


if __name__ == "__main__":
    if BEHAVIOUR in ("children", "stays"):
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
    serve()
