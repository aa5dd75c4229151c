"""Redaction placeholders are never written to a file by any tool; ordinary words stay readable (H12-4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step
from tests.security.test_redaction import SecretiveCommand

KEY = "q8Zr41LmNp0xW7"
READ = Step(blocks=[Call("Read", {"file_path": "settings.ini"}, "a")])
DONE = Step(blocks=[Say("ok")])
STANDS = "[masked SERVICE_KEY]"


@pytest.fixture
def here(model: ModelServer, tmp_path: Path) -> SecretiveCommand:
    made = SecretiveCommand(model, tmp_path)
    made.variables |= {"SERVICE_KEY": KEY, "IS_SANDBOX": "1"}
    (made.work / "settings.ini").write_text(f"a=1\nkey={KEY}\n")
    return made


def replies(here: SecretiveCommand) -> str:
    return json.dumps(here.model.requests[-1].body["messages"])


@pytest.mark.parametrize(
    "command",
    [
        f"cat > settings.ini <<'EOF'\na=2\nkey={STANDS}\nEOF",
        f"sed -i 's/^key=.*/key={STANDS}/' settings.ini",
        f"printf '%s' '{STANDS}' | tee settings.ini",
        f'python3 -c \'open("settings.ini", "w").write("{STANDS}")\'',
    ],
)
async def test_a_command_that_could_write_what_stands_for_a_secret_is_not_run(
    here: SecretiveCommand, command: str
) -> None:
    spoil = Step(blocks=[Call("Bash", {"command": command}, "b")])
    here.prompt("--dangerously-skip-permissions", text=here.model.play("spoil", READ, spoil, DONE))
    assert (here.work / "settings.ini").read_text() == f"a=1\nkey={KEY}\n"
    told = replies(here)
    assert "stands for a secret" in told
    assert "ask the person" in told


async def test_a_notebook_is_not_given_what_stands_for_a_secret(here: SecretiveCommand) -> None:
    source: dict[str, Any] = {
        "cell_type": "code",
        "source": f"key = '{KEY}'",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    notebook = {"cells": [{**source, "id": "one"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (here.work / "a.ipynb").write_text(json.dumps(notebook))
    look = Step(blocks=[Call("Read", {"file_path": "a.ipynb"}, "a")])
    edit = {"notebook_path": "a.ipynb", "cell_id": "one", "new_source": f"key = '{STANDS}'"}
    spoil = Step(blocks=[Call("NotebookEdit", edit, "b")])
    here.prompt("--dangerously-skip-permissions", text=here.model.play("cells", look, spoil, DONE))
    assert KEY in (here.work / "a.ipynb").read_text()
    assert "stands for a secret" in replies(here)


async def test_a_search_for_what_stands_for_a_secret_is_harmless_and_runs(here: SecretiveCommand) -> None:
    search = [
        Call("Bash", {"command": f"grep -c '{STANDS}' settings.ini || echo none"}, "b"),
        Call("Grep", {"pattern": "masked SERVICE_KEY", "path": STANDS}, "c"),
    ]
    here.prompt("--dangerously-skip-permissions", text=here.model.play("search", READ, Step(blocks=[*search]), DONE))
    assert "stands for a secret" not in replies(here)


async def test_a_resumed_session_still_knows_what_stands_for_a_secret(here: SecretiveCommand) -> None:
    session = "00000000-0000-4000-8000-00000000000b"
    here.prompt("--session-id", session, text=here.model.play("first", READ, DONE))
    spoil = Step(blocks=[Call("Bash", {"command": f"echo 'key={STANDS}' > settings.ini"}, "b")])
    again = here.model.play("second", spoil, DONE)
    here.prompt("--resume", session, "--dangerously-skip-permissions", text=again)
    assert KEY in (here.work / "settings.ini").read_text()
    assert "stands for a secret" in replies(here)


async def test_an_ordinary_word_in_the_environment_leaves_code_readable_and_is_told_once(
    here: SecretiveCommand,
) -> None:
    here.variables |= {"PGPASSWORD": "password", "DATABASE_URL": "postgres://app:postgres@db/app"}
    (here.work / "app.py").write_text("def check_password(user):\n    return postgres.password(user)\n")
    look = Step(blocks=[Call("Read", {"file_path": "app.py"}, "a")])
    change = {"file_path": "app.py", "old_string": "def check_password(user)", "new_string": "def password(user)"}
    edit = Step(blocks=[Call("Edit", change, "b")])
    say = Step(blocks=[Say("the function check_password is done")])
    out, err = here.prompt("--permission-mode", "acceptEdits", text=here.model.play("word", look, edit, say))
    assert out.strip() == "the function check_password is done"
    assert (here.work / "app.py").read_text().startswith("def password(user)")
    assert "PGPASSWORD" in err
    assert "DATABASE_URL" in err
    assert "ordinary words" in err
    _, again = here.prompt(text=here.model.play("again", DONE))
    assert "PGPASSWORD" not in again


async def test_the_doctor_names_variables_that_are_not_redacted(here: SecretiveCommand) -> None:
    here.variables |= {"PGPASSWORD": "password"}
    out = here.run("doctor").stdout
    (line,) = [line for line in out.splitlines() if "PGPASSWORD" in line]
    assert line.startswith("warn  redaction")


async def test_a_command_that_names_a_withheld_variable_is_told_and_settings_pass_it(here: SecretiveCommand) -> None:
    """H5-9"""
    here.variables["GH_TOKEN"] = "t0ken-of-gh-99"
    look = Step(blocks=[Call("Bash", {"command": "echo ${#GH_TOKEN} $((40 + 2))"}, "a")])
    here.prompt("--allowedTools", "Bash", text=here.model.play("withheld", look, DONE))
    told = replies(here)
    assert "0 42" in told
    assert "GH_TOKEN. A person can pass it by name with `passVariables`" in told
    options = ("--allowedTools", "Bash", "--settings", '{"passVariables": ["GH_*"]}')
    here.prompt(*options, text=here.model.play("passed", look, DONE))
    assert "14 42" in replies(here)
    assert "passVariables" not in replies(here)
