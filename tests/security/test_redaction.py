"""Nothing that is stored or shown contains a secret: logs, transcripts, frames, debug records (H12-4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.installed_command import InstalledCommand
from tests.kit.program import initialize, prompt
from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step, Think

PASSWORD = "correct-horse-battery"
TOKEN = "ghp_" + "Ab3" * 13
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop"
SECRETS = (PASSWORD, TOKEN, JWT)


class SecretiveCommand(InstalledCommand):
    """With a password in its environment."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        super().__init__(model, folder)
        self.variables |= {"DB_PASSWORD": PASSWORD, "BOBSTAY_DEBUG": "1"}

    def prompt(self, *arguments: str, text: str) -> tuple[str, str]:
        ended = self.run("-p", text, *arguments)
        return ended.stdout, ended.stderr

    def stored(self) -> dict[str, bytes]:
        """All files of the user's own folders."""
        return {str(path): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}

    def leaks(self, *shown: str) -> list[str]:
        found = {**self.stored(), **{f"output {number}": text.encode() for number, text in enumerate(shown)}}
        return [
            f"{secret[:6]}... in {name}"
            for name, data in found.items()
            for secret in SECRETS
            if secret.encode() in data
        ]


@pytest.fixture
def here(model: ModelServer, tmp_path: Path) -> SecretiveCommand:
    return SecretiveCommand(model, tmp_path)


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
async def test_no_secret_is_stored_or_shown(here: SecretiveCommand, form: tuple[str, ...]) -> None:
    token = here.model.play("secrets", *steps(here.work))
    debug = here.home / "debug.log"
    rules = ("--allowedTools", "Bash,Read", "--debug", "--debug-file", str(debug))
    out, err = here.prompt(*form, *rules, text=f"{token} what is {PASSWORD}?")
    assert "[masked DB_PASSWORD]" in out
    assert here.leaks(out, err) == []
    logs = [data for name, data in here.stored().items() if "/sessions/" in name]
    assert any(b"[masked GitHub token]" in data for data in logs)
    assert debug.stat().st_size > 0


async def test_the_transcript_of_the_sdk_holds_none_either(here: SecretiveCommand) -> None:
    token = here.model.play("secrets", *steps(here.work))
    here.prompt("--allowedTools", "Bash,Read", text=f"{token} go")
    transcripts = [data for name, data in here.stored().items() if "/projects/" in name]
    assert transcripts
    assert b"[masked DB_PASSWORD]" in transcripts[0]
    assert here.leaks() == []


async def test_what_the_model_is_sent_is_what_the_log_holds_and_a_resumed_session_sends_the_same(
    here: SecretiveCommand,
) -> None:
    token = here.model.play("secrets", *steps(here.work))
    session = "00000000-0000-4000-8000-00000000000a"
    here.prompt("--allowedTools", "Bash,Read", "--session-id", session, text=f"{token} go")
    last = here.model.requests[-1].body["messages"]
    assert not [secret for secret in SECRETS if secret in json.dumps(last)]
    again = here.model.play("again", Step(blocks=[Say("ok")]))
    here.prompt("--resume", session, text=again)
    resumed = here.model.requests[-1].body["messages"]
    assert _without_marks(resumed[: len(last)]) == _without_marks(last)


def _without_marks(value: Any) -> Any:
    """The same without cache breakpoints, which move from request to request."""
    if isinstance(value, dict):
        return {key: _without_marks(entry) for key, entry in value.items() if key != "cache_control"}
    return [_without_marks(entry) for entry in value] if isinstance(value, list) else value


async def test_output_files_hold_no_secret_not_even_one_that_was_written_in_two_pieces(here: SecretiveCommand) -> None:
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
    token = here.model.play("output", *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("ok")]))
    here.variables["IS_SANDBOX"] = "1"
    here.prompt("--dangerously-skip-permissions", text=token)
    outputs = {name: data for name, data in here.stored().items() if name.endswith(".output")}
    assert len(outputs) == 2
    for data in outputs.values():
        assert data.count(b"[masked DB_PASSWORD]") == 2
        assert data.count(b"[masked GitHub token]\n") == 1
        assert data.count(b"[masked JWT]") == 1
        assert data.count(b"has nothing to hide") == 16000
    assert here.leaks() == []


async def test_a_command_too_long_for_an_argument_leaves_no_file_behind(here: SecretiveCommand) -> None:
    command = f": {'x' * 120_000}; printf %s {TOKEN} > out.txt"
    token = here.model.play("long", Step(blocks=[Call("Bash", {"command": command}, "a")]), Step(blocks=[Say("ok")]))
    here.variables["IS_SANDBOX"] = "1"
    here.prompt("--dangerously-skip-permissions", text=token)
    assert (here.work / "out.txt").read_text() == TOKEN
    assert here.leaks() == []


async def test_a_persons_words_are_kept_as_typed_but_for_secrets_of_this_process(here: SecretiveCommand) -> None:
    token = here.model.play("typed", Step(blocks=[Say("ok")]))
    here.prompt(text=f"{token} use {TOKEN} and {PASSWORD}")
    sent = json.dumps(here.model.requests[-1].body["messages"])
    assert TOKEN in sent
    assert PASSWORD not in sent
    (log,) = [data for name, data in here.stored().items() if name.endswith(".jsonl") and "/sessions/" in name]
    assert TOKEN.encode() in log
    assert PASSWORD.encode() not in log


async def test_a_call_runs_as_it_was_made_though_it_is_remembered_masked(here: SecretiveCommand) -> None:
    call = Call("Bash", {"command": f"printf %s {TOKEN} > out.txt"}, "a")
    token = here.model.play("truth", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    here.variables["IS_SANDBOX"] = "1"
    here.prompt("--dangerously-skip-permissions", text=token)
    assert (here.work / "out.txt").read_text() == TOKEN
    assert here.leaks() == []


async def test_a_host_is_asked_about_a_masked_call_and_its_echo_changes_nothing(here: SecretiveCommand) -> None:
    call = Call("Bash", {"command": f"printf %s {TOKEN} > out.txt"}, "a")
    token = here.model.play("asked", Step(blocks=[call]), Step(blocks=[Say("ok")]))
    seen: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["subtype"] != "can_use_tool":
            return {}
        seen.append(request)
        return {"behavior": "allow", "updatedInput": request["input"]}

    options = ("--permission-prompt-tool", "stdio")
    program = await here.host(*options, answer=answer)
    program.send(initialize(), prompt(token))
    await program.until("result")
    await program.end()
    assert "[masked GitHub token]" in seen[0]["input"]["command"]
    assert (here.work / "out.txt").read_text() == TOKEN
    assert TOKEN not in json.dumps(program.frames)
    assert here.leaks() == []


async def test_what_stands_for_a_secret_is_not_written_over_it(here: SecretiveCommand) -> None:
    file = here.work / "env.txt"
    file.write_text(f"a=1\npassword={PASSWORD}\n")
    look = Step(blocks=[Call("Read", {"file_path": "env.txt"}, "a")])
    spoil = Call("Write", {"file_path": "env.txt", "content": "a=2\npassword=[masked DB_PASSWORD]\n"}, "b")
    mend = Call("Edit", {"file_path": "env.txt", "old_string": "a=1", "new_string": "a=2"}, "c")
    token = here.model.play("keep", look, Step(blocks=[spoil]), Step(blocks=[mend]), Step(blocks=[Say("ok")]))
    here.prompt("--permission-mode", "acceptEdits", text=token)
    assert file.read_text() == f"a=2\npassword={PASSWORD}\n"
    assert "stands for a secret" in json.dumps(here.model.requests[2].body["messages"])


async def test_children_do_not_have_what_is_masked(here: SecretiveCommand) -> None:
    look = Step(blocks=[Call("Bash", {"command": "env"}, "a")])
    token = here.model.play("env", look, Step(blocks=[Say("ok")]))
    here.prompt("--allowedTools", "Bash", text=token)
    given = json.dumps(here.model.requests[-1].body["messages"])
    assert "PATH=" in given
    assert "DB_PASSWORD" not in given
