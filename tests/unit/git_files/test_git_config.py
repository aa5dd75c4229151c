"""Git's configuration is read exactly as git reads it, whatever is in the file."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bobstay.config.git_executables import significant_lines
from bobstay.git_files.git_config import LARGEST, ConfigEntry, all_entries, config_entries, included_files

PIECES = [
    *(b"[core]", b"[Core.B]", b'[remote "a B"]', b'[core "hooksPath\0"]', b'[a "b\\"\\\\"]', b'[ "a"]', b"[]"),
    *(b"[", b"]", b'"', b"\\", b"=", b"#", b";", b".", b"-", b"1", b"\0", b"\xff", b"\xef\xbb\xbf", b"\x0b", b'""'),
    *(b"\n", b"\n", b"\n", b"\r\n", b"\r", b" ", b"\t", b"\\\n", b"\\\r\n", b"\\n", b"\\t", b"\\b", b"\\x"),
    *(b"key", b"Key-2", b"value", b"\nkey = ", b" = value\n", b'\n[branch "x"]\n', b"\nremote = origin\n"),
]
CONFIGURATIONS = st.lists(st.sampled_from(PIECES), max_size=16).map(b"".join)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=CONFIGURATIONS)
@example(content=b'[core "fsmonitor\0"]\n\tbare = evil\n')
@example(content=b'[a.B]\nC = d ; e\n[a "B"]\n\tc = "d ; e" f\\\n  g\n')
@example(content=b"[core]\n\tbare\n\tx =\n\ty = a\\")
def test_entries_are_those_that_git_lists(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config"
    file.write_bytes(content)
    command = ["git", "config", "--no-includes", "--list", "-z", "-f", str(file)]
    listed = subprocess.run(command, check=False, capture_output=True)
    entries = list(config_entries(content))
    if listed.returncode:
        assert any(not entry.name for entry in entries)
    else:
        assert [_spaced(_as_listed(entry)) for entry in entries] == [
            _spaced(entry) for entry in listed.stdout.split(b"\0")[:-1]
        ]


@pytest.mark.parametrize("broken", ["nonsense!", "[core", 'x = "open', "x = \\q", "[ core ]", "= x"])
def test_what_git_cannot_read_is_kept_without_hiding_what_follows(broken: str) -> None:
    entries = list(config_entries(f"[core]\n{broken}\n\thooksPath = x\n".encode()))
    assert entries == [ConfigEntry("", broken), ConfigEntry("core.hookspath", "x")]


@pytest.mark.parametrize("line", [b"x=\\\n", b'x="\\\n', b"x=\\n", b'x=a "" \\t', b'[a "\n', b'[a "'])
@pytest.mark.parametrize("last", [b"", b"\\q", b'"'])
def test_the_longest_configuration_is_read_in_one_pass(line: bytes, last: bytes) -> None:
    """It would take hours if a broken value were read again from each of its lines."""
    list(config_entries(line * (LARGEST // len(line)) + last))


def test_a_name_is_split_at_its_first_and_its_last_dot() -> None:
    (entry,) = config_entries(b'[Filter "a.B"]\nClean = x\n')
    assert (entry.name, entry.section, entry.subsection, entry.key) == ("filter.a.B.clean", "filter", "a.B", "clean")


def test_a_key_outside_of_a_section_has_none() -> None:
    (entry,) = config_entries(b"core = x\n")
    assert (entry.section, entry.subsection, entry.key) == ("", "", "core")


def test_included_files_are_followed(tmp_path: Path) -> None:
    (tmp_path / "inc").write_text('[includeIf "gitdir:/never"]\n\tpath = further\n')
    found = included_files(f"{tmp_path}/config", b'[include]\n path = "i\\\nnc"\n[submodule "x"]\n path = y\n')
    assert found == [f"{tmp_path}/inc", f"{tmp_path}/further"]


def test_an_included_file_is_found_behind_a_link_as_the_system_finds_it(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    assert included_files(f"{tmp_path}/config", b"[include]\n\tpath = link/../inc\n") == [f"{tmp_path}/a/inc"]


def test_a_configuration_is_read_up_to_one_limit_with_all_it_includes(tmp_path: Path) -> None:
    """Otherwise thirty large files would keep everybody waiting who starts git in a folder of a stranger."""
    (tmp_path / "config").write_bytes(b"[include]\n" + b"".join(b"\tpath = x%d\n" % number for number in range(30)))
    for number in range(30):
        (tmp_path / f"x{number}").write_bytes(b"[a]\n" + b"b = " + b"c" * (LARGEST // 4) + b"\n")
    entries = list(all_entries(f"{tmp_path}/config"))
    assert sum(len(entry.value or "") for entry in entries if entry.name == "a.b") <= LARGEST
    assert [entry.name for entry in entries].count("include.path") == 30


def test_a_configuration_that_includes_itself_many_times_is_read_once(tmp_path: Path) -> None:
    content = b"[include]\n" + b"\tpath = config\n" * 10_000
    (tmp_path / "config").write_bytes(content)
    assert included_files(f"{tmp_path}/config", content) == [f"{tmp_path}/config"]


@given(CONFIGURATIONS)
@example(b"[core]\n\tx = a\\\n\n\thooksPath = evil\n")
@example(b'[remote "x\0"]\n\tfetch = y\n')
@example(b"[core]\r\n\tx\r\n")
def test_lines_that_trust_does_not_bind_to_only_describe_branches_and_remotes(content: bytes) -> None:
    kept = {(entry.key, entry.value) for entry in config_entries(b"\n".join((*significant_lines(content), b"")))}
    lost = [entry for entry in config_entries(content) if entry.name and (entry.key, entry.value) not in kept]
    assert all(entry.section in ("branch", "remote") and entry.subsection for entry in lost)


def _as_listed(entry: ConfigEntry) -> bytes:
    return os.fsencode(entry.name if entry.value is None else f"{entry.name}\n{entry.value}")


def _spaced(text: bytes) -> bytes:
    """Newer versions of git keep tabs inside of a value; older ones make spaces of them."""
    return text.replace(b"\t", b" ").replace(b"\r", b" ")
