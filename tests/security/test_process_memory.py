"""Commands cannot read the keys of the process from /proc (H5-9)."""

import json
from pathlib import Path

from tests.kit.program import BOBSTAY
from tests.kit.served_console import ServedConsole
from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step
from tests.security.test_redaction import SecretiveCommand

KEY = "q8Zr41LmNp0xW7tv"
LOOK = """
pid=$PPID
while [ "$pid" -gt 1 ]; do
  name=$(tr '\\0' ' ' < /proc/$pid/cmdline)
  case "$name" in *bobstay*)
    tr '\\0' '\\n' < /proc/$pid/environ | rev > environ.txt
    echo "$name" | rev > cmdline.txt
    break;;
  esac
  pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d ' ' -f 1)
done
"""


async def test_the_environment_and_the_arguments_a_command_can_read_of_bobstay_hold_no_key(
    model: ModelServer, tmp_path: Path
) -> None:
    """The output is reversed, so that redaction does not make the test pass."""
    here = SecretiveCommand(model, tmp_path)
    url = f"postgres://app:{KEY}@db/app"
    here.variables |= {
        "SERVICE_KEY": KEY,
        "DATABASE_URL": url,
        "GITHUB_TOKEN": KEY,
        "IS_SANDBOX": "1",
        "MINE": "kept-as-it-is",
    }
    token = model.play("look", Step(blocks=[Call("Bash", {"command": LOOK}, "a")]), Step(blocks=[Say("ok")]))
    settings = json.dumps({"env": {"OTHER_KEY": KEY}})
    here.prompt("--dangerously-skip-permissions", "--settings", settings, text=token)
    environ = (here.work / "environ.txt").read_text()
    assert "MINE=kept-as-it-is"[::-1] in environ
    assert "SERVICE_KEY="[::-1] in environ
    assert KEY[::-1] not in environ
    assert KEY[::-1] not in (here.work / "cmdline.txt").read_text()
    assert "bobstay"[::-1] in (here.work / "cmdline.txt").read_text()


def test_a_server_and_an_engine_it_runs_show_no_key_to_other_programs(model: ModelServer, tmp_path: Path) -> None:
    """The engine is bobstay itself in a separate process, which gets the keys."""
    variables = {
        "ANTHROPIC_API_KEY": KEY,
        "SERVICE_KEY": KEY,
        "DATABASE_URL": f"postgres://app:{KEY}@db/app",
        "MINE": "kept-as-it-is",
    }
    with ServedConsole(tmp_path, "--engine", f"own={BOBSTAY}", model=model, **variables) as served:
        session = served.launch(model.play("hello", Step(blocks=[Say("ok")])), engine="own")
        view = served.until(session, "completed")
        (engine,) = (worker["pid"] for worker in view["workers"] if worker["kind"] == "process")
        assert served.process is not None
        for pid in (served.process.pid, engine):
            environ = Path(f"/proc/{pid}/environ").read_text()
            assert "MINE=kept-as-it-is" in environ, "it is the process that was started with the keys"
            assert "ANTHROPIC_API_KEY=" in environ
            assert KEY not in environ
            assert KEY not in Path(f"/proc/{pid}/cmdline").read_text()
        assert {sent.headers["x-api-key"] for sent in model.requests} == {KEY}, "both work with the key"
