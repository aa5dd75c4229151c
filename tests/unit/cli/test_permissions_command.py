"""`bobstay permissions`: decisions explained, rules listed, added and removed (H5-2, H5-6, H5-10)."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.cli.check_command import MAX_LINE, judge_lines
from bobstay.cli.main import run as main
from bobstay.cli.permissions_command import run
from tests.kit.user_folders import UserFolders
from tests.kit.waiting import DEADLINE

LOCAL = ".bobstay/settings.local.json"


class Project(UserFolders):
    """A project, its user's home, and the command run there."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        self._capsys = capsys
        self.errors = ""

    def settings(self, text: str | dict[str, Any], file: str = LOCAL, *, user: bool = False) -> Path:
        content = text if isinstance(text, str) else json.dumps(text, indent=2)
        return self.write(f"{'home' if user else 'work'}/{file}", content)

    def trust(self) -> None:
        self.settings({"trustedFolders": [str(self.work)]}, ".bobstay/settings.json", user=True)

    def __call__(self, *arguments: str) -> tuple[int, str]:
        code = run(list(arguments))
        captured = self._capsys.readouterr()
        self.errors = captured.err
        return code, captured.out

    def json(self, *arguments: str) -> Any:
        code, out = self(*arguments, "--json")
        assert code in (0, 3, 4), self.errors
        return json.loads(out)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    place = Project(tmp_path, capsys)
    monkeypatch.chdir(place.work)
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.delenv("BOBSTAY_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return place


# ---------------------------------------------------------------- check


def test_the_exit_code_says_what_would_be_decided(project: Project) -> None:
    project.trust()
    project.settings({"permissions": {"deny": ["Bash(rm:*)"]}})
    assert project("check", "ls")[0] == 0
    assert project("check", "touch new")[0] == 3
    assert project("check", "rm x")[0] == 4
    assert main(["permissions", "check", "ls"]) == 0


def test_a_decision_by_a_rule_names_the_rule_its_source_its_file_and_its_line(project: Project) -> None:
    project.trust()
    file = project.settings(
        '{\n  "permissions": {\n    "deny": [\n      "Read(.env)",\n      "Bash(rm:*)"\n    ]\n  }\n}'
    )
    code, out = project("check", "rm -f x")
    assert code == 4
    assert "Bash(rm:*)" in out
    assert f"{file}:5" in out
    report = project.json("check", "rm -f x")
    assert report["rule"] == {"text": "Bash(rm:*)", "list": "deny", "source": "local", "file": str(file), "line": 5}
    assert report["source"] == "local"
    assert "#" not in report["why"]


def test_the_same_rule_in_two_files_is_found_in_the_stronger_one(project: Project) -> None:
    project.trust()
    weaker = project.settings({"permissions": {"ask": ["Bash(make:*)"]}}, ".bobstay/settings.json")
    assert project.json("check", "make x")["rule"]["file"] == str(weaker)
    stronger = project.settings({"permissions": {"ask": ["Bash(make:*)"]}})
    assert project.json("check", "make x")["rule"]["file"] == str(stronger)


def test_what_would_be_asked_comes_with_the_rule_that_would_allow_it(project: Project) -> None:
    project.trust()
    code, out = project("check", "npm run build --watch")
    assert code == 3
    assert "bobstay permissions add 'Bash(npm run build:*)'" in out
    project("add", "Bash(npm run build:*)")
    assert project("check", "npm run build --watch")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "decision"),
    [
        (("--tool", "Read", "src/a.py"), "allow"),
        (("--tool", "Read", "/etc/shadow"), "ask"),
        (("--tool", "Edit", "src/a.py"), "ask"),
        (("--tool", "Write", "src/a.py", "--mode", "acceptEdits"), "allow"),
        (("--tool", "Edit", ".git/config", "--mode", "acceptEdits"), "ask"),
        (("--tool", "WebFetch", "https://example.org/x"), "ask"),
        (("--tool", "WebFetch", "file:///etc/passwd"), "deny"),
        (("--tool", "mcp__github__get_issue"), "ask"),
        (("--tool", "mcp__github__get_issue", "--input", '{"number": 1}'), "ask"),
        (("touch x", "--mode", "dontAsk"), "deny"),
        (("touch x", "--mode", "bypassPermissions"), "allow"),
        (("touch x", "--mode", "plan"), "ask"),
        (("--tool", "Bash", "--input", '{"command": "ls"}'), "allow"),
    ],
)
def test_any_tool_and_mode_can_be_asked_about(project: Project, arguments: tuple[str, ...], decision: str) -> None:
    project.trust()
    assert project.json("check", *arguments)["decision"] == decision


def test_the_mode_of_the_settings_counts_if_none_is_named(project: Project) -> None:
    project.trust()
    project.settings({"permissions": {"defaultMode": "dontAsk"}})
    report = project.json("check", "touch x")
    assert (report["mode"], report["decision"]) == ("dontAsk", "deny")


def test_what_an_untrusted_folder_allows_does_not_count_and_is_said(project: Project) -> None:
    project.settings({"permissions": {"allow": ["Bash(make:*)"], "deny": ["Bash(rm:*)"]}})
    report = project.json("check", "make x")
    assert (report["decision"], report["trusted"]) == ("ask", False)
    assert "not trusted" in report["notice"]
    assert project.json("check", "rm x")["decision"] == "deny"
    assert project.json("check", "make x", "--trust")["decision"] == "allow"


def test_a_malformed_rule_names_its_place_and_what_was_expected_and_nothing_is_allowed(project: Project) -> None:
    project.trust()
    file = project.settings('{\n  "permissions": {\n    "allow": [\n      "Bash(ls"\n    ]\n  }\n}')
    for arguments in (("check", "ls"), ("check", "ls", "--json")):
        code, out = project(*arguments)
        assert (code, out) == (1, "")
        assert f"{file}:4:" in project.errors
        assert "expected Tool(pattern)" in project.errors


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("check",),
        ("check", "ls", "more"),
        ("check", "--mode", "yolo", "ls"),
        ("check", "--input", "[1]"),
        ("frobnicate",),
        ("add",),
        ("add", "--scope", "mars", "Read"),
        ("add", "--allow", "--deny", "Read"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_explained(project: Project, arguments: tuple[str, ...]) -> None:
    assert project(*arguments) == (1, "")
    assert project.errors


# ---------------------------------------------------------------- list, add, remove


def test_rules_are_listed_in_the_order_they_are_looked_at_with_warnings(project: Project) -> None:
    project.trust()
    project.settings({"permissions": {"allow": ["Bash(python:*)", "Bash(ls -l)"], "deny": ["Read(.env)"]}})
    project.settings({"permissions": {"deny": ["WebFetch"], "ask": ["Bash(git push:*)"]}}, ".claude/settings.json")
    rows = project.json("list")
    assert [(row["list"], row["rule"], row["source"]) for row in rows] == [
        ("deny", "Read(.env)", "local"),
        ("deny", "WebFetch", "project"),
        ("ask", "Bash(git push:*)", "project"),
        ("allow", "Bash(python:*)", "local"),
        ("allow", "Bash(ls -l)", "local"),
    ]
    assert [row["order"] for row in rows] == [1, 2, 3, 4, 5]
    assert [bool(row["warning"]) for row in rows] == [False, False, False, True, False]
    assert all(row["line"] for row in rows)
    code, out = project("list")
    assert code == 0
    assert "any program" in out


@pytest.mark.parametrize(
    ("scope", "file"),
    [("user", ".bobstay/settings.json"), ("project", ".bobstay/settings.json"), ("local", LOCAL)],
)
def test_a_rule_is_added_where_it_was_wanted_and_removed_again(project: Project, scope: str, file: str) -> None:
    path = (project.home if scope == "user" else project.work) / file
    assert project("add", "--ask", "Bash(git push:*)", "--scope", scope)[0] == 0
    assert json.loads(path.read_text())["permissions"] == {"ask": ["Bash(git push:*)"]}
    assert project.json("check", "git push x")["decision"] == "ask"
    assert project("add", "--ask", "Bash(git push:*)", "--scope", scope)[1].startswith("Already in")
    assert project("remove", "Bash(git push:*)")[0] == 0
    assert json.loads(path.read_text())["permissions"] == {"ask": []}
    assert project("remove", "Bash(git push:*)")[0] == 1


def test_a_rule_is_added_to_the_local_allow_list_if_nothing_else_is_said(project: Project) -> None:
    assert project("add", "Bash(make test)", "Read(docs/**)")[0] == 0
    stored = json.loads((project.work / LOCAL).read_text())
    assert stored == {"permissions": {"allow": ["Bash(make test)", "Read(docs/**)"]}}
    assert "not trusted" in project.errors


def test_a_rule_that_lets_anything_run_is_added_with_a_warning(project: Project) -> None:
    assert project("add", "Bash(node *)")[0] == 0
    assert "any program" in project.errors


@pytest.mark.parametrize("rule", ["Bash(", "", "Bash()", "x y(z)", "*", "Read(~nobody/x)"])
def test_a_rule_that_means_nothing_is_not_added(project: Project, rule: str) -> None:
    assert project("add", rule)[0] == 1
    assert (
        "expected" in project.errors
        or "must" in project.errors
        or "write" in project.errors
        or "may use" in project.errors
    )
    assert not (project.work / LOCAL).exists()


def test_a_rule_is_removed_from_every_file_or_only_from_the_scope_named(project: Project) -> None:
    files = [
        project.settings({"permissions": {"allow": ["Bash(a)"], "deny": ["Bash(a)"]}, "model": "m"}),
        project.settings({"permissions": {"allow": ["Bash(a)", "Bash(b)"]}}, ".claude/settings.local.json"),
        project.settings({"permissions": {"allow": ["Bash(a)"]}}, ".claude/settings.json", user=True),
    ]
    assert project("remove", "Bash(a)", "--scope", "user")[0] == 0
    assert [file.read_text().count("Bash(a)") for file in files] == [2, 1, 0]
    assert project("remove", "Bash(a)")[0] == 0
    assert [file.read_text().count("Bash(a)") for file in files] == [0, 0, 0]
    assert json.loads(files[0].read_text())["model"] == "m"
    assert "Bash(b)" in files[1].read_text()


def test_one_rule_has_several_spellings(project: Project) -> None:
    project.settings({"permissions": {"allow": ["Bash(*)", " Read "]}})
    assert project("remove", "Bash", "Read")[0] == 0
    assert json.loads((project.work / LOCAL).read_text())["permissions"]["allow"] == []


def test_a_malformed_rule_is_listed_with_its_place_and_what_is_wrong_with_it(project: Project) -> None:
    project.trust()
    file = project.settings('{\n  "permissions": {\n    "allow": [\n      "Bash(a)",\n      "Bash(ls"\n    ]\n  }\n}')
    code, out = project("list")
    assert code == 1
    assert "Bash(a)" in out
    (line,) = [line for line in out.splitlines() if "(malformed)" in line]
    assert "Bash(ls" in line
    assert f"{file}:5" in out
    assert "expected Tool(pattern)" in out
    assert "bobstay permissions remove 'Bash(ls'" in out
    assert "Nothing is allowed" in project.errors
    code, out = project("list", "--json")
    assert code == 1
    good, bad = json.loads(out)
    assert (good["rule"], good["malformed"]) == ("Bash(a)", None)
    assert (bad["rule"], bad["list"], bad["source"], bad["file"], bad["line"], bad["order"]) == (
        *("Bash(ls", "allow", "local", str(file), 5),
        None,
    )
    assert "expected Tool(pattern)" in bad["malformed"]


@pytest.mark.parametrize(
    "rule", ["Bash(ls", "", "  ", "Bash()", "x y(z)", "*", "Read(~nobody/x)", "Bash(" + "x" * 11_000]
)
def test_a_malformed_rule_is_removed_as_it_stands(project: Project, rule: str) -> None:
    project.trust()
    file = project.settings({"permissions": {"allow": ["Bash(a)", rule], "deny": [rule]}, "model": "m"})
    assert project("check", "a")[0] == 1
    code, out = project("remove", rule)
    assert code == 0, project.errors
    assert out.count("Removed") == 2
    assert json.loads(file.read_text()) == {"permissions": {"allow": ["Bash(a)"], "deny": []}, "model": "m"}
    assert project("check", "a")[0] == 0


def test_what_is_no_text_is_removed_as_it_stands_too(project: Project) -> None:
    project.trust()
    file = project.settings({"permissions": {"allow": ["Bash(a)", 5, {"tool": "Bash"}]}})
    assert project("list") == (1, "")
    assert f"{file}:" in project.errors
    assert project("remove", "5", '{"tool": "Bash"}')[0] == 0
    assert json.loads(file.read_text())["permissions"]["allow"] == ["Bash(a)"]
    assert project("check", "a")[0] == 0


def test_a_sound_rule_is_removed_though_another_is_malformed(project: Project) -> None:
    file = project.settings({"permissions": {"allow": ["Bash(a)", "Bash(ls", 5]}})
    assert project("remove", "Bash(a)")[0] == 0
    assert json.loads(file.read_text())["permissions"]["allow"] == ["Bash(ls", 5]


def test_a_broken_file_is_left_alone(project: Project) -> None:
    file = project.settings("{not json")
    assert project("add", "Bash(x)")[0] == 1
    assert file.read_text() == "{not json"
    assert str(file) in project.errors


# ---------------------------------------------------------------- cases


def judged(*lines: bytes) -> list[dict[str, Any]]:
    out = io.BytesIO()
    assert judge_lines(io.BytesIO(b"".join(lines)), out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def case(id_: Any, command: str, **rules: list[str]) -> bytes:
    report = {"id": id_, "tool": "Bash", "command": command, "rules": rules, "cwd": "/srv/proj"}
    return json.dumps(report).encode() + b"\n"


def test_cases_are_answered_one_a_line_in_order_in_the_fixed_world(project: Project) -> None:
    project.settings({"permissions": {"deny": ["Bash"]}})
    found = judged(
        case("a", "ls"),
        case("b", "make x", allow=["Bash(make:*)"]),
        case("c", "rm x", deny=["Bash(rm:*)"]),
        case(4, "make x"),
    )
    assert [(each["id"], each["decision"]) for each in found] == [
        ("a", "allow"),
        ("b", "allow"),
        ("c", "deny"),
        (4, "ask"),
    ]
    assert all(each["why"] for each in found)


def test_a_bad_line_is_denied_with_an_error_and_the_run_goes_on() -> None:
    bad = [
        b"{nonsense\n",
        b"[1, 2]\n",
        b'"text"\n',
        b"\xff\xfe\n",
        b'{"id": "x"}\n',
        b'{"id": "x", "tool": "Bash"}\n',
        b'{"id": "x", "tool": "Bash", "command": 5}\n',
        b'{"id": "x", "tool": "Bash", "command": "ls", "rules": {"allow": ["Bash("]}}\n',
        b'{"id": "x", "tool": "Bash", "command": "ls", "rules": 3}\n',
        b'{"id": ' + b"[" * 5000 + b"\n",
    ]
    found = judged(*bad, b"\n", case("good", "ls"))
    assert len(found) == len(bad) + 1
    assert all(each["decision"] == "deny" and each["error"] and each["why"] for each in found[:-1])
    assert found[-1]["decision"] == "allow"


def test_hostile_cases_are_asked_or_denied_and_never_crash() -> None:
    """1 MB commands, NUL bytes, half characters, 5,000 nested substitutions: bounded time, no crash."""
    hostile = [
        case("long", "echo " + "x" * 1_000_000, allow=["Bash"]),
        case("nul", "ls\0rm", allow=["Bash"]),
        b'{"id": "half", "tool": "Bash", "command": "ls \\ud800", "rules": {"allow": ["Bash"]}}\n',
        case("deep", "$(" * 5000 + "ls" + ")" * 5000, allow=["Bash"]),
        case("open", "$(" * 5000, allow=["Bash"]),
        b'{"id": "\\ud800", "tool": "Bash", "command": "ls"}\n',
    ]
    found = judged(*hostile)
    assert len(found) == len(hostile)
    assert [each["id"] for each in found[:5]] == ["long", "nul", "half", "deep", "open"]
    assert found[2]["decision"] == found[5]["decision"] == "deny"
    assert all(each["decision"] in ("ask", "deny") for each in found)


def test_an_endless_line_is_refused_unread() -> None:
    found = judged(b'{"id": "' + b"x" * (MAX_LINE + 10) + b'"}\n', case("next", "ls"))
    assert [each["decision"] for each in found] == ["deny", "allow"]


def test_each_answer_is_there_before_the_next_case_is_given(tmp_path: Path) -> None:
    """Somebody who asks one at a time must not wait for a buffer to fill."""
    program = subprocess.Popen(
        [sys.executable, "-m", "bobstay", "permissions", "check", "--stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    with program:
        assert program.stdin is not None
        assert program.stdout is not None
        for number in range(3):
            program.stdin.write(case(number, "ls"))
            program.stdin.flush()
            assert json.loads(program.stdout.readline())["id"] == number
        program.stdin.close()
        assert program.wait(DEADLINE) == 0


def test_five_hundred_cases_are_answered_by_one_process(tmp_path: Path) -> None:
    lines = b"".join(case(number, f"git log -n {number} | head", allow=["Bash(git log:*)"]) for number in range(524))
    done = subprocess.run(
        [sys.executable, "-m", "bobstay", "permissions", "check", "--stdin"],
        input=lines,
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert len(done.stdout.splitlines()) == 524
