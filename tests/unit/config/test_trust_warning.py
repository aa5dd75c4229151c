"""Only parts that actually run something of a folder cause a warning."""

import subprocess
from pathlib import Path

import pytest

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_warning import is_inert_configuration, select_risky_parts

USUAL = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
# a comment
[remote "origin"]
\turl = git@github.com:someone/shop.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
\tvscode-merge-base = origin/main
[user]
\tname = Ada
\temail = ada@example.org
[pull]
\trebase = true
"""


def test_the_configuration_of_an_everyday_clone_runs_nothing() -> None:
    assert is_inert_configuration(USUAL)


@pytest.mark.parametrize(
    "hostile",
    [
        b"[core]\n\tfsmonitor = ./evil\n",
        b"[core]\n\thooksPath = hooks\n",
        b"[core] sshCommand = evil\n",
        b'[alias]\n\tst = "!evil"\n',
        b'[filter "lfs"]\n\tsmudge = evil\n',
        b'[diff "x"]\n\ttextconv = evil\n',
        b"[include]\n\tpath = ../evil\n",
        b'[includeIf "gitdir:/"]\n\tpath = evil\n',
        b'[remote "origin"]\n\tuploadpack = evil\n',
        b'[remote "origin"]\n\turl = ext::sh -c evil\n',
        b'[submodule "a"]\n\tupdate = !evil\n',
        b"[somethingNew]\n\tkey = value\n",
        b"[core]\n\tfilemode = true\\\n",
        b"[pull]\n\trebase = x\n[core]\n\tpager = evil\n",
    ],
)
def test_keys_that_run_something_or_are_not_known_do(hostile: bytes) -> None:
    assert not is_inert_configuration(USUAL + hostile)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitattributes").write_text("*.png binary\n")
    (tmp_path / ".npmrc").write_text("save-exact=true\n")
    return tmp_path


def warned(folder: Path) -> tuple[str, ...]:
    return select_risky_parts(str(folder), executable_parts(str(folder)))


def test_a_plain_repository_gives_no_warning(clone: Path) -> None:
    assert ".git/config" in executable_parts(str(clone))
    assert warned(clone) == ()


def test_settings_mcp_servers_hooks_and_aliases_give_one(clone: Path) -> None:
    (clone / ".mcp.json").write_text('{"mcpServers": {}}')
    (clone / ".bobstay").mkdir()
    (clone / ".bobstay/settings.json").write_text("{}")
    (clone / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    subprocess.run(["git", "-C", str(clone), "config", "alias.st", "!evil"], check=True)
    assert warned(clone) == (".bobstay/settings.json", ".git/config", ".git/hooks/pre-commit", ".mcp.json")
