"""Trust is bound to a folder's real path and to the content of its executable parts (H4-3)."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.config import digest
from bobstay.config.git_executables import significant_lines
from bobstay.config.paths import Paths
from bobstay.config.settings_files import load
from bobstay.config.trust import TrustStatus, check_trust, filter_search_path, preserve_trust
from bobstay.config.trust_parts import executable_parts, find_referenced_files
from bobstay.config.trust_store import TrustStore, TrustStoreError
from tests.kit.repositories import git
from tests.security.repos.bait import commit_all, put

HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh tools/check.sh"}]}]}}


class TrustedRepository:
    def __init__(self, folder: Path) -> None:
        self.repo = folder / "repo"
        self.repo.mkdir()
        home = folder / "home"
        home.mkdir()
        self.paths = Paths(str(home), str(home / ".bobstay"), str(home / ".claude"), str(folder / "managed.json"))
        self.store = TrustStore(self.paths.bobstay)
        put(self.repo, ".bobstay/settings.json", HOOK)
        put(self.repo, "tools/check.sh", "exit 0\n")
        put(self.repo, "README.md", "hello\n")
        commit_all(self.repo)

    def trust(self) -> None:
        self.store.put(str(self.repo), executable_parts(str(self.repo)))

    def check_trust(self) -> TrustStatus:
        return check_trust(str(self.repo), self.paths)


@pytest.fixture
def repository(tmp_path: Path) -> TrustedRepository:
    return TrustedRepository(tmp_path)


def test_a_folder_is_trusted_once_it_was_added_and_not_after_it_was_removed(repository: TrustedRepository) -> None:
    assert not repository.check_trust().trusted
    repository.trust()
    assert repository.check_trust() == TrustStatus(True)
    assert load(str(repository.repo), repository.paths).settings.hooks == HOOK["hooks"]
    assert repository.store.remove(str(repository.repo))
    assert not repository.store.remove(str(repository.repo))
    assert not repository.check_trust().trusted


CHANGES: dict[str, Callable[[Path], object]] = {
    ".bobstay/settings.json (changed)": lambda repo: put(repo, ".bobstay/settings.json", {"model": "x"}),
    ".bobstay/settings.json (gone)": lambda repo: (repo / ".bobstay/settings.json").unlink(),
    ".claude/settings.local.json (new)": lambda repo: put(repo, ".claude/settings.local.json", "{}"),
    "tools/check.sh (changed)": lambda repo: put(repo, "tools/check.sh", "exit 1\n"),
    "tools/check.sh (gone)": lambda repo: (repo / "tools/check.sh").unlink(),
    ".mcp.json (new)": lambda repo: put(repo, ".mcp.json", "{}"),
    ".env (new)": lambda repo: put(repo, ".env", "A=1"),
    ".envrc (new)": lambda repo: put(repo, ".envrc", "x"),
    ".yarnrc.yml (new)": lambda repo: put(repo, ".yarnrc.yml", "yarnPath: x"),
    ".npmrc (new)": lambda repo: put(repo, ".npmrc", "x=y"),
    ".pnp.cjs (new)": lambda repo: put(repo, ".pnp.cjs", "x"),
    ".claude-plugin/plugin.json (new)": lambda repo: put(repo, ".claude-plugin/plugin.json", "{}"),
    ".claude/skills/x/run.sh (new)": lambda repo: put(repo, ".claude/skills/x/run.sh", "x"),
    ".git/config (changed)": lambda repo: git(repo, "config", "core.fsmonitor", "x"),
    ".git/hooks/pre-commit (new)": lambda repo: put(repo, ".git/hooks/pre-commit", "x"),
    ".git/commondir (new)": lambda repo: put(repo, ".git/commondir", "."),
    ".git/info/attributes (new)": lambda repo: put(repo, ".git/info/attributes", "* filter=x"),
    ".git/config.worktree (new)": lambda repo: put(repo, ".git/config.worktree", "[core]\n"),
    ".gitattributes (new)": lambda repo: put(repo, ".gitattributes", "* diff=x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_executable_part_ends_trust_and_is_named(repository: TrustedRepository, change: str) -> None:
    repository.trust()
    CHANGES[change](repository.repo)
    how = repository.check_trust()
    assert not how.trusted
    assert change in how.changed
    loaded = load(str(repository.repo), repository.paths)
    assert not loaded.trusted
    assert loaded.settings.hooks == {}
    assert change in loaded.untrusted_notice
    assert "bobstay trust add" in loaded.untrusted_notice
    repository.trust()
    assert repository.check_trust().trusted


def test_everyday_work_does_not_end_trust(repository: TrustedRepository) -> None:
    repository.trust()
    put(repository.repo, "README.md", "changed\n")
    put(repository.repo, "AGENTS.md", "words\n")
    put(repository.repo, ".git/hooks/new.sample", "x")
    git(repository.repo, "commit", "-qam", "second")
    git(repository.repo, "checkout", "-qb", "topic")
    git(repository.repo, "config", "branch.topic.remote", "origin")
    git(repository.repo, "config", "branch.topic.merge", "refs/heads/topic")
    assert repository.check_trust() == TrustStatus(True)


def test_what_the_configuration_names_belongs_to_it(repository: TrustedRepository) -> None:
    put(repository.repo, ".husky/pre-commit", "one")
    put(repository.repo, "shared.cfg", "[core]\n\tpager = cat\n")
    git(repository.repo, "config", "core.hooksPath", ".husky")
    git(repository.repo, "config", "include.path", "../shared.cfg")
    git(repository.repo, "config", "filter.x.clean", "python3 tools/clean.py")
    put(repository.repo, "tools/clean.py", "one")
    repository.trust()
    for name in (".husky/pre-commit", "shared.cfg", "tools/clean.py"):
        before = (repository.repo / name).read_text()
        put(repository.repo, name, "two")
        assert f"{name} (changed)" in repository.check_trust().changed
        put(repository.repo, name, before)
    assert repository.check_trust().trusted


@pytest.mark.parametrize("before", ["", "\turl = x\n", "\turl = x\\\n\n", "\tfetch = x\n"])
def test_a_line_is_bound_to_its_section(repository: TrustedRepository, before: str) -> None:
    config = repository.repo / ".git/config"
    usual = config.read_text()
    config.write_text(f'{usual}[core]\n[remote "x"]\n{before}\tfsmonitor = evil\n')
    repository.trust()
    config.write_text(f"{usual}[core]\n{before}\tfsmonitor = evil\n")
    assert not repository.check_trust().trusted


def test_a_file_is_bound_however_many_others_include_it(repository: TrustedRepository) -> None:
    """Git follows ten. That each of them includes itself and the others again does not make them more."""
    names = [f"{number}.cfg" for number in range(10)]
    for name, following in pairwise(names):
        put(repository.repo, name, f"[include]\n\tpath = {following}\n" + f"\tpath = {name}\n\tpath = 0.cfg\n" * 9)
    put(repository.repo, names[-1], "[core]\n\tpager = cat\n")
    git(repository.repo, "config", "include.path", "../0.cfg")
    repository.trust()
    put(repository.repo, names[-1], "[core]\n\tpager = evil\n")
    assert repository.check_trust().changed == ("9.cfg (changed)",)


def test_a_file_named_on_a_continued_line_of_the_configuration_is_bound(repository: TrustedRepository) -> None:
    put(repository.repo, "tools/clean.py", "one")
    with (repository.repo / ".git/config").open("a") as file:
        file.write('[filter "x"]\n\tclean = python3 \\\n\t\ttools/clean.py\n')
    repository.trust()
    put(repository.repo, "tools/clean.py", "two")
    assert "tools/clean.py (changed)" in repository.check_trust().changed


def test_an_empty_line_that_ends_a_continued_value_is_bound(repository: TrustedRepository) -> None:
    """Without it `fsmonitor` is a part of the value above."""
    configuration = repository.repo / ".git/config"
    before = configuration.read_text()
    configuration.write_text(f"{before}[core]\n\tx = a\\\n\tfsmonitor = evil\n")
    repository.trust()
    configuration.write_text(f"{before}[core]\n\tx = a\\\n\n\tfsmonitor = evil\n")
    assert not repository.check_trust().trusted


def test_neither_a_parent_nor_a_child_is_trusted_along(repository: TrustedRepository) -> None:
    inner = repository.repo / "inner"
    inner.mkdir()
    put(inner, ".bobstay/settings.json", HOOK)
    repository.trust()
    assert not check_trust(str(inner), repository.paths).trusted
    assert not check_trust(str(repository.repo.parent), repository.paths).trusted


def test_a_link_is_the_folder_it_leads_to_and_no_other(repository: TrustedRepository, tmp_path: Path) -> None:
    repository.trust()
    link = tmp_path / "link"
    link.symlink_to(repository.repo)
    assert load(str(link), repository.paths).trusted
    other = tmp_path / "other"
    other.mkdir()
    put(other, ".bobstay/settings.json", HOOK)
    link.unlink()
    link.symlink_to(other)
    assert not load(str(link), repository.paths).trusted


def test_another_spelling_is_the_same_folder_only_where_the_file_system_says_so(
    repository: TrustedRepository, tmp_path: Path
) -> None:
    repository.trust()
    shouted = tmp_path / "REPO"
    if shouted.exists():
        assert check_trust(str(shouted), repository.paths).trusted
        return
    shouted.mkdir()
    assert repository.store.get(str(shouted)) is None
    shouted.rmdir()
    # A folding file system is where both names lead to one folder: a link is such a repository to all who ask.
    shouted.symlink_to(repository.repo)
    assert repository.store.get(str(shouted)) is not None


def test_a_repository_cannot_borrow_trust_through_its_git_directory(
    repository: TrustedRepository, tmp_path: Path
) -> None:
    """CVE-2026-40068: whatever `.git` or `commondir` say, the folder's own path is what counts."""
    repository.trust()
    for kind in ("file", "commondir", "link"):
        thief = tmp_path / kind
        thief.mkdir()
        put(thief, ".bobstay/settings.json", HOOK)
        put(thief, "tools/check.sh", "exit 0\n")
        if kind == "file":
            put(thief, ".git", f"gitdir: {repository.repo}/.git\n")
        elif kind == "link":
            (thief / ".git").symlink_to(repository.repo / ".git")
        else:
            commit_all(thief)
            put(thief, ".git/commondir", f"{repository.repo}/.git\n")
        assert not load(str(thief), repository.paths).trusted


def test_a_list_inside_the_folder_does_not_count(repository: TrustedRepository) -> None:
    """The user's list must be out of the folder's reach, unless the folder is the home directory."""
    paths = Paths(repository.paths.home, str(repository.repo / "state"), repository.paths.claude)
    TrustStore(paths.bobstay).put(str(repository.repo), executable_parts(str(repository.repo)))
    assert not check_trust(str(repository.repo), paths).trusted
    home = repository.paths.home
    repository.store.put(home, executable_parts(home))
    assert check_trust(home, repository.paths).trusted


def test_more_than_can_be_looked_at_is_not_trusted(
    repository: TrustedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.trust()
    monkeypatch.setattr(digest, "MAX_FILES", 2)
    how = repository.check_trust()
    assert not how.trusted
    assert "cannot be checked" in how.problem


def test_what_is_no_regular_file_is_noticed_and_does_not_hang(repository: TrustedRepository) -> None:
    repository.trust()
    os.mkfifo(repository.repo / ".envrc")
    (repository.repo / ".mcp.json").symlink_to("/dev/zero")
    assert set(repository.check_trust().changed) >= {".envrc (new)", ".mcp.json (new)"}


def test_names_from_the_folder_do_not_steer_the_terminal(repository: TrustedRepository) -> None:
    repository.trust()
    put(repository.repo, ".claude/skills/\x1b[2Jx", "x")
    notice = load(str(repository.repo), repository.paths).untrusted_notice
    assert "?[2Jx (new)" in notice
    assert "\x1b" not in notice


def test_what_bobstay_writes_itself_does_not_end_trust(repository: TrustedRepository) -> None:
    file = str(repository.repo / ".bobstay/settings.local.json")
    repository.trust()
    with preserve_trust(str(repository.repo), repository.paths, (file,)):
        put(repository.repo, ".bobstay/settings.local.json", {"permissions": {"allow": ["Bash(ls)"]}})
    assert repository.check_trust().trusted
    put(repository.repo, ".bobstay/settings.local.json", {"permissions": {"allow": ["Bash"]}})
    with preserve_trust(str(repository.repo), repository.paths, (file,)):
        put(repository.repo, ".bobstay/settings.local.json", {"permissions": {"allow": ["Bash", "Edit"]}})
    assert not repository.check_trust().trusted, "a file that was already changed is not taken over"


# ---------------------------------------------------------------- the list


def test_the_list_is_the_users_alone(repository: TrustedRepository) -> None:
    repository.trust()
    path = Path(repository.store.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o666)
    how = repository.check_trust()
    assert not how.trusted
    assert "somebody else" in how.problem


@pytest.mark.parametrize("content", ["", "{", "[]", '{"folders": 3}', '{"folders": {"/x": {"parts": 1}}}', "\xff"])
def test_a_broken_list_trusts_nobody_and_is_left_alone(repository: TrustedRepository, content: str) -> None:
    repository.trust()
    Path(repository.store.path).write_bytes(content.encode("latin-1"))
    how = repository.check_trust()
    assert not how.trusted
    assert repository.store.path in how.problem
    with pytest.raises(TrustStoreError):
        repository.trust()
    assert Path(repository.store.path).read_bytes() == content.encode("latin-1")


def test_programs_that_write_the_list_at_once_lose_nothing(repository: TrustedRepository) -> None:
    """F26"""
    program = (
        "import sys; from bobstay.config.trust_store import TrustStore\n"
        "for n in range(40): TrustStore(sys.argv[1]).put(f'/{sys.argv[2]}/{n}', {'a': str(n)})\n"
    )
    command = [sys.executable, "-c", program, repository.paths.bobstay]
    running = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    while any(process.poll() is None for process in running):
        if os.path.exists(repository.store.path):
            json.loads(Path(repository.store.path).read_bytes())
    assert [process.returncode for process in running] == [0] * 4
    assert repository.store.read().folders.keys() == {f"/{one}/{n}" for one in range(4) for n in range(40)}
    assert sorted(os.listdir(repository.paths.bobstay)) == ["trust.json", "trust.json.lock"]


# ---------------------------------------------------------------- what counts


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("./a.sh", {"a.sh"}),
        ("bash 'with space/b.sh' --x", {"with space/b.sh"}),
        ('"$CLAUDE_PROJECT_DIR"/a.sh', {"a.sh"}),
        ("${BOBSTAY_PROJECT_DIR}/a.sh | tee", {"a.sh"}),
        ("cd sub && ./c.py", {"sub/c.py"}),
        ("$(git rev-parse --show-toplevel)/a.sh", {"a.sh"}),
        ("python -m sub.c", {"sub/c.py"}),
        ("FOO=./a.sh sh -c '. ./a.sh'", {"a.sh"}),
        ("echo x >> log.txt; ls 2> log.txt", set()),
        ("/bin/sh ../outside.sh /etc/passwd", set()),
        ("broken ' quote ./a.sh", {"a.sh"}),
    ],
)
def test_the_files_a_command_names_are_found(tmp_path: Path, command: str, names: set[str]) -> None:
    folder = tmp_path / "folder"
    for name in ("a.sh", "with space/b.sh", "sub/c.py", "log.txt", "../outside.sh"):
        put(folder, name, "x")
    assert {os.path.relpath(path, folder) for path in find_referenced_files(command, str(folder))} == names


@given(st.text(max_size=80))
def test_any_command_can_be_looked_at(text: str) -> None:
    assert find_referenced_files(text, "/nonexistent") == []


def test_only_lines_that_run_nothing_may_change_unseen() -> None:
    harmless = b'[branch "a"]\n\tremote = origin\n\tmerge = refs/heads/a\n[remote "o"]\n\tfetch = +x:y\n'
    assert significant_lines(harmless) == []
    for harmful in (
        b'[branch "a"]\n\tremote = x\\\n\tevil = y\n',
        b'[branch "a"] fsmonitor = x\n',
        b'[remote "o"]\n\tuploadpack = evil\n',
        b"[core]\n\tremote = x\n",
        b'[pager]\n\tx = a\\\n[branch "y"]\n\tmerge = evil\n',
        b'[remote "o"]\n\turl = ext::sh\n',
    ):
        assert b"\n".join(significant_lines(harmful)).strip()
    tricky = b'[pager]\n\tx = a\\\n[branch "y"]\n\tmerge = evil\n'
    assert b"\tmerge = evil" in significant_lines(tricky)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        (".:/usr/bin::bin:./x", "/usr/bin"),
        ("{folder}/bin:/usr/bin:{folder}", "/usr/bin"),
        ("{link}:/usr/bin", "/usr/bin"),
        ("{folder}-beside/bin:/usr/bin", "{folder}-beside/bin:/usr/bin"),
    ],
)
def test_programs_are_not_looked_for_in_the_folder(tmp_path: Path, path: str, kept: str) -> None:
    folder = tmp_path / "folder"
    (folder / "bin").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(folder / "bin")
    names = {"folder": str(folder), "link": str(link)}
    assert filter_search_path(path.format(**names), str(folder)) == kept.format(**names)
