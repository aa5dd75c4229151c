"""Nothing that is stored or shown contains a secret: logs, transcripts, frames, debug records (H12-4)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.program import BOBSTAY, Program, environment, initialize, prompt
from tests.kit.waiting import DEADLINE
from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step, Think

PASSWORD = "correct-horse-battery"
TOKEN = "ghp_" + "Ab3" * 13
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop"
SECRETS = (PASSWORD, TOKEN, JWT)


class InstalledProgram:
    """The installed program in a folder, with a password in its environment."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        self.server, self.folder = model, folder
        self.work = folder / "work"
        self.work.mkdir()
        self.home = folder / "home"
        self.env = {**environment(model, self.home), "DB_PASSWORD": PASSWORD, "BOBSTAY_DEBUG": "1"}

    async def run(self, *arguments: str, text: str) -> tuple[bytes, bytes]:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *(BOBSTAY, "-p", text, *arguments), cwd=self.work, env=self.env, stdin=nothing, stdout=pipe, stderr=pipe
        )
        return await asyncio.wait_for(process.communicate(), DEADLINE)

    def stored(self) -> dict[str, bytes]:
        """All files of the user's own folders."""
        return {str(path): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}

    def leaks(self, *shown: bytes) -> list[str]:
        found = {**self.stored(), **{f"output {number}": data for number, data in enumerate(shown)}}
        return [
            f"{secret[:6]}... in {name}"
            for name, data in found.items()
            for secret in SECRETS
            if secret.encode() in data
        ]


@pytest.fixture
def here(model: ModelServer, tmp_path: Path) -> InstalledProgram:
    return InstalledProgram(model, tmp_path)


def steps(work: Path) -> list[Step]:
    """A session with secrets in files, output, errors, and in the model's text, thinking and calls."""
    (work / "env.txt").write_text(f"password={PASSWORD}\ntoken={TOKEN}\n")
    (work / "long.txt").write_text("\n".join(f"{number} {PASSWORD} {TOKEN}" for number in range(3000)))
    return [
        Step(
            blocks=[
                Think(f"the password is {PASSWORD}"),
                Say(f"I found {TOKEN} and {JWT}."),
                Call("Read", {"file_path": "env.txt"}, "a"),
            ]
        ),
        Step(blocks=[Call("Bash", {"command": "cat env.txt long.txt"}, "b")]),
        Step(blocks=[Call("Bash", {"command": f"cat env.txt >&2; exit 3 # {PASSWORD}"}, "c")]),
        Step(blocks=[Call("Grep", {"pattern": "token", "output_mode": "content"}, "d")]),
        Step(blocks=[Call("Read", {"file_path": f"missing-{TOKEN}"}, "e")]),
        Step(blocks=[Call("Nothing", {"x": PASSWORD}, "f")]),
        Step(blocks=[Say(f"Done. The password was {PASSWORD}.")]),
    ]


FORMATS = (
    ("--output-format", "text"),
    ("--output-format", "json", "--verbose"),
    ("--output-format", "stream-json", "--verbose"),
    ("--output-format", "stream-json", "--verbose", "--include-partial-messages"),
)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form[-1])
async def test_no_secret_is_stored_or_shown(here: InstalledProgram, form: tuple[str, ...]) -> None:
    token = here.server.play("secrets", *steps(here.work))
    debug = here.home / "debug.log"
    rules = ("--allowedTools", "Bash,Read", "--debug", "--debug-file", str(debug))
    out, err = await here.run(*form, *rules, text=f"{token} what is {PASSWORD}?")
    assert b"[masked DB_PASSWORD]" in out
    assert here.leaks(out, err) == []
    logs = [data for name, data in here.stored().items() if "/sessions/" in name]
    assert any(b"[masked GitHub token]" in data for data in logs)
    assert debug.stat().st_size > 0


async def test_the_transcript_of_the_sdk_holds_none_either(here: InstalledProgram) -> None:
    token = here.server.play("secrets", *steps(here.work))
    await here.run("--allowedTools", "Bash,Read", text=f"{token} go")
    transcripts = [data for name, data in here.stored().items() if "/projects/" in name]
    assert transcripts
    assert b"[masked DB_PASSWORD]" in transcripts[0]
    assert here.leaks() == []


async def test_what_the_model_is_sent_is_what_the_log_holds_and_a_resumed_session_sends_the_same(
    here: InstalledProgram,
) -> None:
    token = here.server.play("secrets", *steps(here.work))
    session = "00000000-0000-4000-8000-00000000000a"
    await here.run("--allowedTools", "Bash,Read", "--session-id", session, text=f"{token} go")
    last = here.server.requests[-1].body["messages"]
    assert not [secret for secret in SECRETS if secret in json.dumps(last)]
    again = here.server.play("again", Step(blocks=[Say("ok")]))
    await here.run("--resume", session, text=again)
    resumed = here.server.requests[-1].body["messages"]
    assert _without_marks(resumed[: len(last)]) == _without_marks(last)


def _without_marks(value: Any) -> Any:
    """The same without cache breakpoints, which move from request to request."""
    if isinstance(value, dict):
        return {key: _without_marks(entry) for key, entry in value.items() if key != "cache_control"}
    return [_without_marks(entry) for entry in value] if isinstance(value, list) else value


async def test_output_files_hold_no_secret_not_even_one_that_was_written_in_two_pieces(here: InstalledProgram) -> None:
    (here.work / "long.txt").write_text("".join(f"line {number} has nothing to hide\n" for number in range(8000)))
    half = len(TOKEN) // 2
    command = (
        f"echo {PASSWORD}; cat long.txt; printf %s {TOKEN[:half]}; sync .; echo {TOKEN[half:]}; cat long.txt; "
        f"printf %s {JWT[:9]} >&2; printf %s between; printf %s {JWT[9:]} >&2; printf %s {PASSWORD}"
    )
    calls = [
        Call("Bash", {"command": command}, "a"),
        Call("Bash", {"command": command, "run_in_background": True}, "b"),
    ]
    token = here.server.play("output", *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("ok")]))
    here.env["IS_SANDBOX"] = "1"
    await here.run("--dangerously-skip-permissions", text=token)
    outputs = {name: data for name, data in here.stored().items() if name.endswith(".output")}
    assert len(outputs) == 2
    for data in outputs.values():
        assert data.count(b"[masked DB_PASSWORD]") == 2
        assert data.count(b"[masked GitHub token]\n") == 1
        assert data.count(b"[masked JWT]") == 1
        assert data.count(b"has nothing to hide") == 16000
    assert here.leaks() == []


async def test_a_command_too_long_for_an_argument_leaves_no_file_behind(here: InstalledProgram) -> None:
    command = f": {'x' * 120_000}; printf %s {TOKEN} > out.txt"
    token = here.server.play("long", Step(blocks=[Call("Bash", {"command": command}, "a")]), Step(blocks=[Say("ok")]))
    here.env["IS_SANDBOX"] = "1"
    await here.run("--dangerously-skip-permissions", text=token)
    assert (here.work / "out.txt").read_text() == TOKEN
    assert here.leaks() == []


async def test_a_persons_words_are_kept_as_typed_but_for_secrets_of_this_process(here: InstalledProgram) -> None:
    token = here.server.play("typed", Step(blocks=[Say("ok")]))
    await here.run(text=f"{token} use {TOKEN} and {PASSWORD}")
    sent = json.dumps(here.server.requests[-1].body["messages"])
    assert TOKEN in sent
    assert PASSWORD not in sent
    (log,) = [data for name, data in here.stored().items() if name.endswith(".jsonl") and "/sessions/" in name]
    assert TOKEN.encode() in log
    assert PASSWORD.encode() not in log


async def test_a_call_runs_as_it_was_made_though_it_is_remembered_masked(here: InstalledProgram) -> None:
    call = Call("Bash", {"command": f"printf %s {TOKEN} > out.txt"}, "a")
    token = here.server.play("truth", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    here.env["IS_SANDBOX"] = "1"
    await here.run("--dangerously-skip-permissions", text=token)
    assert (here.work / "out.txt").read_text() == TOKEN
    assert here.leaks() == []


async def test_a_host_is_asked_about_a_masked_call_and_its_echo_changes_nothing(here: InstalledProgram) -> None:
    call = Call("Bash", {"command": f"printf %s {TOKEN} > out.txt"}, "a")
    token = here.server.play("asked", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    seen: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["subtype"] != "can_use_tool":
            return {}
        seen.append(request)
        return {"behavior": "allow", "updatedInput": request["input"]}

    options = ("--permission-prompt-tool", "stdio")
    program = await Program.start(BOBSTAY, *options, cwd=here.work, env=here.env, answer=answer)
    program.send(initialize(), prompt(token))
    await program.until("result")
    await program.end()
    assert "[masked GitHub token]" in seen[0]["input"]["command"]
    assert (here.work / "out.txt").read_text() == TOKEN
    assert TOKEN not in json.dumps(program.frames)
    assert here.leaks() == []


async def test_what_stands_for_a_secret_is_not_written_over_it(here: InstalledProgram) -> None:
    file = here.work / "env.txt"
    file.write_text(f"a=1\npassword={PASSWORD}\n")
    look = Step(blocks=[Call("Read", {"file_path": "env.txt"}, "a")])
    spoil = Call("Write", {"file_path": "env.txt", "content": "a=2\npassword=[masked DB_PASSWORD]\n"}, "b")
    mend = Call("Edit", {"file_path": "env.txt", "old_string": "a=1", "new_string": "a=2"}, "c")
    token = here.server.play("keep", look, Step(blocks=[spoil]), Step(blocks=[mend]), Step(blocks=[Say("ok")]))
    await here.run("--permission-mode", "acceptEdits", text=token)
    assert file.read_text() == f"a=2\npassword={PASSWORD}\n"
    assert "stands for a secret" in json.dumps(here.server.requests[2].body["messages"])


async def test_children_do_not_have_what_is_masked(here: InstalledProgram) -> None:
    look = Step(blocks=[Call("Bash", {"command": "env"}, "a")])
    token = here.server.play("env", look, Step(blocks=[Say("ok")]))
    await here.run("--allowedTools", "Bash", text=token)
    given = json.dumps(here.server.requests[-1].body["messages"])
    assert "PATH=" in given
    assert "DB_PASSWORD" not in given
