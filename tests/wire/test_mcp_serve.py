"""`bobstay mcp serve` with the official client and the official inspector (H8-5, H4-7)."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    TextContent,
)

from bobstay.model.ids import new_id
from tests.kit.installed_command import InstalledCommand
from tests.kit.processes import is_alive, marked_processes
from tests.kit.program import BOBSTAY
from tests.kit.waiting import DEADLINE, until
from tests.modelserver import Call, ModelServer, Say, Step
from tests.modelserver.script import Gate
from tests.wire.flows import say

Mode = Literal["legacy", "auto"]
ROOT = Path(__file__).parents[2]
ALL_COMMANDS = ("--allowedTools", "Bash", "--permission-mode", "acceptEdits")
INSPECTOR = ROOT / "scripts" / "inspector"


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Clients of the handshake era, and of the era without requests of servers."""
    found: Mode = request.param
    return found


@asynccontextmanager
async def served(
    command: InstalledCommand, *arguments: str, mode: Mode = "legacy", elicit: ElicitationFnT | None = None
) -> AsyncGenerator[Client, None]:
    params = StdioServerParameters(
        command=BOBSTAY, args=["mcp", "serve", *arguments], env=command.variables, cwd=str(command.work)
    )
    async with Client(stdio_client(params), mode=mode, elicitation_callback=elicit) as client:
        yield client


class SharedServer:
    """`bobstay mcp serve --http` for many tests: to start one takes longer than most of them."""

    def __init__(self, command: InstalledCommand, url: str, token: str) -> None:
        self.command = command
        self.url = url
        self.token = token

    def file(self) -> Path:
        """A path in its folder that no other test has."""
        return self.command.work / f"made-{new_id()}.txt"

    @asynccontextmanager
    async def client(self, mode: Mode = "legacy", elicit: ElicitationFnT | None = None) -> AsyncGenerator[Client, None]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}, timeout=DEADLINE) as http,
            Client(
                streamable_http_client(self.url, http_client=http), mode=mode, elicitation_callback=elicit
            ) as client,
        ):
            yield client


@contextmanager
def shared_server(folder: Path, *arguments: str) -> Generator[SharedServer, None, None]:
    with ModelServer() as model:
        command = InstalledCommand(model, folder)
        line = [BOBSTAY, "mcp", "serve", "--http", *arguments]
        with subprocess.Popen(line, stderr=-1, text=True, cwd=command.work, env=command.variables) as running:
            assert running.stderr
            try:
                url, token = (running.stderr.readline().split()[-1] for _ in range(2))
                yield SharedServer(command, url, token)
            finally:
                running.terminate()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    with shared_server(tmp_path_factory.mktemp("shared")) as server:
        yield server


@pytest.fixture(scope="module")
def permissive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """One that asks nobody before it runs a command."""
    with shared_server(tmp_path_factory.mktemp("permissive"), *ALL_COMMANDS) as server:
        yield server


def text(result: CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


class Person:
    """Who is asked by elicitation."""

    def __init__(self, action: Literal["accept", "decline", "cancel"], decision: str = "allow") -> None:
        self.asked: list[str] = []
        self._answer = ElicitResult(action=action, content={"decision": decision} if action == "accept" else None)

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return self._answer


async def test_the_tools_and_the_sessions_are_offered(shared: SharedServer, mode: Mode) -> None:
    async with shared.client(mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"Read", "Edit", "Bash", "session_start", "session_interrupt"} <= tools.keys()
        assert not {"AskUserQuestion", "ExitPlanMode", "StructuredOutput"} & tools.keys(), "nobody is at a terminal"
        assert tools["Read"].input_schema["required"] == ["file_path"]


async def test_a_tool_works_in_the_served_folder(command: InstalledCommand, mode: Mode) -> None:
    command.write("work/a.txt", "hello\n")
    async with served(command, mode=mode) as client:
        assert "hello" in text(await client.call_tool("Read", {"file_path": str(command.work / "a.txt")}))


async def test_a_call_without_permission_is_denied_if_nobody_can_be_asked(shared: SharedServer, mode: Mode) -> None:
    made = shared.file()
    async with shared.client(mode) as client:
        result = await client.call_tool("Bash", {"command": f"touch {made}"})
    assert result.is_error
    assert "nobody is here to ask" in text(result)
    assert not made.exists()


async def test_a_rule_of_the_command_line_allows_a_call(command: InstalledCommand) -> None:
    async with served(command, "--allowedTools", "Bash(touch:*)") as client:
        assert not (await client.call_tool("Bash", {"command": "touch made.txt"})).is_error
    assert (command.work / "made.txt").exists()


async def test_a_denied_tool_is_not_offered(command: InstalledCommand) -> None:
    async with served(command, "--disallowedTools", "Bash") as client:
        assert "Bash" not in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("Bash", {"command": "true"})).is_error


async def test_a_person_is_asked_by_elicitation(command: InstalledCommand, mode: Mode) -> None:
    person = Person("accept")
    async with served(command, mode=mode, elicit=person) as client:
        result = await client.call_tool("Bash", {"command": "touch made.txt"})
    assert not result.is_error, text(result)
    assert (command.work / "made.txt").exists()
    assert "touch made.txt" in person.asked[0]


@pytest.mark.parametrize("person", [Person("decline"), Person("cancel"), Person("accept", "deny")])
async def test_what_a_person_does_not_allow_does_not_run(shared: SharedServer, mode: Mode, person: Person) -> None:
    made = shared.file()
    async with shared.client(mode, person) as client:
        assert (await client.call_tool("Bash", {"command": f"touch {made}"})).is_error
    assert not made.exists()


async def test_an_answer_is_for_the_call_that_was_shown_and_works_once(command: InstalledCommand) -> None:
    async with served(command, mode="auto", elicit=Person("decline")) as client:
        asked = await client.session.call_tool("Bash", {"command": "touch shown.txt"}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        answers: InputResponses = {
            key: ElicitResult(action="accept", content={"decision": "allow"}) for key in asked.input_requests or {}
        }
        more: dict[str, Any] = {"input_responses": answers, "request_state": asked.request_state}
        assert not (await client.session.call_tool("Bash", {"command": "touch other.txt"}, **more)).is_error
        assert (command.work / "shown.txt").exists()
        assert not (command.work / "other.txt").exists()
        again = await client.session.call_tool("Bash", {"command": "touch other.txt"}, **more)
        assert "This call is over" in text(again)
        forged = await client.session.call_tool("Bash", {"command": "touch other.txt"}, request_state="x")
        assert forged.is_error
    assert not (command.work / "other.txt").exists()


async def test_an_untrusted_folder_allows_nothing_by_its_own_rules(command: InstalledCommand) -> None:
    command.write("work/.claude/settings.json", {"permissions": {"allow": ["Bash(touch:*)"]}})
    async with served(command) as client:
        assert (await client.call_tool("Bash", {"command": "touch made.txt"})).is_error
    async with served(command, "--trust") as client:
        assert not (await client.call_tool("Bash", {"command": "touch made.txt"})).is_error


async def test_a_long_call_reports_progress(permissive: SharedServer, mode: Mode) -> None:
    seen: list[str] = []
    go = permissive.file()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")
        go.touch()

    line = f"echo begun; while [ ! -e {go} ]; do sleep 0.05; done; echo over"
    async with permissive.client(mode) as client:
        result = await client.call_tool("Bash", {"command": line}, progress_callback=report)
    assert "over" in text(result)
    assert any("begun" in message for message in seen)


async def test_a_cancelled_call_leaves_no_process(permissive: SharedServer, mode: Mode) -> None:
    pid_file = permissive.file()
    async with permissive.client(mode) as client:
        line = f"sleep 1000 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"
        call = asyncio.ensure_future(client.call_tool("Bash", {"command": line}))
        await until(pid_file.exists)
        pid = int(pid_file.read_text())
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: not is_alive(pid), "the command was left running")
        assert "still here" in text(await client.call_tool("Bash", {"command": "echo still here"}))


async def test_nothing_is_left_when_the_client_is_gone(command: InstalledCommand) -> None:
    pid_file = command.work / "pid"
    async with served(command, *ALL_COMMANDS) as client:
        line = f"sleep 1000 & echo $! > {pid_file}"
        await client.call_tool("Bash", {"command": line, "run_in_background": True})
        await until(lambda: pid_file.exists() and pid_file.read_text())
    await until(lambda: not is_alive(int(pid_file.read_text())))


async def test_the_calls_of_a_client_are_in_a_log(command: InstalledCommand) -> None:
    async with served(command) as client:
        await asyncio.gather(*(client.call_tool("Glob", {"pattern": f"*.{each}"}) for each in ("py", "md", "js")))
        listed = (await client.call_tool("session_list", {})).structured_content["sessions"]
        transcript = text(await client.call_tool("session_read", {"id": listed[0]["id"]}))
    assert listed[0]["first_prompt"] == "Tool calls of an MCP client"
    assert len(re.findall(r"\[calls Glob\]", transcript)) == 3
    assert len(re.findall(r"\[result\]", transcript)) == 3


async def test_a_client_that_calls_nothing_leaves_no_log(command: InstalledCommand) -> None:
    async with served(command) as client:
        await client.list_tools()
    assert list((command.home / ".bobstay" / "sessions").iterdir()) == []


# ---------------------------------------------------------------- sessions


async def test_a_session_is_started_continued_read_and_listed(command: InstalledCommand, mode: Mode) -> None:
    first = command.model.play("one", say("First answer."))
    second = command.model.play("two", say("Second answer."))
    async with served(command, mode=mode) as client:
        started = (await client.call_tool("session_start", {"prompt": first})).structured_content
        assert started["result"] == "First answer."
        sent = (await client.call_tool("session_send", {"id": started["id"], "prompt": second})).structured_content
        assert (sent["id"], sent["result"]) == (started["id"], "Second answer.")
        transcript = text(await client.call_tool("session_read", {"id": started["id"]}))
    assert transcript.index("First answer.") < transcript.index("Second answer.")
    async with served(command, mode=mode) as client:
        third = command.model.play("three", say("Third answer."))
        sent = (await client.call_tool("session_send", {"id": started["id"], "prompt": third})).structured_content
        assert sent["result"] == "Third answer.", "a new process continues it from its log"
        listed = (await client.call_tool("session_list", {})).structured_content["sessions"]
        assert started["id"] in [entry["id"] for entry in listed]


async def test_the_person_is_asked_for_what_a_session_wants_to_do(shared: SharedServer, mode: Mode) -> None:
    person, made = Person("accept"), shared.file()
    steps = (Step(blocks=[Call("Bash", {"command": f"touch {made}"}, "toolu_1")]), say("Done."))
    async with shared.client(mode, person) as client:
        prompt = shared.command.model.play(f"touch{mode}", *steps)
        result = await client.call_tool("session_start", {"prompt": prompt})
    assert result.structured_content["result"] == "Done."
    assert made.exists()
    assert len(person.asked) == 1


async def test_a_session_is_interrupted(shared: SharedServer) -> None:
    gate = Gate()
    steps = Step(blocks=[Say("Wait.")], gate=gate)
    async with shared.client() as client:
        prompt = shared.command.model.play("slow", steps)
        call = asyncio.ensure_future(client.call_tool("session_start", {"prompt": prompt}))
        await gate.reached()
        listed = (await client.call_tool("session_list", {})).structured_content["sessions"]
        (busy,) = [entry["id"] for entry in listed if entry["busy"]]
        busy_send = await client.call_tool("session_send", {"id": busy, "prompt": "more"})
        assert "is busy" in text(busy_send)
        assert not (await client.call_tool("session_interrupt", {"id": busy})).is_error
        result = await asyncio.wait_for(call, DEADLINE)
        gate.open()
    assert result.is_error
    assert result.structured_content["ending"].startswith("interrupted")


async def _listed(client: Client, prompt: str) -> dict[str, Any]:
    found = (await client.call_tool("session_list", {})).structured_content["sessions"]
    return next(dict(entry) for entry in found if prompt in entry["first_prompt"])


async def test_a_cancelled_session_call_ends_its_command_and_the_session_stays_usable(
    permissive: SharedServer, mode: Mode
) -> None:
    pid_file, model = permissive.file(), permissive.command.model
    line = f"sleep 1000 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"
    steps = (Step(blocks=[Call("Bash", {"command": line}, "toolu_1")]), say("Never."))
    prompt = model.play(f"long{mode}", *steps)
    again = model.play(f"again{mode}", say("Back again."))
    async with permissive.client(mode) as client:
        call = asyncio.ensure_future(client.call_tool("session_start", {"prompt": prompt}))
        await until(pid_file.exists)
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: not is_alive(int(pid_file.read_text())), "the command was left running")
        while (listed := await _listed(client, prompt))["busy"]:
            await asyncio.sleep(0.01)
        sent = await client.call_tool("session_send", {"id": listed["id"], "prompt": again})
    assert sent.structured_content["result"] == "Back again."


@pytest.mark.parametrize(
    ("tool", "given", "why"),
    [
        ("session_start", {}, "prompt is required"),
        ("session_start", {"prompt": "x", "cwd": "/"}, "outside the served folders"),
        ("session_start", {"prompt": "x", "cwd": "../"}, "outside the served folders"),
        ("session_start", {"prompt": 7}, "takes texts"),
        ("session_start", {"prompt": "x", "model": "nobody/nothing"}, "nobody"),
        ("session_send", {"id": "../../etc/passwd", "prompt": "x"}, "no session"),
        ("session_read", {"id": "unknown"}, "no session"),
        ("session_interrupt", {"id": "unknown"}, "No turn"),
        ("session_list", {"more": "x"}, "no arguments"),
    ],
)
async def test_a_bad_request_is_answered_with_what_is_wrong(
    shared: SharedServer, tool: str, given: dict[str, Any], why: str
) -> None:
    async with shared.client() as client:
        result = await client.call_tool(tool, given)
        assert result.is_error
        assert why in text(result)
        assert "Traceback" not in text(result)


async def test_sessions_of_other_folders_are_not_shown(command: InstalledCommand) -> None:
    other = command.folder / "other"
    other.mkdir()
    prompt = command.model.play("private", say("Private."))
    subprocess.run([BOBSTAY, "-p", prompt], cwd=other, env=command.variables, check=True, capture_output=True)
    async with served(command) as client:
        listed = (await client.call_tool("session_list", {})).structured_content["sessions"]
        assert str(other) not in [entry["cwd"] for entry in listed]


async def test_garbage_on_the_input_does_not_end_the_server(command: InstalledCommand) -> None:
    def serve() -> str:
        lines = [b"garbage", b"\xff\xfe", b"[" * 10_000, b'{"jsonrpc": "2.0"}', b'{"a":"' + b"x" * 2_000_000 + b'"}']
        call = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        lines += [
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode(),
            json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode(),
            json.dumps(call).encode(),
        ]
        done = subprocess.Popen(
            [BOBSTAY, "mcp", "serve"], stdin=-1, stdout=-1, stderr=-1, cwd=command.work, env=command.variables
        )
        assert done.stdin
        assert done.stdout
        done.stdin.write(b"\n".join(lines) + b"\n")
        done.stdin.flush()
        while b'"id":9' not in (line := done.stdout.readline()):
            assert line, "it ended"
        done.stdin.close()
        done.stdout.close()
        assert done.stderr
        errors = done.stderr.read().decode()
        done.stderr.close()
        assert done.wait(DEADLINE) == 0
        return line.decode() + errors

    answer = await asyncio.to_thread(serve)
    assert "session_start" in answer
    assert "Traceback" not in answer


async def test_a_server_that_is_told_to_end_leaves_nothing(command: InstalledCommand) -> None:
    running = await asyncio.create_subprocess_exec(
        BOBSTAY, "mcp", "serve", stdin=-1, stdout=-1, cwd=command.work, env={**command.variables, "MARK": "told-to-end"}
    )
    assert running.stdin
    assert running.stdout
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    running.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
    )
    await running.stdout.readline()
    running.terminate()
    assert await asyncio.wait_for(running.wait(), DEADLINE) == 0
    assert marked_processes("told-to-end") == []


# ---------------------------------------------------------------- HTTP


@asynccontextmanager
async def over_http(command: InstalledCommand, *arguments: str) -> AsyncGenerator[tuple[str, str], None]:
    running = await asyncio.create_subprocess_exec(
        BOBSTAY, "mcp", "serve", "--http", *arguments, stderr=-1, cwd=command.work, env=command.variables
    )
    assert running.stderr
    try:
        lines = [(await asyncio.wait_for(running.stderr.readline(), DEADLINE)).decode() for _ in range(2)]
        yield lines[0].split()[-1], lines[1].split()[-1]
    finally:
        running.terminate()
        assert await asyncio.wait_for(running.wait(), DEADLINE) == 0


async def test_a_client_with_the_token_is_served_over_http(shared: SharedServer) -> None:
    assert shared.url.startswith("http://127.0.0.1:")
    async with shared.client() as client:
        assert not (await client.call_tool("Glob", {"pattern": "*"})).is_error


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
async def test_others_are_turned_away(shared: SharedServer, header: dict[str, str]) -> None:
    async with httpx2.AsyncClient() as http:
        assert (await http.post(shared.url, json={}, headers=header)).status_code == 401


async def test_a_page_of_another_site_is_turned_away_even_with_the_token(command: InstalledCommand) -> None:
    token_file = command.write("token", "a-token-of-the-test-0123456789\n")
    async with over_http(command, "--token-file", str(token_file)) as (url, token), httpx2.AsyncClient() as http:
        assert token == "a-token-of-the-test-0123456789"
        headers = {"Authorization": f"Bearer {token}", "Origin": "https://evil.example"}
        assert (await http.post(url, json={}, headers=headers)).status_code == 403


async def test_an_http_server_that_is_told_to_end_leaves_nothing(command: InstalledCommand) -> None:
    pid_file = command.work / "pid"
    line = f"sleep 1000 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"
    async with (
        over_http(command, *ALL_COMMANDS) as (url, token),
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await client.call_tool("Bash", {"command": line, "run_in_background": True})
        await until(pid_file.exists)
    assert not is_alive(int(pid_file.read_text()))


# ---------------------------------------------------------------- the official inspector


def inspect(command: InstalledCommand, *arguments: str) -> Any:
    if shutil.which("npm") is None:
        pytest.skip("the inspector needs Node")
    subprocess.run(["bash", str(ROOT / "scripts/test_servers.sh")], check=True, timeout=250)
    inspector = str(INSPECTOR / "node_modules" / ".bin" / "mcp-inspector")
    environment = {**command.variables, "PATH": os.environ["PATH"]}
    line = [inspector, "--cli", BOBSTAY, "mcp", "serve", *arguments]
    done = subprocess.run(
        line, check=False, cwd=command.work, env=environment, capture_output=True, text=True, timeout=200
    )
    return json.loads(done.stdout or "null"), done


async def test_the_official_inspector_lists_and_calls_the_tools(command: InstalledCommand) -> None:
    command.write("work/a.txt", "hello\n")
    listed, done = await asyncio.to_thread(inspect, command, "--method", "tools/list")
    assert done.returncode == 0, done.stderr
    assert {"Read", "session_start"} <= {tool["name"] for tool in listed["tools"]}
    argument = f"file_path={command.work / 'a.txt'}"
    called, done = await asyncio.to_thread(
        inspect, command, "--method", "tools/call", "--tool-name", "Read", "--tool-arg", argument
    )
    assert done.returncode == 0, done.stderr
    assert "hello" in called["content"][0]["text"]
