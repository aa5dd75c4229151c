"""The keys of the process are not one `cat` away from the commands it runs (H5-9)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.modelserver import ModelServer
from tests.modelserver.script import Call, Say, Step
from tests.security.test_masking import Place

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


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


async def test_the_environment_and_the_arguments_a_command_can_read_of_bobstay_hold_no_key(
    server: ModelServer, tmp_path: Path
) -> None:
    """Reversed on the way, so that redaction of the output does not make the test pass."""
    here = Place(server, tmp_path)
    url = f"postgres://app:{KEY}@db/app"
    here.env |= {
        "SERVICE_KEY": KEY,
        "DATABASE_URL": url,
        "GITHUB_TOKEN": KEY,
        "IS_SANDBOX": "1",
        "MINE": "kept-as-it-is",
    }
    token = server.play("look", Step(blocks=[Call("Bash", {"command": LOOK}, "a")]), Step(blocks=[Say("ok")]))
    settings = json.dumps({"env": {"OTHER_KEY": KEY}})
    await here.run("--dangerously-skip-permissions", "--settings", settings, text=token)
    environ = (here.work / "environ.txt").read_text()
    assert "MINE=kept-as-it-is"[::-1] in environ
    assert "SERVICE_KEY="[::-1] in environ
    assert KEY[::-1] not in environ
    assert KEY[::-1] not in (here.work / "cmdline.txt").read_text()
    assert "bobstay"[::-1] in (here.work / "cmdline.txt").read_text()
