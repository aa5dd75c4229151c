"""`bobstay permissions check` tells of the sandbox what a session would: which questions it spares (H5-2, H5-8)."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.cli.permissions_command import run
from tests.security.sandbox_world import new_folder

CASE = {"id": 1, "tool": "Bash", "command": "touch new", "rules": {}, "cwd": "/srv/proj"}


class Place:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self.work = folder / "home", folder / "work"
        (self.home / ".bobstay").mkdir(parents=True)
        self.work.mkdir()
        (folder / "letters").mkdir()
        self._capsys = capsys

    def write(self, sandbox: dict[str, Any], **permissions: Any) -> None:
        told = {"sandbox": sandbox, "permissions": permissions, "trustedFolders": [str(self.work)]}
        (self.home / ".bobstay/settings.json").write_text(json.dumps(told))

    def text(self, *arguments: str) -> str:
        run(["check", *arguments])
        return self._capsys.readouterr().out

    def check(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text(*arguments, "--json"))
        return found


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Place]:
    folder = new_folder()
    made = Place(folder, capsys)
    monkeypatch.chdir(made.work)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("BOBSTAY_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    yield made
    monkeypatch.chdir("/")
    shutil.rmtree(folder)


def test_a_question_that_the_sandbox_spares_is_allowed_and_the_reason_says_so(place: Place) -> None:
    place.write({"enabled": True, "autoAllow": True})
    found = place.check("touch new")
    assert (found["decision"], found["reason_type"]) == ("allow", "sandbox")
    assert "sandbox" in found["why"]
    assert "autoAllow" in found["why"]
    assert found["suggestions"] == []
    assert found["sandbox"] == {"enabled": True, "kind": "bwrap", "autoAllow": True}
    assert "sandbox bwrap" in place.text("touch new")


@pytest.mark.parametrize("sandbox", [{}, {"autoAllow": True}, {"enabled": True}, {"enabled": True, "autoAllow": False}])
def test_without_the_setting_it_is_asked_about(place: Place, sandbox: dict[str, Any]) -> None:
    place.write(sandbox)
    assert place.check("touch new")["decision"] == "ask"


def test_rules_modes_and_trust_come_before_the_sandbox(place: Place) -> None:
    place.write({"enabled": True, "autoAllow": True}, deny=["Bash(curl *)"], ask=["Bash(make *)"])
    assert place.check("curl x")["decision"] == "deny"
    assert place.check("make x")["decision"] == "ask"
    assert place.check("echo x > .git/config")["decision"] == "ask"
    assert place.check("rm -rf ~")["decision"] == "ask"
    for mode, expected in (("acceptEdits", "allow"), ("plan", "ask"), ("auto", "ask"), ("dontAsk", "deny")):
        assert place.check("./program", "--mode", mode)["decision"] == expected, mode
    assert place.check("--tool", "Edit", "a.txt")["decision"] == "ask"
    (place.home / ".bobstay/settings.json").write_text('{"sandbox": {"enabled": true, "autoAllow": true}}')
    assert place.check("touch new")["decision"] == "ask"


def test_a_wish_to_leave_the_sandbox_is_asked_about_whatever_the_rules(place: Place) -> None:
    place.write({"enabled": True, "autoAllow": True}, allow=["Bash"])
    given = json.dumps({"command": "touch new", "outside_sandbox": True})
    found = place.check("--input", given)
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
def test_what_visibly_touches_more_than_the_workspace_is_asked_about(place: Place, command: str) -> None:
    place.write({"enabled": True, "autoAllow": True})
    assert place.check(command)["decision"] == "ask"


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
def test_what_stays_in_the_workspace_is_not(place: Place, command: str) -> None:
    place.write({"enabled": True, "autoAllow": True})
    found = place.check(command)
    assert found["decision"] == "allow", found["why"]


def test_where_no_sandbox_works_nothing_is_spared_and_it_is_said_what_is_missing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "sunos5")  # where we know of no sandbox
    place.write({"enabled": True, "autoAllow": True})
    assert place.check("touch new")["decision"] == "ask"
    assert "none can be started" in place.text("touch new")


def test_written_down_cases_know_of_no_sandbox(place: Place) -> None:
    import io

    from bobstay.cli.check_command import judge_lines

    place.write({"enabled": True, "autoAllow": True})
    out = io.BytesIO()
    judge_lines(io.BytesIO(json.dumps(CASE).encode() + b"\n"), out)
    assert json.loads(out.getvalue())["decision"] == "ask"
