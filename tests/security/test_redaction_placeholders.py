"""Redaction placeholders are never written to a file by any tool; ordinary words stay readable (H12-4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step
from tests.security.test_redaction import InstalledProgram

KEY = "q8Zr41LmNp0xW7"
READ = Step(blocks=[Call("Read", {"file_path": "settings.ini"}, "a")])
DONE = Step(blocks=[Say("ok")])
STANDS = "[masked SERVICE_KEY]"


@pytest.fixture
def here(model: ModelServer, tmp_path: Path) -> InstalledProgram:
    place = InstalledProgram(model, tmp_path)
    place.env |= {"SERVICE_KEY": KEY, "IS_SANDBOX": "1"}
    (place.work / "settings.ini").write_text(f"a=1\nkey={KEY}\n")
    return place


def replies(here: InstalledProgram) -> str:
    return json.dumps(here.server.requests[-1].body["messages"])


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
    here: InstalledProgram, command: str
) -> None:
    spoil = Step(blocks=[Call("Bash", {"command": command}, "b")])
    await here.run("--dangerously-skip-permissions", text=here.server.play("spoil", READ, spoil, DONE))
    assert (here.work / "settings.ini").read_text() == f"a=1\nkey={KEY}\n"
    told = replies(here)
    assert "stands for a secret" in told
    assert "ask the person" in told


async def test_a_notebook_is_not_given_what_stands_for_a_secret(here: InstalledProgram) -> None:
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
    await here.run("--dangerously-skip-permissions", text=here.server.play("cells", look, spoil, DONE))
    assert KEY in (here.work / "a.ipynb").read_text()
    assert "stands for a secret" in replies(here)


async def test_a_search_for_what_stands_for_a_secret_is_harmless_and_runs(here: InstalledProgram) -> None:
    search = [
        Call("Bash", {"command": f"grep -c '{STANDS}' settings.ini || echo none"}, "b"),
        Call("Grep", {"pattern": "masked SERVICE_KEY", "path": STANDS}, "c"),
    ]
    await here.run(
        "--dangerously-skip-permissions", text=here.server.play("search", READ, Step(blocks=[*search]), DONE)
    )
    assert "stands for a secret" not in replies(here)


async def test_a_resumed_session_still_knows_what_stands_for_a_secret(here: InstalledProgram) -> None:
    session = "00000000-0000-4000-8000-00000000000b"
    await here.run("--session-id", session, text=here.server.play("first", READ, DONE))
    spoil = Step(blocks=[Call("Bash", {"command": f"echo 'key={STANDS}' > settings.ini"}, "b")])
    again = here.server.play("second", spoil, DONE)
    await here.run("--resume", session, "--dangerously-skip-permissions", text=again)
    assert KEY in (here.work / "settings.ini").read_text()
    assert "stands for a secret" in replies(here)


async def test_an_ordinary_word_in_the_environment_leaves_code_readable_and_is_told_once(
    here: InstalledProgram,
) -> None:
    here.env |= {"PGPASSWORD": "password", "DATABASE_URL": "postgres://app:postgres@db/app"}
    (here.work / "app.py").write_text("def check_password(user):\n    return postgres.password(user)\n")
    look = Step(blocks=[Call("Read", {"file_path": "app.py"}, "a")])
    change = {"file_path": "app.py", "old_string": "def check_password(user)", "new_string": "def password(user)"}
    edit = Step(blocks=[Call("Edit", change, "b")])
    say = Step(blocks=[Say("the function check_password is done")])
    out, err = await here.run("--permission-mode", "acceptEdits", text=here.server.play("word", look, edit, say))
    assert out.decode().strip() == "the function check_password is done"
    assert (here.work / "app.py").read_text().startswith("def password(user)")
    assert "PGPASSWORD" in err.decode()
    assert "DATABASE_URL" in err.decode()
    assert "ordinary words" in err.decode()
    _, again = await here.run(text=here.server.play("again", DONE))
    assert "PGPASSWORD" not in again.decode()


async def test_the_doctor_names_variables_that_are_not_redacted(here: InstalledProgram) -> None:
    import asyncio
    import sys

    here.env |= {"PGPASSWORD": "password"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bobstay", "doctor"),
        cwd=here.work,
        env=here.env,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    (line,) = [line for line in out.decode().splitlines() if "PGPASSWORD" in line]
    assert line.startswith("warn  redaction")


async def test_a_command_that_names_a_withheld_variable_is_told_and_settings_pass_it(here: InstalledProgram) -> None:
    """H5-9"""
    here.env["GH_TOKEN"] = "t0ken-of-gh-99"
    look = Step(blocks=[Call("Bash", {"command": "echo ${#GH_TOKEN} $((40 + 2))"}, "a")])
    await here.run("--allowedTools", "Bash", text=here.server.play("withheld", look, DONE))
    told = replies(here)
    assert "0 42" in told
    assert "GH_TOKEN. A person can pass it by name with `passVariables`" in told
    options = ("--allowedTools", "Bash", "--settings", '{"passVariables": ["GH_*"]}')
    await here.run(*options, text=here.server.play("passed", look, DONE))
    assert "14 42" in replies(here)
    assert "passVariables" not in replies(here)
