"""`bobstay permissions check` reports what the sandbox allows without asking, as a session would (H5-2, H5-8)."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.cli.permissions_command import run
from tests.kit.user_folders import UserFolders
from tests.security.probe_host import new_folder

CASE = {"id": 1, "tool": "Bash", "command": "touch new", "rules": {}, "cwd": "/srv/proj"}


class Workspace(UserFolders):
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        (folder / "letters").mkdir()
        self._capsys = capsys

    def settings(self, sandbox: dict[str, Any], **permissions: Any) -> None:
        settings = {"sandbox": sandbox, "permissions": permissions, "trustedFolders": [str(self.work)]}
        self.write("home/.bobstay/settings.json", settings)

    def text(self, *arguments: str) -> str:
        run(["check", *arguments])
        return self._capsys.readouterr().out

    def check(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text(*arguments, "--json"))
        return found


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Workspace]:
    folder = new_folder()
    made = Workspace(folder, capsys)
    monkeypatch.chdir(made.work)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("BOBSTAY_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    yield made
    monkeypatch.chdir("/")
    shutil.rmtree(folder)


def test_a_command_that_the_sandbox_allows_is_allowed_and_the_reason_says_so(workspace: Workspace) -> None:
    workspace.settings({"enabled": True, "autoAllow": True})
    found = workspace.check("touch new")
    assert (found["decision"], found["reason_type"]) == ("allow", "sandbox")
    assert "sandbox" in found["why"]
    assert "autoAllow" in found["why"]
    assert found["suggestions"] == []
    assert found["sandbox"] == {"enabled": True, "kind": "bwrap", "autoAllow": True}
    assert "sandbox bwrap" in workspace.text("touch new")


@pytest.mark.parametrize("sandbox", [{}, {"autoAllow": True}, {"enabled": True}, {"enabled": True, "autoAllow": False}])
def test_without_the_setting_it_is_asked_about(workspace: Workspace, sandbox: dict[str, Any]) -> None:
    workspace.settings(sandbox)
    assert workspace.check("touch new")["decision"] == "ask"


def test_rules_modes_and_trust_come_before_the_sandbox(workspace: Workspace) -> None:
    workspace.settings({"enabled": True, "autoAllow": True}, deny=["Bash(curl *)"], ask=["Bash(make *)"])
    assert workspace.check("curl x")["decision"] == "deny"
    assert workspace.check("make x")["decision"] == "ask"
    assert workspace.check("echo x > .git/config")["decision"] == "ask"
    assert workspace.check("rm -rf ~")["decision"] == "ask"
    for mode, expected in (("acceptEdits", "allow"), ("plan", "ask"), ("auto", "ask"), ("dontAsk", "deny")):
        assert workspace.check("./program", "--mode", mode)["decision"] == expected, mode
    assert workspace.check("--tool", "Edit", "a.txt")["decision"] == "ask"
    (workspace.home / ".bobstay/settings.json").write_text('{"sandbox": {"enabled": true, "autoAllow": true}}')
    assert workspace.check("touch new")["decision"] == "ask"


def test_a_request_to_leave_the_sandbox_is_asked_about_whatever_the_rules(workspace: Workspace) -> None:
    workspace.settings({"enabled": True, "autoAllow": True}, allow=["Bash"])
    given = json.dumps({"command": "touch new", "outside_sandbox": True})
    found = workspace.check("--input", given)
    assert (found["decision"], found["reason_type"]) == ("ask", "safety")


@pytest.mark.parametrize(
    "command",
    [
        "cat ../letters/one",
        "./program < ../letters/one",
        "./program ~/.profile",
        "./program --file=/etc/hostname",
        "touch ../new",
        "./program > ../new",
        "bash -c 'cat /etc/hostname; ./program'",
        "cd .. && ./program",
        "cat /tmp",
        "f() { cat /etc/hostname; }; f",
        "f() { ./program; }; echo x > .git/config",
    ],
)
def test_what_visibly_touches_more_than_the_workspace_is_asked_about(workspace: Workspace, command: str) -> None:
    workspace.settings({"enabled": True, "autoAllow": True})
    assert workspace.check(command)["decision"] == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "./program",
        "make -j2 test 2>/dev/null",
        "/usr/bin/env python3 -c 'import os'",
        "sed -i '/word/d' a.txt",
        "./program /tmp/scratch > /tmp/out",
        "npm install https://example.org/a.tgz",
        "x=1; for f in *; do ./program $f; done",
        "f() { ./program; }; f",
        "git commit -m 'see /etc/hostname'",
    ],
)
def test_what_stays_in_the_workspace_is_not(workspace: Workspace, command: str) -> None:
    workspace.settings({"enabled": True, "autoAllow": True})
    found = workspace.check(command)
    assert found["decision"] == "allow", found["why"]


def test_where_no_sandbox_works_nothing_is_allowed_and_the_reason_says_what_is_missing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "sunos5")  # where we know of no sandbox
    workspace.settings({"enabled": True, "autoAllow": True})
    assert workspace.check("touch new")["decision"] == "ask"
    assert "none can be started" in workspace.text("touch new")


def test_written_down_cases_know_of_no_sandbox(workspace: Workspace) -> None:
    import io

    from bobstay.cli.check_command import judge_lines

    workspace.settings({"enabled": True, "autoAllow": True})
    out = io.BytesIO()
    judge_lines(io.BytesIO(json.dumps(CASE).encode() + b"\n"), out)
    assert json.loads(out.getvalue())["decision"] == "ask"
