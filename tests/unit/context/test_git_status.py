"""What the system prompt says of git's status, and that start-up does not wait for it (H4-2)."""

import os
import subprocess
from pathlib import Path

import pytest

from bobstay.config.git_hardening import harden_environment
from bobstay.context.git_status import GitStatus
from tests.security.repos.bait import commit_all, put


def test_other_start_up_work_goes_on_while_git_runs(tmp_path: Path) -> None:
    """The stand-in answers only after something was done behind the call that started it."""
    work, programs, gate = tmp_path / "work", tmp_path / "bin", tmp_path / "gate"
    programs.mkdir()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    os.mkfifo(gate)
    git = programs / "git"
    git.write_text(f'#!/bin/sh\nread -r line <"{gate}"\necho "$line"\n')
    git.chmod(0o755)
    status = GitStatus(str(work), {"PATH": f"{programs}:/usr/bin:/bin"})
    gate.write_text("?? written while git ran\n")
    assert status.read() == "?? written while git ran"


def test_a_clean_worktree_and_a_changed_one_differ(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert GitStatus(str(tmp_path), environment).read() == "(clean)"
    (tmp_path / "new.txt").write_text("new")
    assert GitStatus(str(tmp_path), environment).read() == "?? new.txt"


@pytest.mark.parametrize(
    "section",
    ['[filter "evil"]\n', "[filter.evil]\n", "[Filter.Evil]\n", "[include]\n\tpath = ../shared.cfg\n#"],
    ids=["quoted", "dotted", "case", "included"],
)
def test_a_filter_of_an_untrusted_folder_does_not_run(tmp_path: Path, section: str) -> None:
    work, mark = tmp_path / "work", tmp_path / "mark"
    work.mkdir()
    put(work, "README.md", "hello\n")
    commit_all(work)
    put(work, "shared.cfg", f'[filter "evil"]\n\tclean = "touch {mark}; cat"\n')
    put(work, ".gitattributes", "* filter=evil\n")
    put(work, "README.md", "changed\n")
    with (work / ".git/config").open("a") as file:
        file.write(f'{section}\tclean = "touch {mark}; cat"\n')
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["git", "diff"], cwd=work, env=harden_environment(environment, str(work)), check=True)
    assert not mark.exists()
    subprocess.run(["git", "diff"], cwd=work, env=environment, check=True)
    assert mark.exists()
